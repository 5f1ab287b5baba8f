import { z } from 'zod';
import { nextCursor, time } from '../values.ts';
import { DELIVERY_STATES, WEBHOOK_EVENTS, WEBHOOK_WILDCARDS } from './events.ts';
import { webhookFilter } from './requests.ts';

/** Response schemas; a test compares every response with them. */
const lastTry = z
  .strictObject({
    at: time,
    deliveryId: z.string(),
    status: z.int().nullable().describe('Null: no response.'),
    error: z.string().nullable().describe('Null: it was accepted.'),
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
      .describe('failures: nothing was accepted for a day, or the endpoint answered that it is gone.'),
    catchingUp: z.boolean().describe('It is still receiving the events that happened while it was paused.'),
    failingSince: time.nullable().describe('Every try has failed since then.'),
    last: lastTry.nullable(),
    counts: z
      .strictObject({ delivered: z.int(), failed: z.int() })
      .describe('Deliveries accepted, and deliveries given up.'),
    waiting: z.int().optional().describe('Only when reading one: deliveries that wait or are being retried.'),
    createdAt: time,
    createdBy: z.string().nullable(),
  })
  .meta({ id: 'Webhook' });
export type Webhook = z.infer<typeof webhook>;

const secret = z.string().describe('`whsec_…`, verifies signatures. Shown once.');
export const newWebhook = webhook.extend({ secret }).meta({ id: 'CreatedWebhook' });
export const webhookPage = z
  .strictObject({ webhooks: z.array(webhook), cursor: nextCursor })
  .meta({ id: 'WebhookPage' });
export type WebhookPage = z.infer<typeof webhookPage>;
export const rotated = z
  .strictObject({
    secret,
    formerUntil: time.describe('Until then requests are also signed with the old secret.'),
  })
  .meta({ id: 'RotatedWebhookSecret' });
export const pinged = z
  .strictObject({
    status: z.int().nullable(),
    error: z.string().nullable().describe('Null: it was accepted.'),
    body: z.string().describe('The start of the response.'),
    tookMs: z.int(),
  })
  .meta({ id: 'PingedWebhook' });

export const delivery = z
  .strictObject({
    id: z.string().describe('The id of its action.'),
    event: z.string(),
    eventId: z.string().describe('`webhook-id` of the request; a replay keeps that of the first delivery.'),
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
    request: z.unknown().describe('The body of the request; null: no longer kept.'),
    tries: z.array(
      z.strictObject({
        attempt: z.int(),
        at: time,
        status: z.int().nullable(),
        headers: z.record(z.string(), z.string()),
        body: z.string().describe('The start of the response.'),
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
    cursor: nextCursor.describe('Not null: there is more; repeat the request with it.'),
  })
  .meta({ id: 'ReplayedWebhook' });
