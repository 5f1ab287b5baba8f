import { EVENT_TYPES } from '../action.ts';
import { idArray, intArray, jsonArray, jsonbArray, textArray } from '../binary-array.ts';
import { ANSWER } from '../effects.ts';
import { EngineError } from '../errors.ts';
import { BUSY, type Busy, type Context, type Operation } from '../operation.ts';
import { ANY_CHANNEL } from '../sql.ts';
import { encodeJson } from '../text.ts';
import type { Transition, Wake } from '../transition.ts';
import {
  checkLane,
  checkLease,
  checkName,
  checkOneOf,
  checkTenant,
  checkTime,
  checkWhole,
  isId,
} from '../values.ts';
import { type WaitingFacts, waitingFor } from '../waiting-for.ts';
import { laneKey } from '../wake-ups.ts';
import type { CreatedAction } from './action-view.ts';
import type { LaneRooms } from './lane-rooms.ts';

/** The SQL function `enqueue_actions` does the work; this checks, encodes and reads the verdicts. */
export interface NewAction {
  readonly tenantId: number;
  readonly laneId: string;
  readonly kind: string;
  readonly payload?: unknown;
  /** The channel it may be delivered through; any by default. */
  readonly channel?: string | undefined;
  readonly priority?: 'urgent' | 'normal' | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly notBefore?: Date | undefined;
  /** If not handed out by then: expired. */
  readonly deliverBy?: Date | undefined;
  /** If not finished by then: failed. */
  readonly deadline?: Date | undefined;
  readonly maxAttempts?: number | undefined;
  /** Ignores the lane's limit: for actions that must not be refused. */
  readonly unbounded?: boolean | undefined;
  /** Takes the place that this ended action had in its lane, instead of the end. */
  readonly placeOf?: string | undefined;
  /**
   * Replaces the lane's limit: how many unfinished actions of its channel the tenant may have, known without counting.
   * For lanes that are a channel's only one and may hold more than can be counted each time.
   */
  readonly mostOfChannel?: number | undefined;
  /** The wait before the second try; doubled for each further one. */
  readonly backoffMs?: number | undefined;
  readonly backoffMaxMs?: number | undefined;
  /** While a retry waits, the lane goes on (skip) or waits too (hold). */
  readonly headOfLine?: 'skip' | 'hold' | undefined;
  readonly onLeaseEnd?: 'retry' | 'fail' | 'succeed' | undefined;
  /** How long an attempt is leased; by default the claim decides. */
  readonly leaseMs?: number | undefined;
  /** Replaces actions of the lane with this key that were never handed out. */
  readonly supersede?:
    | { readonly key: string; readonly mode: 'keep-first' | 'replace' | 'append' }
    | undefined;
  readonly idempotencyKey?: string | undefined;
  readonly createdBy?: string | undefined;
  /** The dead letter that this one is an edited copy of. */
  readonly copiedFrom?: string | undefined;
}

export interface Enqueued {
  readonly id: string;
  /** created; present: same idempotency key and body; kept: an earlier one with the supersede key stays. */
  readonly outcome: 'created' | 'present' | 'kept';
  /** On request: the action as it was created, whatever has become of it since; absent if it existed before. */
  readonly created?: CreatedAction;
}

/** An item's answer; `Enqueued` adds what the caller itself sent. */
export interface Verdict {
  readonly id: string;
  readonly outcome: Enqueued['outcome'];
  readonly at: Date;
  readonly found: Found;
}

export interface EncodedAction {
  readonly tenantId: number;
  readonly laneId: string;
  readonly channel: string;
  readonly kind: string;
  readonly payload: string;
  readonly options: string | null;
  readonly createdBy: string | null;
  /**
   * Its options without tags and creator, if they are only those that all actions of a plain statement share, and the
   * answer needs no more; '' if it has none. Null: it is not plain.
   */
  readonly policy: string | null;
  /** As JSON; of a plain one. */
  readonly tags: string | null;
  readonly isUnbounded: boolean;
  readonly mostOfChannel?: number | undefined;
  /** Items with an equal key must not share a statement. */
  readonly key: string | null;
  /** Its line, computed once because several look-ups use it. */
  readonly line: string;
  /** Whether the caller wants to know what stands in its way: a fifth of the database's time, a half of Node's. */
  readonly tell: boolean;
}

/** What stands in the way of an action; absent unless requested. */
interface Found {
  /** As JSON. */
  readonly waits?: {
    readonly blocked?: string;
    readonly aheadId?: string;
    readonly urgent?: { readonly id: string; readonly channel: string; readonly until: string };
    readonly paused?: { readonly tag: string; readonly at: string; readonly by?: string };
    readonly lanePaused?: { readonly at: string; readonly by?: string };
  } | null;
  readonly slots?: number | null;
  readonly running?: number | null;
}

