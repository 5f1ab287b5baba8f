/** What can happen to a device. */
export const MILESTONE_TYPES = [
  'enrolled',
  'expirySet',
  'assigned',
  'sent',
  'resent',
  'done',
  'retrying',
  'notNow',
  'released',
  'failed',
  'cancelRequested',
  'cancelled',
  'superseded',
  'expired',
  'redriven',
  'movedToFront',
  'policyChanged',
] as const;
export type MilestoneType = (typeof MILESTONE_TYPES)[number];
