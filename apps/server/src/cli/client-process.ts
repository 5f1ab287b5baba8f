import { mkdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { WorkLoop } from '@muster/agent';
import { CommandError } from '../commands/command.ts';
import { FolderInUseError, takeLock } from '../data-folder/lock.ts';

/** What `muster agent` and `muster runner` have in common as processes: flags, files, signals. */
export const log = {
  info: (sentence: string) => console.log(sentence),
  warn: (sentence: string) => console.error(sentence),
};

/** The first lets commands finish, the second ends them, the third ends the process as it stands. */
export function stopOnSignals(one: Pick<WorkLoop, 'stop'>): void {
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
    throw new CommandError('--server must be an address like https://muster.example.org.');
  if (url.protocol === 'http:' && !['localhost', '127.0.0.1', '[::1]'].includes(url.hostname))
    log.warn('The token goes over the network in clear text. Use https.');
  return text;
}

export async function readSecret(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').then(
    (read) => read.trim(),
    (error: Error) => {
      throw new CommandError(`The token cannot be read: ${error.message}`);
    },
  );
  if (!/^[\x21-\x7e]+$/.test(text)) throw new CommandError(`The file ${file} does not hold a token.`);
  return text;
}

export function wholeNumber(text: string, name: string, from: number, to: number): number {
  if (!/^\d{1,6}$/.test(text) || Number(text) < from || Number(text) > to)
    throw new CommandError(`${name} must be a whole number from ${from} to ${to}.`);
  return Number(text);
}

/** Two processes with one journal would both deliver what is in it. */
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

/** What the system refuses in the state folder is a matter of an option, so it is a sentence and has no trace. */
export function folderTrouble(folder: string, error: unknown): unknown {
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
