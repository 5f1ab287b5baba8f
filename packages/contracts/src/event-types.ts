/** What can happen to an action; NOTED is what a door tells of its own. */
export const EVENT_TYPES = [
  'CREATED',
  'SENT',
  'REDELIVERED',
  'ACKED',
  'EXTENDED',
  'SUCCEEDED',
  'FAILED',
  'TIMEOUT',
  'RETRY_SCHEDULED',
  'FAILED_FINAL',
  'NOT_NOW',
  'RELEASED',
  'LATE',
  'SUPERSEDED',
  'CANCEL_REQUESTED',
  'CANCELLED',
  'EXPIRED',
  'REDRIVEN',
  'MOVED',
  'NOTED',
] as const;
export type EventType = (typeof EVENT_TYPES)[number];
