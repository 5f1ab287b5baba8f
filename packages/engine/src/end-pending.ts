import type { EventType, FinalState } from './action.ts';
import { eventName } from './action.ts';
import type { Transition, Wake } from './context.ts';
import { NOW } from './sql.ts';

/**
 * The end of actions that nobody holds: cancelled, expired, past their deadline, of an old generation, or succeeded
 * late. A claim may want the same row at the same moment: the lane's version decides which of the two happens.
 *
 * The source `x` has: ord, tenant_id, lane_id, ver (of the lane, as read), runner_id, action_id, attempt, channel, state,
 * type (of the event), why (the ending's reason), note (the event's reason), worker, result.
 */
export const endPending = (s: string) => `k as materialized (
    select l.tenant_id, l.lane_id from (select distinct x.tenant_id, x.lane_id, x.ver from x) x
    join ${s}.lanes l on l.tenant_id = x.tenant_id and l.lane_id = x.lane_id and l.ver = x.ver
    order by l.tenant_id, l.lane_id
    for update of l skip locked
  ), u as (
    update ${s}.lanes l set ver = l.ver + 1 from k where l.tenant_id = k.tenant_id and l.lane_id = k.lane_id
  ), d as (
    delete from ${s}.pending p using x join k on k.tenant_id = x.tenant_id and k.lane_id = x.lane_id
    where p.tenant_id = x.tenant_id and p.action_id = x.action_id
    returning x.*
  ), z as (
    insert into ${s}.endings (tenant_id, action_id, state, attempt, reason, result, ended_at)
      select d.tenant_id, d.action_id, d.state, d.attempt, d.why, d.result, ${NOW} from d
  ), e as (
    insert into ${s}.events (tenant_id, action_id, lane_id, at, type, attempt, worker, reason)
      select d.tenant_id, d.action_id, d.lane_id, ${NOW}, d.type, d.attempt, d.worker, d.note from d order by d.ord
  ), c as (
    insert into ${s}.count_changes (tenant_id, channel, state, change)
      select d.tenant_id, d.channel, y.state, sum(y.change) from d
      cross join lateral (values ('pending', -1), (d.state, 1)) y(state, change)
      group by 1, 2, 3
  )
  select x.ord::int, x.tenant_id, x.lane_id, x.runner_id, x.action_id, x.attempt, x.channel, x.state, x.type, x.why,
    d.ord is not null as ended, ${NOW} as at
  from x left join d on d.ord = x.ord`;

export interface EndedRow {
  ord: number;
  tenant_id: number;
  lane_id: string;
  runner_id: string | null;
  action_id: string;
  attempt: number;
  channel: string;
  state: FinalState;
  type: number;
  why: string;
  /** False: the lane changed meanwhile or is locked. */
  ended: boolean;
  at: Date;
}

export function endedTransition(row: EndedRow): Transition {
  const event: EventType = eventName(row.type);
  return {
    tenantId: row.tenant_id,
    laneId: row.lane_id,
    actionId: row.action_id,
    channel: row.channel,
    events: [event],
    state: row.state,
    attempt: row.attempt,
    reason: row.why,
    at: row.at,
  };
}

/** What was behind it may be at the head now. */
export function endedWake(row: EndedRow): Wake {
  return { tenantId: row.tenant_id, laneId: row.lane_id, runnerId: row.runner_id };
}
