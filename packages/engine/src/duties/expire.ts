import { EVENT_TYPES } from '../action.ts';
import { type EndedRow, endedPending, endedTransition, endedWake, endPending } from '../end-pending.ts';
import type { Context } from '../operation.ts';
import { firstToLock, hasCome, hasKeyOf, NOW, ofLane, rows } from '../sql.ts';
import { channelsFor, type Duty, dutyRun, laneIds } from './duty.ts';

/**
 * Two clocks: an action not handed out by its deliver-by has expired; one not finished by its deadline has failed. A
 * running action is left to its lease, which never reaches past the deadline. Its deliver-by no longer counts once it
 * was handed out, and is cleared the first time it is met here; otherwise every such action would be read each
 * second.
 */
const MOST = 1_000;

export function createExpire(context: Context): Duty {
  const s = context.schema;
  const allText = statement(
    s,
    (clock) => `from ${s}.pending p
      cross join lateral (select * from ${s}.lanes l where l.tenant_id = p.tenant_id and l.lane_id = p.lane_id limit 1) l
      where p.${clock} <= ${NOW} and p.lane_id <> all ($2::bigint[])`,
  );
  const namedText = statement(
    s,
    (clock) => `from ${rows(2, { tenant_id: 'int', lane_id: 'bigint' })}
      cross join lateral (select * from ${s}.lanes l where l.tenant_id = i.tenant_id and l.lane_id = i.lane_id limit 1) l
      cross join lateral (select * from ${s}.pending p where ${ofLane(s, 'p', 'l')} offset 0) p
      where p.${clock} <= ${NOW}`,
  );
  const transitions = endedPending();
  const all = context.effects.carry({ name: 'muster_expire', text: () => allText, transitions });
  const named = context.effects.carry({ name: 'muster_expire_in', text: () => namedText, transitions });
  return {
    name: 'expire',
    everyMs: 1_000,
    byIndex: true,
    due: `${hasCome(`${s}.pending`, 'deliver_by')} or ${hasCome(`${s}.pending`, 'deadline')}`,
    whose: `select distinct p.tenant_id from ${s}.pending p where p.deliver_by <= ${NOW} or p.deadline <= ${NOW}`,
    async runOnce(client, on = {}) {
      const { lanes, except } = on;
      const { rows: met, told } = lanes
        ? await named(client, channelsFor(on), [
            context.now(),
            lanes.map(({ tenantId }) => tenantId),
            laneIds(lanes),
          ])
        : await all(client, channelsFor(on), [context.now(), laneIds(except) ?? []]);
      const ended = met.filter((row) => row.state !== null) as EndedRow[];
      return {
        ...dutyRun(ended.length, MOST, {
          transitions: ended.map((row) => endedTransition(row)),
          wakes: ended.map(endedWake),
          told,
        }),
        more: met.length >= MOST,
      };
    },
  };
}

const statement = (s: string, from: (clock: 'deliver_by' | 'deadline') => string) => `
  with due as materialized (
    (${firstToLock(s, over(from, 'deliver_by', 'true', { state: 'expired', type: EVENT_TYPES.EXPIRED, why: 'DELIVER_BY' }), MOST)})
    union all
    (${firstToLock(
      s,
      over(
        from,
        'deadline',
        `l.action_id is distinct from p.action_id and not (p.attempt = 0 and p.deliver_by is not null and p.deliver_by <= ${NOW})`,
        { state: 'failed', type: EVENT_TYPES.FAILED_FINAL, why: 'DEADLINE' },
      ),
      MOST,
    )})
  ), x as materialized (
    select row_number() over () as ord, due.* from due where not due.is_over
  ), t as (
    -- under the lane lock; nothing else that reads this row goes by this clock
    update ${s}.pending p set deliver_by = null from (select * from due where due.is_over) due
    where ${hasKeyOf('p', 'due', 'action_id')}
  ), ${endPending(s)}
  union all
  select 0, due.tenant_id, due.lane_id, null, due.action_id, due.attempt, due.channel, null, null, null, null from due where due.is_over`;

/** `is_over`: it was handed out, so this clock no longer counts. */
const over = (
  from: (clock: 'deliver_by' | 'deadline') => string,
  clock: 'deliver_by' | 'deadline',
  when: string,
  end: { state: string; type: number; why: string },
) => `
      select p.tenant_id, p.lane_id, l.ver, l.runner_id, p.action_id, p.attempt, p.channel, '${end.state}' as state, ${end.type} as type,
        '${end.why}' as why, '${end.why}' as note, null::text as worker, null::jsonb as result,
        ${clock === 'deliver_by' ? 'p.attempt > 0 or l.action_id is not distinct from p.action_id' : 'false'} as is_over
      ${from(clock)} and ${when} order by p.${clock}`;
