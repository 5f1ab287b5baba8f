/**
 * The life of an action as one typed table. Every state must say what each event means there, or the code does not
 * compile; `null` marks an event that cannot happen in that state. Replaying an action's events gives its state.
 */

/** These numbers are stored and never change their meaning. */
export const EVENT_TYPES = {
  CREATED: 1,
  SENT: 2,
  REDELIVERED: 3,
  ACKED: 4,
  EXTENDED: 5,
  SUCCEEDED: 6,
  FAILED: 7,
  TIMEOUT: 8,
  RETRY_SCHEDULED: 9,
  FAILED_FINAL: 10,
  NOT_NOW: 11,
  RELEASED: 12,
  LATE: 13,
  SUPERSEDED: 14,
  CANCEL_REQUESTED: 15,
  CANCELLED: 16,
  EXPIRED: 17,
  REDRIVEN: 18,
  MOVED: 19,
  NOTED: 20, // written by a door about its own matters; not part of any action's life
  MADE_DUE: 21,
} as const;

export type EventType = keyof typeof EVENT_TYPES;
export type ActionState = 'pending' | 'claimed' | FinalState;
export type FinalState = 'succeeded' | 'failed' | 'cancelled' | 'expired';
export const FINAL_STATES: readonly FinalState[] = ['succeeded', 'failed', 'cancelled', 'expired'];

const EVENT_NAMES = new Map(
  Object.entries(EVENT_TYPES).map(([name, number]) => [number as number, name as EventType]),
);

export function eventName(type: number): EventType {
  const name = EVENT_NAMES.get(type);
  if (!name) throw new Error(`Unknown event type ${type}.`);
  return name;
}

type Next = ActionState | null;

const NOTHING_FOLLOWS = {
  CREATED: null,
  SENT: null,
  REDELIVERED: null,
  ACKED: null,
  EXTENDED: null,
  SUCCEEDED: null,
  FAILED: null,
  TIMEOUT: null,
  RETRY_SCHEDULED: null,
  FAILED_FINAL: null,
  NOT_NOW: null,
  RELEASED: null,
  SUPERSEDED: null,
  CANCEL_REQUESTED: null,
  CANCELLED: null,
  EXPIRED: null,
  REDRIVEN: null,
  MOVED: null,
  NOTED: null,
  MADE_DUE: null,
} as const;

export const TRANSITIONS: Record<ActionState | 'none', Record<EventType, Next>> = {
  none: { ...NOTHING_FOLLOWS, CREATED: 'pending', LATE: null },
  pending: {
    CREATED: null,
    SENT: 'claimed',
    REDELIVERED: null,
    ACKED: null,
    EXTENDED: null,
    SUCCEEDED: 'succeeded', // a late success, or a lease end whose policy is success
    FAILED: null,
    TIMEOUT: null,
    RETRY_SCHEDULED: 'pending',
    FAILED_FINAL: 'failed',
    NOT_NOW: null,
    RELEASED: null,
    LATE: 'pending',
    SUPERSEDED: 'cancelled',
    CANCEL_REQUESTED: null,
    CANCELLED: 'cancelled',
    EXPIRED: 'expired',
    REDRIVEN: null,
    MOVED: 'pending',
    NOTED: null,
    MADE_DUE: 'pending',
  },
  claimed: {
    CREATED: null,
    SENT: null,
    REDELIVERED: 'claimed',
    ACKED: 'claimed',
    EXTENDED: 'claimed',
    SUCCEEDED: 'succeeded',
    FAILED: 'pending', // what follows in the same transaction: RETRY_SCHEDULED, FAILED_FINAL or CANCELLED
    TIMEOUT: 'pending', // likewise, or SUCCEEDED
    RETRY_SCHEDULED: null,
    FAILED_FINAL: null,
    NOT_NOW: 'pending',
    RELEASED: 'pending',
    LATE: 'claimed',
    SUPERSEDED: null,
    CANCEL_REQUESTED: 'claimed',
    CANCELLED: 'cancelled',
    EXPIRED: null,
    REDRIVEN: null,
    MOVED: null,
    NOTED: null,
    MADE_DUE: null,
  },
  succeeded: { ...NOTHING_FOLLOWS, LATE: 'succeeded' },
  failed: { ...NOTHING_FOLLOWS, LATE: 'failed', REDRIVEN: 'pending', SUCCEEDED: 'succeeded' },
  cancelled: { ...NOTHING_FOLLOWS, LATE: 'cancelled' },
  expired: { ...NOTHING_FOLLOWS, LATE: 'expired' },
};

/** The state that a history leads to. Throws if the history is impossible. */
export function replay(events: readonly { readonly type: EventType }[]): ActionState {
  let state: ActionState | 'none' = 'none';
  for (const { type } of events) {
    const next: Next = TRANSITIONS[state][type];
    if (next === null) throw new Error(`The event ${type} cannot follow in state ${state}.`);
    state = next;
  }
  if (state === 'none') throw new Error('An action without events has no state.');
  return state;
}
