import { z } from 'zod';
import { deviceAction, targets } from '../../fleet/index.ts';
import { cursor, name, placeCursor } from '../../http/schemas.ts';

const perMinute = z.int().min(1).max(1_000_000);

export const batchBody = z.strictObject({
  name: name.optional(),
  targets,
  action: deviceAction,
  rate: perMinute.optional().describe('How many are put into lanes per minute.'),
  ramp: z
    .strictObject({
      basePerMinute: perMinute,
      factor: z.number().min(1).max(100),
      everySuccesses: z.int().min(1).max(1_000_000),
    })
    .optional()
    .describe('Begin slowly, and go faster with every so many successes; never above rate.'),
  abort: z
    .strictObject({
      failurePercent: z.number().min(0).max(100),
      minimumSample: z.int().min(1).max(1_000_000),
    })
    .optional()
    .describe('Stop the rest once so many have ended and so many percent of them have failed.'),
});

export const idParams = z.strictObject({ id: z.string() });

export const COUNTED = [
  'waiting',
  'pending',
  'sent',
  'done',
  'failed',
  'cancelled',
  'expired',
  'refused',
  'stopped',
  'forgotten',
] as const;

export const pageQuery = z.strictObject({
  cursor: cursor.optional(),
  limit: z.int().min(1).max(500).optional(),
});
export const targetsQuery = z.strictObject({
  state: z.enum(COUNTED).exclude(['stopped']).optional(),
  cursor: placeCursor.optional(),
  limit: z.int().min(1).max(500).optional(),
});
