import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { createEngine, type Database, type Engine, openPostgres } from '../src/index.ts';
import { type TestEngine, testEngine } from '../testing/index.ts';
import { WAKE_UP_ACTS } from '../testing/wake-up-acts.ts';

/** Two nodes with pools of their own: what happens at one wakes waiters at the other. */
let t: TestEngine;
let db: Database;
let node: Engine;
let looked: (() => void) | undefined;
beforeAll(async () => {
  t = await testEngine();
  await t.engine.start();
  // plain SQL uses the database's own clock
  await t.db.query({ text: 'select muster.ensure_event_days(current_date - 1, current_date + 1)' });
  db = openPostgres({ isDistributed: inject('isDistributed') ?? false, url: t.url as string });
  node = createEngine(db, {
    clock: t.clock,
    observer: {
      batch(operation) {
        if (operation.startsWith('claim')) looked?.();
      },
    },
  });
  await node.start();
});
afterAll(async () => {
  await node.stop();
  await db.close();
  await t.close();
});

async function parked<T>(begin: () => Promise<T>): Promise<{ claim: Promise<T> }> {
  const first = new Promise<void>((resolve) => {
    looked = resolve;
  });
  const claim = begin();
  await first;
  looked = undefined;
  return { claim };
}
const claimLane = (laneId: string) =>
  node.claim(db, {
    ...{ tenantId: 1, laneId, channel: 'any', worker: 'far', leaseMs: 60_000, waitMs: 20_000 },
  });

test('G39: a claim parked at one node gets an action that was enqueued at the other', async () => {
  const { laneId } = await t.lane();
  const { claim } = await parked(() => claimLane(laneId));
  const id = await t.enqueue(laneId);
  expect(await claim).toMatchObject({ id });
});

describe.each(WAKE_UP_ACTS)('$name', ({ prepare, act }) => {
  test('G39: at one node wakes a claim at the other', async () => {
    const lane = await t.lane();
    const id = await prepare(t, lane);
    const { claim } = await parked(() => claimLane(lane.laneId));
    await act(t, lane, id);
    expect((await claim)?.laneId).toBe(lane.laneId);
  });
});

test('G39: more news than fit into one notification wake everything', async () => {
  const lanes = await Promise.all(Array.from({ length: 1_500 }, () => t.lane()));
  const { laneId } = lanes[700] as { laneId: string };
  const { claim } = await parked(() => claimLane(laneId));
  await t.engine.enqueueMany(
    t.db,
    lanes.map((lane) => ({ ...lane, kind: 'x' })),
  );
  expect(await claim).toMatchObject({ laneId });
});

test('G39 G48: an operation in the transaction of a raw client wakes both nodes when it commits', async () => {
  const { laneId } = await t.lane();
  const { claim } = await parked(() => claimLane(laneId));
  const client = new pg.Client({ connectionString: t.url as string });
  await client.connect();
  await client.query('begin');
  const { id } = await t.engine.enqueue(client, { tenantId: 1, laneId, kind: 'raw' });
  expect(node.parkedWaiters).toBe(1);
  await client.query('commit');
  await client.end();
  expect(await claim).toMatchObject({ id });
});

test('G39 G48: plain SQL in any session wakes a node after its commit', async () => {
  const { laneId } = await t.lane();
  const { claim } = await parked(() => claimLane(laneId));
  const client = new pg.Client({ connectionString: t.url as string });
  await client.connect();
  await client.query('begin');
  await client.query(`select muster.enqueue(1, $1, 'sql')`, [laneId]);
  expect(node.parkedWaiters).toBe(1);
  await client.query('commit');
  await client.end();
  expect(await claim).toMatchObject({ kind: 'sql' });
});

test('G39: a listener whose connection was cut listens again', async () => {
  const { rows } = await t.db.query({
    text: `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'muster listener' and datname = current_database()`,
  });
  expect(rows.length).toBeGreaterThanOrEqual(2);
  for (;;) {
    const again = await t.db.query({
      text: `select count(*)::int as n from pg_stat_activity where application_name = 'muster listener' and datname = current_database()
        and state = 'idle' and query like 'listen%'`,
    });
    if (again.rows[0].n >= 2) break;
  }
  const { laneId } = await t.lane();
  const { claim } = await parked(() => claimLane(laneId));
  const id = await t.enqueue(laneId);
  expect(await claim).toMatchObject({ id });
});

test.each<[string, (lane: { tenantId: number; laneId: string }, id: string) => Promise<unknown>]>([
  ['a cancel', (_lane, id) => t.engine.cancel(t.db, { tenantId: 1, actionId: id })],
  [
    'a cancel in a transaction',
    (_lane, id) => t.db.transaction((tx) => t.engine.cancel(tx, { tenantId: 1, actionId: id })),
  ],
  ['a raised generation', (lane) => t.db.transaction((tx) => t.engine.raiseGeneration(tx, lane))],
])('G38 G39: %s at one node reaches a watcher at the other of what the runner holds', async (name, act) => {
  const lane = await t.lane();
  const runnerId = await t.engine.createRunner(t.db, 1, null);
  await t.engine.assignRunner(t.db, lane, runnerId);
  const id = await t.enqueue(lane.laneId, { channel: 'c' });
  const by = { tenantId: 1, runnerId, channel: 'c', worker: 'w', leaseMs: 60_000 };
  await t.engine.claimSlots(t.db, { ...by, max: 1 });
  // moved meanwhile: the old runner still holds it
  await t.engine.assignRunner(t.db, lane, await t.engine.createRunner(t.db, 1, null));
  let looks = 0;
  const watching = node.watchHeld(
    { tenantId: 1, runnerId, waitMs: 20_000 },
    async () => {
      looks += 1;
      return node.held(db, { tenantId: 1, runnerId });
    },
    (held) => held.every(({ cancelRequested }) => cancelRequested),
  );
  await expect.poll(() => node.parkedWaiters).toBe(1);
  await act(lane, id);
  const held = await watching;
  expect(held.map(({ cancelRequested }) => cancelRequested)).toEqual(name.includes('cancel') ? [true] : []);
  expect(looks).toBeGreaterThan(1);
});
