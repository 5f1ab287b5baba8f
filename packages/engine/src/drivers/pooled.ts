import type pg from 'pg';
import type { Query, Queryable, Transaction } from '../db.ts';
import { markTransaction, refuseInsideTransaction } from '../open-transaction.ts';
import { ownQuery } from './own-query.ts';

/**
 * Statements and transactions over one `pg` pool; both drivers are made of these. After `patienceMs` without an answer to a
 * single statement, or to the first of a transaction, the connection counts as half-open (its peer is gone, and nobody
 * said so) and is thrown away. What was sent may have been carried out.
 */
export function pooled(pool: pg.Pool, patienceMs?: number) {
  const query = (config: Query) => pool.query(patient(ownQuery(config)));
  const patient = <Q extends object>(config: Q) =>
    patienceMs === undefined ? config : { ...config, query_timeout: patienceMs };
  // A connection that breaks while it is lent out, between two statements of a transaction, says so with an event that
  // nobody else listens to, and that would end the process. The next statement fails, and that is enough.
  pool.on('connect', (client) => void client.on('error', () => {}));
  return {
    query(config: Query) {
      refuseInsideTransaction();
      return query(config);
    },

    adopt: (client: Queryable): Queryable => ({
      query: (config: Query) => client.query(ownQuery(config)),
    }),

    async transaction<T>(run: (tx: Transaction) => Promise<T>): Promise<T> {
      refuseInsideTransaction();
      const client = await pool.connect();
      const afterCommit: (() => void)[] = [];
      let failure: unknown;
      let result: T;
      try {
        await client.query(patient({ text: 'begin' }));
        const tx: Transaction = {
          query: (config: Query) => client.query(ownQuery(config)),
          afterCommit: (then) => void afterCommit.push(then),
        };
        result = await markTransaction(() => run(tx));
        // A failed statement inside a transaction turns `commit` into a rollback without an error: say so.
        const committed = await client.query('commit');
        if (committed.command !== 'COMMIT')
          throw new Error('The transaction was rolled back by an earlier error.');
      } catch (error) {
        failure = error;
        // If even the rollback fails the connection is broken and must not go back into the pool.
        await client.query(patient({ text: 'rollback' })).then(
          () => client.release(),
          (broken: Error) => client.release(broken),
        );
        throw failure;
      }
      client.release();
      for (const then of afterCommit) then();
      return result;
    },
  };
}
