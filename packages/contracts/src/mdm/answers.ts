import { z } from 'zod';
import { time } from '../values.ts';

/** What goes out; a test compares every answer with it. */
export const enrolment = z
  .strictObject({
    id: z.string().describe('Of the device.'),
    enrolmentToken: z.string(),
    url: z.string().describe('Where the phone gets its profile.'),
  })
  .meta({ id: 'Enrolment' });
export type Enrolment = z.infer<typeof enrolment>;

export const phone = z
  .strictObject({
    id: z.string().describe('Of the device.'),
    udid: z.string(),
    byod: z.boolean().describe("Somebody's own phone: the id stands for the UDID, which is not told."),
    serial: z.string().nullable(),
    model: z.string().nullable(),
    osVersion: z.string().nullable(),
    topic: z.string(),
    canBeUnlocked: z.boolean(),
    authenticatedAt: time,
    enrolledAt: time.nullable().describe('When its first push token came: from then on it can be reached.'),
    releasedAt: time.nullable(),
  })
  .meta({ id: 'Phone' });
export type Phone = z.infer<typeof phone>;

export const answer = z
  .record(z.string(), z.unknown())
  .describe('Data is written as `{"$data": "<base64>"}`, a date as `{"$date": "…"}`.')
  .meta({ id: 'PhoneAnswer' });
export type PhoneAnswer = z.infer<typeof answer>;

export const queuedCommand = z
  .strictObject({
    id: z.string().describe('Of the action; what the phone answers is its result.'),
    commandUuid: z.string(),
  })
  .meta({ id: 'QueuedCommand' });
export type QueuedCommand = z.infer<typeof queuedCommand>;
