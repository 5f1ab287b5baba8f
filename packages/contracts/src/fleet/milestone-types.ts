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
  'madeDue',
  'policyChanged',
  'phoneReplaced',
] as const;
export type MilestoneType = (typeof MILESTONE_TYPES)[number];
