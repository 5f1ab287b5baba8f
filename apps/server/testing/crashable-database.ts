import type { Connections, Database, Query, Transaction } from '@muster/engine';

/**
 * A database whose client can die: at a statement, so that its transaction is rolled back, or right after a commit, so that what
 * should follow never happens. When dead, it answers nothing until it is started again.
 */
export interface CrashableDatabase {
  readonly db: Database;
  readonly dead: boolean;
  /** Dies at the statement after this many others. */
  dieAtStatement(after: number): void;
  /** Dies when the next transaction has committed. */
  dieAfterCommit(): void;
  revive(): void;
}

export function crashable(inner: Database): CrashableDatabase {
  let dead = false;
  let left = Number.POSITIVE_INFINITY;
  let afterCommit = false;

  const check = () => {
    left -= 1;
    if (left < 0) dead = true;
    if (dead) throw new Error('The process is dead.');
  };
  const onTransaction = (tx: Transaction): Transaction => ({
    query: async (query: Query) => {
      check();
      return tx.query(query);
    },
    afterCommit: (run) =>
      tx.afterCommit(() => {
        if (!dead) run();
      }),
    ifInDoubt: (run) => tx.ifInDoubt(run),
  });
  const on = (calls: Connections): Connections => ({
    query: async (query: Query) => {
      check();
      return calls.query(query);
    },
    transaction: async (run, limits) => {
      check();
      return calls.transaction(async (tx) => {
        // the first to learn of the commit
        tx.afterCommit(() => {
          if (afterCommit) dead = true;
        });
        return run(onTransaction(tx));
      }, limits);
    },
  });
  return {
    db: {
      ...inner,
      ...on(inner),
      gathered: on(inner.gathered),
      housekeeping: on(inner.housekeeping),
      reserved: on(inner.reserved),
    },
    get dead() {
      return dead;
    },
    dieAtStatement(after) {
      left = after;
    },
    dieAfterCommit() {
      afterCommit = true;
    },
    revive() {
      dead = false;
      afterCommit = false;
      left = Number.POSITIVE_INFINITY;
    },
  };
}
