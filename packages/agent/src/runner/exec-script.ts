import type { Executor, Outcome } from '../executor.ts';
import { type Ended, runProcess } from '../run-process.ts';
import { MOST_OUTPUT } from '../run-program.ts';
import { Tail } from '../tail.ts';
import { resultOf } from './result.ts';
import type { TaskDevice } from './wire.ts';

/** Runs a script for a device: the payload is its input, its output is the result, its exit code the verdict. */
export interface ScriptOptions {
  /** A path, run as it is, without a shell. */
  readonly script: string;
  /** For the script, beside MUSTER_TASK_ID and the like. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly killAfterMs?: number;
}

const MOST_ERROR = 8_192;

export function execScript(options: ScriptOptions): Executor<TaskDevice> {
  const { environment, killAfterMs, script } = options;
  return async (work, { begins, marks, signal }) => {
    const timeoutMs = work.endsAt - performance.now();
    if (timeoutMs <= 0)
      return { ...failed('TIMEOUT: its time ran out before it could start.'), timedOut: true };
    const [stdout, stderr] = [new Tail(MOST_OUTPUT), new Tail(MOST_ERROR)];
    const ended = await runProcess(script, [], {
      timeoutMs,
      signal,
      begins,
      environment: { ...environment, ...variablesOf(work), ...marks },
      killAfterMs,
      stdin: JSON.stringify(work.payload ?? null),
      onStdout: (chunk) => stdout.add(chunk),
      onStderr: (chunk) => stderr.add(chunk),
    });
    if (ended.code === 0 && ended.why === null)
      return { status: 'succeeded', exitCode: 0, ...resultOf(stdout) };
    const outcome = failed(sentenceOf(ended, stderr.text() || stdout.text().slice(-MOST_ERROR)), ended.code);
    return ended.timedOut ? { ...outcome, timedOut: true } : outcome;
  };
}

export function variablesOf(work: TaskDevice): Record<string, string> {
  return {
    MUSTER_TASK_ID: work.taskId,
    MUSTER_TASK_DEVICE_ID: work.id,
    MUSTER_DEVICE_ID: work.deviceId,
    MUSTER_PC_ID: work.pcId,
    MUSTER_KIND: work.kind,
    MUSTER_ATTEMPT: String(work.attempt),
    MUSTER_MAX_ATTEMPTS: String(work.maxAttempts),
    MUSTER_STARTED_AT: work.startedAt,
    MUSTER_TIMEOUT_AT: work.timeoutAt,
  };
}

function sentenceOf({ code, why }: Ended, said: string): string {
  const verdict = why ?? `The script ended with code ${code}.`;
  const words = said.trim();
  return words === '' ? verdict : `${verdict}\n${words}`;
}

function failed(message: string, code: number | null = null): Outcome {
  return { status: 'failed', message, ...(code === null ? {} : { exitCode: code }) };
}
