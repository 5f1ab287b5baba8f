import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestEngine, testEngine } from '../testing/index.ts';

let t: TestEngine;
beforeAll(async () => {
  t = await testEngine();
});
afterAll(() => t.close());

test('G23: a paused lane hands out nothing until it is resumed; running actions go on', async () => {
  const lane = await t.lane();
  const runs = await t.enqueue(lane.laneId);
  const waits = await t.enqueue(lane.laneId);
  await t.claim(lane.laneId);
  const since = t.clock();
  await t.engine.pauseLane(t.db, { ...lane, by: 'ana' });
  await t.pass(1);
  await t.engine.pauseLane(t.db, { ...lane, by: 'ben' });
  expect(await t.engine.extend(t.db, { tenantId: 1, actionId: runs, attempt: 1, leaseMs: 1 })).toMatchObject({
    extended: true,
  });
  expect(await t.report(runs, 1)).toMatchObject({ accepted: true });
  expect(await t.claim(lane.laneId)).toBeNull();
  const reason = { code: 'LANE_PAUSED', text: 'The lane is paused.', since, by: 'ana' };
  expect((await t.engine.get(t.db, 1, waits))?.waitingFor).toEqual(reason);
  const { created } = await t.engine.enqueue(t.db, { ...lane, kind: 'x' }, { created: true });
  expect(created?.waitingFor).toEqual(reason);
  expect(await t.engine.laneLoads(t.db, [lane])).toMatchObject([{ paused: { at: since, by: 'ana' } }]);
  await t.engine.resumeLane(t.db, lane);
  expect(await t.engine.laneLoads(t.db, [lane])).toMatchObject([{ paused: null }]);
  expect(await t.claim(lane.laneId)).toMatchObject({ id: waits });
});

test('G23: a paused lane still takes actions and ends leases', async () => {
  const lane = await t.lane();
  const id = await t.enqueue(lane.laneId, { maxAttempts: 1 });
  await t.claim(lane.laneId, 'w', 1_000);
  await t.engine.pauseLane(t.db, lane);
  await t.enqueue(lane.laneId);
  await t.pass(1_000);
  expect(await t.state(id)).toBe('failed');
});

test('G23: a paused tag stops the actions that carry it; those behind without it pass', async () => {
  const { laneId } = await t.lane();
  const tagged = await t.enqueue(laneId, { tags: ['blue', 'red'] });
  const plain = await t.enqueue(laneId);
  const other = await t.enqueue(laneId, { tags: ['green'] });
  await t.engine.pause(t.db, { tenantId: 1, tag: 'red', by: 'ana' });
  await t.engine.pause(t.db, { tenantId: 1, tag: 'black' });
  expect((await t.engine.get(t.db, 1, tagged))?.waitingFor).toEqual({
    code: 'TAG_PAUSED',
    text: 'The tag red is paused.',
    tag: 'red',
    since: t.clock(),
    by: 'ana',
  });
  const { created } = await t.engine.enqueue(
    t.db,
    { tenantId: 1, laneId: (await t.lane()).laneId, kind: 'x', tags: ['red'] },
    { created: true },
  );
  expect(created?.waitingFor).toMatchObject({ tag: 'red', since: t.clock(), by: 'ana' });
  expect(await t.claim(laneId)).toMatchObject({ id: plain });
  await t.report(plain, 1);
  expect(await t.claim(laneId)).toMatchObject({ id: other });
  await t.report(other, 1);
  expect(await t.claim(laneId)).toBeNull();
  await t.engine.resume(t.db, { tenantId: 1, tag: 'red' });
  expect(await t.claim(laneId)).toMatchObject({ id: tagged });
  await t.engine.resume(t.db, { tenantId: 1, tag: 'black' });
});

test('G23 G51: a paused tenant hands out nothing; others go on', async () => {
  const { laneId } = await t.lane();
  const foreign = await t.engine.ensureLane(t.db, 2, 'test', 'x');
  const id = await t.enqueue(laneId);
  await t.engine.enqueue(t.db, { tenantId: 2, laneId: foreign, kind: 'x', tags: ['red'] });
  await t.engine.pause(t.db, { tenantId: 1 });
  await t.engine.pause(t.db, { tenantId: 1, tag: 'red', by: 'ana' });
  expect(await t.engine.listPauses(t.db, 1)).toEqual([
    { tag: null, pausedAt: t.clock(), pausedBy: null },
    { tag: 'red', pausedAt: t.clock(), pausedBy: 'ana' },
  ]);
  expect(await t.engine.listPauses(t.db, 2)).toEqual([]);
  expect(await t.claim(laneId)).toBeNull();
  expect((await t.engine.get(t.db, 1, id))?.waitingFor?.code).toBe('TENANT_PAUSED');
  expect(
    await t.engine.claim(t.db, { tenantId: 2, laneId: foreign, channel: 'any', worker: 'w', leaseMs: 1_000 }),
  ).not.toBeNull();
  await t.engine.resume(t.db, { tenantId: 2 });
  expect(await t.claim(laneId)).toBeNull();
  await t.engine.resume(t.db, { tenantId: 1 });
  await t.engine.resume(t.db, { tenantId: 1, tag: 'red' });
  expect(await t.claim(laneId)).toMatchObject({ id });
});

test('G23: claims that race with a pause get nothing once it was acknowledged', async () => {
  const lanes = await Promise.all(Array.from({ length: 40 }, () => t.lane()));
  await Promise.all(lanes.map(({ laneId }) => t.enqueue(laneId)));
  await Promise.all(lanes.map((lane) => t.engine.pauseLane(t.db, lane)));
  const got = await Promise.all(lanes.map(({ laneId }) => t.claim(laneId)));
  expect(got.every((action) => action === null)).toBe(true);
});