interface Row extends Found {
  ord: number;
  outcome: 'created' | 'present' | 'mismatch' | 'kept' | 'deep' | 'busy' | 'superseded';
  action_id: string;
  runner_id: string | null;
  /** The superseded action's; a created one has its item's. */
  channel?: string;
  /** How many more its lane takes, if that was counted. */
  room?: number | null;
}

const NO_LIMIT = -1;

export function encodeAction(context: Context, action: NewAction, tell = false): EncodedAction {
  const options = encodeOptions(action);
  if (action.placeOf !== undefined) options.place = checkLane(action.placeOf);
  if (action.mostOfChannel !== undefined)
    options.channelLimit = checkWhole(action.mostOfChannel, 'mostOfChannel', 0);
  if (action.unbounded || action.mostOfChannel !== undefined) options.depthLimit = NO_LIMIT;
  else if (context.depthLimit !== 1000) options.depthLimit = context.depthLimit;
  return {
    tenantId: checkTenant(action.tenantId),
    laneId: checkLane(action.laneId),
    channel: checkName(action.channel ?? ANY_CHANNEL, 'channel'),
    kind: checkName(action.kind, 'kind'),
    payload: encodeJson(action.payload === undefined ? {} : action.payload, 'payload'),
    options: Object.keys(options).length > 0 ? JSON.stringify(options) : null,
    createdBy: (options.createdBy as string | undefined) ?? null,
    policy: tell ? null : policyOf(options, action.unbounded === true),
    tags: options.tags === undefined ? null : JSON.stringify(options.tags),
    isUnbounded: action.unbounded === true,
    mostOfChannel: action.mostOfChannel,
    key: keyOf(action),
    line: lineOf(action),
    tell,
  };
}

/** Options that say nothing about other actions or times. */
const OF_POLICY = new Set([
  'priority',
  'maxAttempts',
  'backoffMs',
  'backoffMaxMs',
  'headOfLine',
  'onLeaseEnd',
]);

function policyOf(options: Record<string, unknown>, isUnbounded: boolean): string | null {
  const policy: Record<string, unknown> = {};
  let isEmpty = true;
  for (const name of Object.keys(options)) {
    if (name === 'createdBy' || name === 'tags' || (name === 'depthLimit' && !isUnbounded)) continue;
    if (!OF_POLICY.has(name) && name !== 'depthLimit') return null;
    policy[name] = options[name];
    isEmpty = false;
  }
  return isEmpty ? '' : JSON.stringify(policy);
}

/** How each option is checked, and what is stored of it. */
const OPTIONS: { [Name in keyof NewAction]?: (value: never) => unknown } = {
  priority: (priority: string) =>
    checkOneOf(priority, 'priority', ['urgent', 'normal']) === 'urgent' ? priority : undefined,
  tags: (tags: readonly string[]) => (tags.length > 0 ? tags.map((tag) => checkName(tag, 'tag')) : undefined),
  notBefore: (at: Date) => checkTime(at, 'notBefore').toISOString(),
  deliverBy: (at: Date) => checkTime(at, 'deliverBy').toISOString(),
  deadline: (at: Date) => checkTime(at, 'deadline').toISOString(),
  maxAttempts: (most: number) => checkWhole(most, 'maxAttempts', 1, 1_000),
  backoffMs: (ms: number) => checkWhole(ms, 'backoffMs', 0),
  backoffMaxMs: (ms: number) => checkWhole(ms, 'backoffMaxMs', 0),
  headOfLine: (policy: string) => checkOneOf(policy, 'headOfLine', ['skip', 'hold']),
  onLeaseEnd: (policy: string) => checkOneOf(policy, 'onLeaseEnd', ['retry', 'fail', 'succeed']),
  leaseMs: checkLease,
  idempotencyKey: (key: string) => checkName(key, 'idempotency key'),
  createdBy: (name: string) => checkName(name, 'creator', 0),
  copiedFrom(id: string) {
    if (!isId(id)) throw new EngineError('MUSTER_BAD_VALUE', 'copiedFrom must be the id of an action.');
    return id;
  },
};

const OPTION_NAMES = Object.keys(OPTIONS) as (keyof typeof OPTIONS)[];

function encodeOptions(action: NewAction): Record<string, unknown> {
  const options: Record<string, unknown> = {};
  for (const name of OPTION_NAMES) {
    if (action[name] === undefined) continue;
    const value = OPTIONS[name]?.(action[name] as never);
    if (value !== undefined) options[name] = value;
  }
  if (action.supersede) {
    options.supersedeKey = checkName(action.supersede.key, 'supersede key');
    options.supersedeMode = checkOneOf(action.supersede.mode, 'mode', ['keep-first', 'replace', 'append']);
  }
  return options;
}

