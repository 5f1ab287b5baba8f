import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestEngine, testEngine } from '../testing/index.ts';

let t: TestEngine;
beforeAll(async () => {
  t = await testEngine();
});
afterAll(() => t.close());

test('G31: a worker lists what it holds, oldest lease first, as it was handed out', async () => {
  const claimed: unknown[] = [];
  for (let n = 0; n < 3; n += 1) {
    const { laneId } = await t.lane();
    await t.enqueue(laneId, { payload: n });
    claimed.push(await t.claim(laneId, 'holder'));
    t.clock.advance(1);
  }
  const held = await t.engine.held(t.db, { tenantId: 1, worker: 'holder' });
  expect(held).toEqual(claimed);
  await t.report(held[1]?.id as string, 1);
  await t.engine.cancel(t.db, { tenantId: 1, actionId: held[2]?.id as string });
  expect(await t.engine.held(t.db, { tenantId: 1, worker: 'holder' })).toMatchObject([
    { payload: 0, cancelRequested: false },
    { payload: 2, cancelRequested: true },
  ]);
});

test('G31 G51: nobody else sees it', async () => {
  const { laneId } = await t.lane();
  await t.enqueue(laneId);
  await t.claim(laneId, 'private');
  expect(await t.engine.held(t.db, { tenantId: 1, worker: 'other' })).toEqual([]);
  expect(await t.engine.held(t.db, { tenantId: 2, worker: 'private' })).toEqual([]);
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
