import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createEngine, type Query, type Queryable } from '../src/index.ts';
import { type TestEngine, testEngine } from '../testing/index.ts';

/** What a node remembers of the room in a lane, and what comes into the lane by another way than its own enqueues. */
const LIMIT = 20;
let t: TestEngine;
beforeAll(async () => {
  t = await testEngine({ depthLimit: LIMIT });
  await t.engine.start();
  // plain SQL lives by the database's own clock
  await t.db.query({ text: 'select muster.ensure_event_days(current_date - 1, current_date + 1)' });
});
afterAll(() => t.close());

async function isFull(laneId: string): Promise<void> {
  await expect(t.enqueue(laneId)).rejects.toMatchObject({ code: 'MUSTER_LANE_FULL' });
}

/** With one in it and nothing else: the node has counted, and knows of room for nine more. */
const counted = (laneId: string) => t.enqueue(laneId);

/** The lane with so many dead letters. */
async function failed(many: number) {
  const { laneId } = await t.lane();
  const ids: string[] = [];
  for (let n = 0; n < many; n += 1) {
    const id = await t.enqueue(laneId, { maxAttempts: 1 });
    await t.claim(laneId);
    await t.report(id, 1, 'failed');
    ids.push(id);
  }
  await counted(laneId);
  return { laneId, ids };
}

/** The client of a caller who lives by his own transactions. */
const own: Queryable = { query: (query: Query) => t.db.query(query) };

describe.each<[string, (laneId: string, ids: string[]) => Promise<unknown>]>([
  [
    'one by one',
    async (_, ids) => {
      for (const actionId of ids) await t.engine.redrive(t.db, { tenantId: 1, actionId });
    },
  ],
  ['by a filter', (laneId) => t.engine.redriveMatching(t.db, { tenantId: 1, laneId })],
  [
    'in a transaction',
    (laneId) => t.db.transaction((tx) => t.engine.redriveMatching(tx, { tenantId: 1, laneId })),
  ],
  ["on a caller's own client", (laneId) => t.engine.redriveMatching(own, { tenantId: 1, laneId })],
])('redriven %s', (_, redrive) => {
  test('G27: what comes back into its lane is counted', async () => {
    const { laneId, ids } = await failed(LIMIT - 1);
    await redrive(laneId, ids);
    await isFull(laneId);
  });
});

test('G27: what comes back into its pool is counted', async () => {
  const poolId = await t.engine.ensurePool(t.db, 1, 'pool', 'rooms');
  const workers: string[] = [];
  for (let n = 0; n < LIMIT; n += 1) {
    const { laneId } = await t.lane();
    await t.engine.joinPool(t.db, { tenantId: 1, laneId }, poolId);
    await t.enqueue(poolId);
    const by = { tenantId: 1, poolId, laneId, channel: 'any', worker: 'w', leaseMs: 60_000 };
    const got = await t.engine.claimFromPool(t.db, by);
    workers.push(got.kind === 'claimed' ? got.action.id : got.kind);
  }
  await counted(poolId);
  for (const id of workers.slice(1)) await t.report(id, 1, 'notNow');
  await isFull(poolId);
});

test('G27: what is created as it is handed out is counted', async () => {
  const runnerId = await t.engine.createRunner(t.db, 1, null);
  const lane = await t.lane();
  await t.engine.assignRunner(t.db, lane, runnerId);
  const later = { retryAfterMs: 1_000_000 };
  const first = await counted(lane.laneId);
  await t.claim(lane.laneId);
  await t.report(first, 1, 'notNow', later);
  for (let n = 1; n < LIMIT; n += 1) {
    const request = { tenantId: 1, runnerId, worker: 'pc', leaseMs: 60_000 };
    const [[got] = []] = await t.engine.enqueueAndClaimMany(t.db, [
      { ...request, actions: [{ laneId: lane.laneId, kind: 'x' }] },
    ]);
    await t.report(got?.id as string, 1, 'notNow', later);
  }
  await isFull(lane.laneId);
});

/** Resolves when something was told here by the database. */
function told(): Promise<void> {
  return new Promise((resolve) => {
    const end = t.engine.watchFeed(() => {
      end();
      resolve();
    });
  });
}

test('G27: what plain SQL puts in is counted once its wake-up was heard', async () => {
  const { laneId } = await t.lane();
  await counted(laneId);
  const heard = told();
  await t.db.query({
    text: `select muster.enqueue(1, $1, 'sql', '{}', $2) from generate_series(1, $3)`,
    values: [laneId, JSON.stringify({ depthLimit: LIMIT }), LIMIT - 1],
  });
  await heard;
  await isFull(laneId);
});

test('G27: a wake-up of everything, where plain SQL names too many lanes, means every lane', async () => {
  const { laneId } = await t.lane();
  await counted(laneId);
  const other = createEngine(t.db, { clock: t.clock, depthLimit: LIMIT });
  for (let n = 1; n < LIMIT; n += 1) await other.enqueue(t.db, { tenantId: 1, laneId, kind: 'x' });
  const heard = told();
  await t.db.query({
    text: `select muster.notify_lanes(array_agg(1), array_agg(n), array_agg(null::bigint)) from generate_series(100000, 103000) n`,
  });
  await heard;
  await isFull(laneId);
  await other.stop();
});

test("G27: a node that hears its own enqueues, on a caller's client, does not count them anew", async () => {
  const { laneId } = await t.lane();
  let counts = 0;
  const client: Queryable = {
    query(query: Query) {
      if (query.name === 'muster_enqueue_plain' && (query.values ?? [])[8] !== null) counts += 1;
      return t.db.query(query);
    },
  };
  for (let n = 0; n < 10; n += 1) {
    const heard = told();
    await t.engine.enqueue(client, { tenantId: 1, laneId, kind: 'x' });
    await heard;
  }
  expect(counts).toBe(1);
});
