import { type ActionState, type EventType, TRANSITIONS } from '../action.ts';
import { type Violation, type ViolationKind, violation } from './violation.ts';

/** An action as stored in the tables. */
export interface CheckedAction {
  readonly id: string;
  readonly deadline: Date | null;
  readonly onLeaseEnd: 'retry' | 'fail' | 'succeed';
  readonly pending: boolean;
  readonly leasedAttempt: number | null;
  readonly ended: ActionState | null;
}

export interface CheckedEvent {
  readonly id: bigint;
  readonly actionId: string;
  readonly laneId: string;
  readonly type: EventType;
  readonly attempt: number;
  readonly at: Date;
  readonly reason: string | null;
}

/** From one event's number to another's; null: it has not ended. */
export interface CheckedLease {
  readonly actionId: string;
  /** The lane that was leased; for an action taken from a pool, the worker's lane. */
  readonly laneId: string;
  readonly attempt: number;
  readonly from: bigint;
  readonly to: bigint | null;
}

const ENDS_ATTEMPT: ReadonlySet<EventType> = new Set<EventType>([
  'SUCCEEDED',
  'FAILED',
  'TIMEOUT',
  'NOT_NOW',
  'RELEASED',
]);
const FINAL: ReadonlySet<string> = new Set(['succeeded', 'failed', 'cancelled', 'expired']);

/**
 * Checks the life of one action: its events must follow the table of transitions, its attempts must grow and end
 * once, and its final state must match the tables. Returns the violations and the leases.
 */
export function checkLife(
  action: CheckedAction,
  events: readonly CheckedEvent[],
): { violations: Violation[]; leases: CheckedLease[] } {
  const violations: Violation[] = [];
  const bad = (kind: ViolationKind, event: CheckedEvent, why: string) =>
    void violations.push(atEvent(kind, event, why));
  const leases: CheckedLease[] = [];
  let running: { attempt: number; from: bigint; laneId: string }[] = [];
  let state = 'none' as ActionState | 'none';
  let attempt = 0;
  const ended = new Set<number>();
  const leftOpen = new Set<number>();
  const cancelAsked = new Set<number>();
  // LATE takes no lock, so its number may fall between two numbers of one statement
  const told = events.filter(({ type }) => type !== 'LATE');
  let n = -1;
  for (const event of events) {
    if (event.type !== 'LATE') n += 1;
    if (event.type === 'SENT') {
      if (FINAL.has(state)) bad('handed-out-after-end', event, `it was ${state}`);
      if (event.attempt <= attempt) bad('attempt-reused', event, `after attempt ${attempt}`);
      attempt = event.attempt;
      running.push({ attempt, from: event.id, laneId: event.laneId });
    }
    if (event.type === 'LATE' && event.reason === 'SUCCEEDED' && state === 'pending')
      if (event.attempt === attempt && leftOpen.has(attempt))
        bad('dropped-success', event, 'no other worker had it');
    if (event.type === 'TIMEOUT' || event.type === 'RELEASED') leftOpen.add(event.attempt);
    if (event.type === 'CANCEL_REQUESTED') cancelAsked.add(event.attempt);
    if (ENDS_ATTEMPT.has(event.type)) {
      const late = event.type === 'SUCCEEDED' && (event.reason === 'LATE' || told[n - 1]?.type === 'TIMEOUT');
      if (ended.has(event.attempt) && !late) bad('attempt-ended-twice', event, 'by an earlier event');
      ended.add(event.attempt);
    }
    if (running.length > 0 && (ENDS_ATTEMPT.has(event.type) || event.type === 'CANCELLED')) {
      if (running.at(-1)?.attempt !== event.attempt)
        bad('fence', event, `attempt ${running.at(-1)?.attempt} was running`);
      leases.push(...running.map((one) => ({ ...one, actionId: action.id, to: event.id })));
      running = [];
    }
    if (event.type === 'TIMEOUT' && !cancelAsked.has(event.attempt))
      violations.push(...policy(action, event, told[n + 1]));
    const next: ActionState | null = TRANSITIONS[state][event.type];
    if (next === null) bad('impossible-history', event, `in state ${state}`);
    else state = next;
  }
  leases.push(...running.map((one) => ({ ...one, actionId: action.id, to: null })));
  const inTables = action.ended ?? (action.leasedAttempt !== null ? 'claimed' : 'pending');
  const twoPlaces =
    action.pending === (action.ended !== null) || (action.ended && action.leasedAttempt !== null);
  if (state !== inTables || twoPlaces)
    violations.push(
      violation(
        'state-differs',
        action.id,
        `action ${action.id} is ${state} by its events, ${inTables} and ${action.pending ? '' : 'not '}pending in the tables`,
      ),
    );
  return { violations, leases };
}

function policy(action: CheckedAction, event: CheckedEvent, next: CheckedEvent | undefined): Violation[] {
  const over = action.deadline !== null && action.deadline <= event.at;
  const right: readonly EventType[] = over ? ['FAILED_FINAL'] : AFTER_A_LEASE_END[action.onLeaseEnd];
  return next && right.includes(next.type)
    ? []
    : [atEvent('policy', event, `${action.onLeaseEnd}, then ${next?.type}`)];
}

const AFTER_A_LEASE_END: Record<CheckedAction['onLeaseEnd'], readonly EventType[]> = {
  retry: ['RETRY_SCHEDULED', 'FAILED_FINAL'],
  fail: ['FAILED_FINAL'],
  succeed: ['SUCCEEDED'],
};

/** In each lane a lease must have ended before the next began. Leases may be given in any order. */
export function checkLeases(leases: readonly CheckedLease[]): Violation[] {
  const last = new Map<string, CheckedLease>();
  return [...leases].sort(byBeginning).flatMap((lease): Violation[] => {
    const { laneId } = lease;
    const before = last.get(laneId);
    last.set(laneId, lease);
    if (!before || (before.to !== null && before.to < lease.from)) return [];
    return [
      violation(
        'two-leases',
        lease.actionId,
        `event ${lease.from}: SENT of attempt ${lease.attempt} of action ${lease.actionId}: ` +
          `lane ${laneId} still had attempt ${before.attempt} of action ${before.actionId}`,
      ),
    ];
  });
}

const byBeginning = (a: CheckedLease, b: CheckedLease) => (a.from < b.from ? -1 : 1);

export function atEvent(kind: ViolationKind, event: CheckedEvent, why: string): Violation {
  return violation(
    kind,
    event.actionId,
    `event ${event.id}: ${event.type} of attempt ${event.attempt} of action ${event.actionId}: ${why}`,
  );
}
