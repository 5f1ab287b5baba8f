/**
 * The engine once more, as plain data: what an action, a lane and a runner are, and which action is next. Written from
 * the design and not from the SQL, so that the two can be compared. Times are milliseconds.
 */
import type { ActionState, EventType } from '../../src/index.ts';

export interface Lease {
  readonly action: Action;
  readonly attempt: number;
  readonly worker: string;
  readonly runner: Runner | null;
  readonly from: number;
  until: number;
  cancelRequested: boolean;
  redelivered: number;
}

export interface Lane {
  readonly id: string;
  generation: number;
  paused: boolean;
  blocked: string | null;
  runner: Runner | null;
  lease: Lease | null;
  /** The pool that its worker takes from; itself, if it is one. */
  readonly pool: Lane | null;
  /** Until when the lane's worker counts as recently seen on a channel. */
  readonly heard: Map<string, number>;
}

export interface Runner {
  readonly id: string;
  slots: number | null;
}

export interface Happened {
  readonly type: EventType;
  readonly attempt: number;
  /** Only kept for LATE: what was reported. */
  readonly what?: string;
}

/** The request; all options are optional in the engine, and spelled out here. */
export interface Wanted {
  readonly channel: string;
  readonly urgent: boolean;
  readonly tags: readonly string[];
  readonly notBefore: number | null;
  readonly deliverBy: number | null;
  readonly deadline: number | null;
  readonly maxAttempts: number;
  readonly backoffMs: number;
  readonly backoffMaxMs: number;
  readonly hold: boolean;
  readonly onLeaseEnd: 'retry' | 'fail' | 'succeed';
  readonly supersede: { readonly key: string; readonly mode: 'keep-first' | 'replace' | 'append' } | null;
  readonly key: string | null;
}

export interface Action {
  readonly id: string;
  readonly lane: Lane;
  /** Its lane: the worker's if it was taken from a pool, otherwise its own. */
  at: Lane;
  readonly wanted: Wanted;
  readonly history: Happened[];
  /** The answer to each accepted report of an attempt. */
  readonly answers: Map<string, ActionState>;
  state: ActionState;
  reason: string | null;
  generation: number;
  /** The place in its class. */
  place: number;
  attempt: number;
  failures: number;
  deferrals: number;
  notBefore: number | null;
  /** It waits beside the line; a retry under `hold` waits in it. */
  apart: boolean;
  deliverBy: number | null;
  deadline: number | null;
  supersedeKey: string | null;
}

export interface Model {
  now: number;
  readonly depthLimit: number;
  readonly lanes: Map<string, Lane>;
  readonly runners: Map<string, Runner>;
  readonly actions: Map<string, Action>;
  readonly keys: Map<string, { readonly action: Action; readonly body: string }>;
  readonly pausedTags: Set<string>;
  pausedAll: boolean;
  places: number;
  /** How many urgent ones of a pool were handed out since the last normal one. */
  readonly streaks: Map<string, number>;
}

export function createModel(now: number, depthLimit: number): Model {
  const none = { lanes: new Map(), runners: new Map(), actions: new Map(), keys: new Map() };
  return { now, depthLimit, ...none, pausedTags: new Set(), pausedAll: false, places: 0, streaks: new Map() };
}

export const leaseOf = (action: Action) => (action.at.lease?.action === action ? action.at.lease : null);
export const isRunning = (action: Action) => leaseOf(action) !== null;
export const isPool = (lane: Lane) => lane.pool === lane;

export const runningUnder = (model: Model, runner: Runner) =>
  [...model.lanes.values()].filter((lane) => lane.lease?.runner === runner).length;

export const unfinishedIn = (model: Model, lane: Lane) =>
  [...model.actions.values()].filter(
    (action) => action.at === lane && (action.state === 'pending' || action.state === 'claimed'),
  );

export function before(a: Action, b: Action): number {
  return Number(b.wanted.urgent) - Number(a.wanted.urgent) || a.place - b.place;
}