function keyOf(action: NewAction): string | null {
  if (action.supersede && action.supersede.mode !== 'append') return lineOf(action);
  return action.idempotencyKey === undefined ? null : `key ${action.tenantId}:${action.idempotencyKey}`;
}

/** `key`: the lane's (`laneKey`). */
export const lineOfKey = (key: string) => `lane ${key}`;
const lineOf = (action: { tenantId: number; laneId: string }) =>
  lineOfKey(laneKey(action.tenantId, action.laneId));

export function createEnqueue(
  context: Context,
  rooms: LaneRooms,
): Operation<EncodedAction, Verdict | EngineError> {
  const s = context.schema;
  const ask = context.effects.carry({
    name: 'muster_enqueue',
    text: () => `${ANSWER}
      select e.ord, e.outcome, e.action_id, e.lane_id, e.runner_id, e.channel, e.waits, e.slots, e.running
      from ${s}.enqueue_actions($1, $2::int[], $3, $4, $5, $6::json[], $7::jsonb[], $8) e`,
    transitions: `
      select ($2::int[])[ord], lane_id, action_id, channel, array[${EVENT_TYPES.CREATED}], null::text, 'pending', 0, null::text, $1::timestamptz
      from answer where outcome = 'created'
      union all
      select ($2::int[])[ord], lane_id, action_id, channel, array[${EVENT_TYPES.SUPERSEDED}], 'pending', 'cancelled', 0, 'SUPERSEDED', $1::timestamptz
      from answer where outcome = 'superseded'`,
  });
  const askPlain = context.effects.carry({
    name: 'muster_enqueue_plain',
    text: () => `${ANSWER}
      select e.* from ${s}.enqueue_plain_actions($1, $2::int[], $3, $4, $5, $6::json[], $7::text[], $8, $9::int[], $10::jsonb, $11::jsonb[]) e`,
    told: 'answer.ord, answer.outcome, answer.action_id, answer.runner_id, answer.room',
    transitions: `
      select ($2::int[])[ord], lane_id, action_id, channel, array[${EVENT_TYPES.CREATED}], null::text, 'pending', 0, null::text, $1::timestamptz
      from answer where outcome = 'created'`,
  });
  return {
    name: 'enqueue',
    key: (item) => item.key,
    bytes: (item) => Buffer.byteLength(item.payload) + Buffer.byteLength(item.options ?? ''),
    line: (item) => item.line,
    touches: ({ tenantId, laneId }) => ({ tenantId, laneId }),
    async run(client, items) {
      const now = context.now();
      const channels = items.map((item) => item.channel);
      // a supersede key may end an action of another channel
      const mayEnd = items.some((item) => item.key?.startsWith('lane'));
      const policy = items[0]?.policy ?? null;
      const isPlain = policy !== null && items.every((item) => item.policy === policy);
      const values = [
        now,
        intArray(items.map((item) => item.tenantId)),
        idArray(items.map((item) => item.laneId)),
        textArray(channels),
        textArray(items.map((item) => item.kind)),
        jsonArray(items.map((item) => item.payload)),
      ];
      const { rows, told } = await (isPlain
        ? askPlain(client, channels, [
            ...values,
            textArray(items.map((item) => item.createdBy)),
            context.depthLimit,
            intArray(toCount(rooms, items)),
            policy === '' ? null : policy,
            items.some((item) => item.tags !== null) ? jsonbArray(items.map((item) => item.tags)) : null,
          ])
        : ask(client, mayEnd ? null : channels, [
            ...values,
            jsonbArray(items.map((item) => item.options)),
            items.some((item) => item.tell),
          ]));
      for (const item of items) if (!isPlain || item.isUnbounded) rooms.forget(item.line);
      const answers = new Array<Verdict | EngineError | Busy>(items.length);
      const transitions: Transition[] = [];
      const wakes: Wake[] = [];
      for (const row of rows as Row[]) {
        const item = items[row.ord - 1] as EncodedAction;
        if (typeof row.room === 'number') rooms.found(item.line, row.room);
        if (row.outcome !== 'superseded')
          answers[row.ord - 1] = answerOf(row, now, item.mostOfChannel ?? context.depthLimit);
        if (row.outcome !== 'created' && row.outcome !== 'superseded') continue;
        transitions.push(transitionOf(item, row, now));
        wakes.push({ tenantId: item.tenantId, laneId: item.laneId, runnerId: row.runner_id });
      }
      if (answers.includes(undefined as never)) fillUp(answers);
      return { answers, transitions, wakes, told };
    },
  };
}

