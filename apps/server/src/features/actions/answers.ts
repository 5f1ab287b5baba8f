import { z } from 'zod';
import { time } from '../../http/schemas.ts';
import { attempt, priority, state } from './schemas.ts';

/** What the routes answer, for the published description; a test compares every answer with it. */
export const waitingFor = z.strictObject({
  code: z.string(),
  text: z.string(),
  until: time.optional(),
  actionId: z.string().optional(),
});

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
  headOfLine: z.enum(['skip', 'hold']),
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
};

export const action = z.strictObject(fields);
export const actionWithEvents = z.strictObject({
  ...fields,
  events: z.array(
    z.strictObject({
      type: z.string(),
      attempt: z.int().min(0),
      at: time,
      worker: z.string().optional(),
      reason: z.string().optional(),
    }),
  ),
});
export const actionWithOutcome = z.strictObject({ ...fields, outcome: z.string() });
export const page = z.strictObject({ actions: z.array(action), cursor: z.string().nullable() });

export const claimed = z.strictObject({
  id: z.string(),
  kind: z.string(),
  payload: z.unknown(),
  attempt,
  maxAttempts: z.int(),
  priority,
  tags: z.array(z.string()),
  leaseUntil: time,
  redelivered: z.boolean().optional().describe('Handed out before with this very attempt.'),
  cancelRequested: z.boolean().optional().describe('An operator wants it stopped; the report still counts.'),
});
export const claimAnswer = z.strictObject({ actions: z.array(claimed) });
export const reportAnswer = z.strictObject({
  accepted: z.boolean(),
  status: state.describe('The state that the report led to, or the present one if it was not accepted.'),
  reason: z.string().optional(),
  actions: z.array(claimed).optional(),
});
export const extendAnswer = z.strictObject({
  accepted: z.boolean(),
  status: state,
  reason: z.string().optional(),
  leaseUntil: time.optional(),
  cancelRequested: z.boolean().optional(),
});
export const counts = z.strictObject({
  counts: z.array(z.strictObject({ channel: z.string(), state, count: z.number() })),
});
export const laneState = z.strictObject({ lane: z.string(), paused: z.boolean() });
export const pauseState = z.strictObject({ tag: z.string().nullable(), paused: z.boolean() });
export const pauses = z.strictObject({
  pauses: z.array(z.strictObject({ tag: z.string().nullable(), pausedAt: time })),
});
