import type { Audit, AuditEntry } from './audit/audit.ts';
import { MusterError } from './errors.ts';
import type { Log } from './http/logging.ts';

/**
 * What comes after a commit. Its failure is not that of what was committed: "nothing was changed" would be a lie, and
 * whoever believes it asks a second time.
 */

/** The line of a change that has no transaction to share: if it cannot be written, our own log has it. */
export async function noteCommitted(audit: Audit, log: Log, entry: AuditEntry): Promise<void> {
  await audit
    .writeGathered(entry)
    .catch((error: unknown) => log.error({ err: error, entry }, 'A line of the audit log is missing.'));
}

/** Reads what the answer tells of it; `what` is "action 12". */
export async function readBack<T>(what: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (cause) {
    throw new MusterError(
      'MUSTER_NO_ANSWER',
      503,
      `This was stored (${what}), but it could not be read back for the answer. Look at ${what} instead of asking again.`,
      { cause },
    );
  }
}
