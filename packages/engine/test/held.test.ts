import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestEngine, testEngine } from '../testing/index.ts';

let t: TestEngine;
beforeAll(async () => {
  t = await testEngine();
});
afterAll(() => t.close());

const claim = (runnerId: string) =>
  t.engine.claimSlots(t.db, { tenantId: 1, runnerId, channel: 'any', worker: 'pc', leaseMs: 1_000, max: 1 });

test('G31 G51: a runner lists what it holds, oldest lease first, as it was handed out; others do not see it', async () => {
  const runnerId = await t.engine.createRunner(t.db, 1, 5);
  const claimed: unknown[] = [];
  for (let n = 0; n < 3; n += 1) {
    const lane = await t.lane();
    await t.engine.assignRunner(t.db, lane, runnerId);
    await t.enqueue(lane.laneId, { payload: n });
    claimed.push(...(await claim(runnerId)));
    t.clock.advance(1);
  }
  const held = await t.engine.held(t.db, { tenantId: 1, runnerId });
  expect(held).toEqual(claimed);
  await t.report(held[1]?.id as string, 1);
  await t.engine.cancel(t.db, { tenantId: 1, actionId: held[2]?.id as string });
  expect(await t.engine.held(t.db, { tenantId: 1, runnerId })).toMatchObject([
    { payload: 0, cancelRequested: false },
    { payload: 2, cancelRequested: true },
  ]);
  const other = await t.engine.createRunner(t.db, 1, 5);
  expect(await t.engine.held(t.db, { tenantId: 1, runnerId: other })).toEqual([]);
  expect(await t.engine.held(t.db, { tenantId: 2, runnerId })).toEqual([]);
});

test('G31: an action lost by a move while it ran stays in its list until it ends', async () => {
  const runnerId = await t.engine.createRunner(t.db, 1, 5);
  const lane = await t.lane();
  await t.engine.assignRunner(t.db, lane, runnerId);
  const id = await t.enqueue(lane.laneId);
  await claim(runnerId);
  await t.engine.assignRunner(t.db, lane, null);
  expect(await t.engine.held(t.db, { tenantId: 1, runnerId })).toMatchObject([{ id }]);
});

test('G31: a runner lists what it holds by its slots, not what others claimed in its lanes', async () => {
  const runnerId = await t.engine.createRunner(t.db, 1, 5);
  const lanes = [await t.lane(), await t.lane()];
  for (const lane of lanes) {
    await t.engine.assignRunner(t.db, lane, runnerId);
    await t.enqueue(lane.laneId);
  }
  await t.claim(lanes[0]?.laneId as string, 'pc');
  const got = await t.engine.claimSlots(t.db, {
    ...{ tenantId: 1, runnerId, channel: 'any', worker: 'pc', leaseMs: 1_000, max: 5 },
  });
  expect((await t.engine.held(t.db, { tenantId: 1, runnerId })).map((action) => action.id)).toEqual(
    got.map((action) => action.id),
  );
});
