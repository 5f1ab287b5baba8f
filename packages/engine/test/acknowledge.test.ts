import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestEngine, testEngine } from '../testing/index.ts';

let t: TestEngine;
beforeAll(async () => {
  t = await testEngine();
});
afterAll(() => t.close());

const acknowledge = (actionId: string, attempt = 1) =>
  t.engine.acknowledge(t.db, { tenantId: 1, actionId, attempt });

test('G34: an acknowledgement is one line of history, however often it is repeated', async () => {
  const { laneId } = await t.lane();
  const id = await t.enqueue(laneId);
  await t.claim(laneId, 'w');
  const before = await t.engine.get(t.db, 1, id);
  const version = async () =>
    (await t.db.query({ text: 'select ver from muster.lanes where lane_id = $1', values: [laneId] })).rows[0]
      .ver;
  expect(await acknowledge(id)).toBe(true);
  const once = await version();
  for (let n = 0; n < 2; n += 1) expect(await acknowledge(id)).toBe(true);
  expect(await version()).toBe(once); // a repeated acknowledgement blocks nothing
  expect(await t.eventTypes(id)).toEqual(['CREATED', 'SENT', 'ACKED']);
  expect((await t.engine.events(t.db, 1, id)).at(-1)).toMatchObject({
    attempt: 1,
    worker: 'w',
    at: t.clock(),
  });
  expect(await t.engine.get(t.db, 1, id)).toEqual(before);
});

test('G34: an attempt that is not running cannot be acknowledged', async () => {
  const { laneId } = await t.lane();
  const id = await t.enqueue(laneId);
  expect(await acknowledge(id)).toBe(false);
  await t.claim(laneId);
  expect(await acknowledge(id, 2)).toBe(false);
  await t.report(id, 1);
  expect(await acknowledge(id)).toBe(false);
  expect(await t.eventTypes(id)).toEqual(['CREATED', 'SENT', 'SUCCEEDED']);
});
