import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { enqueueAndClaim } from '../testing/index.ts';
import { cut, type Sabotage, swap } from '../testing/sabotage.ts';
import { type Scene, withScene } from '../testing/scene.ts';
import { type TestDatabase, testDatabase } from '../testing/test-database.ts';

/**
 * G43: a statement that has read, and continues after something else has happened to the same action, must not write
 * its event as if it had come first. It runs in a transaction that already has its number: in a statement for many
 * callers the first rows take it, while the lanes of the others are still free. Found by `npm run torture`: a release
 * was shown before the delivery that it followed.
 */
let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.drop());

interface Race {
  readonly name: string;
  readonly play: (scene: Scene) => Promise<unknown>;
  readonly broken: Readonly<Record<string, Sabotage>>;
}

const NO_VERSION_CHECK = (sql: string) => cut(sql, 'and l.ver = x.ver');
const NOT_RAISED = (sql: string) => swap(sql, 'set ver = l.ver + 1', 'set ver = l.ver');

/** The statement stops after its look, the others happen, and it continues. */
async function overtaken(
  scene: Scene,
  statement: string,
  run: (on: Scene['db']) => Promise<unknown>,
  meanwhile: () => Promise<unknown>,
) {
  const { client, db } = await scene.session();
  await client.query('begin');
  await client.query('select pg_current_xact_id()');
  await scene.gate.close();
  const running = run(scene.gate.before(db, statement));
  await scene.gate.reached(running);
  await meanwhile();
  await scene.gate.open();
  await running;
  await client.query('commit');
}

const ref = (scene: Scene, actionId: string, attempt = 1) => ({
  tenantId: scene.tenantId,
  actionId,
  attempt,
});
const report = (scene: Scene, id: string, status: 'succeeded' | 'failed', on = scene.db, attempt = 1) =>
  scene.engine.report(on, { ...ref(scene, id, attempt), status });

async function running(scene: Scene, action: Parameters<Scene['enqueue']>[1] = {}) {
  const laneId = await scene.lane();
  const id = await scene.enqueue(laneId, action);
  await scene.claim(laneId, 'a');
  return { laneId, id };
}

/** Attempt 1 has ended with its lease, attempt 2 runs. */
async function inItsSecondAttempt(scene: Scene) {
  const { laneId, id } = await running(scene, { backoffMs: 1 });
  scene.clock.advance(10_001);
  await scene.engine.runDuty('end-leases');
  scene.clock.advance(2);
  await scene.engine.runDuty('make-due');
  await scene.claim(laneId, 'b');
  return id;
}

/** A dead letter, after the end of its only lease. */
async function timedOut(scene: Scene) {
  const { id } = await running(scene, { maxAttempts: 1 });
  scene.clock.advance(10_001);
  await scene.engine.runDuty('end-leases');
  return id;
}

/** Another worker had it and gave it back. */
async function takenAndGivenBack(scene: Scene, poolId: string, laneId: string, id: string) {
  await scene.claimFromPool(poolId, laneId);
  await scene.engine.release(scene.db, ref(scene, id));
}

