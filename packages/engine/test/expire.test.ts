import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestEngine, testEngine } from '../testing/index.ts';

let t: TestEngine;
beforeAll(async () => {
  t = await testEngine();
});
afterAll(() => t.close());

const at = (ms: number) => new Date(t.clock().getTime() + ms);

test('G6: an action not handed out by its deliver-by expires', async () => {
  const { laneId } = await t.lane();
  const id = await t.enqueue(laneId, { deliverBy: at(5_000) });
  await t.pass(4_999);
  expect(await t.state(id)).toBe('pending');
  await t.pass(1);
  expect(await t.engine.get(t.db, 1, id)).toMatchObject({
    state: 'expired',
    reason: 'DELIVER_BY',
    attempt: 0,
  });
  expect(await t.eventTypes(id)).toEqual(['CREATED', 'EXPIRED']);
});

test('G6: also when it was not yet due, or its lane was paused', async () => {
  const lane = await t.lane();
  const later = await t.enqueue(lane.laneId, { notBefore: at(60_000), deliverBy: at(5_000) });
  const paused = await t.enqueue(lane.laneId, { deliverBy: at(5_000) });
  await t.engine.pauseLane(t.db, lane);
  await t.pass(5_000);
  expect([await t.state(later), await t.state(paused)]).toEqual(['expired', 'expired']);
});

test('G6: an action handed out in time does not expire, neither while it runs nor at a retry', async () => {
  const { laneId } = await t.lane();
  const id = await t.enqueue(laneId, { deliverBy: at(5_000) });
  await t.claim(laneId, 'w', 10_000);
  await t.pass(6_000);
  expect(await t.state(id)).toBe('claimed');
  await t.pass(4_000);
  expect(await t.state(id)).toBe('pending');
  await t.pass(60_000);
  expect(await t.claim(laneId)).toMatchObject({ id, attempt: 2 });
});

test('G8: a pending or retrying action not finished by its deadline has failed', async () => {
  const { laneId } = await t.lane();
  const waits = await t.enqueue(laneId, { deadline: at(5_000) });
  const other = await t.lane();
  const retries = await t.enqueue(other.laneId, {
    deadline: at(5_000),
    backoffMs: 60_000,
    headOfLine: 'hold',
  });
  await t.claim(other.laneId);
  await t.report(retries, 1, 'failed');
  await t.pass(5_000);
  expect(await t.engine.get(t.db, 1, waits)).toMatchObject({ state: 'failed', reason: 'DEADLINE' });
  expect(await t.engine.get(t.db, 1, retries)).toMatchObject({
    state: 'failed',
    reason: 'DEADLINE',
    attempt: 1,
  });
  expect(await t.eventTypes(waits)).toEqual(['CREATED', 'FAILED_FINAL']);
});

test('G6 G8: an action past both clocks that was never handed out has expired', async () => {
  const { laneId } = await t.lane();
  const id = await t.enqueue(laneId, { deadline: at(4_000), deliverBy: at(5_000) });
  const other = await t.enqueue(laneId, { deadline: at(4_000), deliverBy: at(5_000) });
  t.clock.advance(5_000);
  await t.engine.runDuty('expire');
  expect([await t.state(id), await t.state(other)]).toEqual(['expired', 'expired']);
});

test('G40: for all tenants at once, by two leaders at once, each ends once', async () => {
  const ids: [number, string][] = [];
  for (let tenantId = 1; tenantId <= 2; tenantId += 1)
    for (let n = 0; n < 30; n += 1) {
      const laneId = await t.engine.ensureLane(t.db, tenantId, 'expire', `${n % 5}`);
      const { id } = await t.engine.enqueue(t.db, { tenantId, laneId, kind: 'x', deliverBy: at(1_000) });
      ids.push([tenantId, id]);
    }
  t.clock.advance(1_000);
  await Promise.all([t.engine.runDuty('expire'), t.engine.runDuty('expire')]);
  await t.engine.runDuty('expire');
  for (const [tenantId, id] of ids)
    expect((await t.engine.events(t.db, tenantId, id)).map((event) => event.type)).toEqual([
      'CREATED',
      'EXPIRED',
    ]);
});
