import { type Duty, dutyRun } from '@muster/engine';
import type { Audit } from './audit.ts';

const EVERY_HOUR = 3_600_000;
const MOST = 10_000;

/** A housekeeping duty: deletes old lines of the audit log. */
export function pruneAudit(audit: Audit, days: number): Duty {
  return {
    name: 'prune-audit',
    everyMs: EVERY_HOUR,
    runOnce: async (client) => dutyRun(await audit.prune(client, days, MOST), MOST),
  };
}
