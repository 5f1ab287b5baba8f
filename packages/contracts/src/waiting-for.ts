import { z } from 'zod';
import { time } from './values.ts';
import { WAITING_FOR_CODES } from './waiting-for-codes.ts';

export const waitingFor = z
  .strictObject({
    code: z.enum(WAITING_FOR_CODES),
    text: z.string(),
    until: time.optional(),
    actionId: z.string().optional().describe('The action ahead of it.'),
    since: time.optional().describe('Since when.'),
    by: z.string().optional().describe('Who holds it, or who paused it.'),
    tag: z.string().optional().describe('The paused tag, or the tag of all actions that wait for the same.'),
    attempt: z.int().optional().describe('The current attempt, or the next retry.'),
    of: z.int().optional().describe('The maximum.'),
    running: z.int().optional().describe('Slots in use.'),
    slots: z.int().optional(),
  })
  .meta({ id: 'WaitingFor' });
export type WaitingFor = z.infer<typeof waitingFor>;
