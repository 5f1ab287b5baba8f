import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Effects } from '../src/effects.ts';
import type { Query } from '../src/index.ts';
import { createLaneOps } from '../src/ops/lanes.ts';
import { type TestEngine, testEngine } from '../testing/index.ts';

/** A load of many new lanes in one transaction, and statistics taken in the middle of it. */
let t: TestEngine;
let loading: pg.Client;
beforeAll(async () => {
  t = await testEngine();
  loading = new pg.Client({ connectionString: t.url as string });
  await loading.connect();
});
afterAll(async () => {
  await loading.end();
  await t.close();
});

async function pagesOf(names: readonly string[]): Promise<number> {
  let statement: Query | undefined;
  const lanes = createLaneOps(
    {
      schema: 'muster',
      now: t.clock,
      ready: () => undefined,
      depthLimit: 1_000,
      effects: new Effects(),
      isDistributed: false,
    },
    [],
  );
  await lanes.ensureMany(
    {
      query: async (query: Query) => {
        statement ??= query;
        return { rows: names.map((name, n) => ({ name, lane_id: String(n) })) };
      },
    },
    1,
    'load',
    names,
  );
  const { rows } = await loading.query({
    text: `explain (analyze, buffers, format json) ${statement?.text}`,
    values: statement?.values ?? [],
  });
  const plan = rows[0]['QUERY PLAN'][0].Plan;
  return plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
}
const some = (from: number, many: number) => Array.from({ length: many }, (_, n) => `lane ${from + n}`);

test('G68: statistics taken in the middle of a load do not make its look-ups read everything', async () => {
  await loading.query('begin');
  const before = await pagesOf(some(0, 200));
  await pagesOf(some(1_000, 8_000));
  await t.db.query({ text: 'analyze muster.lane_names' });
  await t.db.query({ text: 'analyze muster.lanes' });
  const after = await pagesOf(some(20_000, 200));
  await loading.query('rollback');
  expect(after).toBeLessThan(before * 3);
});
