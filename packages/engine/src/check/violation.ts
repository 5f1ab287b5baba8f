/**
 * What cannot have happened if the promises hold, each with the number of the promise in docs/guarantees.md that it
 * breaks.
 */
export const PROMISE_OF = {
  'two-leases': 'G11', // of one lane at once
  'too-many-leases': 'G31', // of one runner at once
  order: 'G10',
  'handed-out-after-end': 'G2',
  'attempt-reused': 'G3',
  'attempt-ended-twice': 'G15',
  fence: 'G15', // an attempt was ended that was not running
  'impossible-history': 'G1',
  'state-differs': 'G1', // events and tables disagree
  'counts-differ': 'G45',
  'feed-order': 'G43', // the feed shows events of an action in another order than its history
  'wrong-generation': 'G29',
  policy: 'G7', // a lease end that does not mean what the action says
  'lease-cut-short': 'G7',
  'unwatched-lease': 'G7', // nobody would end it
  'dropped-success': 'G18', // a late one that was to be accepted
  lost: 'G54', // acknowledged, and no trace of it
} as const satisfies Record<string, `G${number}`>;

export type ViolationKind = keyof typeof PROMISE_OF;

export interface Violation {
  readonly kind: ViolationKind;
  readonly promise: string;
  /** The action whose history shows it; null for something that is not about one action. */
  readonly actionId: string | null;
  readonly text: string;
}

export function violation(kind: ViolationKind, actionId: string | null, text: string): Violation {
  return { kind, promise: PROMISE_OF[kind], actionId, text };
}
