import { z } from 'zod';
import { time } from './values.ts';
import { WAITING_FOR_CODES } from './waiting-for-codes.ts';

export const waitingFor = z
  .strictObject({
    code: z.enum(WAITING_FOR_CODES),
    text: z.string(),
    until: time.optional(),
    actionId: z.string().optional().describe('The action that it stands behind.'),
  })
  .meta({ id: 'WaitingFor' });
export type WaitingFor = z.infer<typeof waitingFor>;
