import { afterAll, beforeAll, expect, test } from 'vitest';
import { ofOne } from '../src/by-tenant.ts';
import { brokenInvariants, TENANT, type TestEngine, testEngine } from '../testing/index.ts';

let t: TestEngine;
beforeAll(async () => {
  t = await testEngine();
});
afterAll(() => t.close());

const counts = async (tenantId = 1) =>
  Object.fromEntries(
    (await t.engine.counts(t.db, tenantId)).map((row) => [`${row.channel} ${row.state}`, row.count]),
  );

test('G45: after each step of a life the counts equal a recount', async () => {
  const { laneId } = await t.lane();
  const other = await t.lane();
  const id = await t.enqueue(laneId, { maxAttempts: 2 });
  const superseded = await t.engine.enqueue(t.db, {
    ...other,
    kind: 'x',
    channel: 'b',
    supersede: { key: 'k', mode: 'replace' },
  });
  const next = { channel: 'any', worker: 'w', leaseMs: 1_000 };
  const steps: [string, () => Promise<unknown>][] = [
    ['claim', () => t.claim(laneId)],
    ['redelivery', () => t.claim(laneId)],
    ['NotNow', () => t.report(id, 1, 'notNow', { retryAfterMs: 0 })],
    ['claim again', () => t.claim(laneId)],
    ['release', () => t.engine.release(t.db, { tenantId: 1, actionId: id, attempt: 2 })],
    ['claim again', () => t.claim(laneId, 'w', 1_000)],
    ['lease end', () => t.pass(1_000)],
    ['due', () => t.pass(60_000)],
    ['claim again', () => t.claim(laneId)],
    ['last failure', () => t.report(id, 4, 'failed')],
    ['redrive', () => t.engine.redrive(t.db, { tenantId: 1, actionId: id })],
    ['claim again', () => t.claim(laneId)],
    ['enqueue', () => t.enqueue(laneId, { channel: 'any' })],
    ['fused report', () => t.report(id, 5, 'succeeded', { next })],
    ['cancel running', () => t.engine.cancelMatching(t.db, { tenantId: 1, laneId })],
    ['lease end of cancelled', () => t.pass(1_000)],
    [
      'supersede',
      () =>
        t.engine.enqueue(t.db, {
          ...other,
          kind: 'x',
          channel: 'c',
          supersede: { key: 'k', mode: 'replace' },
        }),
    ],
    [
      'expire',
      () => t.enqueue(laneId, { deliverBy: new Date(t.clock().getTime() + 1) }).then(() => t.pass(1)),
    ],
    ['generation', () => t.engine.raiseGeneration(t.db, other)],
    ['fold', () => t.engine.runDuty('fold-counts')],
    ['late', () => t.report(id, 3)],
  ];
  for (const [name, step] of steps) {
    await step();
    expect(await brokenInvariants(t.db), name).toEqual([]);
  }
  expect(await t.state(superseded.id)).toBe('cancelled');
  expect(await counts()).toEqual({
    'any succeeded': 1,
    'any cancelled': 1,
    'any expired': 1,
    'b cancelled': 1,
    'c cancelled': 1,
  });
});

test('G45: folding changes nothing but the number of rows, even by two leaders at once', async () => {
  const lanes = await Promise.all(Array.from({ length: 5 }, () => t.lane()));
  for (let n = 0; n < 10; n += 1) for (const { laneId } of lanes) await t.enqueue(laneId);
  const before = await counts();
  const size = async () =>
    (await t.db.query({ text: 'select count(*)::int as n from muster.count_changes' })).rows[0].n;
  const many = await size();
  const fold = t.engine.duties.find(({ name }) => name === 'fold-counts');
  const foldOnce = () => t.db.transaction(async (tx) => fold?.runOnce(ofOne(t.db, tx, TENANT)));
  await Promise.all([foldOnce(), foldOnce()]);
  await t.engine.runDuty('fold-counts');
  expect(await counts()).toEqual(before);
  expect(await size()).toBeLessThan(many);
  expect(await size()).toBeLessThanOrEqual(Object.keys(before).length);
});

test('G45: enqueues while the counts are folded are not lost', async () => {
  const { laneId } = await t.lane();
  const before = (await counts())['any pending'] ?? 0;
  await Promise.all([
    ...Array.from({ length: 40 }, () => t.enqueue(laneId)),
    ...Array.from({ length: 5 }, () => t.engine.runDuty('fold-counts')),
  ]);
  expect((await counts())['any pending']).toBe(before + 40);
});

test('G45 G51: each tenant has its own counts, and all can be read together', async () => {
  const laneId = await t.engine.ensureLane(t.db, 7, 'test', 'x');
  await t.engine.enqueue(t.db, { tenantId: 7, laneId, kind: 'x' });
  expect(await counts(7)).toEqual({ 'any pending': 1 });
  const all = await t.engine.counts(t.db);
  expect(new Set(all.map((row) => row.tenantId))).toEqual(new Set([1, 7]));
});

test('the oldest unfinished action of each tenant', async () => {
  const laneId = await t.engine.ensureLane(t.db, 8, 'test', 'x');
  const oldest = async () => (await t.engine.oldest(t.db)).find((row) => row.tenantId === 8);
  expect(await oldest()).toBeUndefined();
  const createdAt = t.clock();
  const { id } = await t.engine.enqueue(t.db, { tenantId: 8, laneId, kind: 'x' });
  t.clock.advance(5_000);
  await t.engine.enqueue(t.db, { tenantId: 8, laneId, kind: 'x' });
  expect(await oldest()).toEqual({ tenantId: 8, createdAt });
  await t.engine.cancel(t.db, { tenantId: 8, actionId: id });
  expect(await oldest()).toEqual({ tenantId: 8, createdAt: t.clock() });
});
