import { z } from 'zod';
import { time } from '../../http/schemas.ts';
import { batchBody, COUNTED } from './schemas.ts';

export const STATUSES = ['supplying', 'running', 'paused', 'cancelled', 'aborted', 'completed'] as const;

const counts = z
  .strictObject(
    Object.fromEntries(COUNTED.map((word) => [word, z.int().min(0)])) as Record<
      (typeof COUNTED)[number],
      z.ZodInt
    >,
  )
  .describe('Their sum is total, at any moment.');

export const batch = z.strictObject({
  id: z.string(),
  name: z.string().nullable(),
  status: z.enum(STATUSES),
  total: z.int(),
  counts,
  action: batchBody.shape.action,
  rate: z.int().optional(),
  ramp: batchBody.shape.ramp,
  abort: batchBody.shape.abort,
  perMinute: z.int().nullable().describe('The present pace; null: as fast as possible.'),
  createdAt: time,
  createdBy: z.string().nullable(),
});
export const accepted = z.strictObject({ id: z.string(), total: z.int() });
export const batches = z.strictObject({ batches: z.array(batch), cursor: z.string().nullable() });
export const retried = z.strictObject({
  id: z.string(),
  redriven: z.int().describe('Failed ones that are in their lanes again.'),
  again: z.int().describe('Those that never got to their device and get a new action.'),
});
export const targetPage = z.strictObject({
  targets: z.array(
    z.strictObject({
      deviceId: z.string().nullable(),
      target: z.string().optional().describe('As it was written, if there is no such device.'),
      state: z.enum(COUNTED),
      error: z.string().optional(),
      actionId: z.string().optional(),
    }),
  ),
  cursor: z.string().nullable(),
});
