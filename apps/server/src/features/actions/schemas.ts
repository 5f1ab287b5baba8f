import { z } from 'zod';
import { cursor, name, time, wait } from '../../http/schemas.ts';

/** What goes over the wire. Names and bounds are those of the engine; the sentences for wrong values come from here. */
export const leaseSeconds = z
  .number()
  .min(1)
  .max(86_400)
  .describe('How long the worker may hold the action before it goes to somebody else.');
export const attempt = z.int().min(1).describe('The attempt that was handed out: the fence.');
export const reason = z.string().max(2_000);
export const priority = z.enum(['normal', 'urgent']);
export const state = z.enum(['pending', 'claimed', 'succeeded', 'failed', 'cancelled', 'expired']);

export const laneParams = z.strictObject({ lane: name });
/** Ids are opaque: one that is not ours is unknown, not wrong. */
export const idParams = z.strictObject({ id: z.string() });

export const enqueueBody = z.strictObject({
  kind: name,
  payload: z.unknown().optional(),
  priority: priority.optional(),
  notBefore: time.optional(),
  deliverBy: time.optional(),
  deadline: time.optional(),
  maxAttempts: z.int().min(1).max(1_000).optional(),
  headOfLine: z.enum(['skip', 'hold']).optional(),
  supersede: z
    .strictObject({ key: name, mode: z.enum(['keep-first', 'replace', 'append']).optional() })
    .optional(),
  tags: z.array(name).max(50).optional(),
});

export const claimBody = z.strictObject({
  worker: name,
  max: z.int().min(1).max(100).optional(),
  wait: wait.optional(),
  leaseSeconds: leaseSeconds.optional(),
});

export const reportBody = z.strictObject({
  attempt,
  status: z.enum(['succeeded', 'failed', 'notNow']),
  worker: name.optional(),
  result: z.unknown().optional(),
  error: z.string().optional(),
  retryAfterSeconds: z.number().min(0).max(86_400).optional(),
  next: z
    .strictObject({ worker: name.optional(), wait: wait.optional(), leaseSeconds: leaseSeconds.optional() })
    .optional(),
});

export const extendBody = z.strictObject({ attempt, leaseSeconds: leaseSeconds.optional() });
export const releaseBody = z.strictObject({ attempt, reason: reason.optional() });
export const reasonBody = z.strictObject({ reason: reason.optional() });
export const pauseBody = z.strictObject({ tag: name.optional() });

const filters = {
  lane: name.optional(),
  space: name.optional().describe('The name space of the lane: generic, or that of a door.'),
  channel: name.optional(),
  kind: name.optional(),
  tag: name.optional(),
};

export const listQuery = z.strictObject({
  ...filters,
  state: z.enum([...state.options, 'unfinished']).optional(),
  cursor: cursor.optional(),
  limit: z.int().min(1).max(500).optional(),
});

export const filterBody = z.strictObject({
  ...filters,
  ids: z.array(z.string()).max(1_000).optional(),
  state: z.enum(['pending', 'claimed', 'failed']).optional(),
  createdBefore: time.optional(),
  createdAfter: time.optional(),
  reason: reason.optional(),
});
