import type { EventType } from '../src/action.ts';
import { atEvent, checkLeases, checkLife } from '../src/check/action-life.ts';
import { type Violation, type ViolationKind, violation } from '../src/check/violation.ts';
import { type CallLog, createCallLog } from './call-log.ts';
import type { History, HistoryAction, HistoryEvent } from './history.ts';

export type { Violation, ViolationKind };

/**
 * Reads a whole history, and what callers were told, and reports what is impossible if the promises hold. Needs no
 * engine: events, tables and the log of calls are enough. Checks that need no callers are in src/check, for `muster
 * check`.
 */
const LEAVES_THE_LINE: ReadonlySet<EventType> = new Set([
  ...['SENT', 'CANCELLED', 'SUPERSEDED', 'EXPIRED', 'FAILED_FINAL', 'SUCCEEDED'],
] as EventType[]);
const ENDS_LEASE: ReadonlySet<EventType> = new Set<EventType>([
  'SUCCEEDED',
  'FAILED',
  'TIMEOUT',
  'NOT_NOW',
  'RELEASED',
  'CANCELLED',
]);

export function checkHistory(history: History, log: CallLog = createCallLog()): Violation[] {
  const byAction = groupBy(history.events, (event) => event.actionId);
  return [
    ...lives(history, byAction),
    ...slots(history, log),
    ...lanes(history),
    ...generations(history, log),
    ...counts(history),
    ...feedOrder(history),
    ...acknowledged(byAction, log),
    ...order(history, byAction, log),
    ...precedence(history, byAction, log),
  ];
}

/** The life of every action, and that no two were leased at once in a lane. */
function lives(history: History, byAction: ReadonlyMap<string, readonly HistoryEvent[]>): Violation[] {
  const found = [...history.actions.values()].map((action) =>
    checkLife(action, byAction.get(action.id) ?? []),
  );
  return [
    ...found.flatMap(({ violations }) => violations),
    ...checkLeases(found.flatMap(({ leases }) => leases)),
  ];
}

/** Readers of the feed see an action's events in the order in which they happened. */
function feedOrder(history: History): Violation[] {
  const last = new Map<string, bigint>();
  return history.feed.flatMap(({ id, actionId }): Violation[] => {
    const before = last.get(actionId) ?? 0n;
    last.set(actionId, BigInt(id));
    return BigInt(id) > before
      ? []
      : [
          violation(
            'feed-order',
            actionId,
            `event ${id} of action ${actionId} is shown after event ${before}`,
          ),
        ];
  });
}

/** How many leases each worker had at once, from hand-out to end. */
function slots(history: History, log: CallLog): Violation[] {
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
      ofLane.set(event.laneId, event);
      const held = count(event.worker, 1);
      const most = log.slots.get(event.worker ?? '');
      if (most !== undefined && held > most)
        found.push(atEvent('too-many-leases', event, `${event.worker} held ${held} with ${most} slots`));
    } else if (open?.actionId === event.actionId && ENDS_LEASE.has(event.type)) {
      ofLane.delete(event.laneId);
      count(open.worker, -1);
    }
  }
  for (const runner of history.runners)
    if (runner.slots !== null && runner.running > runner.slots)
      found.push(
        violation('too-many-leases', null, `runner ${runner.id}: ${runner.running} of ${runner.slots}`),
      );
  return found;
}

function lanes(history: History): Violation[] {
  return history.lanes.flatMap((lane): Violation[] => {
    const of = [...history.actions.values()].filter((action) => action.presentLane === lane.id);
    const old = of.filter((action) => action.generation !== lane.generation);
    return old.map((action) =>
      violation(
        'wrong-generation',
        action.id,
        `action ${action.id} of generation ${action.generation} is ${action.leasedAttempt === null ? 'left' : 'running'} in lane ${lane.id} of generation ${lane.generation}`,
      ),
    );
  });
}

