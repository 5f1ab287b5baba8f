import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestEngine, testEngine } from '../testing/index.ts';

let t: TestEngine;
beforeAll(async () => {
  t = await testEngine();
});
afterAll(() => t.close());

const release = (actionId: string, attempt = 1, more: object = {}) =>
  t.engine.release(t.db, { tenantId: 1, actionId, attempt, ...more });
async function running(more: Parameters<TestEngine['enqueue']>[1] = {}) {
  const { laneId } = await t.lane();
  const id = await t.enqueue(laneId, more);
  await t.claim(laneId);
  return { laneId, id };
}

test('G3 G34: the action is pending again at once, at its place, with a new number next time', async () => {
  const { laneId, id } = await running();
  const second = await t.enqueue(laneId);
  expect(await release(id, 1, { worker: 'w', reason: 'not prepared' })).toMatchObject({
    accepted: true,
    state: 'pending',
  });
  expect(await t.engine.events(t.db, 1, id)).toMatchObject([
    { type: 'CREATED' },
    { type: 'SENT' },
    { type: 'RELEASED', attempt: 1, worker: 'w', reason: 'not prepared' },
  ]);
  expect((await t.engine.get(t.db, 1, id))?.failures).toBe(0);
  expect(await t.claim(laneId)).toMatchObject({ id, attempt: 2 });
  await t.report(id, 2);
  expect(await t.claim(laneId)).toMatchObject({ id: second });
});

test('G15: an attempt that is not running cannot be given back', async () => {
  const { laneId, id } = await running();
  await release(id);
  await t.claim(laneId);
  expect(await release(id, 3)).toMatchObject({ accepted: false, reason: 'LATE', state: 'claimed' });
  await t.report(id, 2);
  expect(await release(id, 2)).toMatchObject({ accepted: false, reason: 'LATE', state: 'succeeded' });
});

test('G21: giving back an action whose cancel was requested ends it', async () => {
  const { id } = await running();
  await t.engine.cancel(t.db, { tenantId: 1, actionId: id });
  expect(await release(id)).toMatchObject({ accepted: true, state: 'cancelled' });
  expect(await t.eventTypes(id)).toEqual(['CREATED', 'SENT', 'CANCEL_REQUESTED', 'RELEASED', 'CANCELLED']);
});

test('G6: once handed out and given back an action no longer expires', async () => {
  const { laneId, id } = await running({ deliverBy: new Date(t.clock().getTime() + 1_000) });
  await release(id);
  await t.pass(5_000);
  expect(await t.claim(laneId)).toMatchObject({ id, attempt: 2 });
});

test('G4: an action that an operator takes back is pending at once and counts neither as a failure nor towards the tenth', async () => {
  const { laneId, id } = await running({ maxAttempts: 1 });
  for (let attempt = 1; attempt <= 21; attempt += 1) {
    // nine that count: the next of their kind would be the tenth
    expect(await release(id, attempt, { uncounted: attempt > 9 })).toMatchObject({ state: 'pending' });
    expect(await t.claim(laneId)).toMatchObject({ id, attempt: attempt + 1 });
  }
  expect((await t.engine.get(t.db, 1, id))?.failures).toBe(0);
  expect(await release(id, 22)).toMatchObject({ state: 'failed' });
});
