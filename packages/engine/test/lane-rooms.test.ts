import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createEngine, type Query, type Queryable } from '../src/index.ts';
import { type TestEngine, testEngine } from '../testing/index.ts';

/** What a node remembers of a lane's room, and what enters the lane by other ways than its own enqueues. */
const LIMIT = 20;
let t: TestEngine;
beforeAll(async () => {
  t = await testEngine({ depthLimit: LIMIT });
  await t.engine.start();
  // plain SQL uses the database's own clock
  await t.db.query({ text: 'select muster.ensure_event_days(current_date - 1, current_date + 1)' });
});
afterAll(() => t.close());

async function isFull(laneId: string): Promise<void> {
  await expect(t.enqueue(laneId)).rejects.toMatchObject({ code: 'MUSTER_LANE_FULL' });
}

/** A lane with one action: the node has counted, and knows of room for nine more. */
const counted = (laneId: string) => t.enqueue(laneId);

/** The lane with this many dead letters. */
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

/** The client of a caller that manages its own transactions. */
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
  test('G27: actions that return to their lane are counted', async () => {
    const { laneId, ids } = await failed(LIMIT - 1);
    await redrive(laneId, ids);
    await isFull(laneId);
  });
});

test('G27: actions that return to their pool are counted', async () => {
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

test('G27: actions created as they are handed out are counted', async () => {
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

/** Resolves when the database has announced something here. */
function told(): Promise<void> {
  return new Promise((resolve) => {
    const end = t.engine.watchFeed(() => {
      end();
      resolve();
    });
  });
}

test('G27: actions from plain SQL are counted once their wake-up has arrived', async () => {
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

test('G27: a node that hears its own enqueues, on a caller’s client, does not count them anew', async () => {
  const { laneId } = await t.lane();
  let counts = 0;
  const client: Queryable = {
    query(query: Query) {
      if (query.text.includes('enqueue_plain_actions(') && (query.values ?? [])[8] !== null) counts += 1;
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
