import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ClaimedAction } from '../src/index.ts';
import { claimNamed, runnerLoad, type TestEngine, testEngine } from '../testing/index.ts';

let t: TestEngine;
beforeAll(async () => {
  t = await testEngine();
});
afterAll(() => t.close());

const claim = (runnerId: string, actionIds: string[]) =>
  claimNamed(t.engine, t.db, { tenantId: 1, runnerId, worker: 'pc', leaseMs: 60_000, actionIds });

async function runner(slots: number | null, lanes: number) {
  const runnerId = await t.engine.createRunner(t.db, 1, slots);
  const own: string[] = [];
  for (let n = 0; n < lanes; n += 1) own.push((await t.lane()).laneId);
  expect(
    await t.engine.assignRunners(
      t.db,
      1,
      own.map((laneId) => ({ laneId, runnerId })),
    ),
  ).toBe(lanes);
  return { runnerId, lanes: own as [string, ...string[]] };
}

test('G31: a runner gets the actions it names, in their order, never above its slots', async () => {
  const { runnerId, lanes } = await runner(2, 3);
  const named = await Promise.all(lanes.map((laneId) => t.enqueue(laneId, { channel: 'door' })));
  const wanted = [...named].reverse();
  const got = await claim(runnerId, wanted);
  expect(got.map(({ id }) => id)).toEqual(wanted.slice(0, 2));
  expect(got[0]).toMatchObject({ attempt: 1, worker: 'pc', channel: 'door' });
  expect(await runnerLoad(t.engine, 1, runnerId)).toEqual({ slots: 2, running: 2 });
  expect(await claim(runnerId, wanted)).toEqual([]);
});

test('G31: an action not at the head of a free lane of the runner, not due, paused or unknown is not handed out', async () => {
  const { runnerId, lanes } = await runner(null, 2);
  const [free, busy] = lanes as [string, string];
  const ahead = await t.enqueue(free);
  const behind = await t.enqueue(free);
  await t.enqueue(busy);
  await t.claim(busy);
  const waiting = await t.enqueue(busy);
  const foreign = await t.enqueue((await t.lane()).laneId);
  const later = await t.enqueue(lanes[0], { notBefore: new Date(t.clock().getTime() + 1_000) });
  expect(await claim(runnerId, [behind, waiting, foreign, later, '999999999', 'x'])).toEqual([]);
  await t.engine.pauseLane(t.db, { tenantId: 1, laneId: free });
  expect(await claim(runnerId, [ahead])).toEqual([]);
  await t.engine.resumeLane(t.db, { tenantId: 1, laneId: free });
  expect((await claim(runnerId, [ahead])).map(({ id }) => id)).toEqual([ahead]);
  await expect(claim('999999999', [ahead])).rejects.toMatchObject({ code: 'MUSTER_UNKNOWN_RUNNER' });
});

test('G31: many claims at the same moment never exceed the slots', async () => {
  const { runnerId, lanes } = await runner(5, 20);
  const named = await Promise.all(lanes.map((laneId) => t.enqueue(laneId)));
  const got = await Promise.all(named.map((id) => claim(runnerId, [id])));
  expect(got.flat()).toHaveLength(5);
  expect(await runnerLoad(t.engine, 1, runnerId)).toEqual({ slots: 5, running: 5 });
});

test('G31: after a move of many lanes the old runner finishes what it holds', async () => {
  const { runnerId, lanes } = await runner(5, 2);
  const id = await t.enqueue(lanes[0]);
  await claim(runnerId, [id]);
  const other = await t.engine.createRunner(t.db, 1, 1);
  const moved = lanes.map((laneId) => ({ laneId, runnerId: other }));
  expect(await t.engine.assignRunners(t.db, 1, [...moved, { laneId: '999999999', runnerId: other }])).toBe(2);
  expect(await runnerLoad(t.engine, 1, runnerId)).toEqual({ slots: 5, running: 1 });
  expect(await runnerLoad(t.engine, 1, other)).toEqual({ slots: 1, running: 0 });
  expect((await t.engine.held(t.db, { tenantId: 1, runnerId })).map((action) => action.id)).toEqual([id]);
});

