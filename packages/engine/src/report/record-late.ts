import { EVENT_TYPES } from '../action.ts';
import type { Queryable } from '../db.ts';
import type { Context } from '../operation.ts';
import { NOW } from '../sql.ts';
import { checkAttempt } from '../text.ts';
import { checkName, checkTenant, isId } from '../values.ts';

/** Something else than a report came for an attempt that is not the running one: one line per attempt and kind of news. */
export interface LateNews {
  readonly tenantId: number;
  readonly actionId: string;
  readonly attempt: number;
  readonly worker: string;
  /** In capitals, as all our reasons are. */
  readonly what: string;
}

export function createRecordLate(context: Context) {
  const s = context.schema;
  return async (client: Queryable, news: LateNews): Promise<void> => {
    checkTenant(news.tenantId);
    checkName(news.worker, 'worker', 0);
    checkName(news.what, 'news');
    if (!isId(news.actionId)) return;
    await client.query({
      name: 'muster_record_late',
      text: `insert into ${s}.events (tenant_id, action_id, lane_id, at, type, attempt, worker, reason)
        select a.tenant_id, a.action_id, a.lane_id, ${NOW}, ${EVENT_TYPES.LATE}, $4::int, $5::text, $6::text
        from ${s}.actions a where a.tenant_id = $2 and a.action_id = $3 and not exists (
          select 1 from ${s}.events e where e.tenant_id = a.tenant_id and e.action_id = a.action_id and e.attempt = $4
            and e.type = ${EVENT_TYPES.LATE} and e.reason = $6)`,
      values: [
        context.now(),
        news.tenantId,
        news.actionId,
        checkAttempt(news.attempt),
        news.worker,
        news.what,
      ],
    });
  };
}