const RACES: Race[] = [
  {
    name: 'a report of an attempt that was redelivered since the look',
    async play(scene) {
      const { laneId, id } = await running(scene);
      await overtaken(
        scene,
        'muster_report',
        (on) => report(scene, id, 'failed', on),
        () => scene.claim(laneId, 'a'),
      );
    },
    broken: { 'a redelivery that raises no version': { muster_redeliver: NOT_RAISED } },
  },
  {
    name: 'a redelivery of an attempt that was extended since the look',
    async play(scene) {
      const { laneId, id } = await running(scene);
      await overtaken(
        scene,
        'muster_redeliver',
        (on) => scene.claim(laneId, 'a', on),
        () => scene.engine.extend(scene.db, { ...ref(scene, id), leaseMs: 20_000 }),
      );
    },
    broken: { 'a redelivery without the version check': { muster_redeliver: NO_VERSION_CHECK } },
  },
  {
    name: 'a report of an attempt that was acknowledged since the look',
    async play(scene) {
      const { id } = await running(scene);
      await overtaken(
        scene,
        'muster_report_success',
        (on) => report(scene, id, 'succeeded', on),
        () => scene.engine.acknowledge(scene.db, ref(scene, id)),
      );
    },
    broken: { 'an acknowledgement that raises no version': { muster_acknowledge: NOT_RAISED } },
  },
  {
    name: 'an acknowledgement of an attempt that was extended since the look',
    async play(scene) {
      const { id } = await running(scene);
      await overtaken(
        scene,
        'muster_acknowledge',
        (on) => scene.engine.acknowledge(on, ref(scene, id)),
        () => scene.engine.extend(scene.db, { ...ref(scene, id), leaseMs: 20_000 }),
      );
    },
    broken: { 'an acknowledgement without the version check': { muster_acknowledge: NO_VERSION_CHECK } },
  },
  {
    name: 'a report while an older attempt reports late',
    async play(scene) {
      const id = await inItsSecondAttempt(scene);
      await overtaken(
        scene,
        'muster_report_success',
        (on) => report(scene, id, 'succeeded', on, 2),
        () => report(scene, id, 'failed'),
      );
    },
    broken: { 'a late report that raises no version': { muster_record_late: NOT_RAISED } },
  },
  {
    name: 'a late report while the running attempt is extended',
    async play(scene) {
      const id = await inItsSecondAttempt(scene);
      await overtaken(
        scene,
        'muster_record_late',
        (on) => report(scene, id, 'failed', on),
        () => scene.engine.extend(scene.db, { ...ref(scene, id, 2), leaseMs: 20_000 }),
      );
    },
    broken: { 'a late report without the version check': { muster_record_late: NO_VERSION_CHECK } },
  },
  {
    name: 'a redrive while a late failure is recorded',
    async play(scene) {
      const id = await timedOut(scene);
      await overtaken(
        scene,
        'muster_redrive',
        (on) => scene.engine.redrive(on, ref(scene, id)),
        () => report(scene, id, 'failed'),
      );
    },
    broken: {
      'a redrive that shows only what its own statement could see': {
        muster_redrive: (sql) => swap(sql, 'muster.feed_xid_now()', 'muster.feed_xid()'),
      },
    },
  },
  {
    name: 'a late success of a dead letter while another late report is recorded',
    async play(scene) {
      const id = await timedOut(scene);
      await overtaken(
        scene,
        'muster_report_succeed_failed',
        (on) => report(scene, id, 'succeeded', on),
        () => scene.engine.recordLate(scene.db, { ...ref(scene, id), worker: 'a', what: 'NEWS' }),
      );
    },
    broken: {
      'a late success without the version check': { muster_report_succeed_failed: NO_VERSION_CHECK },
    },
  },
  {
    name: 'a late failure while a dead letter is redriven',
    async play(scene) {
      const id = await timedOut(scene);
      await overtaken(
        scene,
        'muster_record_late',
        (on) => report(scene, id, 'failed', on),
        () => scene.engine.redrive(scene.db, ref(scene, id)),
      );
    },
    broken: {
      'a late report that does not look at the ending': {
        muster_record_late: (sql) => swap(sql, 'where not k.has_ended or (', 'where true or ('),
      },
    },
  },
  {
    name: 'a cancel in a pool of an action that was taken and given back since the look',
    async play(scene) {
      const { poolId, workers } = await scene.pool(1);
      const id = await scene.enqueue(poolId);
      await overtaken(
        scene,
        'muster_cancel',
        (on) => scene.engine.cancel(on, ref(scene, id)),
        () => takenAndGivenBack(scene, poolId, workers[0] as string, id),
      );
    },
    broken: {
      'a cancel that does not look at the attempt': {
        muster_cancel: (sql) => cut(sql, 'and p.attempt <= x.attempt'),
      },
    },
  },
  {
    name: 'a pool claim of an action that was taken and given back since the look',
    async play(scene) {
      const { poolId, workers } = await scene.pool(2);
      const id = await scene.enqueue(poolId);
      await overtaken(
        scene,
        'muster_claim_pool',
        (on) => scene.claimFromPool(poolId, workers[0] as string, on),
        () => takenAndGivenBack(scene, poolId, workers[1] as string, id),
      );
    },
    broken: {
      'a claim that does not look at the attempt': {
        muster_claim_pool: (sql) => cut(sql, 'and p.attempt = x.attempt'),
      },
    },
  },
  {
    name: 'a pool claim of an action that was moved to the front since the look',
    async play(scene) {
      const { poolId, workers } = await scene.pool(1);
      const id = await scene.enqueue(poolId);
      await overtaken(
        scene,
        'muster_claim_pool',
        (on) => scene.claimFromPool(poolId, workers[0] as string, on),
        () => scene.engine.moveToFront(scene.db, ref(scene, id)),
      );
    },
    broken: {
      'a claim that does not look at the place': {
        muster_claim_pool: (sql) => cut(sql, 'and p.seq = x.seq'),
      },
    },
  },
  {
    name: 'an action created as it is handed out, after a wait for its runner’s row',
    async play(scene) {
      const { engine, tenantId, db } = scene;
      const runnerId = await engine.createRunner(db, tenantId, null);
      const [laneId, other] = [await scene.lane(), await scene.lane()];
      await engine.assignRunner(db, { tenantId, laneId }, runnerId);
      await overtaken(
        scene,
        'muster_enqueue_and_claim',
        (on) =>
          enqueueAndClaim(engine, on, {
            ...{ tenantId, runnerId, worker: 'pc', leaseMs: 60_000 },
            actions: [{ laneId, kind: 'test' }],
          }),
        () => scene.enqueue(other),
      );
    },
    broken: {
      'a hand-out that shows only what its own statement could see': {
        muster_enqueue_and_claim: (sql) =>
          swap(sql, 'greatest(k.xid, muster.feed_xid())', 'muster.feed_xid()'),
      },
    },
  },
];

describe.each(RACES)('G43: $name', ({ play, broken }) => {
  test('is shown in the order in which it happened', async () => {
    expect((await withScene(database, {}, play)).violations).toEqual([]);
  });
  test.each(Object.entries(broken))('%s is found out', async (_what, by) => {
    expect((await withScene(database, by, play)).kinds).toContain('feed-order');
  });
});

test('G42: an action taken and given back under a cancel ends with the attempt that it had', async () => {
  const { result } = await withScene(database, {}, async (scene) => {
    const { poolId, workers } = await scene.pool(1);
    const id = await scene.enqueue(poolId);
    await overtaken(
      scene,
      'muster_cancel',
      (on) => scene.engine.cancel(on, ref(scene, id)),
      () => takenAndGivenBack(scene, poolId, workers[0] as string, id),
    );
    return scene.engine.get(scene.db, scene.tenantId, id);
  });
  expect(result).toMatchObject({ state: 'cancelled', attempt: 1 });
});
