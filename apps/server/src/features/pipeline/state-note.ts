import type { ExecutionStatus, Policy } from '@muster/contracts/words';

/** What the feed is told of a device, in the transaction in which it happened; subscriptions pass it on as it is. */
export const NOTE = 'device.state';

export interface StateNote {
  readonly deviceId: string;
  readonly policy: Policy;
  readonly previousPolicy: Policy;
  /** Null: no execution of ours, the device has done it of its own accord. */
  readonly executionId: string | null;
  /** Of the execution, as it stays: one that was done too late has failed, and the policy has moved all the same. */
  readonly status: ExecutionStatus;
  readonly failedReason: string | null;
  readonly at: string;
}
