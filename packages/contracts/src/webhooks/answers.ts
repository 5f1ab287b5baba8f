import { z } from 'zod';
import { nextCursor, time } from '../values.ts';
import { DELIVERY_STATES, WEBHOOK_EVENTS, WEBHOOK_WILDCARDS } from './events.ts';
import { webhookFilter } from './requests.ts';

/** What goes out; a test compares every answer with it. */
const lastTry = z
  .strictObject({
    at: time,
    deliveryId: z.string(),
    status: z.int().nullable().describe('Null: there was no answer.'),
    error: z.string().nullable().describe('Null: it was taken.'),
  })
  .meta({ id: 'WebhookLastTry' });

export const webhook = z
  .strictObject({
    id: z.string(),
    name: z.string().nullable(),
    url: z.string(),
    events: z.array(z.enum([...WEBHOOK_EVENTS, ...WEBHOOK_WILDCARDS])),
    filter: webhookFilter,
    state: z.enum(['active', 'paused']),
    pausedSince: time.optional(),
    pausedReason: z.string().optional(),
    pausedBy: z
      .enum(['operator', 'failures'])
      .optional()
      .describe('failures: for a day nothing was taken, or the endpoint says that it is gone.'),
    catchingUp: z.boolean().describe('It gets what happened while it was paused, before what happens now.'),
    failingSince: time.nullable().describe('Every try since then has failed.'),
    last: lastTry.nullable(),
    counts: z
      .strictObject({ delivered: z.int(), failed: z.int() })
      .describe('Deliveries that were taken, and those that were given up.'),
    waiting: z.int().optional().describe('Of a single one: deliveries that wait or are tried again.'),
    createdAt: time,
    createdBy: z.string().nullable(),
  })
  .meta({ id: 'Webhook' });
export type Webhook = z.infer<typeof webhook>;

const secret = z.string().describe('`whsec_…`, to verify signatures with. Shown once.');
export const newWebhook = webhook.extend({ secret }).meta({ id: 'CreatedWebhook' });
export const webhookPage = z
  .strictObject({ webhooks: z.array(webhook), cursor: nextCursor })
  .meta({ id: 'WebhookPage' });
export type WebhookPage = z.infer<typeof webhookPage>;
export const rotated = z
  .strictObject({
    secret,
    formerUntil: time.describe('Until then requests carry a signature of the former one too.'),
  })
  .meta({ id: 'RotatedWebhookSecret' });
export const pinged = z
  .strictObject({
    status: z.int().nullable(),
    error: z.string().nullable().describe('Null: it was taken.'),
    body: z.string().describe('The beginning of the answer.'),
    tookMs: z.int(),
  })
  .meta({ id: 'PingedWebhook' });

export const delivery = z
  .strictObject({
    id: z.string().describe('That of its action.'),
    event: z.string(),
    eventId: z.string().describe('`webhook-id` of the request; a replay has that of its first delivery.'),
    eventAt: time,
    subject: z.string().nullable(),
    state: z.enum(DELIVERY_STATES),
    attempt: z.int(),
    createdAt: time,
    replayOf: z.string().optional(),
    last: lastTry.omit({ deliveryId: true }).nullable(),
  })
  .meta({ id: 'WebhookDelivery' });
export type WebhookDelivery = z.infer<typeof delivery>;
export const deliveryPage = z
  .strictObject({ deliveries: z.array(delivery), cursor: nextCursor })
  .meta({ id: 'WebhookDeliveryPage' });
export type WebhookDeliveryPage = z.infer<typeof deliveryPage>;

export const deliveryWithTries = delivery
  .extend({
    request: z.unknown().describe('The body that is sent; null: not kept any more.'),
    tries: z.array(
      z.strictObject({
        attempt: z.int(),
        at: time,
        status: z.int().nullable(),
        headers: z.record(z.string(), z.string()),
        body: z.string().describe('The beginning of the answer.'),
        error: z.string().nullable(),
        tookMs: z.int(),
      }),
    ),
  })
  .meta({ id: 'WebhookDeliveryWithTries' });
export type WebhookDeliveryWithTries = z.infer<typeof deliveryWithTries>;
export const replayed = z
  .strictObject({
    replayed: z.int(),
    cursor: nextCursor.describe('Not null: there is more; ask again with it.'),
  })
  .meta({ id: 'ReplayedWebhook' });
