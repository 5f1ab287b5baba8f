import type { ClaimedDevice } from '@muster/contracts';
import type { Work } from '../work.ts';

/** The fields of an answer that a runner reads. It ignores all others. */
export interface TaskDevice
  extends Work,
    Readonly<
      Pick<
        ClaimedDevice,
        'taskId' | 'deviceId' | 'pcId' | 'kind' | 'maxAttempts' | 'startedAt' | 'timeoutAt' | 'payload'
      >
    > {
  /** When its time is over, on the clock of `performance.now()`, because clocks of two machines differ. */
  readonly endsAt: number;
}

/** The task-devices of an answer. Throws if the answer has another form. */
export function readTaskDevices(body: unknown, serverNow: number): TaskDevice[] {
  const { taskDevices } = (body ?? {}) as { taskDevices?: unknown };
  if (!Array.isArray(taskDevices) || !taskDevices.every(isTaskDevice))
    throw new Error('The response is not a list of task devices.');
  const here = performance.now();
  return taskDevices.map((one) => ({ ...one, endsAt: here + timeLeft(one, serverNow) }));
}

/** By the server's own clock: even a wrong one still tells how long an attempt may take. */
function timeLeft({ startedAt, timeoutAt }: TaskDevice, serverNow: number): number {
  const whole = Date.parse(timeoutAt) - Date.parse(startedAt);
  const left = Date.parse(timeoutAt) - serverNow;
  return Number.isNaN(left) ? whole : Math.min(whole, left);
}

function isTaskDevice(value: unknown): value is TaskDevice {
  const one = value as Partial<TaskDevice> | null;
  return (
    typeof one === 'object' &&
    one !== null &&
    [one.id, one.taskId, one.deviceId, one.pcId, one.kind].every((text) => typeof text === 'string') &&
    Number.isInteger(one.attempt) &&
    [one.startedAt, one.timeoutAt].every((time) => !Number.isNaN(Date.parse(time as string)))
  );
}
