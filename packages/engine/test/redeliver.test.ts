import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestEngine, testEngine } from '../testing/index.ts';

let t: TestEngine;
beforeAll(async () => {
  t = await testEngine();
});
afterAll(() => t.close());

test('G30: the worker that holds the lease gets the same action and attempt, with the same lease', async () => {
  const { laneId } = await t.lane();
  const id = await t.enqueue(laneId);
  const first = await t.claim(laneId, 'w', 10_000);
  t.clock.advance(3_000);
  expect(await t.claim(laneId, 'w', 99_000)).toEqual({ ...first, redelivered: true });
  expect(await t.eventTypes(id)).toEqual(['CREATED', 'SENT', 'REDELIVERED']);
  expect((await t.engine.events(t.db, 1, id))[2]).toMatchObject({ attempt: 1, worker: 'w', at: t.clock() });
});

test('G30: at most ten times; then only the end of the lease or a report helps', async () => {
  const { laneId } = await t.lane();
  const id = await t.enqueue(laneId);
  await t.claim(laneId, 'w', 10_000);
  for (let n = 0; n < 10; n += 1) expect(await t.claim(laneId, 'w')).toMatchObject({ id, redelivered: true });
  expect(await t.claim(laneId, 'w')).toBeNull();
  expect((await t.eventTypes(id)).filter((type) => type === 'REDELIVERED')).toHaveLength(10);
  await t.pass(10_000);
  await t.pass(10_000);
  expect(await t.claim(laneId, 'w')).toMatchObject({ id, attempt: 2, redelivered: false });
  expect(await t.claim(laneId, 'w')).toMatchObject({ id, attempt: 2, redelivered: true });
});

test('G30: another worker gets nothing', async () => {
  const { laneId } = await t.lane();
  const id = await t.enqueue(laneId);
  await t.claim(laneId, 'w');
  expect(await t.claim(laneId, 'x')).toBeNull();
  expect(await t.eventTypes(id)).toEqual(['CREATED', 'SENT']);
});

test('G12 G30: a channel never redelivers an action that is not for it', async () => {
  const { laneId } = await t.lane();
  const claimBy = (channel: string) =>
    t.engine.claim(t.db, { tenantId: 1, laneId, channel, worker: 'w', leaseMs: 60_000 });
  const id = await t.enqueue(laneId, { channel: 'a' });
  await claimBy('a');
  expect(await claimBy('b')).toBeNull();
  expect(await claimBy('any')).toBeNull();
  expect(await claimBy('a')).toMatchObject({ id, redelivered: true });
});

test('G21 G30: the worker learns of a requested cancel with the redelivery', async () => {
  const { laneId } = await t.lane();
  const id = await t.enqueue(laneId);
  await t.claim(laneId, 'w');
  await t.engine.cancel(t.db, { tenantId: 1, actionId: id });
  expect(await t.claim(laneId, 'w')).toMatchObject({ id, redelivered: true, cancelRequested: true });
});

test('G23 G30: a paused or blocked lane still redelivers its running action', async () => {
  const lane = await t.lane();
  const id = await t.enqueue(lane.laneId);
  await t.claim(lane.laneId, 'w');
  await t.engine.pauseLane(t.db, lane);
  await t.engine.blockLane(t.db, lane, 'broken');
  expect(await t.claim(lane.laneId, 'w')).toMatchObject({ id, redelivered: true });
});

test('G30: after a lease that housekeeping has not yet ended the worker still gets its attempt', async () => {
  const { laneId } = await t.lane();
  const id = await t.enqueue(laneId);
  await t.claim(laneId, 'w', 1_000);
  t.clock.advance(5_000);
  expect(await t.claim(laneId, 'w')).toMatchObject({ id, attempt: 1, redelivered: true });
});
