import { type ActionState, type EventType, TRANSITIONS } from '../src/index.ts';
import { type CallLog, createCallLog } from './call-log.ts';
import type { History, HistoryAction, HistoryEvent } from './history.ts';

/**
 * Reads a whole history, and what callers were told, and says what cannot have happened if the promises hold. Needs no
 * engine: events, tables and the log of calls are enough.
 */
export type ViolationKind =
  | 'two-leases' // of one lane at once
  | 'too-many-leases' // of one runner at once
  | 'order'
  | 'handed-out-after-end'
  | 'attempt-reused'
  | 'attempt-ended-twice'
  | 'fence' // an attempt was ended that was not running
  | 'impossible-history'
  | 'state-differs' // events and tables disagree
  | 'counts-differ'
  | 'wrong-generation'
  | 'policy' // a lease end that does not mean what the action says
  | 'lease-cut-short'
  | 'dropped-success' // a late one that was to be accepted
  | 'lost'; // acknowledged, and no trace of it

export interface Violation {
  readonly kind: ViolationKind;
  readonly text: string;
}

const ENDS_ATTEMPT: ReadonlySet<EventType> = new Set([
  'SUCCEEDED',
  'FAILED',
  'TIMEOUT',
  'NOT_NOW',
  'RELEASED',
]);
const LEAVES_THE_LINE: ReadonlySet<EventType> = new Set([
  ...['SENT', 'CANCELLED', 'SUPERSEDED', 'EXPIRED', 'FAILED_FINAL', 'SUCCEEDED'],
] as EventType[]);
const FINAL: ReadonlySet<string> = new Set(['succeeded', 'failed', 'cancelled', 'expired']);

export function checkHistory(history: History, log: CallLog = createCallLog()): Violation[] {
  const byAction = groupBy(history.events, (event) => event.actionId);
  return [
    ...leases(history, log),
    ...[...history.actions.values()].flatMap((action) => ofAction(action, byAction.get(action.id) ?? [])),
    ...lanes(history),
    ...generations(history, log),
    ...counts(history),
    ...acknowledged(byAction, log),
    ...order(history, byAction, log),
  ];
}

/** Who held what when, from hand-out to end. */
function leases(history: History, log: CallLog): Violation[] {
  const found: Violation[] = [];
  const ofLane = new Map<string, HistoryEvent>();
  const ofWorker = new Map<string, number>();
  const count = (worker: string | null, by: number) => {
    if (worker === null) return 0;
    ofWorker.set(worker, (ofWorker.get(worker) ?? 0) + by);
    return ofWorker.get(worker) ?? 0;
  };
  for (const event of history.events) {
    const open = ofLane.get(event.laneId);
    if (event.type === 'SENT') {
      if (open)
        found.push(bad('two-leases', event, `lane ${event.laneId} still had action ${open.actionId}`));
      ofLane.set(event.laneId, event);
      const held = count(event.worker, 1);
      const slots = log.slots.get(event.worker ?? '');
      if (slots !== undefined && held > slots)
        found.push(bad('too-many-leases', event, `${event.worker} held ${held} with ${slots} slots`));
    } else if (
      open?.actionId === event.actionId &&
      (ENDS_ATTEMPT.has(event.type) || event.type === 'CANCELLED')
    ) {
      if (open.attempt !== event.attempt)
        found.push(bad('fence', event, `attempt ${open.attempt} was running`));
      ofLane.delete(event.laneId);
      count(open.worker, -1);
    }
  }
  for (const runner of history.runners)
    if (runner.slots !== null && runner.running > runner.slots)
      found.push({
        kind: 'too-many-leases',
        text: `runner ${runner.id}: ${runner.running} of ${runner.slots}`,
      });
  return found;
}

