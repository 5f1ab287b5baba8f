import type { ActionState, EventType, FinalState } from './action.ts';
import { eventName } from './action.ts';
import { ANSWER } from './effects.ts';
import { hasKeyOf, lockWaiting, NOW, raiseLanes } from './sql.ts';
import type { Transition, Wake } from './transition.ts';

/**
 * Ends actions that are not held: cancelled, expired, past their deadline, of an old generation, or succeeded late. A
 * claim may want the same row at the same moment; the lane's version decides which of the two happens.
 *
 * The source `x` has: ord, tenant_id, lane_id, ver (of the lane, as read), runner_id, action_id, attempt, channel,
 * state, type (of the event), why (the ending's reason), note (the event's reason), worker, result.
 */
export const endPending = (s: string) => `k as materialized (${lockWaiting(s, 'x')}
  ), u as (${raiseLanes(s, 'k')}
  ), d as (
    delete from ${s}.pending p using k where ${hasKeyOf('p', 'k', 'action_id')}
  ), z as (
    insert into ${s}.endings (tenant_id, action_id, state, attempt, reason, result, ended_at)
      select k.tenant_id, k.action_id, k.state, k.attempt, k.why, k.result, ${NOW} from k
  ), e as (
    insert into ${s}.events (tenant_id, action_id, lane_id, at, type, attempt, worker, reason)
      select k.tenant_id, k.action_id, k.lane_id, ${NOW}, k.type, k.attempt, k.worker, k.note from k
  ), c as (
    insert into ${s}.count_changes (tenant_id, channel, state, change)
      select k.tenant_id, k.channel, 'pending', -count(*) from k group by 1, 2
      union all select k.tenant_id, k.channel, k.state, count(*) from k group by 1, 2, 3
  )
  ${ANSWER}
  select k.ord::int, k.tenant_id, k.lane_id, k.runner_id, k.action_id, k.attempt, k.channel, k.state, k.type, k.why, ${NOW} as at
  from k`;

/** The transitions it reports to effects. */
export const endedPending = (before: ActionState = 'pending') => `
  select tenant_id, lane_id, action_id, channel, array[type::int], '${before}', state, attempt, why, at from answer where state is not null`;

/** The ended actions; a missing row lost its lane to another transaction. */
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
  at: Date;
}

export function endedTransition(row: EndedRow, before: ActionState = 'pending'): Transition {
  const event: EventType = eventName(row.type);
  return {
    tenantId: row.tenant_id,
    laneId: row.lane_id,
    actionId: row.action_id,
    channel: row.channel,
    events: [event],
    before,
    state: row.state,
    attempt: row.attempt,
    reason: row.why,
    at: row.at,
  };
}

/** An action behind it may now be at the head. */
export function endedWake(row: EndedRow): Wake {
  return { tenantId: row.tenant_id, laneId: row.lane_id, runnerId: row.runner_id };
}
