import { afterAll, beforeAll, expect, test } from 'vitest';
import { settledUpTo, type TestEngine, testEngine } from '../testing/index.ts';

/** Reports in plain SQL use the clock of the database, whatever the engine's is. */
let t: TestEngine;
beforeAll(async () => {
  t = await testEngine();
  await t.engine.start(); // it hears of others
});
afterAll(() => t.close());

const report = async (id: string, attempt: number, outcome: string, error: string | null = null) =>
  (
    await t.db.query({
      text: 'select muster.report_attempt(1, $1, $2, $3, $4) as state',
      values: [id, attempt, outcome, error],
    })
  ).rows[0].state;

test('G4: a report in plain SQL ends the attempt that it names, and no other', async () => {
  const { laneId } = await t.lane();
  const id = await t.enqueue(laneId, { maxAttempts: 2, backoffMs: 0 });
  expect(await report(id, 1, 'succeeded')).toBeNull();
  await t.claim(laneId);
  expect(await report(id, 2, 'succeeded')).toBeNull();
  expect(await report(id, 1, 'failed', 'no power')).toBe('pending');
  await t.claim(laneId);
  expect(await report(id, 1, 'succeeded')).toBeNull();
  expect(await report(id, 2, 'succeeded')).toBe('succeeded');
  expect(await report(id, 2, 'succeeded')).toBeNull();
  expect(await t.eventTypes(id)).toEqual([
    ...['CREATED', 'SENT', 'FAILED', 'RETRY_SCHEDULED', 'SENT', 'SUCCEEDED'],
  ]);
});

test('G11: a report in plain SQL wakes waiters for the lane', async () => {
  const { laneId } = await t.lane();
  const [first, second] = [await t.enqueue(laneId), await t.enqueue(laneId)];
  await t.claim(laneId);
  const waiting = t.engine.claim(t.db, {
    ...{ tenantId: 1, laneId, channel: 'any', worker: 'next', leaseMs: 60_000, waitMs: 20_000 },
  });
  while (t.engine.parkedWaiters === 0) await new Promise((resolve) => setImmediate(resolve));
  expect(await report(first, 1, 'succeeded')).toBe('succeeded');
  expect((await waiting)?.id).toBe(second);
  await t.report(second, 1);
});

test('a note in plain SQL is an event of the feed like any other', async () => {
  const { laneId } = await t.lane();
  await t.db.query({
    text: `select muster.note($1, 1, $2, 'thing.seen', '{"n": 7}')`,
    values: [t.clock(), laneId],
  });
  await settledUpTo(t.db);
  const { events } = await t.engine.feed.read(t.db, { tenantId: 1, limit: 1_000 });
  expect(events.at(-1)).toMatchObject({ type: 'NOTED', laneId, reason: 'thing.seen', note: { n: 7 } });
});
