import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ClaimPoolRequest, createEngine, type NewAction } from '../src/index.ts';
import { type TestEngine, testEngine } from '../testing/index.ts';

let t: TestEngine;
beforeAll(async () => {
  t = await testEngine();
});
afterAll(() => t.close());

let pools = 0;
async function pool(workers: number) {
  pools += 1;
  const poolId = await t.engine.ensurePool(t.db, 1, 'pool', `${pools}`);
  const lanes = await t.engine.ensureLanes(
    t.db,
    1,
    'worker',
    Array.from({ length: workers }, (_, n) => `${pools} ${n}`),
  );
  for (const laneId of lanes) await t.engine.joinPool(t.db, { tenantId: 1, laneId }, poolId);
  const worker = (n: number) => lanes[n] as string;
  return {
    poolId,
    worker,
    enqueue: (action: Partial<NewAction> = {}) => t.enqueue(poolId, { channel: 'work', ...action }),
    claim: (n: number, more: Partial<ClaimPoolRequest> = {}) =>
      t.engine.claimFromPool(t.db, {
        ...{ tenantId: 1, poolId, laneId: worker(n), channel: 'work', worker: `w${n}`, leaseMs: 10_000 },
        ...more,
      }),
    async take(n: number, more: Partial<ClaimPoolRequest> = {}) {
      const got = await this.claim(n, more);
      return got.kind === 'claimed' ? got.action.id : got.kind;
    },
  };
}

test('G10 G31: workers of a pool get urgent actions first, then the oldest, one each', async () => {
  const p = await pool(4);
  const normal = [await p.enqueue(), await p.enqueue()];
  const urgent = await p.enqueue({ priority: 'urgent' });
  expect(await p.take(0)).toBe(urgent);
  expect(await p.take(1)).toBe(normal[0]);
  expect(await p.claim(1)).toEqual({ kind: 'held', actionId: normal[0] });
  expect(await p.take(2)).toBe(normal[1]);
  expect(await p.take(3)).toBe('empty');
});

test('G10 G31: many workers at once get one action each, in order, with few statements', async () => {
  const p = await pool(30);
  const ids: string[] = [];
  for (let n = 0; n < 20; n += 1) ids.push(await p.enqueue());
  const got = await Promise.all(Array.from({ length: 30 }, (_, n) => p.take(n)));
  expect(got.filter((one) => one !== 'empty').sort()).toEqual([...ids].sort());
  expect(new Set(got.filter((one) => one !== 'empty')).size).toBe(20);
});

test('G14 G31: an action moved to the front of a pool goes before what workers give back', async () => {
  const p = await pool(2);
  const out = [await p.enqueue(), await p.enqueue()];
  for (const n of [0, 1]) await p.claim(n);
  const moved = await p.enqueue();
  await t.engine.moveToFront(t.db, { tenantId: 1, actionId: moved });
  for (const actionId of out) await t.engine.release(t.db, { tenantId: 1, actionId, attempt: 1 });
  expect(await p.take(0)).toBe(moved);
  expect(await p.take(1)).toBe(out[0]);
});

test('G31: an action taken from a pool is reported, extended and cancelled like any other, by its worker only', async () => {
  const p = await pool(2);
  const [first, second] = [await p.enqueue(), await p.enqueue()];
  await p.claim(0);
  expect(await t.state(first)).toBe('claimed');
  const view = await t.engine.get(t.db, 1, first);
  expect(view).toMatchObject({ laneId: p.poolId, worker: 'w0', waitingFor: { code: 'RUNNING' } });
  expect(
    await t.engine.extend(t.db, { tenantId: 1, actionId: first, attempt: 1, leaseMs: 20_000 }),
  ).toMatchObject({ extended: true });
  expect(await t.engine.acknowledge(t.db, { tenantId: 1, actionId: first, attempt: 1 })).toBe(true);
  expect(await t.report(first, 1)).toMatchObject({ accepted: true, state: 'succeeded', settled: true });
  expect(await t.report(first, 1)).toMatchObject({ accepted: true, repeated: true });
  expect(await p.take(0)).toBe(second);
  expect(await t.engine.cancel(t.db, { tenantId: 1, actionId: second })).toMatchObject({
    outcome: 'requested',
  });
  expect(await t.report(second, 1, 'failed')).toMatchObject({ state: 'cancelled' });
  expect(await t.eventTypes(first)).toEqual(['CREATED', 'SENT', 'EXTENDED', 'ACKED', 'SUCCEEDED']);
});

