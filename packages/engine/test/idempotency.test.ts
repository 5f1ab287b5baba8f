import { afterAll, beforeAll, expect, test } from 'vitest';
import type { NewAction } from '../src/index.ts';
import { type TestEngine, testEngine } from '../testing/index.ts';

let t: TestEngine;
beforeAll(async () => {
  t = await testEngine();
});
afterAll(() => t.close());

const enqueue = (action: Partial<NewAction> & { laneId: string }) =>
  t.engine.enqueue(t.db, { tenantId: 1, kind: 'test', ...action });

test('G25: the same key and body get the same action, in whatever state it is', async () => {
  const { laneId } = await t.lane();
  const first = await enqueue({ laneId, idempotencyKey: 'k1', payload: { a: 1, b: 2 } });
  expect(first.outcome).toBe('created');
  const again = () => enqueue({ laneId, idempotencyKey: 'k1', payload: { b: 2, a: 1 } });
  expect(await again()).toEqual({ id: first.id, outcome: 'present' });
  await t.claim(laneId);
  expect(await again()).toEqual({ id: first.id, outcome: 'present' });
  await t.report(first.id, 1);
  expect(await again()).toEqual({ id: first.id, outcome: 'present' });
  expect(await t.eventTypes(first.id)).toEqual(['CREATED', 'SENT', 'SUCCEEDED']);
});

test.each<[string, Partial<NewAction>]>([
  ['payload', { payload: { other: true } }],
  ['kind', { kind: 'other' }],
  ['channel', { channel: 'other' }],
  ['priority', { priority: 'urgent' }],
  ['tags', { tags: ['other'] }],
  ['clock', { deadline: new Date('2030-01-01') }],
  ['policy', { maxAttempts: 9 }],
])('G25: the same key with another %s is refused and changes nothing', async (name, other) => {
  const { laneId } = await t.lane();
  const key = `other ${name}`;
  const first = await enqueue({ laneId, idempotencyKey: key });
  await expect(enqueue({ laneId, idempotencyKey: key, ...other })).rejects.toMatchObject({
    code: 'MUSTER_IDEMPOTENCY_MISMATCH',
  });
  const page = await t.engine.list(t.db, { tenantId: 1, laneId });
  expect(page.actions.map((action) => action.id)).toEqual([first.id]);
});

test('G25: the same key in another lane is another body', async () => {
  const a = await t.lane();
  const b = await t.lane();
  await enqueue({ ...a, idempotencyKey: 'lanes' });
  await expect(enqueue({ ...b, idempotencyKey: 'lanes' })).rejects.toMatchObject({
    code: 'MUSTER_IDEMPOTENCY_MISMATCH',
  });
});

test('G25: the requester is not part of the body', async () => {
  const { laneId } = await t.lane();
  const first = await enqueue({ laneId, idempotencyKey: 'who', createdBy: 'ada' });
  expect(await enqueue({ laneId, idempotencyKey: 'who', createdBy: 'bob' })).toEqual({
    id: first.id,
    outcome: 'present',
  });
});

test('G25 G51: another tenant may use the same key freely', async () => {
  const own = await t.lane();
  const foreign = await t.engine.ensureLane(t.db, 2, 'test', 'foreign');
  const first = await enqueue({ ...own, idempotencyKey: 'shared' });
  const other = await enqueue({ tenantId: 2, laneId: foreign, idempotencyKey: 'shared', payload: 2 });
  expect(other).toMatchObject({ outcome: 'created' });
  expect(other.id).not.toBe(first.id);
});

test('G25 G35: of a hundred equal calls at once exactly one creates the action', async () => {
  const { laneId } = await t.lane();
  const answers = await Promise.all(
    Array.from({ length: 100 }, () => enqueue({ laneId, idempotencyKey: 'burst' })),
  );
  expect(new Set(answers.map((answer) => answer.id)).size).toBe(1);
  expect(answers.filter((answer) => answer.outcome === 'created')).toHaveLength(1);
});

test('G25: equal keys in one call of many get equal answers', async () => {
  const { laneId } = await t.lane();
  const action = { tenantId: 1, laneId, kind: 'test', idempotencyKey: 'many' };
  const answers = await t.engine.enqueueMany(t.db, [action, action, { ...action, payload: 'other' }]);
  expect(answers[0]).toMatchObject({ outcome: 'created' });
  expect(answers[1]).toEqual({ id: (answers[0] as { id: string }).id, outcome: 'present' });
  expect(answers[2]).toMatchObject({ code: 'MUSTER_IDEMPOTENCY_MISMATCH' });
});

test('G25 G41: the key is free again once its action is pruned, and not before', async () => {
  const { laneId } = await t.lane();
  const first = await enqueue({ laneId, idempotencyKey: 'forgotten' });
  await t.claim(laneId);
  await t.report(first.id, 1);
  t.clock.advance(13 * 86_400_000);
  await t.engine.runDuty('prune');
  expect(await enqueue({ laneId, idempotencyKey: 'forgotten' })).toMatchObject({ outcome: 'present' });
  t.clock.advance(2 * 86_400_000);
  await t.engine.runDuty('prune');
  expect(await enqueue({ laneId, idempotencyKey: 'forgotten' })).toMatchObject({ outcome: 'created' });
});
