import { EVENT_TYPES } from '../action.ts';
import type { Context } from '../context.ts';
import { type EndedRow, endedTransition, endedWake, endPending } from '../end-pending.ts';
import { NOW } from '../sql.ts';
import { type Duty, dutyRun } from './duty.ts';

/**
 * Two clocks: never handed out by its deliver-by, an action is expired; not finished by its deadline, it has failed. A
 * running one is left to its lease, which never reaches past the deadline.
 */
const MOST = 1_000;

export function createExpire(context: Context): Duty {
  const text = statement(context.schema);
  return {
    name: 'expire',
    everyMs: 1_000,
    async runOnce(client, lanes) {
      const { rows } = await client.query({
        name: 'muster_expire',
        text,
        values: [context.now(), lanes ?? null],
      });
      const ended = rows as EndedRow[];
      return dutyRun(ended.length, MOST, {
        transitions: ended.map(endedTransition),
        wakes: ended.map(endedWake),
      });
    },
  };
}

const statement = (s: string) => `
  with due as materialized (
    (select p.tenant_id, p.action_id, 'expired' as state, ${EVENT_TYPES.EXPIRED} as type, 'DELIVER_BY' as why from ${s}.pending p
      join ${s}.lanes l on l.tenant_id = p.tenant_id and l.lane_id = p.lane_id and l.action_id is distinct from p.action_id
      where p.deliver_by <= ${NOW} and p.attempt = 0 and ($2::bigint[] is null or p.lane_id = any($2)) order by p.deliver_by limit ${MOST})
    union all
    (select p.tenant_id, p.action_id, 'failed', ${EVENT_TYPES.FAILED_FINAL}, 'DEADLINE' from ${s}.pending p
      join ${s}.lanes l on l.tenant_id = p.tenant_id and l.lane_id = p.lane_id and l.action_id is distinct from p.action_id
      where p.deadline <= ${NOW} and not (p.attempt = 0 and p.deliver_by is not null and p.deliver_by <= ${NOW})
        and ($2::bigint[] is null or p.lane_id = any($2)) order by p.deadline limit ${MOST})
  ), x as materialized (
    select row_number() over () as ord, p.tenant_id, p.lane_id, l.ver, l.runner_id, p.action_id, p.attempt, p.channel, due.state,
      due.type, due.why, due.why as note, null::text as worker, null::jsonb as result
    from due
    join ${s}.pending p on p.tenant_id = due.tenant_id and p.action_id = due.action_id
    join ${s}.lanes l on l.tenant_id = p.tenant_id and l.lane_id = p.lane_id and l.action_id is distinct from p.action_id
  ), ${endPending(s)}`;
