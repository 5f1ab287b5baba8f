import { afterAll, beforeAll, expect, test } from 'vitest';
import { createEngine, type Engine } from '../src/index.ts';
import { type TestEngine, testEngine } from '../testing/index.ts';
import { playRaces } from '../testing/race-game.ts';
import { SEED } from '../testing/random.ts';
import { sabotage, swap } from '../testing/sabotage.ts';

/**
 * Many callers at once through one engine, where all share one session on PGlite. With several: races.postgres.test.ts.
 */
let t: TestEngine;
let broken: Engine;
beforeAll(async () => {
  t = await testEngine();
  // a broken engine leaves broken tables behind, which the check at the end of this file must not find
  broken = createEngine(
    sabotage(t.db, { muster_claim: (sql) => swap(sql, 'order by p.priority, p.seq', 'order by p.seq desc') }),
    {
      clock: t.clock,
    },
  );
});
afterAll(async () => {
  await broken.stop();
  await t.close();
});

test.each([1, 2])(
  'G10 G11 G15 G20 G31 G45: many callers at once leave a clean history and nothing stuck (game %i)',
  {
    timeout: 300_000,
  },
  async (n) => {
    const game = {
      engines: [t.engine],
      clock: t.clock,
      tenantId: n + 1,
      seed: SEED + n,
      actors: 10,
      steps: 30,
    };
    const { violations, unfinished } = await playRaces(game);
    expect(violations, `MUSTER_TEST_SEED=${SEED}`).toEqual([]);
    expect(unfinished).toBe(0);
  },
);

test('claims in no order are found out', { timeout: 300_000 }, async () => {
  const game = { engines: [broken], clock: t.clock, tenantId: 50, seed: 1, actors: 8, steps: 25 };
  const { violations } = await playRaces(game);
  expect(violations.map(({ kind }) => kind)).toContain('order');
  for (const table of 'pending lanes count_changes actions action_tags endings idempotency_keys events'.split(
    ' ',
  ))
    await t.db.query({ text: `delete from muster.${table} where tenant_id = 50` });
});