/** Lanes missing in the answer are unknown. An error records where it was made, which takes as long as ten answers. */
function fillUp(answers: (Verdict | EngineError | Busy)[]): void {
  const unknown = new EngineError('MUSTER_UNKNOWN_LANE', 'There is no such lane.');
  for (let n = 0; n < answers.length; n += 1) answers[n] ??= unknown;
}

/** Items whose lane may lack room: for each, its number among the items for its lane. Null: there is room. */
function toCount(rooms: LaneRooms, items: readonly EncodedAction[]): (number | null)[] {
  const places = new Map<string, number>();
  return items.map(({ isUnbounded, line }) => {
    if (isUnbounded) return null;
    const nth = (places.get(line) ?? 0) + 1;
    places.set(line, nth);
    return rooms.take(line) ? null : nth;
  });
}

const CREATED = ['CREATED'] as const;
const SUPERSEDED = ['SUPERSEDED'] as const;

function transitionOf(item: EncodedAction, row: Row, now: Date): Transition {
  const created = row.outcome === 'created';
  return {
    tenantId: item.tenantId,
    laneId: item.laneId,
    actionId: row.action_id,
    channel: row.channel ?? item.channel,
    events: created ? CREATED : SUPERSEDED,
    before: created ? null : 'pending',
    state: created ? 'pending' : 'cancelled',
    attempt: 0,
    reason: created ? null : 'SUPERSEDED',
    at: now,
  };
}

function answerOf(row: Row, at: Date, most: number): Verdict | EngineError | Busy {
  switch (row.outcome) {
    case 'busy':
      return BUSY;
    case 'mismatch':
      return new EngineError(
        'MUSTER_IDEMPOTENCY_MISMATCH',
        'This idempotency key was already used with another body.',
      );
    case 'deep':
      return new EngineError('MUSTER_LANE_FULL', `The lane is full: it has ${most} unfinished actions.`);
    default:
      return { id: row.action_id, outcome: row.outcome as Enqueued['outcome'], at, found: row };
  }
}

function factsOf(
  { waits, slots = null, running = null }: Found,
  own: Pick<WaitingFacts, 'notBefore' | 'maxAttempts' | 'now'>,
): WaitingFacts {
  const { aheadId = null, blocked = null, lanePaused, paused, urgent } = waits ?? {};
  return {
    tenantPaused: paused?.tag === '',
    pausedTag: paused?.tag || null,
    pausedAt: paused ? new Date(paused.at) : null,
    pausedBy: paused?.by ?? null,
    lanePaused: lanePaused ? { at: new Date(lanePaused.at), by: lanePaused.by ?? null } : null,
    blocked,
    failures: 0,
    deferrals: 0,
    aheadId,
    urgent: urgent ? { id: urgent.id, channel: urgent.channel, until: new Date(urgent.until) } : null,
    slots,
    running,
    leasedAt: null,
    leaseUntil: null,
    worker: null,
    cancelRequested: false,
    notBefore: own.notBefore,
    maxAttempts: own.maxAttempts,
    now: own.now,
  };
}

/** The result: the verdict and the caller's own values together. */
export function enqueued(action: NewAction, encoded: EncodedAction, verdict: Verdict): Enqueued {
  const { id, outcome, at, found } = verdict;
  if (outcome !== 'created' || !encoded.tell) return { id, outcome };
  const maxAttempts = action.maxAttempts ?? 3;
  const notBefore = action.notBefore ?? null;
  const created: CreatedAction = {
    id,
    tenantId: action.tenantId,
    laneId: action.laneId,
    channel: encoded.channel,
    kind: action.kind,
    payload: JSON.parse(encoded.payload),
    priority: action.priority ?? 'normal',
    tags: action.tags ?? [],
    state: 'pending',
    attempt: 0,
    failures: 0,
    maxAttempts,
    headOfLine: action.headOfLine ?? 'skip',
    leaseMs: action.leaseMs ?? null,
    createdAt: at,
    createdBy: action.createdBy ?? null,
    notBefore,
    deliverBy: action.deliverBy ?? null,
    deadline: action.deadline ?? null,
    worker: null,
    leasedAt: null,
    startedAt: null,
    leaseUntil: null,
    cancelRequested: false,
    waitingFor: waitingFor(factsOf(found, { notBefore, maxAttempts, now: at })),
    endedAt: null,
    reason: null,
    error: null,
    result: null,
    copiedFrom: action.copiedFrom ?? null,
  };
  return { id, outcome, created };
}
