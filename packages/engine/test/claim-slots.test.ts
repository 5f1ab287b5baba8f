import { afterAll, beforeAll, expect, test } from 'vitest';
import { runnerLoad, type TestEngine, testEngine } from '../testing/index.ts';

let t: TestEngine;
beforeAll(async () => {
  t = await testEngine();
});
afterAll(() => t.close());

const claim = (runnerId: string, max = 100, channel = 'any') =>
  t.engine.claimSlots(t.db, { tenantId: 1, runnerId, channel, worker: 'pc', leaseMs: 60_000, max });
const held = async (runnerId: string) =>
  (await t.engine.held(t.db, { tenantId: 1, runnerId })).map((action) => action.id);

async function runner(slots: number | null, lanes: number) {
  const runnerId = await t.engine.createRunner(t.db, 1, slots);
  const own: { tenantId: number; laneId: string }[] = [];
  for (let n = 0; n < lanes; n += 1) {
    const lane = await t.lane();
    await t.engine.assignRunner(t.db, lane, runnerId);
    own.push(lane);
  }
  return { runnerId, lanes: own };
}

test('G31: a runner gets the oldest heads of its lanes, one per lane, urgent ones first', async () => {
  const { runnerId, lanes } = await runner(null, 3);
  const [a, b, c] = lanes.map(({ laneId }) => laneId) as [string, string, string];
  const b1 = await t.enqueue(b);
  const a1 = await t.enqueue(a);
  await t.enqueue(a);
  const c1 = await t.enqueue(c, { priority: 'urgent' });
  const got = await claim(runnerId);
  expect(got.map((action) => action.id)).toEqual([c1, b1, a1]);
  expect(got.every((action) => action.attempt === 1 && action.worker === 'pc')).toBe(true);
});

test('G31: never more than its slots, and never more than requested', async () => {
  const { runnerId, lanes } = await runner(3, 6);
  for (const { laneId } of lanes) await t.enqueue(laneId);
  expect(await claim(runnerId, 2)).toHaveLength(2);
  expect(await claim(runnerId, 0)).toEqual([]);
  expect(await claim(runnerId)).toHaveLength(1);
  expect(await claim(runnerId)).toEqual([]);
  expect(await runnerLoad(t.engine, 1, runnerId)).toEqual({ slots: 3, running: 3 });
});

test('G31: a freed slot is filled again, 2 → 3', async () => {
  const { runnerId, lanes } = await runner(3, 5);
  for (const { laneId } of lanes) await t.enqueue(laneId);
  const [first] = await claim(runnerId);
  await t.report(first?.id as string, 1);
  expect(await claim(runnerId)).toHaveLength(1);
  expect(await held(runnerId)).toHaveLength(3);
});

test('G31 G35: many claims of one runner at once together never exceed its slots', async () => {
  const { runnerId, lanes } = await runner(5, 20);
  for (const { laneId } of lanes) await t.enqueue(laneId);
  const got = (await Promise.all(Array.from({ length: 30 }, () => claim(runnerId, 4)))).flat();
  expect(got).toHaveLength(5);
  expect(new Set(got.map((action) => action.laneId)).size).toBe(5);
  expect(await held(runnerId)).toHaveLength(5);
});

test('G31 G32: the next action that comes with a report keeps its slot', async () => {
  const { runnerId, lanes } = await runner(2, 4);
  const [a, b, c] = lanes.map(({ laneId }) => laneId) as [string, string, string];
  for (const laneId of [a, a, b, c]) await t.enqueue(laneId);
  const [first] = await claim(runnerId);
  const answer = await t.report(first?.id as string, 1, 'succeeded', {
    next: { channel: 'any', worker: 'pc', leaseMs: 60_000 },
  });
  expect(answer.next).toMatchObject({ laneId: a });
  expect(await runnerLoad(t.engine, 1, runnerId)).toEqual({ slots: 2, running: 2 });
  expect(await claim(runnerId)).toEqual([]);
  expect(await held(runnerId)).toContain(answer.next?.id);
});

test('G31 G32: with fewer slots than before, a report brings nothing new until a slot is free', async () => {
  const { runnerId, lanes } = await runner(2, 2);
  for (const { laneId } of [...lanes, ...lanes]) await t.enqueue(laneId);
  const got = await claim(runnerId);
  await t.engine.setSlots(t.db, 1, runnerId, 1);
  const next = { channel: 'any', worker: 'pc', leaseMs: 60_000 };
  expect(await t.report(got[0]?.id as string, 1, 'succeeded', { next })).toMatchObject({ next: null });
  expect(await t.report(got[1]?.id as string, 1, 'succeeded', { next })).toMatchObject({
    next: { laneId: got[1]?.laneId },
  });
});

