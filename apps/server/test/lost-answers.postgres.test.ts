import { createEngine, type Database, openPostgres } from '@muster/engine';
import { testClock, testDatabase } from '@muster/engine/testing';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { TcpProxy } from '../testing/torture/tcp-proxy.ts';

/**
 * A connection to the database that is cut between the server's work and its answer. The engine is not started, so no
 * reconnecting listener and no other duty wakes a claim by chance.
 */
let database: Awaited<ReturnType<typeof testDatabase>>;
let line: TcpProxy;
let db: Database;
let engine: ReturnType<typeof createEngine>;
let looked = () => {};
/** Runs one round of housekeeping. */
let beforeCommit = () => {};
const clock = testClock();
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.drop());
// connections of an earlier test may have lost half an answer already
beforeEach(async () => {
  const url = new URL(database.url as string);
  line = await TcpProxy.start();
  line.aimAt(Number(url.port));
  url.port = String(line.port);
  const open = openPostgres({ url: url.href, isDistributed: database.db.isDistributed });
  const housekeeping: Database['housekeeping'] = {
    ...open.housekeeping,
    transaction: (run, limits) =>
      open.housekeeping.transaction(async (tx) => {
        const done = await run(tx);
        beforeCommit();
        return done;
      }, limits),
  };
  db = { ...open, housekeeping };
  engine = createEngine(db, {
    clock,
    observer: {
      batch: (operation) => {
        if (operation === 'claim') looked();
      },
    },
  });
});
afterEach(async () => {
  await engine.stop();
  await db.close();
  await line.close();
});

/** Requests arrive; of the next answer on each connection only one byte comes back. */
const loseAnswers = () => line.cutHalfWay(1);

/** A claim that has looked, found nothing, and waits. */
async function parked(name: string, channel = 'any') {
  const laneId = await engine.ensureLane(db, 1, 'test', name);
  await engine.enqueue(db, {
    tenantId: 1,
    laneId: await engine.ensureLane(db, 1, 'test', 'other'),
    kind: 'x',
  });
  const first = new Promise<void>((resolve) => {
    looked = resolve;
  });
  const claim = engine.claim(db, {
    ...{ tenantId: 1, laneId, channel, worker: 'w', leaseMs: 60_000, waitMs: 30_000 },
  });
  await first;
  return { claim, laneId };
}

test('G39: an enqueue whose answer is lost wakes the claims that wait for it', async () => {
  const { claim, laneId } = await parked('gathered');
  loseAnswers();
  await expect(engine.enqueue(db, { tenantId: 1, laneId, kind: 'x' })).rejects.toThrow();
  expect(await claim).toMatchObject({ laneId });
});

test('G39: so does a transaction of several steps, if the answer to its commit is lost', async () => {
  const { claim, laneId } = await parked('steps');
  let isCommitting = false;
  const steps = db.transaction(async (tx) => {
    await engine.enqueue(tx, { tenantId: 1, laneId, kind: 'x' });
    loseAnswers();
    isCommitting = true;
  });
  await expect(steps).rejects.toThrow();
  expect(isCommitting).toBe(true);
  expect(await claim).toMatchObject({ laneId });
});

test('G39: so does housekeeping', async () => {
  const laneId = await engine.ensureLane(db, 1, 'test', 'duty');
  const request = { tenantId: 1, laneId, channel: 'any', leaseMs: 60_000 };
  for (const kind of ['first', 'second']) await engine.enqueue(db, { ...request, kind });
  await engine.claim(db, { ...request, worker: 'gone' });
  const { claim } = await parked('duty');
  clock.advance(61_000);
  beforeCommit = loseAnswers;
  await expect(engine.runDuty('end-leases')).rejects.toThrow();
  beforeCommit = () => {};
  expect(await claim).toMatchObject({ laneId, kind: 'second' });
});
