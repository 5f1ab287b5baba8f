import { setTimeout } from 'node:timers/promises';
import pg from 'pg';

const HELD_MS = 1_400;

/**
 * Keeps a transaction open at all times, as when other suites are busy: reads in commit order lag, and a test that reads too
 * early fails. Rejects on release if not all transactions were held until then.
 */
export function holdTransactions(connectionString: string, heldMs = HELD_MS): () => Promise<void> {
  const over = new AbortController();
  const { signal } = over;
  const pause = (ms: number) => setTimeout(ms, undefined, { signal }).catch(() => {});
  const held = [0, heldMs / 2].map(async (after) => {
    const client = new pg.Client({ connectionString, application_name: 'muster held' });
    // an error on an idle connection would end this process; the next query fails for the same reason
    client.on('error', () => {});
    await client.connect();
    try {
      await pause(after);
      while (!signal.aborted) {
        await client.query('begin; select pg_current_xact_id()');
        await pause(heldMs);
        await client.query('commit');
      }
    } finally {
      await client.end();
    }
  });
  const settled = Promise.allSettled(held);
  return async () => {
    over.abort();
    for (const one of await settled) if (one.status === 'rejected') throw one.reason;
  };
}
