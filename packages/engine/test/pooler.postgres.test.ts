import pg from 'pg';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { startPgbouncer } from '../../../testing/pgbouncer.mjs';
import { createEngine, type Database, openPostgres } from '../src/index.ts';
import { testDatabase } from '../testing/index.ts';

/**
 * PgBouncer in transaction mode, whose clients share two sessions of the server: each statement may meet another
 * session, which knows nothing of what the one before has set or prepared. MUSTER_TEST_POOLER=1 runs every suite
 * through one.
 */
let t: Awaited<ReturnType<typeof testDatabase>>;
let pooler: Awaited<ReturnType<typeof startPgbouncer>>;
let db: Database;
beforeAll(async () => {
  t = await testDatabase();
  pooler = await startPgbouncer(inject('postgresUrl') as string, { sessions: 2 });
  db = open();
});
afterAll(async () => {
  await db.close();
  await pooler.stop();
  await t.drop();
});

const open = (more: { statementMs?: number } = {}) =>
  openPostgres({
    url: pooler.urlOf(t.url as string),
    listen: { url: t.url as string },
    deadlineMs: 120_000,
    ...more,
  });

test('sessions are shared, and nothing of ours stays in them', async () => {
  const settings = `select current_setting('jit') as jit, current_setting('enable_seqscan') as scans,
    current_setting('lock_timeout') as lock, current_setting('statement_timeout') as statement`;
  const ours = await db.gathered.query({ name: 'settings', text: settings });
  expect(ours.rows).toEqual([{ jit: 'off', scans: 'off', lock: '100ms', statement: '1min' }]);
  const within = await db.transaction((tx) => tx.query({ text: settings }), { lockMs: 7, statementMs: 0 });
  expect(within.rows).toEqual([{ jit: 'off', scans: 'on', lock: '7ms', statement: '0' }]);
  const other = new pg.Client({ connectionString: pooler.urlOf(t.url as string) });
  await other.connect();
  const theirs = new Set<string>();
  const sessions = new Set<number>();
  const ask = async () => {
    const { rows } = await other.query(
      `${settings}, pg_backend_pid() as pid, (select count(*)::int from pg_prepared_statements) as prepared`,
    );
    const { pid, ...found } = rows[0];
    sessions.add(pid);
    theirs.add(JSON.stringify(found));
  };
  for (let n = 0; n < 20; n += 1) await ask();
  await other.end();
  expect([...theirs]).toEqual([
    JSON.stringify({ jit: 'on', scans: 'on', lock: '0', statement: '0', prepared: 0 }),
  ]);
  const used = await Promise.all(
    Array.from({ length: 30 }, () =>
      db.query({ name: 'pid', text: 'select pg_backend_pid() as pid, $1::int', values: [1] }),
    ),
  );
  for (const { rows } of used) sessions.add(rows[0].pid);
  expect(sessions.size).toBeLessThanOrEqual(2);
});

test('a statement that takes too long is cancelled by the server, so its outcome is known', async () => {
  const hasty = open({ statementMs: 2_000 });
  try {
    const forEver = { text: 'select pg_sleep(600)' };
    const ended = [hasty.query(forEver), hasty.transaction((tx) => tx.query(forEver))];
    const codes = await Promise.all(ended.map((one) => one.then(String, (error) => error.code)));
    expect(codes).toEqual(['57014', '57014']);
    // the session goes back whole
    expect((await hasty.query({ text: 'select 1 as one' })).rows).toEqual([{ one: 1 }]);
  } finally {
    await hasty.close();
  }
});

test('two nodes queue, wait, claim and report through it; an action that arrives wakes a claim of the other node', async () => {
  const other = open();
  const [here, there] = [createEngine(db), createEngine(other)];
  await Promise.all([here.start(), there.start()]);
  try {
    const laneId = await here.ensureLane(db, 1, 'test', 'lane');
    const by = { channel: 'any', worker: 'w', leaseMs: 60_000 };
    const waiting = there.claim(other, { tenantId: 1, laneId, ...by, waitMs: 60_000 });
    while (there.parkedWaiters < 1) await new Promise((resolve) => setImmediate(resolve));
    const { id } = await here.enqueue(db, { tenantId: 1, laneId, kind: 'test' });
    const got = await waiting;
    expect(got).toMatchObject({ id, attempt: 1 });
    const report = { tenantId: 1, actionId: id, attempt: 1, status: 'succeeded' } as const;
    expect(await here.report(db, report)).toMatchObject({ accepted: true });
  } finally {
    await Promise.all([here.stop(), there.stop()]);
    await other.close();
  }
});
