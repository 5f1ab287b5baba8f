/** Why has this not run yet? The codes for programs; the accompanying text is for people. */
export const WAITING_FOR_CODES = [
  // of every door
  'BEHIND',
  'BEHIND_URGENT',
  'CANCEL_REQUESTED',
  'LANE_BLOCKED',
  'LANE_PAUSED',
  'NEXT_CONTACT',
  'NO_FREE_SLOT',
  'NOT_BEFORE',
  'NOT_NOW',
  'OFFLINE',
  'RETRY',
  'RUNNING',
  'TAG_PAUSED',
  'TENANT_PAUSED',
  // hosts
  'SERVICE_DELETED',
  // orders
  'NO_BOT',
  'NO_FREE_BOT',
  // phones
  'NO_PUSH_TOKEN',
  'PHONE_LEFT',
  'PUSHED',
  'PUSHES_STOPPED',
  'PUSH_DUE',
  'PUSH_NOT_ACCEPTED',
  'PUSH_TOKEN_DEAD',
  // tasks
  'DEVICE_ABSENT',
  'DEVICE_DELETED',
  'DEVICE_IN_ERROR',
  'NO_PC',
  'TASK_NOT_ACTIVE',
  // webhooks
  'WEBHOOK_PAUSED',
] as const;
export type WaitingForCode = (typeof WAITING_FOR_CODES)[number];