/** Enqueued under an old generation, handed out under a new one. */
function generations(history: History, log: CallLog): Violation[] {
  const enqueued = new Map(log.enqueued.map((call) => [call.id, call]));
  return log.claimed.flatMap((claim): Violation[] => {
    const answered = enqueued.get(claim.id)?.answered ?? Number.POSITIVE_INFINITY;
    const laneId = history.actions.get(claim.id)?.laneId;
    const between = log.raised.some(
      (raise) =>
        raise.laneId === laneId &&
        answered < raise.begun &&
        raise.ended < claim.begun &&
        // a redrive is a new assignment, under the generation of its time
        !log.redriven.some(({ id, answered: again }) => id === claim.id && again > raise.begun),
    );
    return between
      ? [
          violation(
            'wrong-generation',
            claim.id,
            `action ${claim.id} was handed out after the generation was raised`,
          ),
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
      : [violation('counts-differ', null, `${word}: ${kept}, a recount gives ${real}`)];
  });
}

/** What a caller was told has left its trace, and stayed true. */
function acknowledged(byAction: ReadonlyMap<string, readonly HistoryEvent[]>, log: CallLog): Violation[] {
  const found: Violation[] = [];
  const has = (id: string, type: string, attempt?: number) =>
    (byAction.get(id) ?? []).some(
      (event) => event.type === type && (attempt === undefined || event.attempt === attempt),
    );
  const lost = (id: string, what: string) => found.push(violation('lost', id, what));
  for (const { id } of log.enqueued) if (!has(id, 'CREATED')) lost(id, `action ${id} was acknowledged`);
  for (const { id, attempt } of log.claimed)
    if (!has(id, 'SENT', attempt)) lost(id, `attempt ${attempt} of ${id} was handed out`);
  for (const { id, attempt, event } of log.reported)
    if (!has(id, event, attempt)) lost(id, `${event} of attempt ${attempt} of ${id} was accepted`);
  for (const { id } of log.cancelled)
    if (!has(id, 'CANCELLED')) lost(id, `the cancel of ${id} was acknowledged`);
  for (const { id, attempt, until } of [...log.extended, ...log.claimed]) {
    const end = (byAction.get(id) ?? []).find(
      (event) => event.type === 'TIMEOUT' && event.attempt === attempt,
    );
    if (end && end.at < until)
      found.push(atEvent('lease-cut-short', end, `it was promised until ${until.toISOString()}`));
  }
  return found;
}

/**
 * Acknowledged before another was begun, and in the same lane, channel and class: it leaves the line before the other
 * is handed out for the first time. Not promised for actions that are delayed, limited in time, tagged, moved or of an
 * old generation.
 */
function order(
  history: History,
  byAction: ReadonlyMap<string, readonly HistoryEvent[]>,
  log: CallLog,
): Violation[] {
  const found: Violation[] = [];
  const generationOf = generationsOf(history);
  const calls = log.enqueued.flatMap((call) => {
    const action = history.actions.get(call.id);
    const events = byAction.get(call.id) ?? [];
    if (!action || !keepsItsPlace(action, events, generationOf)) return [];
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
    found.push(...passedIn(group));
  return found;
}

const generationsOf = (history: History) => new Map(history.lanes.map((lane) => [lane.id, lane.generation]));

/**
 * Actions of an old generation do not count: ended for it, perhaps redriven since, or about to be, as one that a slow
 * transaction added under the generation it began with.
 */
function keepsItsPlace(
  action: HistoryAction,
  events: readonly HistoryEvent[],
  generationOf: ReadonlyMap<string, number>,
): boolean {
  if (action.delayed || action.limited || action.tagged) return false;
  if (events.some(({ reason }) => reason === 'GENERATION')) return false;
  return action.presentLane === null || action.generation === generationOf.get(action.presentLane);
}

/**
 * For all claims of a pool: no normal action is handed out while an urgent one waits that was acknowledged before the
 * claim began. Not for claims that have to take a normal one.
 */
function precedence(
  history: History,
  byAction: ReadonlyMap<string, readonly HistoryEvent[]>,
  log: CallLog,
): Violation[] {
  const pools = new Set(history.lanes.filter(({ isPool }) => isPool).map(({ id }) => id));
  const generationOf = generationsOf(history);
  const first = (id: string, isIt: (event: HistoryEvent) => boolean) =>
    (byAction.get(id) ?? []).find(isIt)?.id;
  const placed = log.enqueued.flatMap(({ id, ended }) => {
    const action = history.actions.get(id);
    if (!action || !pools.has(action.laneId)) return [];
    if (!keepsItsPlace(action, byAction.get(id) ?? [], generationOf)) return [];
    return [{ action, ended, gone: first(id, ({ type }) => LEAVES_THE_LINE.has(type)) }];
  });
  return log.claimed.flatMap(({ id, attempt, begun }): Violation[] => {
    const action = history.actions.get(id);
    const sent = first(id, (event) => event.type === 'SENT' && event.attempt === attempt);
    if (!action || action.urgent || sent === undefined || !pools.has(action.laneId)) return [];
    const passed = placed.find(
      (other) =>
        other.action.urgent &&
        other.action.laneId === action.laneId &&
        other.action.channel === action.channel &&
        other.ended < begun &&
        (other.gone === undefined || other.gone > sent),
    );
    if (!passed) return [];
    return [
      violation(
        'order',
        id,
        `action ${id} was handed out while the urgent action ${passed.action.id} waited`,
      ),
    ];
  });
}

interface Placed {
  readonly id: string;
  readonly begun: number;
  readonly ended: number;
  readonly sent: bigint | undefined;
  readonly gone: bigint | undefined;
  readonly moved: boolean;
}

/** Of those that were acknowledged before a call began, the one that left the line last must have left before it. */
function passedIn(line: readonly Placed[]): Violation[] {
  const byEnd = [...line].sort((a, b) => a.ended - b.ended);
  const leavesLast: Placed[] = [];
  for (const one of byEnd) {
    const before = leavesLast.at(-1);
    const later =
      !before || (before.gone !== undefined && (one.gone === undefined || one.gone > before.gone));
    leavesLast.push(later ? one : before);
  }
  return line.flatMap((later): Violation[] => {
    if (later.sent === undefined || later.moved) return [];
    let [from, to] = [0, byEnd.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if ((byEnd[middle] as Placed).ended < later.begun) from = middle + 1;
      else to = middle;
    }
    const passed = leavesLast[from - 1];
    if (!passed || (passed.gone !== undefined && passed.gone <= later.sent)) return [];
    return [
      violation(
        'order',
        later.id,
        `action ${later.id} was handed out before ${passed.id}, which was acknowledged before it began`,
      ),
    ];
  });
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
