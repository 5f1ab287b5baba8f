import { EVENT_TYPES } from '../action.ts';
import type { Context } from '../context.ts';
import { type EndedRow, endedTransition, endedWake, endPending } from '../end-pending.ts';
import { firstToLock, NOW } from '../sql.ts';
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
    due: `exists (select 1 from ${context.schema}.pending p where p.deliver_by <= ${NOW} and p.attempt = 0)
      or exists (select 1 from ${context.schema}.pending p where p.deadline <= ${NOW})`,
    async runOnce(client, lanes) {
      const { rows } = await client.query({
        name: 'muster_expire',
        text,
        values: [context.now(), lanes ?? null],
      });
      const ended = rows as EndedRow[];
      return dutyRun(ended.length, MOST, {
        transitions: ended.map((row) => endedTransition(row)),
        wakes: ended.map(endedWake),
      });
    },
  };
}

const statement = (s: string) => `
  with due as materialized (
    (${firstToLock(s, over(s, 'deliver_by', 'p.attempt = 0', { state: 'expired', type: EVENT_TYPES.EXPIRED, why: 'DELIVER_BY' }), MOST)})
    union all
    (${firstToLock(
      s,
      over(s, 'deadline', `not (p.attempt = 0 and p.deliver_by is not null and p.deliver_by <= ${NOW})`, {
        state: 'failed',
        type: EVENT_TYPES.FAILED_FINAL,
        why: 'DEADLINE',
      }),
      MOST,
    )})
  ), x as materialized (
    select row_number() over () as ord, due.* from due
  ), ${endPending(s)}`;

const over = (
  s: string,
  clock: 'deliver_by' | 'deadline',
  when: string,
  end: { state: string; type: number; why: string },
) => `
      select p.tenant_id, p.lane_id, l.ver, l.runner_id, p.action_id, p.attempt, p.channel, '${end.state}' as state, ${end.type} as type,
        '${end.why}' as why, '${end.why}' as note, null::text as worker, null::jsonb as result
      from ${s}.pending p
      join ${s}.lanes l on l.tenant_id = p.tenant_id and l.lane_id = p.lane_id and l.action_id is distinct from p.action_id
      where p.${clock} <= ${NOW} and ${when} and ($2::bigint[] is null or p.lane_id = any($2)) order by p.${clock}`;
