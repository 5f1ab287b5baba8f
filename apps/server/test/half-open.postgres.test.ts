import { openPostgres } from '@muster/engine';
import { testDatabase } from '@muster/engine/testing';
import { expect, test } from 'vitest';
import { readConfig } from '../src/config.ts';
import { startServer } from '../src/main.ts';
import { TcpProxy } from '../testing/torture/tcp-proxy.ts';

const TOKEN = 'operator-token-of-this-test-0123456789';
const DEADLINE_MS = 1_000;
/** Between two tries. */
const PATIENCE_MS = 600;

// A firewall that forgets a connection leaves it half-open: what is sent vanishes, and nothing comes back. Without a timeout the
// server stood still until the system gave the connections up, a quarter of an hour later.
/** These answers have little in common. */
interface Answer {
  readonly id?: string;
  readonly state?: string;
  readonly code?: string;
}

test('G36: half-open connections to the database are given up, and calls, housekeeping and wake-ups continue', async () => {
  const database = await testDatabase({ migrated: false });
  const url = new URL(database.url as string);
  const line = await TcpProxy.start();
  line.aimAt(Number(url.port));
  url.port = String(line.port);
  const db = openPostgres({ url: url.href, deadlineMs: DEADLINE_MS });
  const server = await startServer(
    readConfig({
      PORT: '0',
      DATABASE_URL: url.href,
      MUSTER_OPERATOR_TOKEN: TOKEN,
      MUSTER_LOG_LEVEL: 'silent',
    }),
    { db },
  );
  const ask = async (path: string, body?: object) => {
    const answer = await fetch(server.url + path, {
      method: body ? 'POST' : 'GET',
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
      ...(body ? { body: JSON.stringify(body) } : {}),
      signal: AbortSignal.timeout(PATIENCE_MS * 100),
    });
    return { status: answer.status, body: (await answer.json()) as Answer };
  };
  const until = async (
    path: string,
    done: (answer: Awaited<ReturnType<typeof ask>>) => boolean,
    body?: object,
  ) => {
    for (;;) {
      const answer = await ask(path, body).catch(() => null);
      if (answer && done(answer)) return;
      await new Promise((resolve) => setTimeout(resolve, PATIENCE_MS));
    }
  };
  // a transaction that is open at that moment is different: the first turn of housekeeping has some
  const quiet = async () => {
    const open = `select 1 from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and state <> 'idle'`;
    for (let calm = 0; calm < 5; )
      calm = (await database.db.query({ text: open })).rows.length === 0 ? calm + 1 : 0;
  };
  try {
    const made = await ask('/api/lanes/x/actions', { kind: 'x', maxAttempts: 1 });
    expect(made.status).toBe(201);
    await quiet();
    line.strand();
    const stuck = await ask('/api/lanes/x/actions', { kind: 'y', maxAttempts: 1 });
    expect(stuck).toMatchObject({ status: 503, body: { code: 'MUSTER_NO_ANSWER' } });
    await until('/api/lanes/x/claim', ({ status }) => status === 200, { worker: 'w', leaseSeconds: 1 });
    // no worker reports it, whichever claim got it, even if its answer was lost: housekeeping must end it
    await until(`/api/actions/${made.body.id}`, ({ body }) => body.state === 'failed');
  } finally {
    line.release();
    await server.stop();
    await db.close();
    await line.close();
    await database.drop();
  }
});
