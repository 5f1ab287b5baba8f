import type { Facts } from './effects.ts';
import type { Transition } from './transition.ts';

/** An action as it is handed out. */
export interface ClaimedAction {
  readonly id: string;
  readonly tenantId: number;
  readonly laneId: string;
  readonly channel: string;
  readonly kind: string;
  readonly payload: unknown;
  readonly tags: readonly string[];
  readonly priority: 'urgent' | 'normal';
  /** The fence: a report must name it. */
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly worker: string;
  readonly leasedAt: Date;
  readonly leaseUntil: Date;
  readonly createdAt: Date;
  readonly createdBy: string | null;
  /** True if this attempt was handed out before; its lease was not extended. */
  readonly redelivered: boolean;
  /** True if an operator cancelled it; a report still counts. */
  readonly cancelRequested: boolean;
  /** Facts that effects of the hand-out returned. */
  readonly facts?: Facts;
}

/** The columns of action `a` that a hand-out returns. */
export const ACTION_COLUMNS =
  'a.channel, a.kind, a.payload, a.tags, a.priority, a.max_attempts, a.created_at, a.created_by';

/** The columns of the hand-out in `answer` that the request itself does not contain. */
export const TOLD_OF_HAND_OUT = `answer.lane_id, answer.runner_id, answer.action_id, answer.attempt, answer.lease_until, answer.ends,
    answer.channel, answer.kind, answer.payload, answer.tags, answer.priority, answer.max_attempts, answer.created_at, answer.created_by`;

/** For a lane row `u` joined with the action `a` that it is leased for. */
export const CLAIMED_COLUMNS = `u.action_id, u.attempt, u.leased_at, u.lease_until, u.worker, u.cancel_requested, ${ACTION_COLUMNS}`;

export interface ClaimedRow {
  tenant_id: number;
  lane_id: string;
  action_id: string;
  attempt: number;
  leased_at: Date;
  lease_until: Date;
  worker: string;
  cancel_requested: boolean;
  channel: string;
  kind: string;
  payload: unknown;
  tags: string[] | null;
  priority: number;
  max_attempts: number;
  created_at: Date;
  created_by: string | null;
}

export function claimedAction(row: ClaimedRow, facts?: Facts, redelivered = false): ClaimedAction {
  return {
    id: row.action_id,
    tenantId: row.tenant_id,
    laneId: row.lane_id,
    channel: row.channel,
    kind: row.kind,
    payload: row.payload,
    tags: row.tags ?? [],
    priority: priorityName(row.priority),
    attempt: row.attempt,
    maxAttempts: row.max_attempts,
    worker: row.worker,
    leasedAt: row.leased_at,
    leaseUntil: row.lease_until,
    createdAt: row.created_at,
    createdBy: row.created_by,
    redelivered,
    cancelRequested: row.cancel_requested,
    ...(facts ? { facts } : {}),
  };
}

export function priorityName(priority: number): 'urgent' | 'normal' {
  return priority === 0 ? 'urgent' : 'normal';
}

const EVENTS = { SENT: ['SENT'], REDELIVERED: ['REDELIVERED'] } as const;

export function sent(row: ClaimedRow, event: 'SENT' | 'REDELIVERED' = 'SENT'): Transition {
  return {
    tenantId: row.tenant_id,
    laneId: row.lane_id,
    actionId: row.action_id,
    channel: row.channel,
    events: EVENTS[event],
    before: event === 'SENT' ? 'pending' : 'claimed',
    state: 'claimed',
    attempt: row.attempt,
    reason: null,
    at: row.leased_at,
  };
}
