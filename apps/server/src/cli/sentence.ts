import { EngineError } from '@muster/engine';
import { CommandError } from '../commands/command.ts';
import { SettingError } from '../config.ts';
import { FolderError } from '../data-folder/data-folder.ts';
import { FolderInUseError } from '../data-folder/lock.ts';
import { MusterError } from '../errors.ts';
import { isDatabaseAway } from '../http/database-away.ts';

const OURS = [CommandError, EngineError, FolderError, FolderInUseError, MusterError, SettingError];

/** Errors that the user can fix become a sentence; all others keep their stack trace. */
export function sentenceOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (OURS.some((kind) => error instanceof kind)) return error.message;
  const { code, port, syscall } = error as NodeJS.ErrnoException & { port?: number };
  if (syscall === 'listen') {
    if (code === 'EADDRINUSE')
      return `Port ${port} is in use by another program. Stop it, or set PORT to another number.`;
    if (code === 'EACCES') return `This user may not use port ${port}. Set PORT to one above 1023.`;
    return `HOST is not an address that this machine can listen on (${code}).`;
  }
  if (error.message.startsWith('unsupported startup parameter'))
    return `DATABASE_URL leads to a pooler (${error.message}). Set MUSTER_LISTEN_URL to the server itself.`;
  if (isDatabaseAway(error))
    return `The database of DATABASE_URL does not answer: ${reasonOf(error)}. Run "muster doctor".`;
  if (code === '28P01' || code === '28000' || code === '3D000' || code === '42501')
    return `The database of DATABASE_URL refused the connection: ${error.message}.`;
  return `Failed: ${error.stack ?? error.message}`;
}

/** Of several attempts (IPv6, IPv4) the first says enough. */
function reasonOf(error: Error): string {
  const [first] = error instanceof AggregateError ? (error.errors as Error[]) : [error];
  return first?.message || 'no reason given';
}
