import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { createEngine, type Engine, openPostgres } from '../src/index.ts';
import { testClock } from '../testing/clock.ts';
import { playRaces } from '../testing/race-game.ts';
import { SEED } from '../testing/random.ts';
import { cut, type Sabotage, sabotage } from '../testing/sabotage.ts';
import { createSessions, type Sessions } from '../testing/sessions.ts';
import { type TestDatabase, testDatabase } from '../testing/test-database.ts';

let database: TestDatabase;
let second: ReturnType<typeof openPostgres>;
let sessions: Sessions;
const engines: Engine[] = [];
let tenants = 1;

beforeAll(async () => {
  database = await testDatabase();
  second = openPostgres({ isDistributed: inject('isDistributed') ?? false, url: database.url as string });
  sessions = createSessions(database.url as string);
});
afterAll(async () => {
  for (const engine of engines) await engine.stop();
  await sessions.end();
  await second.close();
  await database.drop();
});

/** Two nodes on one database, and sessions that are reused once their transaction is over. */
async function game(seed: number, by: Sabotage = {}, steps = 40) {
  const clock = testClock();
  const two = [database.db, second].map((db) => createEngine(sabotage(db, by), { clock }));
  engines.push(...two);
  tenants += 1;
  await (two[0] as Engine).runDuty('keep-days');
  const free: Awaited<ReturnType<Sessions['open']>>[] = [];
  return playRaces({
    engines: two,
    clock,
    tenantId: tenants,
    seed,
    actors: 12,
    steps,
    async session() {
      const client = free.pop() ?? (await sessions.open());
      return {
        db: sessions.queryable(client),
        async run(sql) {
          await client.query(sql);
          if (sql === 'commit' || sql === 'rollback') free.push(client);
        },
      };
    },
  });
}

describe('G3 G10 G11 G15 G20 G26 G29 G31 G40 G45: many callers on two nodes', () => {
  test.each([1, 2, 3, 4])(
    'leave a clean history, lose nothing and leave nothing stuck (game %i)',
    { timeout: 300_000 },
    async (n) => {
      const { violations, unfinished, calls, busy } = await game(SEED + n);
      console.log(`races: ${calls} calls, ${busy} busy, MUSTER_TEST_SEED=${SEED}`);
      expect(violations, `MUSTER_TEST_SEED=${SEED}`).toEqual([]);
      expect(unfinished).toBe(0);
    },
  );

  // Faults that no timing hides; the guards of single races are broken in interleavings.postgres.test.ts.
  test('on an engine that hands out leased actions are found out', { timeout: 300_000 }, async () => {
    const by = { muster_claim: (sql: string) => cut(sql, 'l.action_id is null and') };
    const found = await game(1, by).then(
      ({ violations }) => violations.map(({ kind }) => kind as string),
      // so broken that the tables themselves refuse it: an action would end twice
      (error) => (error.code === '23505' ? ['attempt-ended-twice'] : Promise.reject(error)),
    );
    const right = ['two-leases', 'attempt-ended-twice', 'fence'];
    expect(found.filter((kind) => right.includes(kind))).not.toEqual([]);
  });
});
