import { mkdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { ServerRefused, type WorkLoop } from '@muster/agent';
import { CommandError } from '../commands/command.ts';
import { FolderInUseError, takeLock } from '../data-folder/lock.ts';

/** What `muster agent` and `muster runner` share as processes: flags, files, signals. */
export const log = {
  info: (sentence: string) => console.log(sentence),
  warn: (sentence: string) => console.error(sentence),
};

/** Exit codes for the service manager; docs/agent-install.md and docs/runner.md say what to do. */
const DONE = 0;
export const REFUSED = 2;
const NOT_DELIVERED = 3;

/** Runs from the first request to the end, logs the end, and exits with the code. */
export async function runUntilStopped(
  one: WorkLoop,
  about: {
    readonly program: string;
    readonly folder: string;
    readonly tokenFile: string;
    /** `PC 1`, if the token must belong to a named thing. */
    readonly of?: string;
  },
): Promise<number> {
  const { folder, program, tokenFile } = about;
  stopOnSignals(one);
  try {
    const { undelivered } = await one.run();
    if (undelivered === 0) log.info(`The ${program} has stopped.`);
    else
      log.warn(
        `The ${program} has stopped. ${undelivered} of its results are not delivered yet; they are in ${folder}, and the next start delivers them.`,
      );
    return undelivered === 0 ? DONE : NOT_DELIVERED;
  } catch (error) {
    if (!(error instanceof ServerRefused)) throw folderTrouble(folder, error);
    const what = about.of === undefined ? '' : ` for ${about.of}`;
    log.warn(
      `The server rejected the token in ${tokenFile}${what}: ${error.message}. The ${program} stops; put a valid token there and start it again.`,
    );
    return REFUSED;
  }
}

/** The first signal lets commands finish, the second ends them, the third ends the process at once. */
function stopOnSignals(one: Pick<WorkLoop, 'stop'>): void {
  let signals = 0;
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.on(signal, () => {
      signals += 1;
      if (signals > 2) process.exit(130);
      one.stop(signals > 1);
    });
}

export function readServer(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (!url || !['http:', 'https:'].includes(url.protocol))
    throw new CommandError('--server must be a URL like https://muster.example.org.');
  if (url.protocol === 'http:' && !['localhost', '127.0.0.1', '[::1]'].includes(url.hostname))
    log.warn('The token is sent in clear text. Use https.');
  return text;
}

export async function readSecret(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').then(
    (read) => read.trim(),
    (error: Error) => {
      throw new CommandError(`The token cannot be read: ${error.message}`);
    },
  );
  if (!/^[\x21-\x7e]+$/.test(text)) throw new CommandError(`The file ${file} does not contain a token.`);
  return text;
}

/**
 * Checks the kind of the token by its prefix: an operator's token may also read a host or a PC, but what it then sees
 * must not be run.
 */
export async function readTokenOf(kind: 'agent' | 'runner', file: string, shownBy: string): Promise<string> {
  const token = await readSecret(file);
  if (!token.startsWith(`mst_${kind}_`))
    throw new CommandError(
      `The file ${file} does not contain the token of ${kind === 'agent' ? 'an agent' : 'a runner'}, which begins with mst_${kind}_. ${shownBy} shows one.`,
    );
  return token;
}

export function wholeNumber(text: string, name: string, from: number, to: number): number {
  if (!/^\d{1,6}$/.test(text) || Number(text) < from || Number(text) > to)
    throw new CommandError(`${name} must be a whole number from ${from} to ${to}.`);
  return Number(text);
}

/** Two processes with one journal would both deliver its content. */
export function lockFolder(folder: string, who: string): { release(): void } {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return takeLock(folder);
  } catch (error) {
    if (error instanceof FolderInUseError)
      throw new CommandError(
        `Another ${who} (process ${error.pid}) uses ${folder}. Stop it, or choose another --state-dir.`,
      );
    throw folderTrouble(folder, error);
  }
}

/** A system error in the state folder is fixed by an option, so it is a sentence without a stack trace. */
function folderTrouble(folder: string, error: unknown): unknown {
  if (!isOfSystem(error)) return error;
  return new CommandError(
    `The state folder ${folder} cannot be used (${reasonOf(error)}). Name another one with --state-dir.`,
  );
}

/** `EACCES: permission denied`, without the call and the path that follow. */
export function reasonOf(error: NodeJS.ErrnoException): string {
  return error.message.split(`, ${error.syscall}`, 1)[0] as string;
}

function isOfSystem(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'code' in error && 'syscall' in error;
}
