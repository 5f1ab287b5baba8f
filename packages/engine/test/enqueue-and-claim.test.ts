import { afterAll, beforeAll, expect, test } from 'vitest';
import { enqueueAndClaim, runnerLoad, type TestEngine, testEngine } from '../testing/index.ts';

let t: TestEngine;
beforeAll(async () => {
  t = await testEngine();
});
afterAll(() => t.close());

async function runner(slots: number | null, lanes: number) {
  const runnerId = await t.engine.createRunner(t.db, 1, slots);
  const own: { tenantId: number; laneId: string }[] = [];
  for (let n = 0; n < lanes; n += 1) {
    const lane = await t.lane();
    await t.engine.assignRunner(t.db, lane, runnerId);
    own.push(lane);
  }
  return { runnerId, lanes: own };
}
const make = (runnerId: string, laneIds: string[], more: object = {}) =>
  enqueueAndClaim(t.engine, t.db, {
    tenantId: 1,
    runnerId,
    worker: 'pc',
    leaseMs: 60_000,
    actions: laneIds.map((laneId, n) => ({ laneId, kind: 'task', payload: n, ...more })),
  });

test('G32: an action is created as it is handed out', async () => {
  const { runnerId, lanes } = await runner(2, 1);
  const deadline = new Date(t.clock().getTime() + 5_000);
  const [made] = await make(runnerId, [lanes[0]?.laneId as string], {
    tags: ['x'],
    priority: 'urgent',
    maxAttempts: 7,
    deadline,
    createdBy: 'ada',
    channel: 'task',
  });
  expect(made).toMatchObject({
    attempt: 1,
    worker: 'pc',
    leaseUntil: deadline,
    tags: ['x'],
    priority: 'urgent',
    maxAttempts: 7,
    createdBy: 'ada',
    channel: 'task',
    payload: 0,
  });
  expect(await t.eventTypes(made?.id as string)).toEqual(['CREATED', 'SENT']);
  expect(await t.report(made?.id as string, 1)).toMatchObject({ accepted: true, state: 'succeeded' });
});

test('G31 G32: as many as slots are free, in the order given; the others are not created', async () => {
  const { runnerId, lanes } = await runner(2, 4);
  const made = await make(
    runnerId,
    lanes.map(({ laneId }) => laneId),
  );
  expect(made.map((action) => action?.payload ?? null)).toEqual([0, 1, null, null]);
  expect(await make(runnerId, [lanes[3]?.laneId as string])).toEqual([null]);
  for (const { laneId } of lanes.slice(2))
    expect((await t.engine.list(t.db, { tenantId: 1, laneId })).actions).toEqual([]);
});

test('G11 G32: a lane that is busy, named twice or not of the runner gets nothing', async () => {
  const { runnerId, lanes } = await runner(null, 2);
  const [a, b] = lanes.map(({ laneId }) => laneId) as [string, string];
  const foreign = (await t.lane()).laneId;
  await t.enqueue(a);
  await t.claim(a, 'another');
  const made = await make(runnerId, [a, b, b, foreign, '999999']);
  expect(made.map((action) => action?.laneId ?? null)).toEqual([null, b, null, null, null]);
});

test('G10 G32: an action that waits in the lane is not passed, except by an urgent one', async () => {
  const { runnerId, lanes } = await runner(null, 1);
  const laneId = lanes[0]?.laneId as string;
  const first = await t.enqueue(laneId);
  expect(await make(runnerId, [laneId])).toEqual([null]);
  const [urgent] = await make(runnerId, [laneId], { priority: 'urgent' });
  expect(urgent).not.toBeNull();
  await t.report(urgent?.id as string, 1);
  expect((await t.claim(laneId))?.id).toBe(first);
});

test('G23 G24 G32: nothing is created for a paused or blocked lane or a paused tag', async () => {
  const { runnerId, lanes } = await runner(null, 3);
  const [a, b, c] = lanes as [
    { tenantId: number; laneId: string },
    { tenantId: number; laneId: string },
    { tenantId: number; laneId: string },
  ];
  await t.engine.pauseLane(t.db, a);
  await t.engine.blockLane(t.db, b, 'x');
  await t.engine.pause(t.db, { tenantId: 1, tag: 'stopped' });
  expect(await make(runnerId, [a.laneId, b.laneId, c.laneId], { tags: ['stopped'] })).toEqual([
    null,
    null,
    null,
  ]);
  expect((await make(runnerId, [c.laneId], { tags: ['other'] }))[0]).not.toBeNull();
  await t.engine.resume(t.db, { tenantId: 1, tag: 'stopped' });
});

test('G31 G32: many such calls at once fill the slots exactly', async () => {
  const { runnerId, lanes } = await runner(3, 9);
  const made = (await Promise.all(lanes.map(({ laneId }) => make(runnerId, [laneId])))).flat();
  expect(made.filter((action) => action !== null)).toHaveLength(3);
  expect(await runnerLoad(t.engine, 1, runnerId)).toEqual({ slots: 3, running: 3 });
});

test('an empty request creates nothing', async () => {
  const { runnerId } = await runner(1, 0);
  expect(await make(runnerId, [])).toEqual([]);
});

test('G31 G32: for several runners at once, each within its own slots and lanes', async () => {
  const small = await runner(1, 2);
  const large = await runner(null, 3);
  const wish = ({ runnerId, lanes }: typeof small, worker: string) => ({
    tenantId: 1,
    runnerId,
    worker,
    leaseMs: 60_000,
    actions: lanes.map(({ laneId }, n) => ({ laneId, kind: worker, payload: n })),
  });
  const foreign = wish(large, 'pc 1');
  const both = [
    { ...wish(small, 'pc 1'), actions: [...foreign.actions, ...wish(small, 'pc 1').actions] },
    wish(large, 'pc 2'),
  ];
  const made = await t.engine.enqueueAndClaimMany(t.db, both);
  expect(made.map((list) => list.map((action) => action && [action.worker, action.payload]))).toEqual([
    [null, null, null, ['pc 1', 0], null],
    [
      ['pc 2', 0],
      ['pc 2', 1],
      ['pc 2', 2],
    ],
  ]);
  expect(await t.engine.enqueueAndClaimMany(t.db, both)).toEqual([Array(5).fill(null), Array(3).fill(null)]);
  await expect(t.engine.enqueueAndClaimMany(t.db, [both[1], both[1]] as typeof both)).rejects.toMatchObject({
    code: 'MUSTER_BAD_VALUE',
  });
});

test('G31 G32: many calls for the same runners at once create no more than there are slots', async () => {
  const runners = await Promise.all(Array.from({ length: 3 }, () => runner(2, 6)));
  const wishes = runners.map(({ runnerId, lanes }) => ({
    tenantId: 1,
    runnerId,
    worker: 'pc',
    leaseMs: 60_000,
    actions: lanes.map(({ laneId }) => ({ laneId, kind: 'task' })),
  }));
  const orders = Array.from({ length: 6 }, (_, n) => [...wishes.slice(n % 3), ...wishes.slice(0, n % 3)]);
  const made = await Promise.all(orders.map((some) => t.engine.enqueueAndClaimMany(t.db, some)));
  expect(made.flat(2).filter((action) => action !== null)).toHaveLength(6);
});
