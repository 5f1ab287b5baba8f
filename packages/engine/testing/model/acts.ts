/** What callers do to the model. Each function answers as the engine must. */
import type { ActionState, EventType } from '../../src/index.ts';
import { backoff } from './backoff.ts';
import {
  type Action,
  before,
  isRunning,
  type Lane,
  type Lease,
  lease,
  leaseOf,
  type Model,
  nextOf,
  nextOfPool,
  type Runner,
  runningUnder,
  unfinishedIn,
  urgentElsewhere,
  type Wanted,
} from './state.ts';

export interface By {
  readonly worker: string;
  readonly leaseMs: number;
}

/** `id` is the one that the engine gave, used if the action is created. */
export function enqueue(
  model: Model,
  lane: Lane,
  wanted: Wanted,
  id: string,
): { outcome: string; action?: Action } {
  const body = JSON.stringify([lane.id, { ...wanted, key: null }]);
  const known = wanted.key === null ? undefined : model.keys.get(wanted.key);
  if (known)
    return known.body === body ? { outcome: 'present', action: known.action } : { outcome: 'mismatch' };
  const mode = wanted.supersede?.mode;
  const same = unfinishedIn(model, lane)
    .filter(
      (a) => wanted.supersede && a.supersedeKey === wanted.supersede.key && a.attempt === 0 && !isRunning(a),
    )
    .sort((a, b) => Number(a.id) - Number(b.id));
  if (mode === 'keep-first' && same[0]) return { outcome: 'kept', action: same[0] };
  // an action that replaces another does not fill the lane further
  const replaces = mode === 'replace' && same.length > 0;
  if (!replaces && unfinishedIn(model, lane).length >= model.depthLimit) return { outcome: 'full' };
  if (mode === 'replace') for (const old of same) end(old, 'cancelled', 'SUPERSEDED', 'SUPERSEDED');
  const later = wanted.notBefore !== null && wanted.notBefore > model.now;
  model.places += 1;
  const action: Action = {
    id,
    lane,
    at: lane,
    wanted,
    history: [{ type: 'CREATED', attempt: 0 }],
    answers: new Map(),
    state: 'pending',
    reason: null,
    generation: lane.generation,
    place: model.places,
    attempt: 0,
    failures: 0,
    deferrals: 0,
    notBefore: later ? wanted.notBefore : null,
    apart: later,
    deliverBy: wanted.deliverBy,
    deadline: wanted.deadline,
    supersedeKey: wanted.supersede?.key ?? null,
  };
  model.actions.set(id, action);
  if (wanted.key !== null) model.keys.set(wanted.key, { action, body });
  return { outcome: 'created', action };
}

/** It is not held (any more): it ends. */
export function end(action: Action, state: ActionState, reason: string, event: EventType): void {
  action.state = state;
  action.reason = reason;
  action.history.push({ type: event, attempt: action.attempt });
}

export function claim(
  model: Model,
  lane: Lane,
  by: By & { channel: string; generation?: number | undefined },
  except?: Action,
): Lease | 'wrong-generation' | null {
  if (by.generation !== undefined && by.generation !== lane.generation) return 'wrong-generation';
  const held = lane.lease;
  if (held) {
    const byThisWay = held.action.wanted.channel === 'any' || held.action.wanted.channel === by.channel;
    if (!byThisWay || held.worker !== by.worker || held.redelivered >= 10 || held.action === except)
      return null;
    held.redelivered += 1;
    held.action.history.push({ type: 'REDELIVERED', attempt: held.attempt });
    return held;
  }
  const next = nextOf(model, lane, by.channel, except);
  return next && lease(model, next, by, null);
}

export function claimFromPool(
  model: Model,
  lane: Lane,
  by: By & { channel: string; normalShare: number },
): Lease | 'held' | null {
  const pool = lane.pool as Lane;
  if (lane.lease) return 'held';
  if (lane.paused || lane.blocked !== null) return null;
  const word = `${pool.id} ${by.channel}`;
  const streak = model.streaks.get(word) ?? 0;
  const next = nextOfPool(
    model,
    pool,
    by.channel,
    by.normalShare > 0 && Math.min(streak, by.normalShare - 1) + 1 >= by.normalShare,
  );
  if (!next) return null;
  if (by.normalShare > 0)
    model.streaks.set(word, next.wanted.urgent ? Math.min(streak, by.normalShare - 1) + 1 : 0);
  next.generation = lane.generation;
  return lease(model, next, by, null, lane);
}

export function claimSlots(model: Model, runner: Runner, by: By & { channel: string; max: number }): Lease[] {
  const free = Math.min(by.max, (runner.slots ?? Number.POSITIVE_INFINITY) - runningUnder(model, runner));
  return [...model.lanes.values()]
    .filter((lane) => lane.runner === runner)
    .flatMap((lane) => nextOf(model, lane, by.channel) ?? [])
    .sort(before)
    .slice(0, Math.max(0, free))
    .map((action) => lease(model, action, by, runner));
}

