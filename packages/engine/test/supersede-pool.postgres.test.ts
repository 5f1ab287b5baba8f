import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Scene, withScene } from '../testing/scene.ts';
import { type TestDatabase, testDatabase } from '../testing/test-database.ts';

/** A replacement in a pool is a function of the database: the gate is a function of its own, before the lock. */
let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.drop());

const LOCK = 'q.lane_id = old.lane_id';
const IS_NEW = 'and q.attempt = 0 limit 1';

async function definition(scene: Scene): Promise<string> {
  const { rows } = await scene.db.query({
    text: `select pg_get_functiondef(p.oid) as text from pg_proc p where p.proname = 'enqueue_actions'`,
  });
  return rows[0].text;
}

async function replaced(scene: Scene, rewrite: (text: string) => string) {
  const { poolId, workers } = await scene.pool(1);
  const supersede = { key: 'lock', mode: 'replace' } as const;
  const old = await scene.enqueue(poolId, { supersede });
  const asItIs = await definition(scene);
  const gated = rewrite(asItIs).replace(LOCK, `public.test_gate() and ${LOCK}`);
  expect(gated).not.toBe(rewrite(asItIs));
  await scene.db.query({ text: gated });
  await scene.gate.close();
  const { db } = await scene.session();
  const replacing = scene.enqueue(poolId, { supersede }, db);
  await scene.gate.reached(replacing);
  await scene.claimFromPool(poolId, workers[0] as string);
  await scene.engine.release(scene.db, { tenantId: scene.tenantId, actionId: old, attempt: 1 });
  await scene.gate.open();
  await replacing;
  await scene.db.query({ text: asItIs });
  return (await scene.engine.get(scene.db, scene.tenantId, old))?.state;
}

test('G26: an action handed out and given back during a replacement in its pool is not replaced', async () => {
  const { result, violations } = await withScene(database, {}, (scene) => replaced(scene, (text) => text));
  expect(result).toBe('pending');
  expect(violations).toEqual([]);
});

test('a replacement that does not look again is found out', async () => {
  const { result, kinds } = await withScene(database, {}, (scene) =>
    replaced(scene, (text) => text.replace(IS_NEW, 'limit 1')),
  );
  expect(result).toBe('cancelled');
  expect(kinds).not.toEqual([]);
});
