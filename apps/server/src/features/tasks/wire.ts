import type { DeviceStatus } from '@muster/contracts/words';
import type { ActionState, ClaimedAction } from '@muster/engine';

/** The words of this door, and what it puts into an action. */
export const CHANNEL = 'runner';
/** The tag of all actions of a task: they are found and paused by it. */
export const tagOf = (taskId: string) => `task:${taskId}`;
/** The name, also with an instance appended, under which the runner of a PC holds its leases. */
export const holderOf = (pcId: string) => `pc:${pcId}`;

/** An action that expired while it waited has failed, with the reason EXPIRED. */
const WORDS: Record<ActionState, DeviceStatus> = {
  pending: 'pending',
  claimed: 'running',
  succeeded: 'completed',
  failed: 'failed',
  cancelled: 'cancelled',
  expired: 'failed',
};
export const statusOf = (state: string) => WORDS[state as ActionState];

/** What the action knows of its task; the task's own payload is added at hand-out. */
export interface ActionPayload {
  readonly taskId: string;
  readonly deviceId: string;
}
export const payloadOf = (action: { readonly payload: unknown }) => action.payload as ActionPayload;

/** As a runner gets it. */
export function wireClaimed(action: ClaimedAction, pcId: string, taskPayload: unknown) {
  const { taskId, deviceId } = payloadOf(action);
  return {
    id: action.id,
    taskId,
    deviceId,
    pcId,
    kind: action.kind,
    attempt: action.attempt,
    maxAttempts: action.maxAttempts,
    status: 'running' as const,
    startedAt: action.leasedAt,
    timeoutAt: action.leaseUntil,
    payload: taskPayload,
    cancelRequested: action.cancelRequested || undefined,
  };
}