/** Actions in the line, due or waiting for their next try. */
const inLine = (model: Model, lane: Lane) =>
  unfinishedIn(model, lane)
    .filter((action) => !action.apart && action.generation === lane.generation)
    .filter((action) => action.deadline === null || action.deadline > model.now)
    .filter((action) => action.deliverBy === null || action.attempt > 0 || action.deliverBy > model.now)
    .filter((action) => !action.wanted.tags.some((tag) => model.pausedTags.has(tag)));

const isDue = (model: Model, action: Action) => action.notBefore === null || action.notBefore <= model.now;

/**
 * Something urgent waits on another channel, whose worker was recently seen. `ended` is what this same call gave back.
 */
export function urgentElsewhere(model: Model, lane: Lane, channel: string, ended?: Action): boolean {
  return inLine(model, lane).some(
    (action) =>
      action.wanted.urgent &&
      action.wanted.channel !== 'any' &&
      action.wanted.channel !== channel &&
      action !== ended &&
      !isRunning(action) &&
      isDue(model, action) &&
      (lane.heard.get(action.wanted.channel) ?? 0) > model.now,
  );
}

/** What the lane hands out next on a channel. `except` is passed over while it waits for a retry under `skip`. */
export function nextOf(
  model: Model,
  lane: Lane,
  channel: string,
  except?: Action,
  ended?: Action,
): Action | null {
  if (isPool(lane) || lane.lease || lane.paused || lane.blocked !== null || model.pausedAll) return null;
  const head = inLine(model, lane)
    .filter((action) => action.wanted.channel === 'any' || action.wanted.channel === channel)
    .filter((action) => action !== except || action.wanted.hold || action.attempt === 0)
    .sort(before)[0];
  if (!head || head === except || !isDue(model, head)) return null;
  return head.wanted.urgent || !urgentElsewhere(model, lane, channel, ended) ? head : null;
}

/** What the pool hands out next: all of it is in one line, and nothing that waits for its time holds up the rest. */
export function nextOfPool(model: Model, pool: Lane, channel: string, normalFirst: boolean): Action | null {
  if (pool.paused || pool.blocked !== null || model.pausedAll) return null;
  const line = inLine(model, pool)
    .filter((action) => action.wanted.channel === channel && isDue(model, action))
    .sort(before);
  return (normalFirst && line.find((action) => !action.wanted.urgent)) || line[0] || null;
}

export function lease(
  model: Model,
  action: Action,
  by: { worker: string; leaseMs: number },
  runner: Runner | null,
  lane: Lane = action.lane,
): Lease {
  const attempt = action.attempt + 1;
  const given: Lease = {
    action,
    attempt,
    worker: by.worker,
    runner,
    from: model.now,
    until: Math.min(model.now + by.leaseMs, action.deadline ?? Number.POSITIVE_INFINITY),
    cancelRequested: false,
    redelivered: 0,
  };
  action.at = lane;
  lane.lease = given;
  action.state = 'claimed';
  action.history.push({ type: 'SENT', attempt });
  return given;
}

export function waitingCode(model: Model, action: Action): string | null {
  const lane = action.at;
  if (isRunning(action)) return lane.lease?.cancelRequested ? 'CANCEL_REQUESTED' : 'RUNNING';
  if (action.state !== 'pending') return null;
  if (lane.paused) return 'LANE_PAUSED';
  if (model.pausedAll) return 'TENANT_PAUSED';
  if (action.wanted.tags.some((tag) => model.pausedTags.has(tag))) return 'TAG_PAUSED';
  if (lane.blocked !== null) return 'LANE_BLOCKED';
  if (action.notBefore !== null && action.notBefore > model.now) {
    if (action.failures > 0) return 'RETRY';
    return action.deferrals > 0 ? 'NOT_NOW' : 'NOT_BEFORE';
  }
  const ahead = unfinishedIn(model, lane).some(
    (other) => !other.apart && other.wanted.channel === action.wanted.channel && before(other, action) < 0,
  );
  if (lane.lease || ahead) return 'BEHIND';
  if (!action.wanted.urgent && urgentElsewhere(model, lane, action.wanted.channel)) return 'BEHIND_URGENT';
  if (lane.runner?.slots != null && runningUnder(model, lane.runner) >= lane.runner.slots)
    return 'NO_FREE_SLOT';
  return action.deferrals > 0 ? 'NOT_NOW' : 'NEXT_CONTACT';
}
