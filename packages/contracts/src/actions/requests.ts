import { z } from 'zod';
import {
  attempt,
  clearError,
  cursor,
  headOfLine,
  limit,
  name,
  priority,
  reason,
  time,
  wait,
} from '../values.ts';

/** Request schemas. Names and bounds are the engine's; the sentences for wrong values come from here. */
const leaseSeconds = z
  .number()
  .min(1)
  .max(86_400)
  .describe('How long the worker may hold the action before it is handed out again.');
export const state = z
  .enum(['pending', 'claimed', 'succeeded', 'failed', 'cancelled', 'expired'])
  .meta({ id: 'ActionState' });

/** A name of dots alone would lead elsewhere in a URL: every client collapses it. */
const laneName = name.regex(/^(?!\.\.?$)/u);
export const laneParams = z.strictObject({ lane: laneName });

export const enqueueBody = z
  .strictObject({
    kind: name,
    payload: z.unknown().optional(),
    priority: priority.optional(),
    notBefore: time.optional(),
    deliverBy: time.optional(),
    deadline: time.optional(),
    maxAttempts: z.int().min(1).max(1_000).optional(),
    headOfLine: headOfLine.optional(),
    supersede: z
      .strictObject({ key: name, mode: z.enum(['keep-first', 'replace', 'append']).optional() })
      .optional(),
    tags: z.array(name).max(50).optional(),
  })
  .meta({ id: 'NewAction' });
export type NewAction = z.infer<typeof enqueueBody>;

export const claimBody = z
  .strictObject({
    worker: name,
    max: z.int().min(1).max(100).optional(),
    wait: wait.optional(),
    leaseSeconds: leaseSeconds.optional(),
  })
  .meta({ id: 'Claim' });
export type Claim = z.infer<typeof claimBody>;

export const reportBody = z
  .strictObject({
    attempt,
    status: z.enum(['succeeded', 'failed', 'notNow']),
    worker: name.optional(),
    result: z.unknown().optional(),
    error: z.string().optional(),
    retryAfterSeconds: z.number().min(0).max(86_400).optional(),
    next: z
      .strictObject({ worker: name.optional(), wait: wait.optional(), leaseSeconds: leaseSeconds.optional() })
      .optional(),
  })
  .meta({ id: 'Report' });
export type Report = z.infer<typeof reportBody>;

export const extendBody = z
  .strictObject({ attempt, leaseSeconds: leaseSeconds.optional() })
  .meta({ id: 'Extend' });
export type Extend = z.infer<typeof extendBody>;
export const releaseBody = z.strictObject({ attempt, reason: reason.optional() }).meta({ id: 'Release' });
export type Release = z.infer<typeof releaseBody>;
export const pauseBody = z.strictObject({ tag: name.optional() }).meta({ id: 'Pause' });
export type Pause = z.infer<typeof pauseBody>;

const filters = {
  lane: name.optional(),
  space: name.optional().describe('The namespace of the lane: generic, or that of a door.'),
  channel: name.optional(),
  kind: name.optional(),
  tag: name.optional(),
};

const WITHOUT_INTERNAL =
  "false: leaves out the server's own actions (messages between its parts, callbacks, webhook deliveries), unless ids, lane, channel, kind or tag is given.";
const internal = { internal: z.boolean().optional().describe(WITHOUT_INTERNAL) };

const anyState = z.enum([...state.options, 'unfinished', 'finished']);
const created = { createdBefore: time.optional(), createdAfter: time.optional() };
const ended = { endedBefore: time.optional(), endedAfter: time.optional() };
/** Filters without an index: they scan the newest 10,000 that match the rest, as do kind and channel without a lane. */
const looked = {
  source: name.optional().describe('Who queued it, as in createdBy.'),
  error: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe('Part of the error that the worker reported; only finished actions have one.'),
  text: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe(
      'Part of the payload; quotes, and blanks around JSON punctuation, are ignored. Needs kind, tag or lane too, or createdAfter within the last 24 hours.',
    ),
};

export const listQuery = z.strictObject({
  ...filters,
  ...created,
  ...ended,
  ...looked,
  internal: z.enum(['true', 'false']).optional().describe(WITHOUT_INTERNAL),
  ids: z
    .union([z.string(), z.array(z.string()).max(100)])
    .optional()
    .describe('Only these; repeat it for each, up to 100.'),
  state: anyState.optional(),
  cursor: cursor.optional(),
  limit: limit.optional(),
});

export const filterBody = z
  .strictObject({
    ...filters,
    ...internal,
    ids: z.array(z.string()).max(1_000).optional(),
    state: z.enum(['pending', 'claimed', 'failed']).optional(),
    ...created,
    ...ended,
    reason: reason.optional(),
  })
  .meta({ id: 'ActionFilter' });
export type ActionFilter = z.infer<typeof filterBody>;

export const countBody = z
  .strictObject({
    ...filters,
    ...internal,
    ids: z.array(z.string()).max(1_000).optional(),
    state: anyState.optional(),
    ...created,
    ...ended,
  })
  .meta({ id: 'ActionCount' });
export type ActionCount = z.infer<typeof countBody>;

export const redriveBody = z.strictObject({ reason: reason.optional(), clearError }).meta({ id: 'Redrive' });
export type Redrive = z.infer<typeof redriveBody>;
export const redriveFilterBody = z
  .strictObject({ ...filterBody.shape, clearError })
  .meta({ id: 'RedriveFilter' });
export type RedriveFilter = z.infer<typeof redriveFilterBody>;

/** For the actions of one target. */
export const targetActionsQuery = z.strictObject({
  state: z
    .enum([...state.options, 'running', 'unfinished', 'finished'])
    .optional()
    .describe('running means claimed; unfinished means pending or claimed; finished means ended in any way.'),
  cursor: cursor.optional(),
  limit: limit.optional(),
});

export const copyBody = z
  .strictObject({
    kind: name.optional(),
    payload: z.unknown().optional(),
    priority: priority.optional(),
    notBefore: time.optional(),
    deliverBy: time.optional(),
    deadline: time.optional(),
    maxAttempts: z.int().min(1).max(1_000).optional(),
    headOfLine: headOfLine.optional(),
  })
  .meta({ id: 'ActionCopy' });
export type ActionCopy = z.infer<typeof copyBody>;
