import { type ChildProcess, spawn } from 'node:child_process';
import type { Outcome } from './executor.ts';

/**
 * Runs a program without a shell: a limit to its time, the last 64 KiB of its output, and an end for it and its children
 * when it is to be stopped.
 */
export interface ProgramOptions {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

const MOST_OUTPUT = 65_536;
/** Between asking it to stop and stopping it. */
const KILL_AFTER_MS = 5_000;
/** A child of the program may keep its output open after it has ended. */
const OUTPUT_AFTER_END_MS = 1_000;

export function runProgram(
  program: string,
  args: readonly string[],
  options: ProgramOptions,
): Promise<Outcome> {
  if (options.signal.aborted) return Promise.resolve({ status: 'failed', message: stopped(options.signal) });
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      detached: true, // a group of its own, which is stopped as a whole
      env: options.environment,
      shell: false,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const output = new Tail(MOST_OUTPUT);
    child.stdout.on('data', (chunk: Buffer) => output.add(chunk));
    child.stderr.on('data', (chunk: Buffer) => output.add(chunk));

    let why: string | undefined;
    let killing: NodeJS.Timeout | undefined;
    const end = (reason: string) => {
      if (why !== undefined) return;
      why = reason;
      killGroup(child, 'SIGTERM');
      killing = setTimeout(() => killGroup(child, 'SIGKILL'), KILL_AFTER_MS);
    };
    const timer = setTimeout(
      () => end(`TIMEOUT: it took longer than ${options.timeoutMs / 1_000} s and was ended.`),
      options.timeoutMs,
    );
    const cancel = () => end(stopped(options.signal));
    options.signal.addEventListener('abort', cancel);

    const finish = (outcome: Outcome) => {
      clearTimeout(timer);
      clearTimeout(killing);
      options.signal.removeEventListener('abort', cancel);
      child.stdout.destroy();
      child.stderr.destroy();
      resolve({ ...outcome, output: output.text() });
    };
    child.on('error', (error) =>
      finish({ status: 'failed', message: `${program} could not be run: ${error.message}` }),
    );
    child.on('exit', (code, signal) => {
      const outcome = outcomeOf(code, signal, why);
      const late = setTimeout(() => finish(outcome), OUTPUT_AFTER_END_MS);
      child.on('close', () => {
        clearTimeout(late);
        finish(outcome);
      });
    });
  });
}

function outcomeOf(code: number | null, signal: string | null, why: string | undefined): Outcome {
  if (code === 0 && why === undefined) return { status: 'succeeded', exitCode: 0 };
  const message = why ?? (code === null ? `It was ended by ${signal}.` : undefined);
  return {
    status: 'failed',
    ...(code === null ? {} : { exitCode: code }),
    ...(message === undefined ? {} : { message }),
  };
}

function stopped(signal: AbortSignal): string {
  return signal.reason instanceof Error ? signal.reason.message : 'It was stopped.';
}

function killGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    // it has ended meanwhile
  }
}

/** The last bytes of a stream, however long it is. */
class Tail {
  readonly #most: number;
  #chunks: Buffer[] = [];
  #length = 0;

  constructor(most: number) {
    this.#most = most;
  }

  add(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    while (this.#chunks[0] && this.#length - this.#chunks[0].length >= this.#most)
      this.#length -= (this.#chunks.shift() as Buffer).length;
  }

  /** NUL cannot be stored; bytes that are no text become longer when they are shown; a cut may have split a character. */
  text(): string {
    const text = Buffer.concat(this.#chunks).subarray(-this.#most).toString('utf8').replaceAll('\u0000', '?');
    return Buffer.from(text)
      .subarray(-this.#most)
      .toString('utf8')
      .replace(/^\ufffd{1,3}/, '');
  }
}