/** The life of one action: along the table, with attempts that grow and end once, to the state that the tables have. */
function ofAction(action: HistoryAction, events: readonly HistoryEvent[]): Violation[] {
  const found: Violation[] = [];
  let state = 'none' as ActionState | 'none';
  let attempt = 0;
  const ended = new Set<number>();
  const open = new Set<number>();
  const cancelAsked = new Set<number>();
  events.forEach((event, n) => {
    if (event.type === 'SENT') {
      if (FINAL.has(state)) found.push(bad('handed-out-after-end', event, `it was ${state}`));
      if (event.attempt <= attempt) found.push(bad('attempt-reused', event, `after attempt ${attempt}`));
      attempt = event.attempt;
    }
    if (
      event.type === 'LATE' &&
      event.reason === 'succeeded' &&
      state === 'pending' &&
      event.attempt === attempt &&
      open.has(attempt)
    )
      found.push(bad('dropped-success', event, 'nobody else had it'));
    if (event.type === 'TIMEOUT' || event.type === 'RELEASED') open.add(event.attempt);
    if (event.type === 'CANCEL_REQUESTED') cancelAsked.add(event.attempt);
    if (ENDS_ATTEMPT.has(event.type)) {
      const late =
        event.type === 'SUCCEEDED' && (event.reason === 'LATE' || events[n - 1]?.type === 'TIMEOUT');
      if (ended.has(event.attempt) && !late) found.push(bad('attempt-ended-twice', event, ''));
      ended.add(event.attempt);
    }
    if (event.type === 'TIMEOUT' && !cancelAsked.has(event.attempt))
      found.push(...policy(action, event, events[n + 1]));
    const next: ActionState | null = TRANSITIONS[state][event.type];
    if (next === null) found.push(bad('impossible-history', event, `in state ${state}`));
    else state = next;
  });
  const inTables = action.ended ?? (action.leasedAttempt !== null ? 'claimed' : 'pending');
  if (
    state !== inTables ||
    action.pending === (action.ended !== null) ||
    (action.ended && action.leasedAttempt !== null)
  )
    found.push({
      kind: 'state-differs',
      text: `action ${action.id} is ${state} by its events, ${inTables} and ${action.pending ? '' : 'not '}pending in the tables`,
    });
  return found;
}

function policy(action: HistoryAction, event: HistoryEvent, next: HistoryEvent | undefined): Violation[] {
  const over = action.deadline !== null && action.deadline <= event.at;
  const right: EventType[] = over
    ? ['FAILED_FINAL']
    : {
        retry: ['RETRY_SCHEDULED', 'FAILED_FINAL'] as const,
        fail: ['FAILED_FINAL'] as const,
        succeed: ['SUCCEEDED'] as const,
      }[action.onLeaseEnd].slice();
  return next && right.includes(next.type)
    ? []
    : [bad('policy', event, `${action.onLeaseEnd}, then ${next?.type}`)];
}

function lanes(history: History): Violation[] {
  return history.lanes.flatMap((lane): Violation[] => {
    const of = [...history.actions.values()].filter((action) => action.laneId === lane.id && action.pending);
    const old = of.filter((action) => action.generation !== lane.generation);
    return old.map((action) => ({
      kind: 'wrong-generation',
      text: `action ${action.id} of generation ${action.generation} is ${action.leasedAttempt === null ? 'left' : 'running'} in lane ${lane.id} of generation ${lane.generation}`,
    }));
  });
}

/** Enqueued under an old generation, handed out under a new one. */
function generations(history: History, log: CallLog): Violation[] {
  const enqueued = new Map(log.enqueued.map((call) => [call.id, call]));
  return log.claimed.flatMap((claim): Violation[] => {
    const answered = enqueued.get(claim.id)?.answered ?? Number.POSITIVE_INFINITY;
    const laneId = history.actions.get(claim.id)?.laneId;
    const between = log.raised.some(
      (raise) => raise.laneId === laneId && answered < raise.begun && raise.ended < claim.begun,
    );
    return between
      ? [
          {
            kind: 'wrong-generation',
            text: `action ${claim.id} was handed out after the generation was raised`,
          },
        ]
      : [];
  });
}

