import { BUSY, type Busy, type Context, type Operation, type Transition, type Wake } from '../context.ts';
import { EngineError } from '../errors.ts';
import { ANY_CHANNEL } from '../sql.ts';
import { checkText, encodeJson } from '../text.ts';

/** The work itself is done by the SQL function of migration 002; this checks, encodes and reads the verdicts. */
export interface NewAction {
  readonly tenantId: number;
  readonly laneId: string;
  readonly kind: string;
  readonly payload?: unknown;
  /** The way by which it may be delivered; any by default. */
  readonly channel?: string | undefined;
  readonly priority?: 'urgent' | 'normal' | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly notBefore?: Date | undefined;
  /** Not handed out even once by then: expired. */
  readonly deliverBy?: Date | undefined;
  /** Not finished by then: failed. */
  readonly deadline?: Date | undefined;
  readonly maxAttempts?: number | undefined;
  /** The wait before the second try; doubled for each further one. */
  readonly backoffMs?: number | undefined;
  readonly backoffMaxMs?: number | undefined;
  /** While a retry waits the lane goes on (skip) or waits too (hold). */
  readonly headOfLine?: 'skip' | 'hold' | undefined;
  readonly onLeaseEnd?: 'retry' | 'fail' | 'succeed' | undefined;
  /** Over actions of the lane that were never handed out. */
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
}

export interface EncodedAction {
  readonly tenantId: number;
  readonly laneId: string;
  readonly channel: string;
  readonly kind: string;
  readonly payload: string;
  readonly options: string | null;
  /** What must not share a statement with its like. */
  readonly key: string | null;
}

interface Row {
  ord: number;
  outcome: 'created' | 'present' | 'mismatch' | 'kept' | 'deep' | 'busy';
  action_id: string;
  lane_id: string;
  runner_id: string | null;
}

export function encodeAction(context: Context, action: NewAction): EncodedAction {
  if (
    action.maxAttempts !== undefined &&
    !(Number.isInteger(action.maxAttempts) && action.maxAttempts > 0 && action.maxAttempts <= 1000)
  )
    throw new EngineError('MUSTER_BAD_VALUE', 'maxAttempts must be a whole number from 1 to 1000.');
  checkText(action.kind, 'kind');
  const options: Record<string, unknown> = {};
  if (action.priority === 'urgent') options.priority = 'urgent';
  if (action.tags && action.tags.length > 0) options.tags = action.tags;
  for (const name of ['notBefore', 'deliverBy', 'deadline'] as const)
    if (action[name]) options[name] = action[name].toISOString();
  for (const name of [
    'maxAttempts',
    'backoffMs',
    'backoffMaxMs',
    'headOfLine',
    'onLeaseEnd',
    'idempotencyKey',
    'createdBy',
    'copiedFrom',
  ] as const)
    if (action[name] !== undefined) options[name] = action[name];
  if (action.supersede) {
    options.supersedeKey = action.supersede.key;
    options.supersedeMode = action.supersede.mode;
  }
  if (context.depthLimit !== 1000) options.depthLimit = context.depthLimit;
  return {
    tenantId: action.tenantId,
    laneId: action.laneId,
    channel: action.channel ?? ANY_CHANNEL,
    kind: action.kind,
    payload: encodeJson(action.payload ?? {}, 'payload'),
    options: Object.keys(options).length > 0 ? encodeJson(options, 'options') : null,
    key: keyOf(action),
  };
}

function keyOf(action: NewAction): string | null {
  if (action.supersede && action.supersede.mode !== 'append')
    return `lane ${action.tenantId}:${action.laneId}`;
  return action.idempotencyKey === undefined ? null : `key ${action.tenantId}:${action.idempotencyKey}`;
}

export function createEnqueue(context: Context): Operation<EncodedAction, Enqueued | EngineError> {
  const text = `select * from ${context.schema}.enqueue_actions($1, $2, $3, $4, $5, $6::jsonb[], $7::jsonb[])`;
  return {
    name: 'enqueue',
    key: (item) => item.key,
    async run(client, items) {
      const now = context.now();
      const { rows } = await client.query({
        name: 'muster_enqueue',
        text,
        values: [
          now,
          items.map((item) => item.tenantId),
          items.map((item) => item.laneId),
          items.map((item) => item.channel),
          items.map((item) => item.kind),
          items.map((item) => item.payload),
          items.map((item) => item.options),
        ],
      });
      const unknown = new EngineError('MUSTER_UNKNOWN_LANE', 'There is no such lane.');
      const answers: (Enqueued | EngineError | Busy)[] = items.map(() => unknown);
      const transitions: Transition[] = [];
      const wakes: Wake[] = [];
      for (const row of rows as Row[]) {
        const item = items[row.ord - 1] as EncodedAction;
        answers[row.ord - 1] = answerOf(row, context);
        if (row.outcome !== 'created') continue;
        transitions.push(createdTransition(item, row, now));
        wakes.push({ tenantId: item.tenantId, laneId: row.lane_id, runnerId: row.runner_id });
      }
      return { answers, transitions, wakes };
    },
  };
}

export function createdTransition(
  item: EncodedAction,
  row: { action_id: string; lane_id: string },
  now: Date | null,
): Transition {
  return {
    tenantId: item.tenantId,
    laneId: row.lane_id,
    actionId: row.action_id,
    channel: item.channel,
    events: ['CREATED'],
    state: 'pending',
    attempt: 0,
    reason: null,
    at: now ?? new Date(),
  };
}

function answerOf(row: Row, context: Context): Enqueued | EngineError | Busy {
  switch (row.outcome) {
    case 'busy':
      return BUSY;
    case 'mismatch':
      return new EngineError(
        'MUSTER_IDEMPOTENCY_MISMATCH',
        'This idempotency key was used for another body.',
      );
    case 'deep':
      return new EngineError(
        'MUSTER_LANE_FULL',
        `The lane already has ${context.depthLimit} unfinished actions.`,
      );
    default:
      return { id: row.action_id, outcome: row.outcome };
  }
}
