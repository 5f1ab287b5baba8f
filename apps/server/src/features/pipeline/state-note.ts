import type { ExecutionStatus, Policy } from '@muster/contracts/words';

/** What the feed is told of a device, in the transaction in which it happened; subscriptions pass it on as it is. */
export const NOTE = 'device.state';

export interface StateNote {
  readonly deviceId: string;
  readonly policy: Policy;
  readonly previousPolicy: Policy;
  /** Null: no execution of ours, the device has done it of its own accord. */
  readonly executionId: string | null;
  readonly status: ExecutionStatus;
  readonly failedReason: string | null;
  readonly at: string;
}