test.each(['succeeded', 'failed'] as const)(
  'G15 G16 G31: a report that names a lane (%s) is known in the lane of the worker, then and later, and unknown in the pool',
  async (status) => {
    const p = await pool(2);
    const id = await p.enqueue({ maxAttempts: 1 });
    await p.claim(0);
    const report = (laneId: string) =>
      t.engine.report(t.db, { tenantId: 1, actionId: id, attempt: 1, status, laneId });
    for (const laneId of [p.poolId, p.worker(1)])
      expect(await report(laneId)).toMatchObject({ accepted: false, reason: 'UNKNOWN_ACTION' });
    expect(await report(p.worker(0))).toMatchObject({ accepted: true, repeated: false });
    expect(await report(p.worker(0))).toMatchObject({ accepted: true, repeated: true });
    expect(await report(p.worker(1))).toMatchObject({ accepted: false, reason: 'UNKNOWN_ACTION' });
  },
);

test('G31: an action that is given back, retried or taken back returns to its old place', async () => {
  const p = await pool(2);
  const [a, b, c] = [await p.enqueue(), await p.enqueue(), await p.enqueue()];
  await p.claim(0);
  await p.claim(1);
  await t.engine.release(t.db, { tenantId: 1, actionId: a, attempt: 1 });
  expect(await p.take(0)).toBe(a);
  // its lease ends: it waits for its retry beside the line, and is the oldest again
  await t.pass(10_000);
  expect([await t.state(a), await t.state(b)]).toEqual(['pending', 'pending']);
  expect(await p.take(0)).toBe(c);
  await t.pass(5_000);
  expect(await p.take(1)).toBe(a);
  await t.engine.raiseGeneration(t.db, { tenantId: 1, laneId: p.worker(1) });
  expect(await t.state(a)).toBe('pending');
  expect((await t.eventTypes(a)).at(-1)).toBe('RELEASED');
  expect(await p.take(1)).toBe(a);
  expect(await t.report(a, 1)).toMatchObject({ accepted: false, reason: 'LATE' });
  expect(await t.report(a, 4)).toMatchObject({ accepted: true });
});

test('G31: an operator hands a worker a specific waiting action', async () => {
  const p = await pool(3);
  const [a, b] = [await p.enqueue({ priority: 'urgent' }), await p.enqueue()];
  const got = await Promise.all([p.take(0, { actionId: b }), p.take(1, { actionId: b })]);
  expect(got.sort()).toEqual([b, 'empty']);
  expect(await p.take(2, { actionId: '99999' })).toBe('empty');
  expect(await p.take(2, { actionId: 'none' })).toBe('empty');
  expect(await p.take(2)).toBe(a);
  expect(await p.claim(2, { actionId: b })).toEqual({ kind: 'held', actionId: a });
});

test('G10: a copy may take the place of the original', async () => {
  const p = await pool(2);
  const [a, b] = [await p.enqueue(), await p.enqueue()];
  await t.engine.cancel(t.db, { tenantId: 1, actionId: a });
  const again = await p.enqueue({ placeOf: a });
  expect([await p.take(0), await p.take(1)]).toEqual([again, b]);
});

test('G7 G31: the end of a lease may be the success', async () => {
  const p = await pool(1);
  const id = await p.enqueue({ onLeaseEnd: 'succeed' });
  await p.claim(0);
  await t.pass(10_000);
  expect(await t.engine.get(t.db, 1, id)).toMatchObject({ state: 'succeeded', reason: 'LEASE_END' });
  expect(await p.take(0)).toBe('empty');
});

test('G10: at least every n-th claim takes the oldest normal action', async () => {
  const p = await pool(12);
  const urgent: string[] = [];
  for (let n = 0; n < 12; n += 1) urgent.push(await p.enqueue({ priority: 'urgent' }));
  const normal = [await p.enqueue(), await p.enqueue(), await p.enqueue()];
  const got: string[] = [];
  for (let n = 0; n < 3; n += 1) got.push(await p.take(n, { normalShare: 3 }));
  got.push(...(await Promise.all([3, 4, 5, 6, 7, 8, 9, 10, 11].map((n) => p.take(n, { normalShare: 3 })))));
  expect(got.map((id) => normal.includes(id))).toEqual([...'..n..n..n...'].map((turn) => turn === 'n'));
  expect(got.filter((id) => normal.includes(id))).toEqual(normal);
});

test('G10: with a share of one all normal actions go first, with zero none has to', async () => {
  const p = await pool(4);
  const urgent = [await p.enqueue({ priority: 'urgent' }), await p.enqueue({ priority: 'urgent' })];
  const normal = [await p.enqueue(), await p.enqueue()];
  expect(await p.take(0, { normalShare: 1 })).toBe(normal[0]);
  expect(await p.take(1, { normalShare: 0 })).toBe(urgent[0]);
  expect(await p.take(2)).toBe(urgent[1]);
  expect(await p.take(3)).toBe(normal[1]);
});

