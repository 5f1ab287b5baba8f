import { EVENT_TYPES } from '../action.ts';
import type { Queryable } from '../db.ts';
import { BUSY, type Context, type Operation } from '../operation.ts';
import { actionOf, endingOf, lockLanes, NOW, pendingOf, presentLane, raiseLanes, rows } from '../sql.ts';

/**
 * News of an attempt that is not the running one: one line per attempt and kind, however often it is repeated. Written
 * under the action's lane lock, so that the history keeps the order of simultaneous changes.
 */
export interface LateNews {
  readonly tenantId: number;
  readonly actionId: string;
  readonly attempt: number;
  readonly worker: string | null;
  /** In capitals, like all reasons of the engine. */
  readonly what: string;
}

/** False: the lane was locked or changed meanwhile, and nothing was written. */
export function createRecordLate(context: Context) {
  const text = statement(context.schema);
  return async (client: Queryable, news: readonly LateNews[]): Promise<boolean[]> => {
    const { rows: lost } = await client.query({
      name: 'muster_record_late',
      text,
      values: [
        context.now(),
        news.map(({ tenantId }) => tenantId),
        news.map(({ actionId }) => actionId),
        news.map(({ attempt }) => attempt),
        news.map(({ worker }) => worker),
        news.map(({ what }) => what),
      ],
    });
    const isLost = new Set(lost.map(({ ord }) => ord));
    return news.map((_, n) => !isLost.has(n + 1));
  };
}

/** Something other than a report came too late. */
export function createLateNews(context: Context): Operation<LateNews, true> {
  const record = createRecordLate(context);
  return {
    name: 'record-late',
    key: ({ tenantId, actionId }) => `${tenantId}:${actionId}`,
    async run(client, items) {
      const recorded = await record(client, items);
      return { answers: recorded.map((done) => done || BUSY), transitions: [], wakes: [] };
    },
  };
}

const statement = (s: string) => `
  with h as materialized (
    select i.ord, i.tenant_id, i.action_id, l.lane_id, l.ver, i.attempt, i.worker, i.what, z.state is not null as has_ended
    from ${rows(2, { tenant_id: 'int', action_id: 'bigint', attempt: 'int', worker: 'text', what: 'text' })}
    cross join lateral ${actionOf(s, 'i')}
    left join lateral ${pendingOf(s, 'a')} on true
    cross join lateral ${presentLane(s)}
    left join lateral ${endingOf(s, 'i')} on true
    where (
      select 1 from ${s}.events e where e.tenant_id = i.tenant_id and e.action_id = i.action_id and e.attempt = i.attempt
        and e.type = ${EVENT_TYPES.LATE} and e.reason = i.what limit 1) is null
  ), kk as materialized (${lockLanes(s, 'h')}
  ), k as materialized (
    -- a redrive locks no lane; it deletes the ending
    select k.* from kk k where not k.has_ended or (
      select 1 from ${s}.endings z where z.tenant_id = k.tenant_id and z.action_id = k.action_id limit 1 for share skip locked) is not null
  ), u as (${raiseLanes(s, 'k')}
  ), e as (
    insert into ${s}.events (tenant_id, action_id, lane_id, at, type, attempt, worker, reason)
      select k.tenant_id, k.action_id, k.lane_id, ${NOW}, ${EVENT_TYPES.LATE}, k.attempt, k.worker, k.what from k order by k.ord
  )
  select h.ord::int from h where h.ord not in (select k.ord from k)`;
