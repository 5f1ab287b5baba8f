import { type Database, type Limits, type Transaction, whileLocked } from '@muster/engine';

/** For statements over a whole fleet: 100,000 devices take half a second on a machine that has nothing else to do. */
export const SLOW: Limits = { statementMs: 30_000 };

/**
 * A change of an operator and its line in the audit log, in one transaction. While what it needs is locked by somebody else
 * it is begun anew, without holding a connection in between; after ten seconds he is told to try again. So `run` may be
 * called several times.
 */
export function change<T>(
  db: Database,
  run: (tx: Transaction) => Promise<T>,
  limits: Limits = {},
): Promise<T> {
  return whileLocked(db, run, limits);
}
