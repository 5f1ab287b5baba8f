/** QStash's words for what has happened to a message. */
export const CALLBACK_STATES = [
  'CREATED',
  'ACTIVE',
  'DELIVERED',
  'ERROR',
  'RETRY',
  'FAILED',
  'CANCEL_REQUESTED',
  'CANCELED',
] as const;
export type CallbackState = (typeof CALLBACK_STATES)[number];
