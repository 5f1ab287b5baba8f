import { z } from 'zod';
import { source } from '../../fleet/index.ts';
import { time } from '../../http/schemas.ts';

/** What goes out, for the published description; a test compares every answer with it. */
export const status = z.enum(['pending', 'sent', 'done', 'failed', 'cancelled', 'expired']);

export const waitingFor = z
  .strictObject({
    code: z.string(),
    text: z.string(),
    until: time.optional(),
    actionId: z.string().optional(),
  })
  .nullable();

export const assigned = z.strictObject({
  id: z.string(),
  status,
  position: z.int().nullable().describe('1 is next, 0 is with the device; null once it has ended.'),
  waitingFor,
});

export const queue = z.strictObject({
  actions: z.array(
    z.strictObject({
      id: z.string(),
      kind: z.string(),
      payload: z.unknown(),
      status,
      source,
      channel: z.string(),
      assignedAt: time,
      assignedBy: z.string().nullable(),
      moreDays: z.int(),
      priority: z.enum(['normal', 'urgent']),
      attempt: z.int(),
      maxAttempts: z.int(),
      position: z.int(),
      waitingFor,
      cancelRequested: z.boolean().optional(),
    }),
  ),
});

export const checkin = z.strictObject({
  action: z
    .strictObject({
      id: z.string(),
      kind: z.string(),
      payload: z.unknown(),
      attempt: z.int(),
      leaseUntil: time,
      source,
      assignedAt: time,
      milestoneId: z.string().nullable(),
      trigger: z
        .enum(['QUEUE', 'DIRECT'])
        .describe('DIRECT: the device was waiting when it was assigned. QUEUE: it waited for the device.'),
      redelivered: z.boolean().optional().describe('Handed out before with this very attempt.'),
      cancelRequested: z
        .boolean()
        .optional()
        .describe('An operator wants it stopped; the report still counts.'),
    })
    .nullable(),
  pending: z.int().min(0).max(100).describe('How many wait behind it, counted up to 100.'),
  result: z
    .strictObject({
      accepted: z.boolean(),
      status: z.enum([...status.options, 'unknown']),
      reason: z.string().optional(),
    })
    .optional(),
});
