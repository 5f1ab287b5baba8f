import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestEngine, testEngine } from '../testing/index.ts';

let t: TestEngine;
beforeAll(async () => {
  t = await testEngine();
});
afterAll(() => t.close());

test('G24: a blocked lane hands out nothing and says why, until it is unblocked', async () => {
  const lane = await t.lane();
  const id = await t.enqueue(lane.laneId);
  await t.engine.blockLane(t.db, lane, 'in error since noon');
  expect(await t.claim(lane.laneId)).toBeNull();
  expect((await t.engine.get(t.db, 1, id))?.waitingFor).toEqual({
    code: 'LANE_BLOCKED',
    text: 'The lane is blocked: in error since noon',
  });
  await t.engine.blockLane(t.db, lane, 'another reason');
  expect((await t.engine.get(t.db, 1, id))?.waitingFor?.text).toContain('another reason');
  await t.engine.unblockLane(t.db, lane);
  expect(await t.claim(lane.laneId)).toMatchObject({ id });
});

test('G24: a running action in a blocked lane goes on and may be cancelled', async () => {
  const lane = await t.lane();
  const id = await t.enqueue(lane.laneId);
  const waits = await t.enqueue(lane.laneId);
  await t.claim(lane.laneId);
  await t.engine.blockLane(t.db, lane, 'x');
  expect(await t.report(id, 1)).toMatchObject({ accepted: true });
  expect(await t.engine.cancel(t.db, { tenantId: 1, actionId: waits })).toMatchObject({
    outcome: 'cancelled',
  });
});

test('G23 G24: pause and block are independent', async () => {
  const lane = await t.lane();
  await t.enqueue(lane.laneId);
  await t.engine.blockLane(t.db, lane, 'x');
  await t.engine.pauseLane(t.db, lane);
  await t.engine.resumeLane(t.db, lane);
  expect(await t.claim(lane.laneId)).toBeNull();
  await t.engine.pauseLane(t.db, lane);
  await t.engine.unblockLane(t.db, lane);
  expect(await t.claim(lane.laneId)).toBeNull();
});

test('G51: the lane of another tenant cannot be found', async () => {
  const { laneId } = await t.lane();
  const foreign = { tenantId: 2, laneId };
  await expect(t.engine.blockLane(t.db, foreign, 'x')).rejects.toMatchObject({ code: 'MUSTER_UNKNOWN_LANE' });
  await expect(t.engine.pauseLane(t.db, foreign)).rejects.toMatchObject({ code: 'MUSTER_UNKNOWN_LANE' });
  await expect(t.engine.raiseGeneration(t.db, foreign)).rejects.toMatchObject({
    code: 'MUSTER_UNKNOWN_LANE',
  });
});

test('a lane is made on first use, found by its name, and the same for all concurrent callers', async () => {
  expect(await t.engine.findLane(t.db, 1, 'test', 'new one')).toBeNull();
  const ids = await Promise.all(
    Array.from({ length: 20 }, () => t.engine.ensureLane(t.db, 1, 'test', 'new one')),
  );
  expect(new Set(ids).size).toBe(1);
  expect(await t.engine.findLane(t.db, 1, 'test', 'new one')).toBe(ids[0]);
  expect(await t.engine.ensureLane(t.db, 1, 'other space', 'new one')).not.toBe(ids[0]);
  expect(await t.engine.findLane(t.db, 2, 'test', 'new one')).toBeNull();
});
