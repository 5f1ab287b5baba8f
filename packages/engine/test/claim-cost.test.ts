import { afterAll, beforeAll, expect, test } from 'vitest';
import { Effects } from '../src/effects.ts';
import type { Operation } from '../src/operation.ts';
import { createClaim } from '../src/ops/claim.ts';
import { createClaimPool } from '../src/ops/claim-pool.ts';
import { keepContacts, type TestEngine, testEngine } from '../testing/index.ts';

let t: TestEngine;
beforeAll(async () => {
  t = await testEngine();
});
afterAll(() => t.close());

/** Pages that a claim of the lane touches, counted by the database: no clock is involved. */
const CONTEXT = () => ({
  schema: 'muster',
  now: t.clock,
  ready: () => undefined,
  depthLimit: 1_000,
  effects: new Effects(),
  isDistributed: false,
});
const BY = { tenantId: 1, channel: 'any', worker: 'w', leaseMs: 1_000 };
const pagesOfClaim = (laneId: string) => pagesOf(createClaim(CONTEXT()), { ...BY, laneId });

/** The smaller of two: a connection whose caches were dropped reads the catalogue as well. */
const pagesOf = async <Item>(claim: Operation<Item, unknown>, item: Item) =>
  Math.min(await pagesOnce(claim, item), await pagesOnce(claim, item));

async function pagesOnce<Item>(claim: Operation<Item, unknown>, item: Item): Promise<number> {
  let statement: { text: string; values: unknown[] } | undefined;
  await claim.run(
    {
      query: async (query) => {
        statement ??= query;
        return { rows: [] };
      },
    },
    [item],
  );
  return t.db
    .transaction(async (tx) => {
      const { rows } = await tx.query({
        text: `explain (analyze, buffers, timing off, format json) ${statement?.text}`,
        values: statement?.values,
      });
      const plan = (
        typeof rows[0]['QUERY PLAN'] === 'string' ? JSON.parse(rows[0]['QUERY PLAN']) : rows[0]['QUERY PLAN']
      )[0].Plan;
      throw Object.assign(new Error('undo'), {
        pages: plan['Shared Hit Blocks'] + plan['Shared Read Blocks'],
      });
    })
    .catch((error) => {
      if (error.pages === undefined) throw error;
      return error.pages;
    });
}

test.each([
  ['wait behind', `null::timestamptz, 1, 'any'`],
  ['are not yet due', `timestamptz '2026-03-02', 1, 'any'`],
  ['are urgent and not yet due', `timestamptz '2026-03-02', 0, 'any'`],
  ['are urgent on another channel', `null::timestamptz, 0, 'river'`],
])('G47: a claim touches as few pages when 20,000 other actions %s', async (_name, columns) => {
  const { laneId } = await t.lane();
  const head = await t.enqueue(laneId);
  await t.enqueue(laneId);
  await t.db.query({ text: 'analyze muster.pending' });
  const few = await pagesOfClaim(laneId);
  // straight into the table: only the claim is measured here
  await t.db.query({
    text: `insert into muster.pending (tenant_id, action_id, lane_id, generation, channel, delayed, seq, not_before, priority)
      select 1, 1000000 + n, ${laneId}, 1, x.channel, x.not_before is not null, 1000000 + n, x.not_before, x.priority
      from generate_series(1, 20000) n, (select ${columns}) x(not_before, priority, channel)`,
  });
  await t.db.query({ text: 'analyze muster.pending' });
  const many = await pagesOfClaim(laneId);
  await t.db.query({ text: 'delete from muster.pending where action_id > 1000000' });
  expect(many).toBeLessThan(few + 60);
  expect((await t.claim(laneId))?.id).toBe(head);
});

test('G47: a claim of a pool touches as few pages when 20,000 more wait in it, are not yet due or were handed out', async () => {
  const poolId = await t.engine.ensurePool(t.db, 1, 'pool', 'deep');
  const { laneId } = await t.lane();
  await t.engine.joinPool(t.db, { tenantId: 1, laneId }, poolId);
  await t.enqueue(poolId);
  await t.enqueue(poolId, { priority: 'urgent' });
  const pages = () => pagesOf(createClaimPool(CONTEXT()), { ...BY, poolId, laneId, normalShare: 3 });
  await t.db.query({ text: 'analyze muster.pending' });
  const few = await pages();
  await t.db.query({
    text: `insert into muster.pending (tenant_id, action_id, lane_id, generation, channel, delayed, seq, not_before, priority)
      select 1, 1000000 + n, case when n % 4 = 0 then ${laneId} + n else ${poolId} end, 1, 'any', n % 4 = 1, 1000000 + n,
        case when n % 4 = 1 then timestamptz '2026-03-02' end, n % 2
      from generate_series(1, 20000) n`,
  });
  await t.db.query({ text: 'analyze muster.pending' });
  const many = await pages();
  await t.db.query({ text: 'delete from muster.pending where action_id > 1000000' });
  expect(many).toBeLessThan(few + 60);
});

test('G47: where nothing urgent waits, checking for it costs a claim one look into an index', async () => {
  const { laneId } = await t.lane();
  await t.enqueue(laneId);
  await t.enqueue((await t.lane()).laneId, { channel: 'river', priority: 'urgent' });
  await t.db.query({ text: 'analyze muster.pending' });
  const without = await pagesOfClaim(laneId);
  await keepContacts(t.db);
  expect(await pagesOfClaim(laneId)).toBeLessThanOrEqual(without + 3);
});
