import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestEngine, testEngine } from '../testing/index.ts';

let t: TestEngine;
beforeAll(async () => {
  t = await testEngine();
});
afterAll(() => t.close());

const move = (actionId: string, reason?: string) =>
  t.engine.moveToFront(t.db, { tenantId: 1, actionId, reason });
async function orderOf(laneId: string): Promise<string[]> {
  const order: string[] = [];
  for (let action = await t.claim(laneId); action; action = await t.claim(laneId)) {
    order.push(action.id);
    await t.report(action.id, action.attempt);
  }
  return order;
}

test('G14: a moved action goes before all of its class, and the history shows it', async () => {
  const { laneId } = await t.lane();
  const [a, b, c] = [await t.enqueue(laneId), await t.enqueue(laneId), await t.enqueue(laneId)];
  expect(await move(c, 'hurry')).toEqual({ outcome: 'moved', state: 'pending' });
  expect((await t.engine.events(t.db, 1, c)).at(-1)).toMatchObject({
    type: 'MOVED',
    reason: 'hurry',
    attempt: 0,
  });
  expect(await move(b)).toMatchObject({ outcome: 'moved' });
  expect(await orderOf(laneId)).toEqual([b, c, a]);
});

test('G10 G14: a normal action stays behind the urgent ones', async () => {
  const { laneId } = await t.lane();
  const urgent = await t.enqueue(laneId, { priority: 'urgent' });
  const [a, b] = [await t.enqueue(laneId), await t.enqueue(laneId)];
  await move(b);
  expect(await orderOf(laneId)).toEqual([urgent, b, a]);
});

test('G14: many moves at once all happen, each before the earlier ones', async () => {
  const { laneId } = await t.lane();
  const ids: string[] = [];
  for (let n = 0; n < 8; n += 1) ids.push(await t.enqueue(laneId));
  const answers = await Promise.all(ids.map((id) => move(id)));
  expect(answers.every((answer) => answer.outcome === 'moved')).toBe(true);
  expect((await orderOf(laneId)).sort()).toEqual([...ids].sort());
});

test('G14: an action that is not yet due stays delayed and is at the front when it comes due', async () => {
  const { laneId } = await t.lane();
  const a = await t.enqueue(laneId);
  const later = await t.enqueue(laneId, { notBefore: new Date(t.clock().getTime() + 1_000) });
  await move(later);
  const claimed = await t.claim(laneId);
  expect(claimed?.id).toBe(a);
  await t.engine.release(t.db, { tenantId: 1, actionId: a, attempt: 1 });
  await t.pass(1_000);
  expect(await orderOf(laneId)).toEqual([later, a]);
});

test('G13 G14: moved before an action that holds the lane, it runs first', async () => {
  const { laneId } = await t.lane();
  const holds = await t.enqueue(laneId, { headOfLine: 'hold' });
  const other = await t.enqueue(laneId);
  await t.claim(laneId);
  await t.report(holds, 1, 'failed');
  expect(await t.claim(laneId)).toBeNull();
  await move(other);
  expect(await t.claim(laneId)).toMatchObject({ id: other });
});

test.each<[string, (id: string, laneId: string) => Promise<unknown>, string]>([
  ['runs', (_id, laneId) => t.claim(laneId), 'claimed'],
  ['was cancelled', (id) => t.engine.cancel(t.db, { tenantId: 1, actionId: id }), 'cancelled'],
])('G14: an action that %s is not moved', async (_name, happens, state) => {
  const { laneId } = await t.lane();
  const id = await t.enqueue(laneId);
  await happens(id, laneId);
  expect(await move(id)).toEqual({ outcome: 'refused', state });
  expect(await t.eventTypes(id)).not.toContain('MOVED');
});

test('G51: another tenant cannot move', async () => {
  const { laneId } = await t.lane();
  const id = await t.enqueue(laneId);
  expect(await t.engine.moveToFront(t.db, { tenantId: 2, actionId: id })).toMatchObject({
    outcome: 'unknown',
  });
});
