import { afterAll, beforeAll, expect, test } from 'vitest';
import { EngineError } from '../src/index.ts';
import { createFeedReader, feedFaults } from '../testing/feed-reader.ts';
import { settledUpTo, type TestEngine, testEngine } from '../testing/index.ts';

// Tenants move between the servers of a distributed database while their actions are queued, handed out and reported.
const TENANTS = [1, 2, 3, 4, 5, 6];
/** MUSTER_TEST_MOVES makes more of them. */
const MOVES = Number(process.env.MUSTER_TEST_MOVES ?? 6);
const BY = { channel: 'any', worker: 'w', leaseMs: 600_000 };

let t: TestEngine;
beforeAll(async () => {
  t = await testEngine();
});
afterAll(() => t.close());

interface Done {
  readonly enqueued: string[];
  readonly handedOut: string[];
  readonly succeeded: string[];
}

/** The server of a tenant, and one that it is not on. */
async function placesOf(tenantId: number) {
  const { rows } = await t.db.query({
    text: `select p.shardid::text as shard, p.nodename, p.nodeport, (
          select row_to_json(n) from pg_dist_node n
          where n.groupid > 0 and n.isactive and n.noderole = 'primary' and n.nodeport <> p.nodeport order by n.nodeid limit 1
        ) as other
      from pg_dist_shard_placement p where p.shardid = get_shard_id_for_distribution_column('muster.lanes', ${tenantId})`,
  });
  return rows[0] as {
    shard: string;
    nodename: string;
    nodeport: number;
    other: { nodename: string; nodeport: number };
  };
}

async function move(tenantId: number): Promise<void> {
  const { shard, nodename, nodeport, other } = await placesOf(tenantId);
  await t.db.transaction(
    (tx) =>
      tx.query({
        text: `select citus_move_shard_placement(${shard}, '${nodename}', ${nodeport}, '${other.nodename}', ${other.nodeport}, 'block_writes')`,
      }),
    { lockMs: 0, statementMs: 0 },
  );
  expect((await placesOf(tenantId)).nodeport).toBe(other.nodeport);
}

/** While a tenant moves, its callers are told that the lane is busy, and try again. */
async function persistently<T>(call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof EngineError) || error.code !== 'MUSTER_LANE_BUSY') throw error;
    }
  }
}

async function work(tenantId: number, isOver: () => boolean): Promise<Done> {
  const done: Done = { enqueued: [], handedOut: [], succeeded: [] };
  const laneId = await t.engine.ensureLane(t.db, tenantId, 'test', 'a');
  while (!isOver()) {
    const { id } = await persistently(() => t.engine.enqueue(t.db, { tenantId, laneId, kind: 'x' }));
    done.enqueued.push(id);
    const action = await persistently(() => t.engine.claim(t.db, { tenantId, laneId, ...BY }));
    if (!action) continue;
    done.handedOut.push(action.id);
    const report = { tenantId, actionId: action.id, attempt: action.attempt, status: 'succeeded' as const };
    const { accepted } = await persistently(() => t.engine.report(t.db, report));
    if (accepted) done.succeeded.push(action.id);
  }
  return done;
}

test('tenants move between servers under load: nothing is lost, and the feed has no gap', async () => {
  let isOver = false;
  const reader = createFeedReader((cursor) => t.engine.feed.read(t.db, { cursor, limit: 50 }));
  const reading = (async () => {
    while (!isOver) await reader.poll();
  })();
  const working = Promise.all(TENANTS.map((tenantId) => work(tenantId, () => isOver)));
  try {
    for (let n = 0; n < MOVES; n += 1) await move(TENANTS[n % TENANTS.length] as number);
  } finally {
    isOver = true;
    await reading;
  }
  const done = await working;
  for (const [n, { enqueued, handedOut, succeeded }] of done.entries()) {
    const tenantId = TENANTS[n] as number;
    expect(enqueued.length).toBeGreaterThan(0);
    expect(new Set(handedOut).size, 'each is handed out once').toBe(handedOut.length);
    expect(handedOut, 'in their order').toEqual(enqueued.slice(0, handedOut.length));
    const { rows } = await t.db.query({
      text: `select a.action_id as id, z.state from muster.actions a left join muster.endings z on z.tenant_id = a.tenant_id and z.action_id = a.action_id
        where a.tenant_id = $1 order by a.action_id`,
      values: [tenantId],
    });
    expect(rows.map(({ id }) => id)).toEqual(enqueued);
    expect(rows.filter(({ state }) => state === 'succeeded').map(({ id }) => id)).toEqual(succeeded);
  }
  await settledUpTo(t.db);
  await reader.poll();
  const { rows: all } = await t.db.query({
    text: 'select event_id as "eventId" from muster.history where action_id > 0',
  });
  expect(feedFaults(reader.shown, all)).toEqual([]);
});
