import { afterAll, beforeAll, expect, test } from 'vitest';
import type { NewAction } from '../src/index.ts';
import { type TestEngine, tellingEffect, testEngine } from '../testing/index.ts';

let t: TestEngine;
beforeAll(async () => {
  t = await testEngine();
});
afterAll(() => t.close());

type Mode = 'keep-first' | 'replace' | 'append';
const put = (laneId: string, mode: Mode, more: Partial<NewAction> = {}) =>
  t.engine.enqueue(t.db, { tenantId: 1, laneId, kind: 'lock', supersede: { key: 'lock', mode }, ...more });
const waiting = async (laneId: string) =>
  (await t.engine.list(t.db, { tenantId: 1, laneId, state: 'unfinished' })).actions
    .map((a) => a.id)
    .reverse();

test('G26: replace ends the old one as SUPERSEDED and the new one goes to the end', async () => {
  const { laneId } = await t.lane();
  const old = await put(laneId, 'replace');
  const other = await t.enqueue(laneId);
  const fresh = await put(laneId, 'replace');
  expect(await t.eventTypes(old.id)).toEqual(['CREATED', 'SUPERSEDED']);
  expect(await t.engine.get(t.db, 1, old.id)).toMatchObject({ state: 'cancelled', reason: 'SUPERSEDED' });
  expect((await t.engine.events(t.db, 1, old.id))[1]?.reason).toBe(`by ${fresh.id}`);
  expect((await t.claim(laneId))?.id).toBe(other);
  await t.report(other, 1);
  expect((await t.claim(laneId))?.id).toBe(fresh.id);
});

test('G26: keep-first leaves the earlier one in its place and returns its id', async () => {
  const { laneId } = await t.lane();
  const first = await put(laneId, 'keep-first');
  const other = await t.enqueue(laneId);
  expect(await put(laneId, 'keep-first')).toEqual({ id: first.id, outcome: 'kept' });
  expect(await waiting(laneId)).toEqual([first.id, other]);
});

test('G26: append only adds', async () => {
  const { laneId } = await t.lane();
  const ids = [await put(laneId, 'append'), await put(laneId, 'append')].map((answer) => answer.id);
  expect(await waiting(laneId)).toEqual(ids);
});

test('G26: LOCK, UNLOCK, LOCK ends locked', async () => {
  const { laneId } = await t.lane();
  for (const payload of ['LOCK', 'UNLOCK', 'LOCK']) await put(laneId, 'replace', { payload });
  expect((await t.claim(laneId))?.payload).toBe('LOCK');
});

test.each<[string, Partial<NewAction>]>([
  ['not-before', { notBefore: new Date('2026-03-02T00:00:00Z') }],
  ['urgent class', { priority: 'urgent' }],
  ['channel of its own', { channel: 'other' }],
])('G26: replace and keep-first also find an action with a %s', async (_name, more) => {
  const { laneId } = await t.lane();
  const old = await put(laneId, 'append', more);
  expect(await put(laneId, 'keep-first')).toEqual({ id: old.id, outcome: 'kept' });
  const fresh = await put(laneId, 'replace');
  expect(await waiting(laneId)).toEqual([fresh.id]);
});

test('G26: replace ends all earlier ones with the key', async () => {
  const { laneId } = await t.lane();
  for (let n = 0; n < 3; n += 1) await put(laneId, 'append');
  const fresh = await put(laneId, 'replace');
  expect(await waiting(laneId)).toEqual([fresh.id]);
});

test.each<[string, (id: string) => Promise<unknown>]>([
  ['is running', async () => {}],
  ['was handed out and failed', (id) => t.report(id, 1, 'failed')],
  [
    'was handed out and given back',
    (id) => t.engine.release(t.db, { tenantId: 1, actionId: id, attempt: 1 }),
  ],
])('G26: an action that %s is not superseded', async (_name, then) => {
  const { laneId } = await t.lane();
  const old = await put(laneId, 'replace', { maxAttempts: 5 });
  await t.claim(laneId);
  await then(old.id);
  const fresh = await put(laneId, 'replace');
  expect(fresh.outcome).toBe('created');
  expect(await put(laneId, 'keep-first')).toEqual({ id: fresh.id, outcome: 'kept' });
  expect(await waiting(laneId)).toEqual([old.id, fresh.id]);
});

test('G26: the same key in another lane is another key', async () => {
  const a = await t.lane();
  const b = await t.lane();
  const first = await put(a.laneId, 'replace');
  await put(b.laneId, 'replace');
  expect(await waiting(a.laneId)).toEqual([first.id]);
  expect((await put(b.laneId, 'keep-first')).outcome).toBe('kept');
});

test('G26: an expired action does not count as the first, even before housekeeping has ended it', async () => {
  const { laneId } = await t.lane();
  const soon = () => new Date(t.clock().getTime() + 1_000);
  await put(laneId, 'keep-first', { deliverBy: soon() });
  t.clock.advance(1_500);
  expect(await put(laneId, 'keep-first', { deadline: soon() })).toMatchObject({ outcome: 'created' });
  t.clock.advance(1_500);
  expect(await put(laneId, 'keep-first')).toMatchObject({ outcome: 'created' });
});

test('G26: a redriven action that was never handed out can be superseded again', async () => {
  const { laneId } = await t.lane();
  const old = await put(laneId, 'append', { deadline: new Date(t.clock().getTime() + 1_000) });
  await t.pass(1_000);
  expect(await t.state(old.id)).toBe('failed');
  await t.engine.redrive(t.db, { tenantId: 1, actionId: old.id });
  const fresh = await put(laneId, 'replace');
  expect(await waiting(laneId)).toEqual([fresh.id]);
});

test('G26 G35: of fifty replacing calls at once exactly one action is left', async () => {
  const { laneId } = await t.lane();
  await Promise.all(Array.from({ length: 50 }, () => put(laneId, 'replace')));
  expect(await waiting(laneId)).toHaveLength(1);
  expect((await t.engine.list(t.db, { tenantId: 1, laneId, state: 'cancelled' })).actions).toHaveLength(49);
});

test('G26 G35: of fifty keep-first calls at once exactly one creates an action', async () => {
  const { laneId } = await t.lane();
  const answers = await Promise.all(Array.from({ length: 50 }, () => put(laneId, 'keep-first')));
  expect(answers.filter((answer) => answer.outcome === 'created')).toHaveLength(1);
  expect(new Set(answers.map((answer) => answer.id)).size).toBe(1);
});

test('G26: superseding calls of one list see each other', async () => {
  const { laneId } = await t.lane();
  const action = { tenantId: 1, laneId, kind: 'x', supersede: { key: 'k', mode: 'replace' as const } };
  await t.engine.enqueueMany(t.db, [action, action, action]);
  expect(await waiting(laneId)).toHaveLength(1);
});

test('G50: an effect gets the superseded action under its own channel', async () => {
  const effect = await tellingEffect(t.engine, 'superseded', 'superseded');
  const { laneId } = await t.lane();
  const old = await put(laneId, 'append', { channel: 'superseded' });
  await effect.forget();
  await put(laneId, 'replace', { channel: 'another' });
  expect(await effect.told()).toMatchObject([
    { actionId: old.id, events: ['SUPERSEDED'], state: 'cancelled', attempt: 0 },
  ]);
});