function counts(history: History): Violation[] {
  const recount = new Map<string, number>();
  for (const action of history.actions.values()) {
    const word = `${action.channel} ${action.ended ?? (action.leasedAttempt !== null ? 'claimed' : 'pending')}`;
    recount.set(word, (recount.get(word) ?? 0) + 1);
  }
  return [...new Set([...recount.keys(), ...history.counts.keys()])].flatMap((word): Violation[] => {
    const [kept, real] = [history.counts.get(word) ?? 0, recount.get(word) ?? 0];
    return kept === real
      ? []
      : [{ kind: 'counts-differ', text: `${word}: ${kept}, a recount gives ${real}` }];
  });
}

/** What somebody was told has left its trace, and stayed true. */
function acknowledged(byAction: ReadonlyMap<string, readonly HistoryEvent[]>, log: CallLog): Violation[] {
  const found: Violation[] = [];
  const has = (id: string, type: string, attempt?: number) =>
    (byAction.get(id) ?? []).some(
      (event) => event.type === type && (attempt === undefined || event.attempt === attempt),
    );
  const lost = (what: string) => found.push({ kind: 'lost', text: what });
  for (const { id } of log.enqueued) if (!has(id, 'CREATED')) lost(`action ${id} was acknowledged`);
  for (const { id, attempt } of log.claimed)
    if (!has(id, 'SENT', attempt)) lost(`attempt ${attempt} of ${id} was handed out`);
  for (const { id, attempt, event } of log.reported)
    if (!has(id, event, attempt)) lost(`${event} of attempt ${attempt} of ${id} was accepted`);
  for (const { id } of log.cancelled) if (!has(id, 'CANCELLED')) lost(`the cancel of ${id} was acknowledged`);
  for (const { id, attempt, until } of [...log.extended, ...log.claimed]) {
    const end = (byAction.get(id) ?? []).find(
      (event) => event.type === 'TIMEOUT' && event.attempt === attempt,
    );
    if (end && end.at < until)
      found.push(bad('lease-cut-short', end, `it was promised until ${until.toISOString()}`));
  }
  return found;
}

/**
 * Acknowledged before another was begun, and in the same lane, channel and class: gone from the line before the other is
 * handed out for the first time. Not promised for what was delayed, limited in time, tagged, moved or of an old generation.
 */
function order(
  history: History,
  byAction: ReadonlyMap<string, readonly HistoryEvent[]>,
  log: CallLog,
): Violation[] {
  const found: Violation[] = [];
  const calls = log.enqueued.flatMap((call) => {
    const action = history.actions.get(call.id);
    if (!action || action.delayed || action.limited || action.tagged || action.reason === 'GENERATION')
      return [];
    const events = byAction.get(call.id) ?? [];
    const sent = events.find((event) => event.type === 'SENT');
    const gone = events.find((event) => LEAVES_THE_LINE.has(event.type));
    return [
      {
        ...call,
        action,
        sent: sent?.id,
        gone: gone?.id,
        moved: events.some((event) => event.type === 'MOVED'),
      },
    ];
  });
  for (const group of groupBy(
    calls,
    ({ action }) => `${action.laneId} ${action.channel} ${action.urgent}`,
  ).values())
    for (const later of group) {
      if (later.sent === undefined || later.moved) continue;
      const passed = group.find(
        (one) => one.ended < later.begun && (one.gone === undefined || one.gone > (later.sent as bigint)),
      );
      if (passed)
        found.push({
          kind: 'order',
          text: `action ${later.id} was handed out before ${passed.id}, which was acknowledged before it began`,
        });
    }
  return found;
}

function bad(kind: ViolationKind, event: HistoryEvent, why: string): Violation {
  return {
    kind,
    text: `event ${event.id}: ${event.type} of attempt ${event.attempt} of action ${event.actionId}: ${why}`,
  };
}

function groupBy<T>(list: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of list) {
    const group = groups.get(keyOf(item));
    if (group) group.push(item);
    else groups.set(keyOf(item), [item]);
  }
  return groups;
}
