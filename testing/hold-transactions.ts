import { setTimeout } from 'node:timers/promises';
import pg from 'pg';

const HELD_MS = 1_400;

/**
 * Some transaction is always open, as when other suites are busy: what is read in order of commits comes late, and a test that
 * reads too early is found out. Rejects when it is released if they were not all held until then.
 */
export function holdTransactions(connectionString: string, heldMs = HELD_MS): () => Promise<void> {
  const over = new AbortController();
  const { signal } = over;
  const pause = (ms: number) => setTimeout(ms, undefined, { signal }).catch(() => {});
  const held = [0, heldMs / 2].map(async (after) => {
    const client = new pg.Client({ connectionString, application_name: 'muster held' });
    // it is idle most of the time, and would end this process then; the next query fails for the same reason
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
