import { z } from 'zod';
import { wait } from '../values.ts';

/** Request schemas. */
export const checkinBody = z
  .strictObject({
    result: z
      .strictObject({
        actionId: z.string().max(100),
        attempt: z.int().min(1),
        status: z.enum(['done', 'failed', 'notNow']),
        error: z.string().optional(),
        data: z.unknown().optional(),
      })
      .optional(),
    wait: wait.optional(),
  })
  .meta({ id: 'Checkin' });
export type Checkin = z.infer<typeof checkinBody>;
