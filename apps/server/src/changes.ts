import type { Database, Transaction } from '@muster/engine';

/** An operator waits for a lock only so long; then he is told to try again. */
const LOCK_TIMEOUT = '5s';

/** A change of an operator and its line in the audit log, in one transaction. */
export function change<T>(db: Database, run: (tx: Transaction) => Promise<T>): Promise<T> {
  return db.transaction(async (tx) => {
    // The embedded database has one session: there nobody else can hold a lock.
    if (db.kind === 'postgres') await tx.query({ text: `set local lock_timeout = '${LOCK_TIMEOUT}'` });
    return run(tx);
  });
}
