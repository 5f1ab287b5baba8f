import { z } from 'zod';
import { nextCursor, time } from '../values.ts';
import { waitingFor } from '../waiting-for.ts';
import { batchBody } from './requests.ts';
import { BATCH_STATUSES, COUNTED } from './statuses.ts';

/** Response schemas; a test compares every response with them. */
const counts = z
  .strictObject(
    Object.fromEntries(COUNTED.map((word) => [word, z.int().min(0)])) as Record<
      (typeof COUNTED)[number],
      z.ZodInt
    >,
  )
  .describe('They always add up to total.');

export const batch = z
  .strictObject({
    id: z.string(),
    name: z.string().nullable(),
    status: z.enum(BATCH_STATUSES),
    total: z.int(),
    counts,
    action: batchBody.shape.action,
    ratePerMinute: z.int().optional(),
    ramp: batchBody.shape.ramp,
    abort: batchBody.shape.abort,
    perMinute: z.int().nullable().describe('The current rate; null: as fast as possible.'),
    createdAt: time,
    createdBy: z.string().nullable(),
  })
  .meta({ id: 'Batch' });
export type Batch = z.infer<typeof batch>;
export const accepted = z.strictObject({ id: z.string(), total: z.int() }).meta({ id: 'AcceptedBatch' });
export type AcceptedBatch = z.infer<typeof accepted>;
export const batchPage = z
  .strictObject({ batches: z.array(batch), cursor: nextCursor })
  .meta({ id: 'BatchPage' });
export type BatchPage = z.infer<typeof batchPage>;
export const retried = z
  .strictObject({
    id: z.string(),
    redriven: z.int().describe('Failed actions that were redriven.'),
    again: z.int().describe('Targets that never reached their device and get a new action.'),
    refused: z
      .int()
      .describe('Failed actions that stay failed: their devices are in error and clearError was not set.'),
  })
  .meta({ id: 'RetriedBatch' });
export type RetriedBatch = z.infer<typeof retried>;
export const batchTarget = z
  .strictObject({
    deviceId: z.string().nullable(),
    deviceName: z.string().optional(),
    target: z.string().optional().describe('As given, if there is no such device.'),
    state: z.enum(COUNTED),
    error: z
      .string()
      .optional()
      .describe('Why it was refused, failed, expired or was cancelled: the reported text, or a code.'),
    actionId: z.string().optional(),
    waitingFor: waitingFor.optional().describe('If pending or sent: why it has not ended yet.'),
  })
  .meta({ id: 'BatchTarget' });
export type BatchTarget = z.infer<typeof batchTarget>;
export const targetPage = z
  .strictObject({ targets: z.array(batchTarget), cursor: nextCursor })
  .meta({ id: 'BatchTargetPage' });
export type BatchTargetPage = z.infer<typeof targetPage>;
