import { z } from 'zod';
import { nextCursor, time } from '../values.ts';

/** Response schemas; a test compares every response with them. */
export const enrolment = z
  .strictObject({
    id: z.string().describe('The id of the device.'),
    enrolmentToken: z.string(),
    url: z.string().describe('Where the phone downloads its profile.'),
  })
  .meta({ id: 'Enrolment' });
export type Enrolment = z.infer<typeof enrolment>;

const pushState = z
  .strictObject({
    state: z
      .enum(['none', 'dead', 'idle', 'due', 'sent'])
      .describe(
        'none: the phone has sent no token. dead: APNs no longer accepts the token. idle: no push is needed. due: a push is about to be sent. sent: APNs has the push, and the phone has not checked in yet.',
      ),
    tokenAt: time.nullable().describe('When it last sent its token.'),
    deadReason: z.string().nullable(),
    pushes: z.int().describe('Since its last contact.'),
    pushedAt: time.nullable(),
    nextAt: time.nullable().describe('When the next one is sent.'),
  })
  .meta({ id: 'PhonePush' });

export const phone = z
  .strictObject({
    id: z.string().describe('The id of the device.'),
    udid: z.string(),
    byod: z
      .boolean()
      .describe('A personal phone: this id replaces the UDID, which the phone does not reveal.'),
    serial: z.string().nullable(),
    model: z.string().nullable(),
    osVersion: z.string().nullable(),
    topic: z.string(),
    canBeUnlocked: z.boolean(),
    authenticatedAt: time,
    enrolledAt: time
      .nullable()
      .describe('When its first push token arrived; from then on it can be reached.'),
    releasedAt: time.nullable(),
    name: z.string().describe('The name of the device.'),
    queueDepth: z.int().describe('Waiting actions, counted up to 1000.'),
    online: z.boolean(),
    lastSeenAt: time.nullable(),
    certificateEndsAt: time
      .nullable()
      .describe('When the last of its certificates expires; null: it has none.'),
    push: pushState,
  })
  .meta({ id: 'Phone' });
export type Phone = z.infer<typeof phone>;
export const phonePage = z
  .strictObject({ phones: z.array(phone), cursor: nextCursor })
  .meta({ id: 'PhonePage' });
export type PhonePage = z.infer<typeof phonePage>;

export const pushed = z
  .strictObject({
    result: z.string().nullable().describe('The id from APNs, or a note that a push is already on its way.'),
    error: z.string().nullable().describe('Null: APNs accepted it.'),
  })
  .meta({ id: 'PushedPhone' });

export const answer = z
  .record(z.string(), z.unknown())
  .describe('Data is written as `{"$data": "<base64>"}`, a date as `{"$date": "…"}`.')
  .meta({ id: 'PhoneAnswer' });
export type PhoneAnswer = z.infer<typeof answer>;

export const queuedCommand = z
  .strictObject({
    id: z.string().describe('The id of the action; the answer of the phone becomes its result.'),
    commandUuid: z.string(),
  })
  .meta({ id: 'QueuedCommand' });
export type QueuedCommand = z.infer<typeof queuedCommand>;