/** May an action that is created now be handed out at once? Only if nothing of its channel is before it. */
export function mayComeIntoBeing(model: Model, runner: Runner, lane: Lane, wanted: Wanted): boolean {
  if (lane.runner !== runner || lane.lease || lane.paused || lane.blocked !== null || model.pausedAll)
    return false;
  if (runningUnder(model, runner) >= (runner.slots ?? Number.POSITIVE_INFINITY)) return false;
  if (wanted.tags.some((tag) => model.pausedTags.has(tag))) return false;
  if (!wanted.urgent && urgentElsewhere(model, lane, wanted.channel)) return false;
  return !unfinishedIn(model, lane).some(
    (other) =>
      !other.apart &&
      (other.wanted.channel === 'any' || other.wanted.channel === wanted.channel) &&
      (other.wanted.urgent || !wanted.urgent),
  );
}

export type Outcome = 'succeeded' | 'failed' | 'not_now' | 'released' | 'unreached' | 'timeout' | 'revoked';

const FIRST_EVENT: Record<Outcome, EventType | null> = {
  succeeded: 'SUCCEEDED',
  failed: 'FAILED',
  not_now: 'NOT_NOW',
  released: 'RELEASED',
  unreached: 'RELEASED',
  timeout: 'TIMEOUT',
  revoked: null,
};

/** The running attempt ends, whatever ends it: a later report of the same gets the same answer. */
export function settle(model: Model, action: Action, outcome: Outcome, delayMs?: number): ActionState {
  const { attempt } = action.at.lease as Lease;
  const state = settled(model, action, outcome, delayMs);
  action.answers.set(`${attempt} ${FIRST_EVENT[outcome]}`, state);
  return state;
}

function settled(model: Model, action: Action, outcome: Outcome, delayMs?: number): ActionState {
  const held = action.at.lease as Lease;
  const { wanted } = action;
  const isGuest = action.at !== action.lane;
  action.at.lease = null;
  action.at = action.lane;
  action.generation = isGuest ? action.lane.generation : action.generation;
  action.attempt = held.attempt;
  action.deliverBy = null;
  action.state = 'pending';
  const first = FIRST_EVENT[outcome];
  if (first) action.history.push({ type: first, attempt: held.attempt });
  if (outcome === 'succeeded') {
    action.state = 'succeeded';
    action.reason = 'SUCCEEDED';
    return action.state;
  }
  const failed = outcome === 'failed' || outcome === 'timeout';
  const counts = failed || (outcome !== 'unreached' && (action.deferrals + 1) % 10 === 0);
  const wait = (nth: number) => backoff(wanted.backoffMs, wanted.backoffMaxMs, nth, action.id);
  const pause = failed
    ? wait(action.failures + 1)
    : outcome === 'not_now'
      ? (delayMs ?? wait(action.deferrals + 1))
      : counts
        ? wait(action.deferrals + 1)
        : 0;
  if (counts) action.failures += 1;
  if (outcome !== 'unreached') action.deferrals = failed ? 0 : action.deferrals + 1;

  const over = (state: ActionState, reason: string, event: EventType) => {
    end(action, state, reason, event);
    return state;
  };
  if (outcome === 'revoked') return over('cancelled', 'GENERATION', 'CANCELLED');
  if (held.cancelRequested) return over('cancelled', 'CANCELLED', 'CANCELLED');
  if (outcome === 'timeout') {
    if (action.deadline !== null && action.deadline <= model.now)
      return over('failed', 'DEADLINE', 'FAILED_FINAL');
    if (wanted.onLeaseEnd === 'succeed') return over('succeeded', 'LEASE_END', 'SUCCEEDED');
    if (wanted.onLeaseEnd === 'fail') return over('failed', 'TIMEOUT', 'FAILED_FINAL');
  }
  if (counts && action.failures >= wanted.maxAttempts)
    return over('failed', outcome.toUpperCase(), 'FAILED_FINAL');
  action.notBefore = pause > 0 ? model.now + pause : null;
  action.apart = pause > 0 && (!wanted.hold || isGuest);
  if (first !== 'RELEASED') action.history.push({ type: 'RETRY_SCHEDULED', attempt: held.attempt });
  return 'pending';
}

/** The next action of an accepted report; a runner keeps its slot, if it still has it. */
export function goOn(model: Model, lane: Lane, ended: Lease, by: By & { channel: string }): Lease | null {
  const { runner } = ended;
  if (
    runner &&
    (lane.runner !== runner || runningUnder(model, runner) >= (runner.slots ?? Number.POSITIVE_INFINITY))
  )
    return null;
  const next = nextOf(model, lane, by.channel, ended.action, ended.action);
  return next && lease(model, next, by, runner);
}

export interface Reported {
  readonly accepted: boolean;
  readonly state: ActionState;
  readonly repeated: boolean;
}