test('G35: a runner that waits for supplied actions is served again when it is woken, also by a transaction', async () => {
  const { runnerId, lanes } = await runner(1, 1);
  const id = await t.enqueue(lanes[0]);
  let looks = 0;
  const supplied = t.engine.supplied<null, ClaimedAction[]>({
    name: 'third-time',
    runnerOf: () => ({ tenantId: 1, runnerId }),
    async supply(tx) {
      looks += 1;
      const by = { tenantId: 1, runnerId, worker: 'pc', leaseMs: 60_000 };
      return looks < 3 ? [[]] : t.engine.claimNamedMany(tx, [{ ...by, actionIds: [id] }]);
    },
    actionsOf: (actions) => actions,
    giveBack: async () => {},
  });
  const waiting = supplied(null, { waitMs: 60_000 });
  while (t.engine.parkedWaiters === 0) await new Promise((resolve) => setImmediate(resolve));
  await t.engine.wake(t.db, [{ tenantId: 1, runnerId }]);
  await t.db.transaction((tx) => t.engine.wake(tx, [{ tenantId: 1, runnerId }]));
  for (let n = 0; n < 10 && t.engine.parkedWaiters > 0; n += 1)
    await t.engine.wake(t.db, [{ tenantId: 1, runnerId }]);
  expect(await waiting).toMatchObject([{ id }]);
  expect(looks).toBe(3);
});

test('G6: a pending action can be expired by name; a running one stays', async () => {
  const { laneId } = await t.lane();
  const [running, waiting, done] = [
    await t.enqueue(laneId),
    await t.enqueue(laneId),
    await t.enqueue(laneId),
  ];
  await t.claim(laneId);
  await t.engine.cancel(t.db, { tenantId: 1, actionId: done });
  const actionIds = [running, waiting, done, '999999999'];
  expect(await t.engine.expire(t.db, { tenantId: 1, actionIds, reason: 'given up' })).toBe(1);
  expect(await t.engine.get(t.db, 1, waiting)).toMatchObject({ state: 'expired', reason: 'given up' });
  expect([await t.state(running), await t.state(done)]).toEqual(['claimed', 'cancelled']);
  expect(await t.eventTypes(waiting)).toEqual(['CREATED', 'EXPIRED']);
  const again = await t.enqueue(laneId);
  const named = { tenantId: 1, actionIds: [running, again], reason: 'given up' };
  expect(await t.engine.fail(t.db, named)).toBe(1);
  expect(await t.eventTypes(again)).toEqual(['CREATED', 'FAILED_FINAL']);
  expect(await t.engine.redrive(t.db, { tenantId: 1, actionId: again })).toMatchObject({
    outcome: 'redriven',
  });
});

test('G31: several runners take what they name at once, each within its own slots', async () => {
  const small = await runner(1, 2);
  const large = await runner(null, 2);
  const of = async ({ lanes }: { lanes: string[] }) => Promise.all(lanes.map((laneId) => t.enqueue(laneId)));
  const [ofSmall, ofLarge] = [await of(small), await of(large)];
  const by = { tenantId: 1, worker: 'pc', leaseMs: 60_000 };
  const got = await t.engine.claimNamedMany(t.db, [
    { ...by, runnerId: small.runnerId, actionIds: [...ofSmall, ...ofLarge] },
    { ...by, runnerId: large.runnerId, actionIds: [...ofLarge].reverse(), worker: 'other' },
  ]);
  expect(got.map((actions) => actions.map(({ id }) => id))).toEqual([
    ofSmall.slice(0, 1),
    [...ofLarge].reverse(),
  ]);
  expect(got[1]?.[0]).toMatchObject({ worker: 'other', attempt: 1 });
  const twice = [small, small].map(({ runnerId }) => ({ ...by, runnerId, actionIds: ofSmall }));
  await expect(t.engine.claimNamedMany(t.db, twice)).rejects.toMatchObject({ code: 'MUSTER_BAD_VALUE' });
});

test('G31: claims of several runners at once, in any order, do not deadlock and never exceed the slots', async () => {
  const runners = await Promise.all(Array.from({ length: 4 }, () => runner(3, 10)));
  const wishes = await Promise.all(
    runners.map(async ({ runnerId, lanes }) => ({
      tenantId: 1,
      runnerId,
      worker: 'pc',
      leaseMs: 60_000,
      actionIds: await Promise.all(lanes.map((laneId) => t.enqueue(laneId))),
    })),
  );
  const orders = Array.from({ length: 8 }, (_, n) => [...wishes.slice(n % 4), ...wishes.slice(0, n % 4)]);
  const got = await Promise.all(orders.map((some) => t.engine.claimNamedMany(t.db, some)));
  expect(new Set(got.flat(2).map(({ id }) => id)).size).toBe(12);
  expect(got.flat(2)).toHaveLength(12);
});
