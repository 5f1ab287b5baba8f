import type { EventType } from '../action.ts';
import { type ClaimedAction, claimedAction } from '../claimed-action.ts';
import type { Facts } from '../effects.ts';
import { type HandedOutRow, handedOutTransitions } from '../hand-out.ts';
import type { Transition, Wake } from '../transition.ts';

export type Outcome = 'succeeded' | 'failed' | 'timeout' | 'not_now' | 'released' | 'unreached' | 'revoked';

/** A row of the statement in `settle.ts`. */
export interface SettledRow extends HandedOutRow {
  ord: number;
  ended_action: string;
  ended_attempt: number;
  ended_channel: string;
  ended_state: 'succeeded' | 'failed' | 'cancelled' | null;
  outcome: Outcome;
  why: string | null;
  error: string | null;
  lease_runner: string | null;
  /** The lane it returns to, if it does. */
  home_lane: string | null;
  at: Date;
}

export function nextOf(row: SettledRow, facts?: Facts): ClaimedAction | null {
  return row.action_id ? claimedAction(row, facts) : null;
}

const FIRST: Record<Outcome, EventType | null> = {
  succeeded: 'SUCCEEDED',
  failed: 'FAILED',
  timeout: 'TIMEOUT',
  not_now: 'NOT_NOW',
  released: 'RELEASED',
  unreached: 'RELEASED',
  revoked: null,
};

const JUST_SUCCEEDED: readonly EventType[] = ['SUCCEEDED'];

/** The events that the statement wrote, in the same order. */
function eventsOf(row: SettledRow): readonly EventType[] {
  if (row.outcome === 'succeeded') return JUST_SUCCEEDED;
  const first = FIRST[row.outcome];
  const events: EventType[] = first ? [first] : [];
  if (row.ended_state === 'failed') events.push('FAILED_FINAL');
  else if (row.ended_state === 'cancelled') events.push('CANCELLED');
  else if (row.ended_state === 'succeeded') events.push('SUCCEEDED');
  else if (first !== 'RELEASED') events.push('RETRY_SCHEDULED');
  return events;
}

export function transitionsOf(row: SettledRow): Transition[] {
  const ended: Transition = {
    tenantId: row.tenant_id,
    laneId: row.lane_id,
    actionId: row.ended_action,
    channel: row.ended_channel,
    events: eventsOf(row),
    before: 'claimed',
    state: row.ended_state ?? 'pending',
    attempt: row.ended_attempt,
    reason: row.error ?? row.why,
    at: row.at,
  };
  return row.action_id ? [ended, ...handedOutTransitions(row)] : [ended];
}

/** Unless it was handed out again, the lane is free for what waits behind, and so is a slot (before and after a move). */
export function wakesOf(row: SettledRow): Wake[] {
  const wakes: Wake[] =
    row.action_id && !row.ends
      ? []
      : [{ tenantId: row.tenant_id, laneId: row.lane_id, runnerId: row.runner_id }];
  if (row.lease_runner && row.lease_runner !== row.runner_id)
    wakes.push({ tenantId: row.tenant_id, runnerId: row.lease_runner });
  if (row.home_lane && row.home_lane !== row.lane_id && row.ended_state === null)
    wakes.push({ tenantId: row.tenant_id, laneId: row.home_lane, fills: true });
  // its target was replaced
  if (row.lease_runner && row.outcome === 'revoked')
    wakes.push({ tenantId: row.tenant_id, runnerId: row.lease_runner, stops: true });
  return wakes;
}
