import { z } from 'zod';
import { cursor, limit, name, reason, time } from '../values.ts';
import { DELIVERY_STATES, WEBHOOK_EVENTS, WEBHOOK_WILDCARDS } from './events.ts';

/** What comes in. */
const url = z.string().min(1).max(2_000).describe('an address that begins with https:// or http://');
const ids = z
  .array(z.string().regex(/^[1-9]\d{0,17}$/))
  .min(1)
  .max(100)
  .describe('ids');
const names = z.array(name).min(1).max(100);

export const webhookFilter = z
  .strictObject({
    hosts: ids.optional().describe('Of actions of these hosts.'),
    devices: ids.optional().describe('Of these devices and their actions.'),
    kinds: names.optional().describe('Of actions of these kinds.'),
    tags: names.optional().describe('Of actions with one of these tags.'),
  })
  .describe('Of each that is named one must fit; what an event does not have fits nothing.')
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
      .describe('What happened meanwhile is not sent; what was queued before the pause is.'),
  })
  .meta({ id: 'ResumeWebhook' });

export const deliveryParams = z.strictObject({ id: z.string(), deliveryId: z.string() });
export const deliveryQuery = z.strictObject({
  cursor: cursor.optional(),
  limit: limit.optional(),
  state: z.enum(DELIVERY_STATES).optional(),
  event: z.enum(WEBHOOK_EVENTS).optional(),
  from: time.optional().describe('Of events at this time or later.'),
  to: time.optional().describe('Of events before this time.'),
});

export const replayBody = z
  .strictObject({
    from: time.describe('Events at this time or later,'),
    to: time.describe('and before this one.'),
    failed: z.boolean().optional().describe('Only those that were never delivered.'),
    cursor: cursor.optional().describe('Where the answer before has ended.'),
  })
  .meta({ id: 'ReplayWebhook' });
export type ReplayWebhook = z.infer<typeof replayBody>;
