import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestEngine, testEngine } from '../testing/index.ts';

let t: TestEngine;
beforeAll(async () => {
  t = await testEngine();
});
afterAll(() => t.close());

const redrive = (actionId: string, reason?: string) =>
  t.engine.redrive(t.db, { tenantId: 1, actionId, reason });
async function dead(more: Parameters<TestEngine['enqueue']>[1] = {}, lane?: string) {
  const laneId = lane ?? (await t.lane()).laneId;
  const id = await t.enqueue(laneId, { maxAttempts: 1, ...more });
  await t.claim(laneId);
  await t.report(id, 1, 'failed', { error: 'broken', result: { partial: true } });
  return { laneId, id };
}

test('G3 G4 G9: a dead letter goes to the end of its class, with no failures and a new attempt', async () => {
  const { laneId, id } = await dead({ maxAttempts: 1 });
  const other = await t.enqueue(laneId);
  expect(await redrive(id, 'repaired')).toEqual({ outcome: 'redriven', state: 'pending' });
  expect(await t.engine.get(t.db, 1, id)).toMatchObject({
    state: 'pending',
    failures: 0,
    attempt: 1,
    reason: null,
    error: null,
    result: null,
    endedAt: null,
  });
  expect((await t.engine.events(t.db, 1, id)).at(-1)).toMatchObject({ type: 'REDRIVEN', reason: 'repaired' });
  expect(await t.claim(laneId)).toMatchObject({ id: other });
  await t.report(other, 1);
  expect(await t.claim(laneId)).toMatchObject({ id, attempt: 2 });
});

test('G9: an urgent dead letter comes back as an urgent one, behind those that wait', async () => {
  const { laneId, id } = await dead({ priority: 'urgent' });
  const normal = await t.enqueue(laneId);
  const urgent = await t.enqueue(laneId, { priority: 'urgent' });
  await redrive(id);
  const order: (string | undefined)[] = [];
  for (const attempt of [1, 2, 1]) {
    const action = await t.claim(laneId);
    order.push(action?.id);
    await t.report(action?.id as string, attempt);
  }
  expect(order).toEqual([urgent, id, normal]);
});

test('G9: redriven without its clocks, it is not ended by a past deadline', async () => {
  const { laneId } = await t.lane();
  const id = await t.enqueue(laneId, { deadline: new Date(t.clock().getTime() + 1_000) });
  await t.pass(1_000);
  expect(await t.engine.get(t.db, 1, id)).toMatchObject({ state: 'failed', reason: 'DEADLINE' });
  await redrive(id);
  expect(await t.engine.get(t.db, 1, id)).toMatchObject({ state: 'pending', deadline: null });
  await t.pass(60_000);
  expect(await t.claim(laneId, 'w', 5_000)).toMatchObject({
    id,
    leaseUntil: new Date(t.clock().getTime() + 5_000),
  });
  expect(await t.engine.get(t.db, 1, id)).toMatchObject({ state: 'claimed', deadline: null });
});

test.each<[string, (id: string, laneId: string) => Promise<unknown>, string]>([
  ['pending', async () => {}, 'pending'],
  ['running', (_id, laneId) => t.claim(laneId), 'claimed'],
  ['cancelled', (id) => t.engine.cancel(t.db, { tenantId: 1, actionId: id }), 'cancelled'],
  [
    'succeeded',
    async (id, laneId) => {
      await t.claim(laneId);
      await t.report(id, 1);
    },
    'succeeded',
  ],
  ['expired', () => t.pass(10_000), 'expired'],
])('G9: what is %s is not redriven', async (_name, happens, state) => {
  const { laneId } = await t.lane();
  const id = await t.enqueue(laneId, { deliverBy: new Date(t.clock().getTime() + 5_000) });
  await happens(id, laneId);
  const events = await t.eventTypes(id);
  expect(await redrive(id)).toEqual({ outcome: 'refused', state });
  expect(await t.eventTypes(id)).toEqual(events);
});

test('G3: attempt numbers go on over several redrives', async () => {
  const { laneId, id } = await dead();
  for (let attempt = 2; attempt <= 4; attempt += 1) {
    await redrive(id);
    expect(await t.claim(laneId)).toMatchObject({ id, attempt });
    await t.report(id, attempt, 'failed');
    expect(await t.state(id)).toBe('failed');
  }
});

test('G35: of many redrives at once one wins', async () => {
  const { id } = await dead();
  const answers = await Promise.all(Array.from({ length: 20 }, () => redrive(id)));
  expect(answers.filter((answer) => answer.outcome === 'redriven')).toHaveLength(1);
});

test('G22: by filter every matching dead letter goes back, oldest first, once', async () => {
  const { laneId } = await t.lane();
  const ids: string[] = [];
  for (let n = 0; n < 3; n += 1) ids.push((await dead({ kind: 'bulk' }, laneId)).id);
  const other = await dead({ kind: 'other' }, laneId);
  expect(await t.engine.redriveMatching(t.db, { tenantId: 1, laneId, kind: 'bulk' })).toEqual({
    redriven: 3,
  });
  expect(await t.engine.redriveMatching(t.db, { tenantId: 1, laneId, kind: 'bulk' })).toEqual({
    redriven: 0,
  });
  expect(await t.state(other.id)).toBe('failed');
  for (const id of ids) {
    expect(await t.claim(laneId)).toMatchObject({ id, attempt: 2 });
    await t.report(id, 2);
  }
});

test('G29: redriven after a raised generation, it belongs to the new one', async () => {
  const { laneId, id } = await dead();
  await t.engine.raiseGeneration(t.db, { tenantId: 1, laneId });
  await redrive(id);
  await t.pass(1_000);
  expect(await t.claim(laneId)).toMatchObject({ id });
});

test('G51: another tenant cannot redrive', async () => {
  const { id } = await dead();
  expect(await t.engine.redrive(t.db, { tenantId: 2, actionId: id })).toEqual({
    outcome: 'unknown',
    state: null,
  });
  expect(await t.engine.redriveMatching(t.db, { tenantId: 2 })).toEqual({ redriven: 0 });
});
