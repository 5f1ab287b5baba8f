import type { Log } from '../http/logging.ts';
import type { Actor, Audit, AuditLine } from './audit.ts';

/**
 * The line of a change that has no transaction to share. Its failure is not that of what was committed ("nothing was
 * changed" would be a lie, and whoever believes it asks a second time): if it cannot be written, our own log has it.
 */
export async function noteCommitted(audit: Audit, log: Log, actor: Actor, line: AuditLine): Promise<void> {
  const { tenantId, tokenId, name } = actor;
  await audit
    .writeGathered(actor, line)
    .catch((error: unknown) =>
      log.error(
        { err: error, entry: { tenantId, tokenId, actor: name, ...line } },
        'A line of the audit log is missing.',
      ),
    );
}