test('G31: an addressed claim of a lane takes no slot of its runner', async () => {
  const { runnerId, lanes } = await runner(1, 2);
  for (const { laneId } of lanes) await t.enqueue(laneId);
  await t.claim(lanes[0]?.laneId as string, 'device itself');
  expect(await runnerLoad(t.engine, 1, runnerId)).toEqual({ slots: 1, running: 0 });
  expect(await claim(runnerId)).toHaveLength(1);
});

test('G31: a moved lane is claimed by its new runner; its running action counts for the old one until it ends', async () => {
  const old = await runner(1, 2);
  const fresh = await runner(5, 0);
  const [moved, stays] = old.lanes as [
    { tenantId: number; laneId: string },
    { tenantId: number; laneId: string },
  ];
  const first = await t.enqueue(moved.laneId);
  const second = await t.enqueue(moved.laneId);
  await t.enqueue(stays.laneId);
  await claim(old.runnerId);
  await t.engine.assignRunner(t.db, moved, fresh.runnerId);
  expect(await held(old.runnerId)).toEqual([first]);
  expect(await held(fresh.runnerId)).toEqual([]);
  expect(await claim(old.runnerId)).toEqual([]);
  expect(await claim(fresh.runnerId)).toEqual([]);
  const answer = await t.report(first, 1, 'succeeded', {
    next: { channel: 'any', worker: 'pc', leaseMs: 1_000 },
  });
  expect(answer).toMatchObject({ accepted: true, next: null });
  expect((await claim(fresh.runnerId)).map((action) => action.id)).toEqual([second]);
  expect(await claim(old.runnerId)).toHaveLength(1);
});

test('G31: a lane moved away and back while its action runs counts once', async () => {
  const home = await runner(1, 2);
  const other = await runner(1, 0);
  const lane = home.lanes[0] as { tenantId: number; laneId: string };
  for (const { laneId } of home.lanes) await t.enqueue(laneId);
  await claim(home.runnerId);
  await t.engine.assignRunner(t.db, lane, other.runnerId);
  await t.engine.assignRunner(t.db, lane, null);
  expect(await runnerLoad(t.engine, 1, home.runnerId)).toMatchObject({ running: 1 });
  await t.engine.assignRunner(t.db, lane, home.runnerId);
  expect(await runnerLoad(t.engine, 1, home.runnerId)).toMatchObject({ running: 1 });
  expect(await runnerLoad(t.engine, 1, other.runnerId)).toMatchObject({ running: 0 });
  expect(await held(home.runnerId)).toHaveLength(1);
});

test('G12 G31: a runner gets only the actions of its channel', async () => {
  const { runnerId, lanes } = await runner(null, 2);
  const [a, b] = lanes.map(({ laneId }) => laneId) as [string, string];
  await t.enqueue(a, { channel: 'other' });
  const id = await t.enqueue(b, { channel: 'mine' });
  expect((await claim(runnerId, 9, 'mine')).map((action) => action.id)).toEqual([id]);
});

test('G23 G24 G31: paused and blocked lanes are passed over', async () => {
  const { runnerId, lanes } = await runner(null, 3);
  for (const { laneId } of lanes) await t.enqueue(laneId);
  const [a, b, c] = lanes as { tenantId: number; laneId: string }[];
  await t.engine.pauseLane(t.db, a as never);
  await t.engine.blockLane(t.db, b as never, 'broken');
  expect((await claim(runnerId)).map((action) => action.laneId)).toEqual([c?.laneId]);
});

test('G51: another tenant neither uses nor sees the runner', async () => {
  const { runnerId, lanes } = await runner(2, 1);
  await t.enqueue(lanes[0]?.laneId as string);
  await expect(
    t.engine.claimSlots(t.db, { tenantId: 2, runnerId, channel: 'any', worker: 'x', leaseMs: 1, max: 1 }),
  ).rejects.toMatchObject({ code: 'MUSTER_UNKNOWN_RUNNER' });
  expect(await runnerLoad(t.engine, 2, runnerId)).toBeNull();
  await expect(t.engine.setSlots(t.db, 2, runnerId, 9)).rejects.toMatchObject({
    code: 'MUSTER_UNKNOWN_RUNNER',
  });
  const foreign = { tenantId: 2, laneId: await t.engine.ensureLane(t.db, 2, 'test', 'x') };
  await expect(t.engine.assignRunner(t.db, foreign, runnerId)).rejects.toMatchObject({
    code: 'MUSTER_UNKNOWN_RUNNER',
  });
});
