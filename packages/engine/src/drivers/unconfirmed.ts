import type pg from 'pg';

/**
 * A commit waits for its synchronous standby, and `statement_timeout` does not end that wait (a test shows it). If someone
 * cancels it, PostgreSQL keeps the commit, answers as usual and only warns that the standby may not have it: after
 * a failover it would be gone. Such an answer counts as lost, so nobody is told that it is done.
 *
 * Returns what is called after each answer; it throws if that one was not confirmed.
 */
export function unconfirmed(pool: pg.Pool): (client: pg.ClientBase) => void {
  const warned = new WeakSet<pg.ClientBase>();
  pool.on('connect', (client) => {
    // the text is translated, the name of the function is not
    client.on('notice', ({ routine }) => {
      if (routine === 'SyncRepWaitForLSN') warned.add(client);
    });
  });
  return (client) => {
    if (!warned.delete(client)) return;
    throw new Error('Connection terminated: the standby has not confirmed the commit.');
  };
}
