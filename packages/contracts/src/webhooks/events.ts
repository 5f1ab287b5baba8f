/** The events of webhooks, in the words of docs/webhooks.md. */
export const WEBHOOK_EVENTS = [
  'action.created',
  'action.started',
  'action.succeeded',
  'action.failed',
  'action.cancelled',
  'action.expired',
  'device.state_changed',
  'batch.finished',
  'task.finished',
  'order.created',
  'order.started',
  'order.returned',
  'order.completed',
  'order.deleted',
  'alert.raised',
] as const;
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number];

/** All events of a noun. */
export const WEBHOOK_WILDCARDS = ['action.*', 'order.*'] as const;
export type WebhookWildcard = (typeof WEBHOOK_WILDCARDS)[number];

/** A delivery has the state of its action: waiting, under way, or ended. */
export const DELIVERY_STATES = ['waiting', 'sending', 'delivered', 'failed', 'cancelled'] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];
