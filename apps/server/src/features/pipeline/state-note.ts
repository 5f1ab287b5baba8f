import type { ExecutionStatus, Policy } from '@muster/contracts/words';

/** The event about a device, written in the transaction of the change; subscriptions pass it on unchanged. */
export const NOTE = 'device.state';

export interface StateNote {
  readonly deviceId: string;
  readonly policy: Policy;
  readonly previousPolicy: Policy;
  /** Null: no execution of ours, the device did it on its own. */
  readonly executionId: string | null;
  /** The final status of the execution. One that finished too late has failed, although the policy has moved. */
  readonly status: ExecutionStatus;
  readonly failedReason: string | null;
  readonly at: string;
}
