import { z } from 'zod';
import { actionEvent } from '../events.ts';
import { origin } from '../fleet/answers.ts';
import { attempt, headOfLine, nextCursor, priority, time } from '../values.ts';
import { waitingFor } from '../waiting-for.ts';
import { state } from './requests.ts';

/** Response schemas; a test compares every response with them. */
const fields = {
  id: z.string(),
  lane: z.string().nullable(),
  space: z.string().nullable(),
  channel: z.string(),
  kind: z.string(),
  name: z.string().optional().describe('The display name, if it is not the kind: the command of a phone.'),
  payload: z.unknown(),
  state,
  priority,
  tags: z.array(z.string()),
  attempt: z.int().min(0),
  failures: z
    .int()
    .min(0)
    .describe('Failed attempts that count, of an unfinished action; 0 once it has ended.'),
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
    .describe('Number of hidden fields in payload and result: passwords, tokens, secrets, keys, pins.'),
  fixed: z
    .array(z.enum(['place', 'time', 'copy']))
    .optional()
    .describe('What its door does not allow: place (move-to-front), time (make-due), copy.'),
  targetName: z.string().optional().describe('The name of its target: a device, or a service and its host.'),
  workerName: z
    .string()
    .optional()
    .describe('The name of the worker that has it: a device, host, PC or bot.'),
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
        'How many actions were searched. Set with source, error, text, endedAfter or endedBefore; with kind, channel or internal=false unless lane or tag is given; and with a tag if 10,000 were searched without filling the page. The cursor continues behind them, also from a page that is not full.',
      ),
  })
  .meta({ id: 'ActionPage' });
export type ActionPage = z.infer<typeof page>;

export const revealed = z
  .strictObject({ id: z.string(), payload: z.unknown(), result: z.unknown().optional() })
  .meta({ id: 'RevealedAction' });
export type RevealedAction = z.infer<typeof revealed>;
export const counted = z
  .strictObject({ count: z.int().min(0), more: z.boolean().describe('True if there are more than 10,000.') })
  .meta({ id: 'CountedActions' });
export type CountedActions = z.infer<typeof counted>;
const failureGroup = z
  .strictObject({
    kind: z.string(),
    name: z.string().optional().describe('The display name, if it is not the kind: the command of a phone.'),
    error: z.string().describe('The error without its variable parts: numbers, ids, quoted names.'),
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
    ids: z.array(z.string()).describe('All ids, newest first; pass them to redrive the group.'),
  })
  .meta({ id: 'FailureGroup' });
export type FailureGroup = z.infer<typeof failureGroup>;
export const failures = z
  .strictObject({
    groups: z.array(failureGroup).describe('Largest first.'),
    looked: z.int().min(0).describe('Dead letters examined: the newest 1,000 at most.'),
    more: z.boolean().describe('True if there are more.'),
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
    redelivered: z.boolean().optional().describe('This attempt was handed out before.'),
    cancelRequested: z.boolean().optional().describe('An operator cancelled it; a report still counts.'),
  })
  .meta({ id: 'ClaimedAction' });
export type ClaimedAction = z.infer<typeof claimed>;
export const claimAnswer = z.strictObject({ actions: z.array(claimed) }).meta({ id: 'Claimed' });
export type Claimed = z.infer<typeof claimAnswer>;
export const reportAnswer = z
  .strictObject({
    accepted: z.boolean(),
    status: state.describe('The state after the report, or the current state if it was not accepted.'),
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
    refused: z.int().describe('How many stay dead letters because their target was deleted or is in error.'),
    refusals: z
      .array(
        z.strictObject({
          id: z.string(),
          code: z.string(),
          error: z.string(),
          device: z
            .strictObject({ id: z.string(), name: z.string() })
            .optional()
            .describe('The device that is in error: with clearError it would be redriven.'),
        }),
      )
      .max(1_000)
      .describe('The first 1,000 of these, each with the error it would get alone.'),
  })
  .meta({ id: 'RedrivenMatching' });
export type RedrivenMatching = z.infer<typeof redrivenMatching>;
export const madeDueMatching = z.strictObject({ due: z.int() }).meta({ id: 'MadeDueMatching' });
export type MadeDueMatching = z.infer<typeof madeDueMatching>;
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
        pausedBy: z.string().nullable().describe('Null: unknown.'),
      }),
    ),
  })
  .meta({ id: 'Pauses' });
export type Pauses = z.infer<typeof pauses>;
