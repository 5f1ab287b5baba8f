import { z } from 'zod';
import { time } from './values.ts';
import { WAITING_FOR_CODES } from './waiting-for-codes.ts';

export const waitingFor = z
  .strictObject({
    code: z.enum(WAITING_FOR_CODES),
    text: z.string(),
    until: time.optional(),
    actionId: z.string().optional().describe('The action that it stands behind.'),
    since: time.optional().describe('Since when it is so.'),
    by: z.string().optional().describe('Who has it, or who paused it.'),
    tag: z.string().optional().describe('The tag that is paused.'),
    attempt: z.int().optional().describe('Which attempt it is, or which retry comes.'),
    of: z.int().optional().describe('So many there are at most.'),
    running: z.int().optional().describe('Slots that are taken.'),
    slots: z.int().optional(),
  })
  .meta({ id: 'WaitingFor' });
export type WaitingFor = z.infer<typeof waitingFor>;
