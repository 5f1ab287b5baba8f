import { z } from 'zod';
import { CALLBACK_STATES } from './states.ts';

/** Response schemas, in the shapes that the client of QStash reads. Times are milliseconds since 1970. */
const millis = z.int();
const manyValues = z.record(z.string(), z.array(z.string()));

export const published = z
  .strictObject({ messageId: z.string(), url: z.string(), deduplicated: z.boolean().optional() })
  .meta({ id: 'PublishedCallback' });
export type PublishedCallback = z.infer<typeof published>;

const facts = {
  messageId: z.string(),
  url: z.string(),
  method: z.string(),
  header: manyValues,
  body: z.string().optional(),
  bodyBase64: z.string().optional().describe('For a body that is not text.'),
  maxRetries: z.int(),
  notBefore: millis.optional(),
  createdAt: millis,
  callback: z.string().optional(),
  failureCallback: z.string().optional(),
  label: z.string().optional(),
  labels: z.array(z.string()).optional(),
};
const answered = {
  responseStatus: z.int().optional(),
  responseHeader: manyValues.optional(),
  responseBody: z.string().optional(),
  responseBodyBase64: z.string().optional(),
};

export const message = z.strictObject(facts).meta({ id: 'CallbackMessage' });
export type CallbackMessage = z.infer<typeof message>;

export const letter = z
  .strictObject({ ...facts, dlqId: z.string(), ...answered })
  .meta({ id: 'CallbackDeadLetter' });
export type CallbackDeadLetter = z.infer<typeof letter>;
export const letterPage = z
  .strictObject({ messages: z.array(letter), cursor: z.string().optional() })
  .meta({ id: 'CallbackDeadLetterPage' });

export const event = z
  .strictObject({
    time: millis,
    state: z.enum(CALLBACK_STATES),
    messageId: z.string(),
    url: z.string(),
    method: z.string(),
    maxRetries: z.int(),
    error: z.string().optional(),
    label: z.string().optional(),
    labels: z.array(z.string()).optional(),
    ...answered,
  })
  .meta({ id: 'CallbackEvent' });
export type CallbackEvent = z.infer<typeof event>;
export const eventPage = z
  .strictObject({ events: z.array(event), cursor: z.string().optional() })
  .meta({ id: 'CallbackEventPage' });

const more = z.string().optional().describe('There are more: pass it to get the next page.');
export const cancelled = z
  .strictObject({ cancelled: z.int(), cursor: more })
  .meta({ id: 'CancelledCallbacks' });
export const dismissed = z
  .strictObject({ deleted: z.int(), cursor: more })
  .meta({ id: 'DismissedDeadLetters' });
export const retried = z
  .strictObject({ responses: z.array(z.strictObject({ messageId: z.string() })), cursor: more })
  .meta({ id: 'RetriedDeadLetters' });
export const keys = z
  .strictObject({ current: z.string(), next: z.string() })
  .meta({ id: 'CallbackSigningKeys' });
export type CallbackSigningKeys = z.infer<typeof keys>;
