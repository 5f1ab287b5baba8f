import { afterAll, beforeAll, expect, test } from 'vitest';
import { swap } from '../testing/sabotage.ts';
import { type Scene, withScene } from '../testing/scene.ts';
import { type TestDatabase, testDatabase } from '../testing/test-database.ts';

/**
 * A redrive that has read its lane and not yet written; meanwhile the generation is raised and housekeeping is done
 * with it.
 */
let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.drop());

async function redriveUnderRaise(scene: Scene): Promise<string | undefined> {
  const { engine, tenantId, db } = scene;
  const laneId = await scene.lane();
  const id = await scene.enqueue(laneId, { maxAttempts: 1 });
  await scene.claim(laneId, 'a');
  await engine.report(db, { tenantId, actionId: id, attempt: 1, status: 'failed' });
  const session = await scene.session();
  await scene.gate.close();
  const redriven = engine.redrive(scene.gate.before(session.db, 'muster_redrive'), {
    tenantId,
    actionId: id,
  });
  await scene.gate.reached(redriven);
  await engine.raiseGeneration(db, { tenantId, laneId });
  while (await isStale(scene, laneId)) await engine.runDuty('end-stale');
  await scene.gate.open();
  expect(await redriven).toMatchObject({ outcome: 'redriven' });
  await engine.runDuty('end-stale');
  return (await scene.claim(laneId, 'new owner'))?.id === id ? 'handed out' : engineState(scene, id);
}

/** Housekeeping still checks the lane: any transaction on the same server may have seen the old generation. */
const isStale = async ({ db, tenantId }: Scene, laneId: string) =>
  (
    await db.query({
      text: 'select 1 from muster.stale_lanes where tenant_id = $1 and lane_id = $2',
      values: [tenantId, laneId],
    })
  ).rows.length > 0;

const OLD_SNAPSHOT =
  '(select l.generation from muster.lanes l where l.tenant_id = x.tenant_id and l.lane_id = x.lane_id)';

const engineState = async ({ engine, db, tenantId }: Scene, id: string) =>
  (await engine.get(db, tenantId, id))?.state;

test('G29: a redrive that read its lane before the generation was raised leaves no action that is never handed out', async () => {
  const { result, kinds } = await withScene(database, {}, redriveUnderRaise);
  expect({ result, kinds }).toEqual({ result: 'handed out', kinds: [] });
});

test('the check sees it: a redrive that writes the generation of its own snapshot', async () => {
  const by = {
    muster_redrive: (sql: string) =>
      swap(sql, 'muster.generation_to_write(x.tenant_id, x.lane_id)', OLD_SNAPSHOT),
  };
  const { result, kinds } = await withScene(database, by, redriveUnderRaise);
  expect({ result, kinds }).toEqual({ result: 'pending', kinds: ['wrong-generation'] });
});
