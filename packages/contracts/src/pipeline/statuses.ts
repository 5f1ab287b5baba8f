/** One attempt to have a device do something. */
export const EXECUTION_STATUSES = ['ACTION_PENDING', 'ACTION_COMPLETED', 'ACTION_FAILED'] as const;
export type ExecutionStatus = (typeof EXECUTION_STATUSES)[number];

/** Why an execution failed; others are Muster's codes (INVALID_TRANSITION, CANCELLED, …). */
export const FAILED_REASONS = [
  'device_timeout',
  'apns_bad_token',
  'apns_unregistered',
  'device_error',
  'dispatch_failed',
] as const;
export type FailedReason = (typeof FAILED_REASONS)[number];

/** For a batch and its rows: the outcome of the dispatch, not the device's answer. */
export const DISPATCH_STATUSES = ['IN_PROGRESS', 'COMPLETED'] as const;
export const DISPATCH_ROW_STATUSES = ['PENDING', 'SUCCESS', 'FAILED'] as const;
