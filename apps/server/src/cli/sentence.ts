import { EngineError, NO_WRITABLE_HOST } from '@muster/engine';
import { CommandError } from '../commands/command.ts';
import { SettingError } from '../config.ts';
import { FolderError } from '../data-folder/data-folder.ts';
import { FolderInUseError } from '../data-folder/lock.ts';
import { reasonOf } from '../database/reason.ts';
import { MusterError } from '../errors.ts';
import { isDatabaseAway } from '../http/database-away.ts';

const OURS = [CommandError, EngineError, FolderError, FolderInUseError, MusterError, SettingError];
const ADVICE = 'Run "muster doctor".';

/** What a server that answered said, by its code. */
const REFUSALS: Readonly<Record<string, (reason: string) => string>> = {
  '28P01': (reason) => `The database refuses the user or the password of DATABASE_URL: ${reason}.`,
  '28000': (reason) => `The database refuses the user of DATABASE_URL: ${reason}.`,
  '3D000': (reason) => `DATABASE_URL names a database that does not exist: ${reason}.`,
  '42501': (reason) => `The user of DATABASE_URL may not do this: ${reason}.`,
  '53300': (reason) => `The database of DATABASE_URL has no connection left: ${reason}.`,
  '57P03': (reason) => `The database of DATABASE_URL is not ready: ${reason}.`,
  '25006': (reason) =>
    `The database of DATABASE_URL accepts no writes: ${reason}. It is a standby, or is told not to write.`,
};

/** Errors that the user can fix become a sentence; all others keep their stack trace. */
export function sentenceOf(error: unknown, advice = ADVICE): string {
  if (!(error instanceof Error)) return String(error);
  if (OURS.some((kind) => error instanceof kind)) return error.message;
  const { code = '', port, syscall } = error as NodeJS.ErrnoException & { port?: number };
  if (syscall === 'listen') {
    if (code === 'EADDRINUSE')
      return `Port ${port} is in use, by another program or another Muster server. Stop it, or set PORT to another number.`;
    if (code === 'EACCES') return `This user may not use port ${port}. Set PORT to one above 1023.`;
    return `HOST is not an address that this machine can listen on (${code}).`;
  }
  const reason = reasonOf(error);
  if (error.message.startsWith('unsupported startup parameter'))
    return `DATABASE_URL leads to a pooler (${reason}). Set MUSTER_LISTEN_URL to the server itself.`;
  const refusal = REFUSALS[code];
  if (refusal) return refusal(reason);
  if (code === NO_WRITABLE_HOST) return `${reason}. ${advice}`.trimEnd();
  if (isDatabaseAway(error))
    return `The database of DATABASE_URL does not answer: ${reason}. ${advice}`.trimEnd();
  return `Failed: ${error.stack ?? error.message}`;
}
