import type { ClaimedDevice } from '@muster/contracts';
import type { Work } from '../work.ts';

/** What a runner is given, as far as it looks at it. What it does not know it ignores. */
export interface TaskDevice
  extends Work,
    Readonly<
      Pick<
        ClaimedDevice,
        'taskId' | 'deviceId' | 'pcId' | 'kind' | 'maxAttempts' | 'startedAt' | 'timeoutAt' | 'payload'
      >
    > {
  /** When its time is over, on the clock of `performance.now()`: clocks of two machines differ. */
  readonly endsAt: number;
}

/** The task-devices of an answer. Throws if the server speaks another language. */
export function readTaskDevices(body: unknown, serverNow: number): TaskDevice[] {
  const { taskDevices } = (body ?? {}) as { taskDevices?: unknown };
  if (!Array.isArray(taskDevices) || !taskDevices.every(isTaskDevice))
    throw new Error('The response is not a list of task devices.');
  const here = performance.now();
  return taskDevices.map((one) => ({ ...one, endsAt: here + timeLeft(one, serverNow) }));
}

/** By the server's own clock; one that says nonsense about itself still said how long an attempt may take. */
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
