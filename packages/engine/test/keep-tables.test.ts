import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestEngine, testEngine } from '../testing/index.ts';

let t: TestEngine;
beforeAll(async () => {
  t = await testEngine();
});
afterAll(() => t.close());

async function pending() {
  const { rows } = await t.db.query({
    text: `select relpages as known, (pg_relation_size(oid) / 8192)::int as pages from pg_class where oid = 'muster.pending'::regclass`,
  });
  return rows[0] as { known: number; pages: number };
}

const MANY = 3_000;
async function fill(): Promise<void> {
  const lanes = await Promise.all(Array.from({ length: 10 }, () => t.lane()));
  await t.engine.enqueueMany(
    t.db,
    Array.from({ length: MANY }, (_, n) => ({ ...(lanes[n % 10] as (typeof lanes)[number]), kind: 'x' })),
  );
}

test('G47: the planner learns of a table that has grown', async () => {
  await t.engine.runDuty('keep-tables');
  const before = await pending();
  await fill();
  expect((await pending()).pages).toBeGreaterThan(2 * before.known + 8);
  expect(await t.engine.runDuty('keep-tables')).toBeGreaterThan(0);
  const { known, pages } = await pending();
  expect(known).toBe(pages);
  expect(await t.engine.runDuty('keep-tables')).toBe(0);
});
