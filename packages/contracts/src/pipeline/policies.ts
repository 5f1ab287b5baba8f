/**
 * Where a device is in its life, as far as the pipeline has brought it. `state` (ok, error) and `online` are
 * independent of it.
 */
export const POLICIES = [
  'uploaded',
  'registered',
  'enrolled',
  'active',
  'locked',
  'released',
  'deregistered',
] as const;
export type Policy = (typeof POLICIES)[number];
