import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, inject, test, vi } from 'vitest';
import {
  type Connections,
  checkInstallation,
  createEngine,
  createMigrate,
  type Database,
  type Limits,
  openPostgres,
  whileLocked,
} from '../src/index.ts';
import { createSessions, type Sessions, TENANT, type TestEngine, testEngine } from '../testing/index.ts';

/** The limits of connections: what they end, what they leave alone, and that nothing is held during a wait. */
let t: TestEngine;
let db: Database;
let sessions: Sessions;
beforeAll(async () => {
  t = await testEngine();
  db = openPostgres({
    isDistributed: inject('isDistributed') ?? false,
    url: t.url as string,
    statementMs: 1_000,
  });
  sessions = createSessions(t.url as string);
});
afterAll(async () => {
  await sessions.end();
  await db.close();
  await t.close();
});

/** Records the limits of every transaction. */
function noting(connections: Connections, seen: (Limits | undefined)[]): Connections['transaction'] {
  return (run, limits) => {
    seen.push(limits);
    return connections.transaction(run, limits);
  };
}

test('G65: a statement that takes too long is ended by the server without effect', async () => {
  const slow = `select pg_sleep(600)`;
  await expect(db.query({ text: slow })).rejects.toMatchObject({ code: '57014' });
  await expect(db.transaction((tx) => tx.query({ text: slow }))).rejects.toMatchObject({ code: '57014' });
  const { rows } = await db.query({
    text: `select count(*)::int as n from pg_stat_activity where datname = current_database() and query = $1 and state = 'active'`,
    values: [slow],
  });
  expect(rows[0].n).toBe(0);
});

test('sessions of gathered statements, and their plans, outlast an hour without calls', async () => {
  const session = async () =>
    (await db.gathered.query({ text: 'select pg_backend_pid() as pid' })).rows[0].pid;
  await session();
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    const before = await session();
    vi.advanceTimersByTime(3_600_000);
    expect(await session()).toBe(before);
  } finally {
    vi.useRealTimers();
  }
});

test('G65: a migration has no time limit', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'muster-slow-'));
  await writeFile(path.join(folder, '001_slow.up.sql'), '-- breaking: no\nselect pg_sleep(1.5);\n');
  await writeFile(path.join(folder, '001_slow.down.sql'), 'select 1;\n');
  const done = await createMigrate(db, { schema: 'slow', lines: [{ name: 'slow', folder }] }).up();
  expect(done).toHaveLength(1);
});

test('G65: nor has the check of an installation, nor what housekeeping does for the planner', async () => {
  const seen: (Limits | undefined)[] = [];
  await checkInstallation({ ...db, transaction: noting(db, seen) }, { onViolation: () => {} });
  expect(seen.length).toBeGreaterThan(0);
  expect(seen.filter((limits) => limits?.statementMs !== 0)).toEqual([]);
  await t.db.query({
    text: `create table muster.grown as select repeat('x', 500) from generate_series(1, 1000)`,
  });
  const kept: (Limits | undefined)[] = [];
  const housekeeping = { ...db.housekeeping, transaction: noting(db.housekeeping, kept) };
  await createEngine({ ...db, housekeeping }, { clock: t.clock }).runDuty('keep-tables');
  expect(kept.length).toBeGreaterThan(0);
  expect(kept.filter((limits) => limits?.statementMs !== 0)).toEqual([]);
  await t.db.query({ text: 'drop table muster.grown' });
});

test('G65: a call that waits for a lock starts over as a whole, and holds nothing in between', async () => {
  const { laneId } = await t.lane();
  const id = await t.enqueue(laneId);
  const blocker = await sessions.open();
  await blocker.query('begin');
  await t.engine.pauseLane(sessions.queryable(blocker), { tenantId: TENANT, laneId });
  let begun = 0;
  const commits: string[] = [];
  const cancel = whileLocked(t.db, async (tx) => {
    begun += 1;
    tx.afterCommit(() => void commits.push('told'));
    return t.engine.cancel(tx, { tenantId: TENANT, actionId: id });
  });
  await expect.poll(() => begun).toBeGreaterThan(1);
  await blocker.query('rollback');
  expect(await cancel).toMatchObject({ outcome: 'cancelled' });
  expect(commits).toEqual(['told']);
});

test('G65: inside a transaction of the caller a locked lane is an error, not a wait', async () => {
  const { laneId } = await t.lane();
  const id = await t.enqueue(laneId);
  const blocker = await sessions.open();
  await blocker.query('begin');
  await t.engine.pauseLane(sessions.queryable(blocker), { tenantId: TENANT, laneId });
  const cancel = t.db.transaction((tx) => t.engine.cancel(tx, { tenantId: TENANT, actionId: id }));
  await expect(cancel).rejects.toMatchObject({ code: 'MUSTER_LANE_BUSY' });
  await blocker.query('rollback');
});
