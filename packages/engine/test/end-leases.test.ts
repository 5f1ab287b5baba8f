import { afterAll, beforeAll, expect, test } from 'vitest';
import { claimNamed, enqueueAndClaim, type TestEngine, testEngine } from '../testing/index.ts';

let t: TestEngine;
beforeAll(async () => {
  t = await testEngine();
});
afterAll(() => t.close());

const at = (ms: number) => new Date(t.clock().getTime() + ms);
async function running(more: Parameters<TestEngine['enqueue']>[1] = {}, leaseMs = 10_000) {
  const { laneId } = await t.lane();
  const id = await t.enqueue(laneId, more);
  await t.claim(laneId, 'w', leaseMs);
  return { laneId, id };
}

test('G4 G7: an expired lease counts as a failure and is tried again, until the tries are used up', async () => {
  const { laneId, id } = await running({ maxAttempts: 2 });
  await t.pass(9_999);
  expect(await t.state(id)).toBe('claimed');
  await t.pass(1);
  expect(await t.engine.get(t.db, 1, id)).toMatchObject({ state: 'pending', failures: 1 });
  expect((await t.engine.events(t.db, 1, id)).slice(2)).toMatchObject([
    { type: 'TIMEOUT', attempt: 1, worker: 'w' },
    { type: 'RETRY_SCHEDULED', attempt: 1 },
  ]);
  await t.pass(10_000);
  await t.claim(laneId, 'w', 10_000);
  await t.pass(10_000);
  expect(await t.engine.get(t.db, 1, id)).toMatchObject({ state: 'failed', reason: 'TIMEOUT', attempt: 2 });
  expect((await t.eventTypes(id)).slice(-2)).toEqual(['TIMEOUT', 'FAILED_FINAL']);
});

test.each([
  ['fail', 'failed', 'TIMEOUT', ['TIMEOUT', 'FAILED_FINAL']],
  ['succeed', 'succeeded', 'LEASE_END', ['TIMEOUT', 'SUCCEEDED']],
] as const)(
  'G7: with the policy %s the end of a lease makes it %s',
  async (onLeaseEnd, state, reason, events) => {
    const { id } = await running({ onLeaseEnd });
    await t.pass(10_000);
    expect(await t.engine.get(t.db, 1, id)).toMatchObject({ state, reason, attempt: 1 });
    expect((await t.eventTypes(id)).slice(2)).toEqual(events);
  },
);

test.each([
  ['retry', 'pending', null, ['TIMEOUT', 'RETRY_SCHEDULED']],
  ['fail', 'failed', 'TIMEOUT', ['TIMEOUT', 'FAILED_FINAL']],
  ['succeed', 'succeeded', 'LEASE_END', ['TIMEOUT', 'SUCCEEDED']],
] as const)(
  'G7: a reported timeout means the same as the end of the lease (%s), and is repeated like any report',
  async (onLeaseEnd, state, reason, events) => {
    const { id } = await running({ onLeaseEnd });
    const say = () => t.report(id, 1, 'timedOut', { error: 'it hung', worker: 'w' });
    expect(await say()).toMatchObject({ accepted: true, state, repeated: false });
    expect(await say()).toMatchObject({ accepted: true, state, repeated: true });
    expect(await t.engine.get(t.db, 1, id)).toMatchObject({ state, reason, error: null });
    expect((await t.eventTypes(id)).slice(2)).toEqual(events);
    expect((await t.engine.events(t.db, 1, id))[2]).toMatchObject({ type: 'TIMEOUT', reason: 'it hung' });
  },
);

test('G7: a timeout reported after housekeeping ended the lease gets the same answer', async () => {
  const { laneId, id } = await running({ deadline: at(15_000) });
  await t.pass(10_000);
  expect(await t.report(id, 1, 'timedOut')).toMatchObject({
    accepted: true,
    state: 'pending',
    repeated: true,
  });
  await t.pass(2_500);
  await t.claim(laneId, 'w', 10_000);
  await t.pass(2_500);
  expect(await t.report(id, 2, 'timedOut')).toMatchObject({
    accepted: true,
    state: 'failed',
    repeated: true,
  });
});

test('G8: an early timeout of an attempt that had time until the deadline counts as the deadline', async () => {
  const { id } = await running({ deadline: at(5_000), maxAttempts: 5 });
  await t.pass(4_900);
  expect(await t.report(id, 1, 'timedOut')).toMatchObject({ accepted: true, state: 'failed' });
  expect(await t.engine.get(t.db, 1, id)).toMatchObject({ state: 'failed', reason: 'DEADLINE' });
});

