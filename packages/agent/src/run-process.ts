import { spawn } from 'node:child_process';
import { endGroup } from './process-group.ts';

/** Runs a program without a shell, with a time limit, and ends it and its children on request. */
export interface ProcessOptions {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Between asking it to stop and killing it; 5 seconds by default. */
  readonly killAfterMs?: number | undefined;
  readonly stdin?: string | undefined;
  /** Called once the process exists. */
  readonly begins?: (() => void) | undefined;
  readonly onStdout: (chunk: Buffer) => void;
  readonly onStderr: (chunk: Buffer) => void;
}

export interface Ended {
  readonly code: number | null;
  /** Null: it ended by itself, with a code. */
  readonly why: string | null;
  /** It was stopped because its time was over. */
  readonly timedOut?: boolean;
}

const KILL_AFTER_MS = 5_000;
/** A child of the program may keep its output open after it has ended. */
const OUTPUT_AFTER_END_MS = 1_000;

export function runProcess(
  program: string,
  args: readonly string[],
  options: ProcessOptions,
): Promise<Ended> {
  const { killAfterMs = KILL_AFTER_MS, signal, stdin, timeoutMs } = options;
  if (signal.aborted) return Promise.resolve({ code: null, why: stopped(signal) });
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      detached: true, // a group of its own, which is stopped as a whole
      env: options.environment,
      shell: false,
      stdio: [stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    });
    if (child.pid !== undefined) options.begins?.();
    child.stdout?.on('data', options.onStdout);
    child.stderr?.on('data', options.onStderr);
    child.stdin?.on('error', () => {}); // it need not read its input
    child.stdin?.end(stdin);

    let why: string | null = null;
    let timedOut = false;
    let groupEnded: Promise<void> = Promise.resolve();
    const end = (reason: string) => {
      if (why !== null) return;
      why = reason;
      if (child.pid !== undefined) groupEnded = endGroup(child.pid, killAfterMs);
    };
    const cancel = () => end(stopped(signal));
    // A time longer than a timer can hold never ends here.
    const timer = setTimeout(
      () => {
        timedOut = why === null;
        end(`TIMEOUT: it took longer than ${Math.round(timeoutMs / 100) / 10} s and was stopped.`);
      },
      Math.min(timeoutMs, 2_147_483_647),
    );
    signal.addEventListener('abort', cancel);

    const finish = async (ended: Ended) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', cancel);
      await groupEnded;
      child.stdout?.destroy();
      child.stderr?.destroy();
      resolve(ended);
    };
    child.on('error', (error) => {
      if (child.pid === undefined)
        void finish({ code: null, why: `${program} could not be run: ${error.message}` });
    });
    child.on('exit', (code, by) => {
      const ended = { code, why: why ?? (code === null ? `It was killed by ${by}.` : null), timedOut };
      const late = setTimeout(() => void finish(ended), OUTPUT_AFTER_END_MS);
      child.on('close', () => {
        clearTimeout(late);
        void finish(ended);
      });
    });
  });
}

function stopped(signal: AbortSignal): string {
  return signal.reason instanceof Error ? signal.reason.message : 'It was stopped.';
}
