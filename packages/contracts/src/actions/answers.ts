import { z } from 'zod';
import { actionEvent } from '../events.ts';
import { origin } from '../fleet/answers.ts';
import { attempt, headOfLine, nextCursor, priority, time } from '../values.ts';
import { waitingFor } from '../waiting-for.ts';
import { state } from './requests.ts';

/** What goes out; a test compares every answer with it. */
const fields = {
  id: z.string(),
  lane: z.string().nullable(),
  space: z.string().nullable(),
  channel: z.string(),
  kind: z.string(),
  payload: z.unknown(),
  state,
  priority,
  tags: z.array(z.string()),
  attempt: z.int().min(0),
  failures: z.int().min(0),
  maxAttempts: z.int(),
  headOfLine,
  createdAt: time,
  createdBy: z.string().nullable(),
  notBefore: time.optional(),
  deliverBy: time.optional(),
  deadline: time.optional(),
  worker: z.string().optional(),
  leasedAt: time.optional(),
  leaseUntil: time.optional(),
  cancelRequested: z.boolean().optional(),
  waitingFor: waitingFor.nullable(),
  endedAt: time.optional(),
  reason: z.string().optional(),
  error: z.string().optional(),
  result: z.unknown().optional(),
  copiedFrom: z.string().optional(),
  hidden: z
    .int()
    .min(1)
    .optional()
    .describe('So many fields of payload and result are not shown: passwords, tokens, secrets, keys, pins.'),
  ...origin,
};

export const action = z.strictObject(fields).meta({ id: 'Action' });
export type Action = z.infer<typeof action>;
export const actionWithEvents = z
  .strictObject({
    ...fields,
    events: z.array(actionEvent),
  })
  .meta({ id: 'ActionWithEvents' });
export type ActionWithEvents = z.infer<typeof actionWithEvents>;
export const actionWithOutcome = z
  .strictObject({ ...fields, outcome: z.string() })
  .meta({ id: 'ActionWithOutcome' });
export type ActionWithOutcome = z.infer<typeof actionWithOutcome>;
export const page = z
  .strictObject({
    actions: z.array(action),
    cursor: nextCursor,
    looked: z
      .int()
      .min(0)
      .optional()
      .describe(
        'With source, error or text: among so many they were looked for. A cursor leads to those behind them.',
      ),
  })
  .meta({ id: 'ActionPage' });
export type ActionPage = z.infer<typeof page>;

export const revealed = z
  .strictObject({ id: z.string(), payload: z.unknown(), result: z.unknown().optional() })
  .meta({ id: 'RevealedAction' });
export type RevealedAction = z.infer<typeof revealed>;
export const counted = z
  .strictObject({ count: z.int().min(0), more: z.boolean().describe('There are more than 10,000.') })
  .meta({ id: 'CountedActions' });
export type CountedActions = z.infer<typeof counted>;
const failureGroup = z
  .strictObject({
    kind: z.string(),
    error: z.string().describe('Without what differs from one to the next: numbers, ids, names in quotes.'),
    count: z.int().min(1),
    firstEndedAt: time,
    lastEndedAt: time,
    example: z.strictObject({
      id: z.string(),
      lane: z.string().nullable(),
      space: z.string().nullable(),
      error: z.string().nullable(),
      reason: z.string(),
    }),
    ids: z.array(z.string()).describe('All of them, newest first: what a redrive of the group names.'),
  })
  .meta({ id: 'FailureGroup' });
export type FailureGroup = z.infer<typeof failureGroup>;
export const failures = z
  .strictObject({
    groups: z.array(failureGroup).describe('The largest first.'),
    looked: z.int().min(0).describe('Dead letters that were looked at: the newest, 1,000 at most.'),
    more: z.boolean().describe('There are others.'),
    at: time,
  })
  .meta({ id: 'Failures' });
export type Failures = z.infer<typeof failures>;

export const claimed = z
  .strictObject({
    id: z.string(),
    kind: z.string(),
    payload: z.unknown(),
    attempt,
    maxAttempts: z.int(),
    priority,
    tags: z.array(z.string()),
    leaseUntil: time,
    redelivered: z.boolean().optional().describe('Handed out before with this very attempt.'),
    cancelRequested: z
      .boolean()
      .optional()
      .describe('An operator wants it stopped; the report still counts.'),
  })
  .meta({ id: 'ClaimedAction' });
export type ClaimedAction = z.infer<typeof claimed>;
export const claimAnswer = z.strictObject({ actions: z.array(claimed) }).meta({ id: 'Claimed' });
export type Claimed = z.infer<typeof claimAnswer>;
export const reportAnswer = z
  .strictObject({
    accepted: z.boolean(),
    status: state.describe('The state that the report led to, or the present one if it was not accepted.'),
    reason: z.string().optional(),
    actions: z.array(claimed).optional(),
  })
  .meta({ id: 'Reported' });
export type Reported = z.infer<typeof reportAnswer>;
export const extendAnswer = z
  .strictObject({
    accepted: z.boolean(),
    status: state,
    reason: z.string().optional(),
    leaseUntil: time.optional(),
    cancelRequested: z.boolean().optional(),
  })
  .meta({ id: 'Extended' });
export type Extended = z.infer<typeof extendAnswer>;
export const counts = z
  .strictObject({
    counts: z.array(z.strictObject({ channel: z.string(), state, count: z.number() })),
  })
  .meta({ id: 'Counts' });
export type Counts = z.infer<typeof counts>;
export const cancelledMatching = z
  .strictObject({ cancelled: z.int(), requested: z.int() })
  .meta({ id: 'CancelledMatching' });
export type CancelledMatching = z.infer<typeof cancelledMatching>;
export const redrivenMatching = z
  .strictObject({
    redriven: z.int(),
    refused: z.int().describe('How many stay dead letters, because nobody could have them.'),
    refusals: z
      .array(z.strictObject({ id: z.string(), code: z.string(), error: z.string() }))
      .max(1_000)
      .describe('The first thousand of those, with what would be answered to each alone.'),
  })
  .meta({ id: 'RedrivenMatching' });
export type RedrivenMatching = z.infer<typeof redrivenMatching>;
export const laneState = z.strictObject({ lane: z.string(), paused: z.boolean() }).meta({ id: 'LaneState' });
export type LaneState = z.infer<typeof laneState>;
export const pauseState = z
  .strictObject({ tag: z.string().nullable(), paused: z.boolean() })
  .meta({ id: 'PauseState' });
export type PauseState = z.infer<typeof pauseState>;
export const pauses = z
  .strictObject({
    pauses: z.array(
      z.strictObject({
        tag: z.string().nullable(),
        pausedAt: time,
        pausedBy: z.string().nullable().describe('Null: it is not known.'),
      }),
    ),
  })
  .meta({ id: 'Pauses' });
export type Pauses = z.infer<typeof pauses>;
