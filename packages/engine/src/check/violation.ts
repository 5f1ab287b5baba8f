/**
 * Everything that is impossible if the promises hold, each with the number of the broken promise in
 * docs/guarantees.md.
 */
export const PROMISE_OF = {
  'two-leases': 'G11', // of one lane at the same time
  'too-many-leases': 'G31', // of one runner at the same time
  order: 'G10',
  'handed-out-after-end': 'G2',
  'attempt-reused': 'G3',
  'attempt-ended-twice': 'G15',
  fence: 'G15', // an attempt ended that was not running
  'impossible-history': 'G1',
  'state-differs': 'G1', // events and tables disagree
  'counts-differ': 'G45',
  'feed-order': 'G43', // the feed shows an action's events in another order than its history
  'wrong-generation': 'G29',
  policy: 'G7', // a lease end that contradicts the action's policy
  'lease-cut-short': 'G7',
  'unwatched-lease': 'G7', // it would never end
  'dropped-success': 'G18', // a late success that should have been accepted
  lost: 'G54', // acknowledged, but it left no trace
} as const satisfies Record<string, `G${number}`>;

export type ViolationKind = keyof typeof PROMISE_OF;

export interface Violation {
  readonly kind: ViolationKind;
  readonly promise: string;
  /** The action whose history shows it; null if it is not about one action. */
  readonly actionId: string | null;
  readonly text: string;
}

export function violation(kind: ViolationKind, actionId: string | null, text: string): Violation {
  return { kind, promise: PROMISE_OF[kind], actionId, text };
}
