import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestEngine, testEngine } from '../testing/index.ts';

/** Housekeeping covers all tenants at once; what a duty does for one it does for every other. */
const TENANTS = [1, 2, 4_711];
const DAY = 86_400_000;
let t: TestEngine;
beforeAll(async () => {
  t = await testEngine({ retentionDays: 14 });
});
afterAll(() => t.close());

const inEach = <T>(run: (tenantId: number, laneId: string) => Promise<T>): Promise<T[]> =>
  Promise.all(
    TENANTS.map(async (tenantId) =>
      run(tenantId, await t.engine.ensureLane(t.db, tenantId, 'every', 'lane')),
    ),
  );
const each = <T>(value: T) => TENANTS.map(() => value);

async function put(tenantId: number, laneId: string, more: object = {}): Promise<string> {
  return (await t.engine.enqueue(t.db, { tenantId, laneId, kind: 'x', ...more })).id;
}
const claim = (tenantId: number, laneId: string) =>
  t.engine.claim(t.db, { tenantId, laneId, channel: 'any', worker: 'w', leaseMs: 1_000 });
const states = (ids: readonly string[]) =>
  Promise.all(
    TENANTS.map(
      async (tenantId, n) => (await t.engine.get(t.db, tenantId, ids[n] as string))?.state ?? 'gone',
    ),
  );

test('G40: leases end in every tenant', async () => {
  const ids = await inEach(async (tenantId, laneId) => {
    const id = await put(tenantId, laneId, { maxAttempts: 1 });
    await claim(tenantId, laneId);
    return id;
  });
  expect(await states(ids)).toEqual(each('claimed'));
  t.clock.advance(2_000);
  await t.engine.runDuty('end-leases');
  expect(await states(ids)).toEqual(each('failed'));
});

test('G40: delayed actions come due in every tenant', async () => {
  const notBefore = new Date(t.clock().getTime() + 1_000);
  const ids = await inEach((tenantId, laneId) => put(tenantId, laneId, { notBefore }));
  t.clock.advance(2_000);
  await t.engine.runDuty('make-due');
  expect((await inEach(claim)).map((action) => action?.id)).toEqual(ids);
  await inEach(async (tenantId) => {
    const actionId = ids[TENANTS.indexOf(tenantId)] as string;
    await t.engine.report(t.db, { tenantId, actionId, attempt: 1, status: 'succeeded' });
  });
});

test('G6: actions expire in every tenant', async () => {
  const deliverBy = new Date(t.clock().getTime() + 1_000);
  const ids = await inEach((tenantId, laneId) => put(tenantId, laneId, { deliverBy }));
  t.clock.advance(2_000);
  await t.engine.runDuty('expire');
  expect(await states(ids)).toEqual(each('expired'));
});

test('G29: actions that an older transaction adds under the old generation are ended in every tenant', async () => {
  const ids = await inEach(async (tenantId, laneId) => {
    const id = await put(tenantId, laneId);
    // raised without the immediate part of the raise: the work is left to housekeeping
    await t.db.query({
      text: `with l as (update muster.lanes set generation = generation + 1, ver = ver + 1 where tenant_id = $1 and lane_id = $2)
        insert into muster.stale_lanes (tenant_id, lane_id) values ($1, $2)`,
      values: [tenantId, laneId],
    });
    return id;
  });
  const running = await inEach(async (tenantId, laneId) => {
    const id = await put(tenantId, laneId);
    await claim(tenantId, laneId);
    await t.db.query({
      text: `update muster.lanes set generation = generation + 1, ver = ver + 1 where tenant_id = $1 and lane_id = $2`,
      values: [tenantId, laneId],
    });
    return id;
  });
  expect([await states(ids), await states(running)]).toEqual([each('pending'), each('claimed')]);
  await t.engine.runDuty('end-stale');
  expect([await states(ids), await states(running)]).toEqual([each('cancelled'), each('cancelled')]);
});

test('G41: finished actions are pruned in every tenant, with their keys and tags', async () => {
  const ids = await inEach(async (tenantId, laneId) => {
    const id = await put(tenantId, laneId, { idempotencyKey: 'every', tags: ['every'] });
    await t.engine.cancel(t.db, { tenantId, actionId: id });
    return id;
  });
  expect(await states(ids)).toEqual(each('cancelled'));
  t.clock.advance(15 * DAY);
  await t.engine.runDuty('prune');
  expect(await states(ids)).toEqual(each('gone'));
  for (const table of ['actions', 'endings', 'idempotency_keys', 'action_tags'])
    expect((await t.db.query({ text: `select tenant_id from muster.${table}` })).rows).toEqual([]);
});
