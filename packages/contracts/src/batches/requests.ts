import { z } from 'zod';
import { deviceAction, targets } from '../fleet/requests.ts';
import { clearError, limit, name, placeCursor } from '../values.ts';
import { COUNTED } from './statuses.ts';

/** Request schemas. */
const perMinute = z.int().min(1).max(1_000_000);

export const batchBody = z
  .strictObject({
    name: name.optional(),
    targets,
    action: deviceAction,
    ratePerMinute: perMinute.optional().describe('How many targets are queued per minute.'),
    ramp: z
      .strictObject({
        basePerMinute: perMinute,
        factor: z.number().min(1).max(100),
        everySuccesses: z.int().min(1).max(1_000_000),
      })
      .optional()
      .describe('Start slowly and speed up after each given number of successes, never above ratePerMinute.'),
    abort: z
      .strictObject({
        failurePercent: z.number().min(0).max(100),
        minimumSample: z.int().min(1).max(1_000_000),
      })
      .optional()
      .describe('Abort the rest once this many have ended and this percentage of them has failed.'),
  })
  .meta({ id: 'NewBatch' });
export type NewBatch = z.infer<typeof batchBody>;

export const retryBody = z.strictObject({ clearError }).meta({ id: 'BatchRetry' });
export type BatchRetry = z.infer<typeof retryBody>;

export const targetsQuery = z.strictObject({
  state: z.enum(COUNTED).optional(),
  cursor: placeCursor.optional(),
  limit: limit.optional(),
});
