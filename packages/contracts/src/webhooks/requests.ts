import { z } from 'zod';
import { cursor, limit, name, reason, time } from '../values.ts';
import { DELIVERY_STATES, WEBHOOK_EVENTS, WEBHOOK_WILDCARDS } from './events.ts';

/** Request schemas. */
const url = z.string().min(1).max(2_000).describe('a URL that begins with https:// or http://');
const ids = z
  .array(
    z
      .string()
      .regex(/^[1-9]\d{0,17}$/)
      .describe('an id, such as "7"'),
  )
  .min(1)
  .max(100)
  .describe('ids');
const names = z.array(name).min(1).max(100);

export const webhookFilter = z
  .strictObject({
    hosts: ids.optional().describe('Events of actions of these hosts.'),
    devices: ids.optional().describe('Events of these devices and their actions.'),
    kinds: names.optional().describe('Events of actions of these kinds.'),
    tags: names.optional().describe('Events of actions with any of these tags.'),
  })
  .describe('Each given filter must match one of its values; an event without that field does not match.')
  .meta({ id: 'WebhookFilter' });
export type WebhookFilter = z.infer<typeof webhookFilter>;

const events = z
  .array(z.enum([...WEBHOOK_EVENTS, ...WEBHOOK_WILDCARDS]))
  .min(1)
  .max(50);

export const webhookBody = z
  .strictObject({ url, events, name: name.optional(), filter: webhookFilter.optional() })
  .meta({ id: 'NewWebhook' });
export type NewWebhook = z.infer<typeof webhookBody>;

export const webhookPatch = z
  .strictObject({
    url: url.optional(),
    events: events.optional(),
    name: name.nullable().optional(),
    filter: webhookFilter.optional(),
  })
  .meta({ id: 'WebhookPatch' });
export type WebhookPatch = z.infer<typeof webhookPatch>;

export const pauseBody = z.strictObject({ reason: reason.optional() }).meta({ id: 'PauseWebhook' });
export const resumeBody = z
  .strictObject({
    skipMissed: z
      .boolean()
      .optional()
      .describe('Skip the events of the pause; deliveries queued before it are still sent.'),
  })
  .meta({ id: 'ResumeWebhook' });

export const deliveryParams = z.strictObject({ id: z.string(), deliveryId: z.string() });
export const deliveryQuery = z.strictObject({
  cursor: cursor.optional(),
  limit: limit.optional(),
  state: z.enum(DELIVERY_STATES).optional(),
  event: z.enum(WEBHOOK_EVENTS).optional(),
  from: time.optional().describe('Events at or after this time.'),
  to: time.optional().describe('Events before this time.'),
});

export const replayBody = z
  .strictObject({
    from: time.describe('Events at or after this time.'),
    to: time.describe('Events before this time.'),
    failed: z.boolean().optional().describe('Only deliveries that never succeeded.'),
    cursor: cursor.optional(),
  })
  .meta({ id: 'ReplayWebhook' });
export type ReplayWebhook = z.infer<typeof replayBody>;
