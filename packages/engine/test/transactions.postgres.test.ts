import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type TestEngine, testEngine } from '../testing/index.ts';

/** Open transactions of the user's own program, on its own connections. */
let t: TestEngine;
let user: pg.Client;
beforeAll(async () => {
  t = await testEngine();
  await t.enqueue((await t.lane()).laneId);
});
beforeEach(async () => {
  user = new pg.Client({ connectionString: t.url as string });
  await user.connect();
});
afterEach(() => user.end());
afterAll(() => t.close());

const claimer = { channel: 'any', worker: 'w', leaseMs: 60_000 };

test('G48: a raw client works for every step, committed by its owner', async () => {
  const lane = await t.lane();
  await user.query('begin');
  const { id } = await t.engine.enqueue(user, { ...lane, kind: 'x' });
  expect(await t.state(id)).toBe('unknown');
  expect(await t.engine.claim(user, { ...lane, ...claimer })).toMatchObject({ id, attempt: 1 });
  await t.engine.report(user, { tenantId: 1, actionId: id, attempt: 1, status: 'failed' });
  expect((await t.engine.get(user, 1, id))?.waitingFor).toMatchObject({ code: 'RETRY' });
  await user.query('commit');
  expect(await t.eventTypes(id)).toEqual(['CREATED', 'SENT', 'FAILED', 'RETRY_SCHEDULED']);
});

test('G48: a raw client whose transaction is rolled back leaves nothing', async () => {
  const lane = await t.lane();
  await user.query('begin');
  await t.engine.enqueue(user, { ...lane, kind: 'x', idempotencyKey: 'raw' });
  await user.query('rollback');
  expect(await t.claim(lane.laneId)).toBeNull();
  expect(await t.engine.enqueue(t.db, { ...lane, kind: 'y', idempotencyKey: 'raw' })).toMatchObject({
    outcome: 'created',
  });
});

test('parsers that the user sets in its program do not change what the engine reads', async () => {
  pg.types.setTypeParser(20, Number as never);
  pg.types.setTypeParser(1184, String as never);
  pg.types.setTypeParser(3802, String as never);
  try {
    for (const client of [t.db, user]) {
      const lane = await t.lane();
      const { id } = await t.engine.enqueue(client, { ...lane, kind: 'x', payload: { a: 1 } });
      expect(await t.engine.claim(client, { ...lane, ...claimer })).toMatchObject({
        id: expect.any(String),
        payload: { a: 1 },
        leasedAt: t.clock(),
      });
      expect(await t.engine.get(client, 1, id)).toMatchObject({ id, createdAt: t.clock() });
    }
    // and the user's own queries read as its parsers say
    expect((await user.query('select 7::bigint as n')).rows[0].n).toBe(7);
  } finally {
    pg.types.setTypeParser(20, ((value: string) => value) as never);
    pg.types.setTypeParser(1184, ((value: string) => new Date(value)) as never);
    pg.types.setTypeParser(3802, JSON.parse as never);
  }
});

test('G36: an open transaction on a lane delays only calls for that lane', async () => {
  const [stuck, free] = [await t.lane(), await t.lane()];
  await t.enqueue(stuck.laneId);
  const id = await t.enqueue(free.laneId);
  await user.query('begin');
  await user.query('select * from muster.lanes where tenant_id = 1 and lane_id = $1 for update', [
    stuck.laneId,
  ]);
  const waits = t.claim(stuck.laneId);
  const got = await t.claim(free.laneId);
  expect(got).toMatchObject({ id });
  expect(await t.report(id, 1)).toMatchObject({ accepted: true });
  await user.query('rollback');
  expect(await waits).not.toBeNull();
});

