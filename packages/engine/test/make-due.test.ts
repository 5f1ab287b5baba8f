import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestEngine, testEngine } from '../testing/index.ts';

let t: TestEngine;
beforeAll(async () => {
  t = await testEngine();
});
afterAll(() => t.close());

const at = (ms: number) => new Date(t.clock().getTime() + ms);

test('an action becomes claimable when its time has come, in every tenant, and only once', async () => {
  const { laneId } = await t.lane();
  const foreign = await t.engine.ensureLane(t.db, 2, 'test', 'x');
  const id = await t.enqueue(laneId, { notBefore: at(1_000) });
  await t.engine.enqueue(t.db, { tenantId: 2, laneId: foreign, kind: 'x', notBefore: at(1_000) });
  t.clock.advance(999);
  expect(await t.engine.runDuty('make-due')).toBe(0);
  t.clock.advance(1);
  expect(await t.engine.runDuty('make-due')).toBe(2);
  expect(await t.engine.runDuty('make-due')).toBe(0);
  expect(await t.claim(laneId)).toMatchObject({ id });
  expect(await t.eventTypes(id)).toEqual(['CREATED', 'SENT']);
});

test('G40: many due actions of one lane become ready together, by two leaders at once', async () => {
  const { laneId } = await t.lane();
  const ids: string[] = [];
  for (let n = 0; n < 30; n += 1) ids.push(await t.enqueue(laneId, { notBefore: at(1_000 - n) }));
  t.clock.advance(1_000);
  await Promise.all([t.engine.runDuty('make-due'), t.engine.runDuty('make-due')]);
  await t.engine.runDuty('make-due');
  const order: string[] = [];
  for (let action = await t.claim(laneId); action; action = await t.claim(laneId)) {
    order.push(action.id);
    await t.report(action.id, 1);
  }
  expect(order).toEqual(ids);
});
