import { afterAll, beforeAll, expect, test } from 'vitest';
import { enqueueAndClaim, type TestEngine, testEngine } from '../testing/index.ts';

let t: TestEngine;
beforeAll(async () => {
  t = await testEngine();
});
afterAll(() => t.close());

test('an action is queued, claimed, reported and the next one comes with the report', async () => {
  const { laneId } = await t.lane();
  const first = await t.enqueue(laneId, { payload: { n: 1 } });
  const second = await t.enqueue(laneId, { payload: { n: 2 } });
  const claimed = await t.claim(laneId);
  expect(claimed).toMatchObject({ id: first, attempt: 1, payload: { n: 1 } });
  const answer = await t.engine.report(t.db, {
    tenantId: 1,
    actionId: first,
    attempt: 1,
    status: 'succeeded',
    result: { ok: true },
    next: { channel: 'any', worker: 'worker', leaseMs: 1000 },
  });
  expect(answer).toMatchObject({ accepted: true, state: 'succeeded', next: { id: second, attempt: 1 } });
  expect(await t.eventTypes(first)).toEqual(['CREATED', 'SENT', 'SUCCEEDED']);
  expect(await t.state(first)).toBe('succeeded');
  await t.pass(2_000);
  expect(await t.eventTypes(second)).toEqual(['CREATED', 'SENT', 'TIMEOUT', 'RETRY_SCHEDULED']);
  expect((await t.engine.get(t.db, 1, second))?.waitingFor).toMatchObject({ code: 'RETRY' });
  await t.pass(10_000);
  expect(await t.claim(laneId)).toMatchObject({ id: second, attempt: 2 });
  const failed = await t.engine.report(t.db, {
    tenantId: 1,
    actionId: second,
    attempt: 2,
    status: 'failed',
    error: 'no',
  });
  expect(failed).toMatchObject({ accepted: true, state: 'pending' });
  expect(await t.engine.cancel(t.db, { tenantId: 1, actionId: second })).toEqual({
    outcome: 'cancelled',
    state: 'cancelled',
  });
  expect(await t.engine.counts(t.db, 1)).toEqual([
    { tenantId: 1, channel: 'any', state: 'cancelled', count: 1 },
    { tenantId: 1, channel: 'any', state: 'succeeded', count: 1 },
  ]);
});

test('a runner claims across its lanes, never above its slots', async () => {
  const runnerId = await t.engine.createRunner(t.db, 1, 2);
  const ids: string[] = [];
  for (let n = 0; n < 4; n += 1) {
    const lane = await t.lane();
    await t.engine.assignRunner(t.db, lane, runnerId);
    ids.push(await t.enqueue(lane.laneId));
  }
  const claim = () =>
    t.engine.claimSlots(t.db, {
      tenantId: 1,
      runnerId,
      channel: 'any',
      worker: 'pc',
      leaseMs: 60_000,
      max: 10,
    });
  const got = await claim();
  expect(got.map((a) => a.id)).toEqual(ids.slice(0, 2));
  expect(await claim()).toEqual([]);
  await t.engine.report(t.db, { tenantId: 1, actionId: ids[0] as string, attempt: 1, status: 'succeeded' });
  expect((await claim()).map((a) => a.id)).toEqual([ids[2]]);
  const fresh = await t.lane();
  await t.engine.assignRunner(t.db, fresh, runnerId);
  await t.engine.setSlots(t.db, 1, runnerId, 3);
  const made = await enqueueAndClaim(t.engine, t.db, {
    tenantId: 1,
    runnerId,
    worker: 'pc',
    leaseMs: 1000,
    actions: [{ laneId: fresh.laneId, kind: 'x', payload: { a: 1 } }],
  });
  expect(made[0]).toMatchObject({ attempt: 1, kind: 'x' });
  expect(await t.engine.held(t.db, { tenantId: 1, runnerId })).toHaveLength(3);
  expect((await t.engine.get(t.db, 1, ids[3] as string))?.waitingFor).toMatchObject({ code: 'NO_FREE_SLOT' });
});
