/** The states of a batch. */
export const BATCH_STATUSES = [
  'supplying',
  'running',
  'paused',
  'cancelled',
  'aborted',
  'completed',
] as const;

/** The outcome for a device of a batch. */
export const COUNTED = [
  'waiting',
  'pending',
  'sent',
  'done',
  'failed',
  'cancelled',
  'expired',
  'refused',
  'stopped',
  'forgotten',
] as const;