export function report(
  model: Model,
  action: Action,
  attempt: number,
  outcome: 'succeeded' | 'failed' | 'not_now' | 'released' | 'unreached',
  delayMs?: number,
): Reported {
  const words = `${attempt} ${FIRST_EVENT[outcome]}`;
  if (leaseOf(action)?.attempt === attempt) {
    return { accepted: true, state: settle(model, action, outcome, delayMs), repeated: false };
  }
  const of = action.history.filter((event) => event.attempt === attempt).map((event) => event.type);
  if (of.includes(FIRST_EVENT[outcome] as EventType))
    return { accepted: true, state: action.answers.get(words) ?? 'succeeded', repeated: true };
  const open = of.includes('TIMEOUT') || of.includes('RELEASED');
  const waiting = action.state === 'pending' && action.attempt === attempt && open;
  const timedOut = action.state === 'failed' && action.reason === 'TIMEOUT' && action.attempt === attempt;
  if (outcome === 'succeeded' && (waiting || timedOut)) {
    end(action, 'succeeded', 'SUCCEEDED', 'SUCCEEDED');
    return { accepted: true, state: 'succeeded', repeated: false };
  }
  const before = action.history.some(
    (event) => event.type === 'LATE' && event.attempt === attempt && event.what === FIRST_EVENT[outcome],
  );
  if (!before) action.history.push({ type: 'LATE', attempt, what: FIRST_EVENT[outcome] as string });
  return { accepted: false, state: action.state, repeated: false };
}

export function cancel(action: Action): { outcome: string; state: ActionState } {
  const held = leaseOf(action);
  if (held) {
    if (!held.cancelRequested) action.history.push({ type: 'CANCEL_REQUESTED', attempt: held.attempt });
    held.cancelRequested = true;
    return { outcome: 'requested', state: 'claimed' };
  }
  if (action.state !== 'pending') return { outcome: 'finished', state: action.state };
  end(action, 'cancelled', 'CANCELLED', 'CANCELLED');
  return { outcome: 'cancelled', state: 'cancelled' };
}

export function redrive(model: Model, action: Action): { outcome: string; state: ActionState } {
  if (action.state !== 'failed') return { outcome: 'refused', state: action.state };
  model.places += 1;
  const fresh = { failures: 0, deferrals: 0, notBefore: null, apart: false, deliverBy: null, deadline: null };
  Object.assign(action, fresh, { reason: null, state: 'pending' });
  action.place = model.places;
  action.generation = action.lane.generation;
  action.history.push({ type: 'REDRIVEN', attempt: action.attempt });
  return { outcome: 'redriven', state: 'pending' };
}

export function moveToFront(model: Model, action: Action): { outcome: string; state: ActionState } {
  if (action.state !== 'pending') return { outcome: 'refused', state: action.state };
  // those that workers of a pool hold too: they may come back to their old place
  const rivals = [...model.actions.values()].filter(
    (one) =>
      one.lane === action.lane &&
      (one.state === 'pending' || one.state === 'claimed') &&
      one.wanted.urgent === action.wanted.urgent,
  );
  action.place = Math.min(...rivals.map((other) => other.place)) - 1;
  action.history.push({ type: 'MOVED', attempt: action.attempt });
  return { outcome: 'moved', state: 'pending' };
}

export function makeDue(action: Action): { outcome: string; state: ActionState } {
  if (action.state !== 'pending' || action.notBefore === null)
    return { outcome: 'refused', state: action.state };
  action.notBefore = null;
  action.apart = false;
  action.history.push({ type: 'MADE_DUE', attempt: action.attempt });
  return { outcome: 'due', state: 'pending' };
}

export function extend(
  model: Model,
  action: Action,
  attempt: number,
  leaseMs: number,
  mostMs: number,
): boolean {
  const held = leaseOf(action);
  if (held?.attempt !== attempt) return false;
  const wished = Math.min(
    model.now + leaseMs,
    held.from + mostMs,
    action.deadline ?? Number.POSITIVE_INFINITY,
  );
  held.until = Math.max(held.until, wished);
  action.history.push({ type: 'EXTENDED', attempt });
  return true;
}

export function acknowledge(action: Action, attempt: number): boolean {
  if (leaseOf(action)?.attempt !== attempt) return false;
  const before = action.history.some((event) => event.type === 'ACKED' && event.attempt === attempt);
  if (!before) action.history.push({ type: 'ACKED', attempt });
  return true;
}

export function raiseGeneration(model: Model, lane: Lane): number {
  lane.generation += 1;
  for (const action of unfinishedIn(model, lane)) {
    // an action of a pool goes home
    if (isRunning(action)) settle(model, action, action.at === action.lane ? 'revoked' : 'released');
    else end(action, 'cancelled', 'GENERATION', 'CANCELLED');
  }
  return lane.generation;
}

/** What housekeeping does every second. */
export function housekeep(model: Model): void {
  const { now } = model;
  for (const { lease: held } of model.lanes.values())
    if (held && held.until <= now) settle(model, held.action, 'timeout');
  for (const action of model.actions.values()) {
    if (action.state !== 'pending') continue;
    if (action.notBefore !== null && action.notBefore <= now) {
      action.notBefore = null;
      action.apart = false;
    }
    if (action.deliverBy !== null && action.attempt === 0 && action.deliverBy <= now)
      end(action, 'expired', 'DELIVER_BY', 'EXPIRED');
    else if (action.deadline !== null && action.deadline <= now)
      end(action, 'failed', 'DEADLINE', 'FAILED_FINAL');
  }
}
