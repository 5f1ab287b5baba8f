import type { Log } from '../http/logging.ts';
import type { Actor, Audit, AuditLine } from './audit.ts';

/**
 * Writes the line of a change after its commit. If that fails, the change still stands, so the failure is only logged:
 * an error that says "nothing was changed" would be false, and a client that believes it would repeat the request.
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