test('G31 G36: a locked lane does not keep its runner from the others', async () => {
  const runnerId = await t.engine.createRunner(t.db, 1, 1);
  const [stuck, free] = [await t.lane(), await t.lane()];
  for (const lane of [stuck, free]) {
    await t.engine.assignRunner(t.db, lane, runnerId);
    await t.enqueue(lane.laneId);
  }
  await user.query('begin');
  await user.query('select * from muster.lanes where tenant_id = 1 and lane_id = $1 for update', [
    stuck.laneId,
  ]);
  const got = await t.engine.claimSlots(t.db, { tenantId: 1, runnerId, ...claimer, max: 5 });
  await user.query('rollback');
  expect(got.map((action) => action.laneId)).toEqual([free.laneId]);
});

test('G36: an uncommitted idempotency key delays only calls with that key', async () => {
  const lane = await t.lane();
  await user.query('begin');
  await t.engine.enqueue(user, { ...lane, kind: 'x', idempotencyKey: 'open' });
  const waits = [1, 2, 3].map(() => t.engine.enqueue(t.db, { ...lane, kind: 'x', idempotencyKey: 'open' }));
  for (let n = 0; n < 20; n += 1)
    expect(await t.engine.enqueue(t.db, { ...lane, kind: 'x', idempotencyKey: `free ${n}` })).toMatchObject({
      outcome: 'created',
    });
  await user.query('commit');
  const answers = await Promise.all(waits);
  expect(new Set(answers.map((answer) => answer.id)).size).toBe(1);
  expect(answers.every((answer) => answer.outcome === 'present')).toBe(true);
});

test('G36: a dead letter that an open transaction has locked is waited for, never a raw error', async () => {
  const lane = await t.lane();
  const id = await t.enqueue(lane.laneId, { maxAttempts: 1 });
  await t.claim(lane.laneId);
  await t.report(id, 1, 'failed');
  await user.query('begin');
  await t.engine.redrive(user, { tenantId: 1, actionId: id });
  const waits = t.engine.redrive(t.db, { tenantId: 1, actionId: id });
  // longer than the lock timeout of the gathered connections
  await user.query('select pg_sleep(0.3)');
  await user.query('commit');
  expect(await waits).toMatchObject({ outcome: 'refused', state: 'pending' });
});

test('G29: an enqueue in flight when the generation was raised is never delivered', async () => {
  const lane = await t.lane();
  await user.query('begin');
  const { id } = await t.engine.enqueue(user, { ...lane, kind: 'x' });
  expect(await t.engine.raiseGeneration(t.db, lane)).toBe(2);
  for (let n = 0; n < 3; n += 1) await t.pass(1_000);
  await user.query('commit');
  expect(await t.claim(lane.laneId)).toBeNull();
  await t.pass(1_000);
  expect(await t.engine.get(t.db, 1, id)).toMatchObject({ state: 'cancelled', reason: 'GENERATION' });
});

test('G29: likewise if the raising transaction is older than the enqueuing one', async () => {
  const lane = await t.lane();
  const other = new pg.Client({ connectionString: t.url as string });
  await other.connect();
  await other.query('begin');
  await other.query('select pg_current_xact_id()'); // its number is the smaller one
  await user.query('begin');
  const { id } = await t.engine.enqueue(user, { ...lane, kind: 'x' });
  await t.engine.raiseGeneration(other, lane);
  await other.query('commit');
  await other.end();
  for (let n = 0; n < 3; n += 1) await t.pass(1_000);
  await user.query('commit');
  for (let n = 0; n < 3; n += 1) await t.pass(1_000);
  expect(await t.engine.get(t.db, 1, id)).toMatchObject({ state: 'cancelled', reason: 'GENERATION' });
});

test('G26 G36: a supersede that finds its lane locked is tried again', async () => {
  const lane = await t.lane();
  const put = () => t.engine.enqueue(t.db, { ...lane, kind: 'x', supersede: { key: 'k', mode: 'replace' } });
  const old = await put();
  await user.query('begin');
  await user.query('select * from muster.lanes where tenant_id = 1 and lane_id = $1 for update', [
    lane.laneId,
  ]);
  const waits = put();
  await t.enqueue((await t.lane()).laneId);
  await user.query('rollback');
  const fresh = await waits;
  expect(await t.state(old.id)).toBe('cancelled');
  expect(await t.state(fresh.id)).toBe('pending');
});