test('G38: a waiting worker is woken by actions that enter the pool or return to it', async () => {
  const p = await pool(3);
  const waits = [0, 1, 2].map((n) => p.take(n, { waitMs: 60_000 }));
  await expect.poll(() => t.engine.parkedWaiters).toBe(3);
  const id = await p.enqueue();
  expect(await Promise.race(waits)).toBe(id);
  await expect.poll(() => t.engine.parkedWaiters).toBe(2);
  await t.engine.release(t.db, { tenantId: 1, actionId: id, attempt: 1 });
  await expect.poll(() => t.engine.parkedWaiters).toBe(1);
  const other = await p.enqueue();
  expect((await Promise.all(waits)).filter((one) => one === other)).toHaveLength(1);
});

test('G31 G38: waiting workers of a pool are served together, with few statements', async () => {
  const batches: number[] = [];
  const engine = createEngine(t.db, {
    clock: t.clock,
    observer: { batch: (operation, size) => void (operation === 'claim-pool' && batches.push(size)) },
  });
  const p = await pool(60);
  const by = { tenantId: 1, poolId: p.poolId, channel: 'work', leaseMs: 10_000, waitMs: 60_000 };
  const waits = Array.from({ length: 60 }, (_, n) =>
    engine.claimFromPool(t.db, { ...by, laneId: p.worker(n), worker: `w${n}` }),
  );
  await expect.poll(() => engine.parkedWaiters).toBe(60);
  batches.length = 0;
  const asked = Array.from({ length: 60 }, () => ({
    tenantId: 1,
    laneId: p.poolId,
    kind: 'test',
    channel: 'work',
  }));
  const ids = (await engine.enqueueMany(t.db, asked)).flatMap((one) => ('id' in one ? one.id : []));
  const got = await Promise.all(waits);
  expect(got.map((one) => one.kind === 'claimed' && one.action.id).sort()).toEqual([...ids].sort());
  // waves of 1, 2, 4, … whose first call is sent at once
  expect(batches.length).toBeLessThan(20);
  await engine.stop();
});

test('G31: a pool cannot be claimed from in other ways, keeps its generation, and its workers stay', async () => {
  const p = await pool(1);
  await p.enqueue({ channel: 'any' });
  expect(await t.claim(p.poolId)).toBeNull();
  await expect(t.engine.raiseGeneration(t.db, { tenantId: 1, laneId: p.poolId })).rejects.toMatchObject({
    code: 'MUSTER_UNKNOWN_LANE',
  });
  const other = await pool(0);
  await expect(
    t.engine.joinPool(t.db, { tenantId: 1, laneId: p.worker(0) }, other.poolId),
  ).rejects.toMatchObject({ code: 'MUSTER_UNKNOWN_LANE' });
  await expect(p.claim(0, { poolId: other.poolId })).rejects.toMatchObject({ code: 'MUSTER_UNKNOWN_LANE' });
  await expect(p.claim(0, { laneId: p.poolId })).rejects.toMatchObject({ code: 'MUSTER_UNKNOWN_LANE' });
});

test('G27: a limit of a channel applies without counting', async () => {
  const p = await pool(1);
  const most = { channel: 'narrow', mostOfChannel: 2 };
  await p.enqueue(most);
  await p.enqueue(most);
  await expect(p.enqueue(most)).rejects.toMatchObject({
    code: 'MUSTER_LANE_FULL',
    message: 'The lane is full: it has 2 unfinished actions.',
  });
  const got = await p.claim(0, { channel: 'narrow' });
  await expect(p.enqueue(most)).rejects.toMatchObject({ code: 'MUSTER_LANE_FULL' });
  if (got.kind === 'claimed') await t.report(got.action.id, 1);
  await p.enqueue(most);
});

test('G31: lists of a pool include its claimed actions', async () => {
  const p = await pool(2);
  const [a, b] = [await p.enqueue(), await p.enqueue()];
  await p.claim(0);
  const ids = async (state: 'claimed' | 'pending' | 'unfinished') =>
    (await t.engine.list(t.db, { tenantId: 1, laneId: p.poolId, state })).actions.map(({ id }) => id);
  expect([await ids('claimed'), await ids('pending'), await ids('unfinished')]).toEqual([[a], [b], [b, a]]);
  expect((await t.engine.queue(t.db, { tenantId: 1, laneId: p.poolId })).map(({ id }) => id)).toEqual([a, b]);
});
