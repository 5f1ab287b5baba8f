import type { Outcome } from './executor.ts';
import { type ProcessOptions, runProcess } from './run-process.ts';
import { Tail } from './tail.ts';

/** Runs a program without a shell; the outcome has the last 64 KiB of its output, both streams together. */
export type ProgramOptions = Pick<ProcessOptions, 'timeoutMs' | 'signal' | 'environment' | 'begins'>;

export const MOST_OUTPUT = 65_536;

export async function runProgram(
  program: string,
  args: readonly string[],
  options: ProgramOptions,
): Promise<Outcome> {
  const output = new Tail(MOST_OUTPUT);
  const add = (chunk: Buffer) => output.add(chunk);
  const { code, why } = await runProcess(program, args, { ...options, onStdout: add, onStderr: add });
  return {
    status: code === 0 && why === null ? 'succeeded' : 'failed',
    ...(code === null ? {} : { exitCode: code }),
    ...(why === null ? {} : { message: why }),
    output: output.text(),
  };
}
