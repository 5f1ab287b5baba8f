import { z } from 'zod';
import { EVENT_TYPES } from './event-types.ts';
import { time } from './values.ts';

export const eventType = z.enum(EVENT_TYPES).meta({ id: 'EventType' });

export const actionEvent = z
  .strictObject({
    type: eventType,
    attempt: z.int().min(0),
    at: time,
    worker: z.string().optional(),
    workerName: z.string().optional().describe('The name of the worker, if its door knows it.'),
    reason: z.string().optional(),
  })
  .meta({ id: 'ActionEvent' });
export type ActionEvent = z.infer<typeof actionEvent>;