test.each(['retry', 'fail', 'succeed'] as const)(
  'G8: at the deadline it has failed, whatever its lease end means (%s)',
  async (onLeaseEnd) => {
    const { id } = await running({ onLeaseEnd, deadline: at(5_000) });
    await t.pass(4_999);
    expect(await t.state(id)).toBe('claimed');
    await t.pass(1);
    expect(await t.engine.get(t.db, 1, id)).toMatchObject({ state: 'failed', reason: 'DEADLINE' });
  },
);

test.each<[string, (laneId: string, runnerId: string, id: string) => Promise<unknown>]>([
  ['a claim', (laneId) => t.claim(laneId, 'w', 1_000)],
  [
    'a report with a claim',
    (_laneId, _runnerId, id) =>
      t.report(id, 1, 'succeeded', { next: { channel: 'any', worker: 'w', leaseMs: 1_000 } }),
  ],
  [
    'a claim by slots',
    (_laneId, runnerId) =>
      t.engine.claimSlots(t.db, {
        ...{ tenantId: 1, runnerId, channel: 'any', worker: 'w', leaseMs: 1_000, max: 1 },
      }),
  ],
  [
    'a claim of a named action',
    async (laneId, runnerId) => {
      const { actions } = await t.engine.list(t.db, { tenantId: 1, laneId, state: 'pending' });
      const actionIds = actions.map((action) => action.id);
      return claimNamed(t.engine, t.db, { tenantId: 1, runnerId, worker: 'w', leaseMs: 1_000, actionIds });
    },
  ],
  [
    'an action that is made as it is handed out',
    async (laneId, runnerId) => {
      for (const action of (await t.engine.list(t.db, { tenantId: 1, laneId, state: 'pending' })).actions)
        await t.engine.cancel(t.db, { tenantId: 1, actionId: action.id });
      const actions = [{ laneId, kind: 'x', maxAttempts: 1 }];
      return enqueueAndClaim(t.engine, t.db, { tenantId: 1, runnerId, worker: 'w', leaseMs: 1_000, actions });
    },
  ],
])(
  'G7 G68: the lease of %s ends in time, although a later visit to its lane was planned',
  async (name, claim) => {
    const runnerId = await t.engine.createRunner(t.db, 1, null);
    const { laneId, id } = await running({ maxAttempts: 1 }, 60_000);
    await t.engine.assignRunner(t.db, { tenantId: 1, laneId }, runnerId);
    await t.enqueue(laneId, { maxAttempts: 1 });
    if (name !== 'a report with a claim') await t.report(id, 1);
    await claim(laneId, runnerId, id);
    expect((await t.engine.list(t.db, { tenantId: 1, laneId, state: 'claimed' })).actions).toHaveLength(1);
    await t.pass(999);
    expect((await t.engine.list(t.db, { tenantId: 1, laneId, state: 'claimed' })).actions).toHaveLength(1);
    await t.pass(1);
    expect((await t.engine.list(t.db, { tenantId: 1, laneId, state: 'failed' })).actions).toMatchObject([
      { reason: 'TIMEOUT' },
    ]);
  },
);

test('G40: leases of all tenants end in one run, even more than one batch', async () => {
  const lanes: { tenantId: number; laneId: string }[] = [];
  for (let tenantId = 20; tenantId < 23; tenantId += 1)
    for (let n = 0; n < 200; n += 1)
      lanes.push({ tenantId, laneId: await t.engine.ensureLane(t.db, tenantId, 'test', `${n}`) });
  await t.engine.enqueueMany(
    t.db,
    lanes.map((lane) => ({ ...lane, kind: 'x', maxAttempts: 1 })),
  );
  await Promise.all(
    lanes.map((lane) => t.engine.claim(t.db, { ...lane, channel: 'any', worker: 'w', leaseMs: 1_000 })),
  );
  t.clock.advance(1_000);
  // on a distributed database each tenant has a round of its own
  const rounds = t.db.isDistributed ? [600, 0] : [500, 100];
  for (const ended of rounds) expect(await t.engine.runDuty('end-leases')).toBe(ended);
  expect(await t.engine.runDuty('end-leases')).toBe(0);
  for (let tenantId = 20; tenantId < 23; tenantId += 1)
    expect(await t.engine.counts(t.db, tenantId)).toEqual([
      { tenantId, channel: 'any', state: 'failed', count: 200 },
    ]);
});

test('G40: run by two leaders at once, each lease ends once', async () => {
  const all = await Promise.all(Array.from({ length: 50 }, () => running({ maxAttempts: 1 })));
  t.clock.advance(10_000);
  const counts = await Promise.all([t.engine.runDuty('end-leases'), t.engine.runDuty('end-leases')]);
  expect(counts[0] + counts[1]).toBeLessThanOrEqual(50);
  await t.pass(0);
  for (const { id } of all)
    expect(await t.eventTypes(id)).toEqual(['CREATED', 'SENT', 'TIMEOUT', 'FAILED_FINAL']);
});
