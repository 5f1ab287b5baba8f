/** One attempt to have a device do something. */
export const EXECUTION_STATUSES = ['ACTION_PENDING', 'ACTION_COMPLETED', 'ACTION_FAILED'] as const;
export type ExecutionStatus = (typeof EXECUTION_STATUSES)[number];

/** Why an execution failed; others are codes of ours (INVALID_TRANSITION, CANCELLED, …). */
export const FAILED_REASONS = [
  'device_timeout',
  'apns_bad_token',
  'apns_unregistered',
  'device_error',
  'dispatch_failed',
] as const;
export type FailedReason = (typeof FAILED_REASONS)[number];

/** Of a batch and of its rows: they tell what became of the dispatch, not of the device's answer. */
export const DISPATCH_STATUSES = ['IN_PROGRESS', 'COMPLETED'] as const;
export const DISPATCH_ROW_STATUSES = ['PENDING', 'SUCCESS', 'FAILED'] as const;
