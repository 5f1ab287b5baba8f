import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { createEngine, type Database, type Engine, openPostgres } from '../src/index.ts';
import { type TestEngine, testEngine } from '../testing/index.ts';

/** What a node remembers of a lane's room, beside another node. */
const LIMIT = 20;
let t: TestEngine;
let db: Database;
let node: Engine;
let looked: () => void = () => {};
beforeAll(async () => {
  t = await testEngine({ depthLimit: LIMIT });
  await t.engine.start();
  db = openPostgres({ isDistributed: inject('isDistributed') ?? false, url: t.url as string });
  node = createEngine(db, {
    clock: t.clock,
    depthLimit: LIMIT,
    observer: {
      batch(operation) {
        if (operation === 'claim') looked();
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

const nextLook = () =>
  new Promise<void>((resolve) => {
    looked = resolve;
  });
/** A claim that waits at the node, in a lane that stays empty: it looks whenever it is woken. */
async function park() {
  const lane = await t.lane();
  const gone = new AbortController();
  const by = { channel: 'any', worker: 'w', leaseMs: 1_000, waitMs: 20_000 };
  return { lane, gone, claim: node.claim(db, { ...lane, ...by, signal: gone.signal }) };
}
const enqueue = (laneId: string) => node.enqueue(db, { tenantId: 1, laneId, kind: 'x' });

test('G27: actions returned to their lane at one node are counted at the other', async () => {
  const { laneId } = await t.lane();
  for (let n = 1; n < LIMIT; n += 1) {
    const id = await t.enqueue(laneId, { maxAttempts: 1 });
    await t.claim(laneId);
    await t.report(id, 1, 'failed');
  }
  await enqueue(laneId);
  // an announcement after it, in the same notification
  const parked = nextLook();
  const { claim, lane, gone } = await park();
  await parked;
  const heard = nextLook();
  await t.db.transaction(async (tx) => {
    await t.engine.redriveMatching(tx, { tenantId: 1, laneId });
    await t.engine.wake(tx, [lane]);
  });
  await heard;
  await expect(enqueue(laneId)).rejects.toMatchObject({ code: 'MUSTER_LANE_FULL' });
  gone.abort();
  await claim;
});

test('G27: a node that missed notifications counts anew', async () => {
  const { laneId } = await t.lane();
  await enqueue(laneId);
  for (let n = 1; n < LIMIT; n += 1) await t.enqueue(laneId); // counts for itself
  const parked = nextLook();
  const { claim, gone } = await park();
  await parked;
  const listensAgain = nextLook(); // all waiters look then
  await t.db.query({
    text: `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'muster listener' and datname = current_database()`,
  });
  await listensAgain;
  await expect(enqueue(laneId)).rejects.toMatchObject({ code: 'MUSTER_LANE_FULL' });
  gone.abort();
  await claim;
});
