import { describe, expect, test } from 'vitest';
import { fakeDevice } from '../testing/fake-device.ts';
import { fakePc, type Held, newTask, showTask } from '../testing/fake-pc.ts';
import { deviceIds, listOf, MINUTE, parked, taskStage } from '../testing/task-stage.ts';

const stage = taskStage();
const patch = (path: string, body: object) => stage.t.send('PATCH', path, body);

test('G56: two claims of one PC at the same moment never exceed its slots', async () => {
  for (let round = 0; round < 5; round += 1) {
    const pc = await fakePc(stage.t, 9, { slots: 4 });
    const task = await newTask(stage.t, listOf(pc));
    const got = (await Promise.all(Array.from({ length: 6 }, () => pc.claim({ max: 3 })))).flat();
    expect(got).toHaveLength(4);
    expect(new Set(deviceIds(got)).size).toBe(4);
    expect(await pc.show()).toMatchObject({ runningCount: 4, target: 4, freeSlots: 0 });
    await stage.t.post(`/api/tasks/${task.id}/cancel`);
    for (const held of got) await pc.complete(held);
  }
});

test('G58: 20 slots by default: 20 of 25, then 19 → 20 and 18 → 20', async () => {
  const pc = await fakePc(stage.t, 25);
  expect(await pc.show()).toMatchObject({ freeSlots: 20, claimableDeviceCount: 0 });
  await newTask(stage.t, listOf(pc));
  await stage.pass(0);
  // the claimable count is what a claim gets
  expect(await pc.show()).toMatchObject({ freeSlots: 20, claimableDeviceCount: 20 });
  const held = await pc.claim();
  expect(held).toHaveLength(20);
  await pc.complete(held[0] as Held);
  expect(await pc.show()).toMatchObject({ runningCount: 19, freeSlots: 1, claimableDeviceCount: 1 });
  expect(await pc.claim()).toHaveLength(1);
  await pc.complete(held[1] as Held);
  const told = await pc.complete(held[2] as Held, { claim: { max: 100 } });
  expect(told.taskDevices).toHaveLength(2);
  expect(await pc.show()).toMatchObject({ runningCount: 20, freeSlots: 0 });
});

test('G57: rows are created when a slot is free for them, not before', async () => {
  const pc = await fakePc(stage.t, 5, { slots: 2 });
  const task = await newTask(stage.t, listOf(pc));
  const made = async () =>
    (
      await stage.t.engine.db.query({
        text: `select count(*)::int as n from muster.actions where payload->>'taskId' = $1`,
        values: [task.id],
      })
    ).rows[0].n;
  expect(await made()).toBe(0);
  await pc.claim({ max: 1 });
  expect(await made()).toBe(1);
  await pc.claim();
  expect(await made()).toBe(2);
});

describe('a waiting runner is woken', () => {
  /** A PC with one slot taken by the first of its devices, and a claim that waits. */
  async function waiting(more: { devices?: number; slots?: number; task?: object } = {}) {
    const pc = await fakePc(stage.t, more.devices ?? 2, { slots: more.slots ?? 1 });
    const task = await newTask(stage.t, listOf(pc), { maxAttempts: 1, ...more.task });
    const [held] = (await pc.claim()) as [Held];
    const woken = pc.claim({ wait: 25 });
    await parked(stage);
    return { pc, task, held, woken };
  }

  test.each<[string, (on: Awaited<ReturnType<typeof waiting>>) => Promise<unknown>]>([
    ['completion', ({ pc, held }) => pc.complete(held)],
    ['failure', ({ pc, held }) => pc.fail(held)],
    ['timeout', () => stage.pass(20 * MINUTE)],
    ['more slots', ({ pc }) => patch(`/api/pcs/${pc.id}`, { slots: 2 })],
  ])('G58: by %s', async (_what, act) => {
    const on = await waiting();
    await act(on);
    expect(deviceIds(await on.woken)).toEqual([on.pc.devices[1]?.id]);
  });

  test('by a cancelled device that has ended', async () => {
    const { pc, task, held, woken } = await waiting();
    const next = await newTask(stage.t, listOf(pc));
    await stage.t.post(`/api/tasks/${task.id}/cancel`);
    await pc.fail(held);
    expect(await woken).toMatchObject([{ taskId: next.id }]);
  });

  test('by a cleared error, which raises the target', async () => {
    const { pc, held, woken } = await waiting({ devices: 1 });
    await pc.fail(held);
    await newTask(stage.t, listOf(pc));
    await stage.t.post(`/api/devices/${held.deviceId}/clear-error`);
    // the second task had ended before: its only device was in error
    await newTask(stage.t, listOf(pc));
    expect(deviceIds(await woken)).toEqual([held.deviceId]);
  });

  test('G58: by a device that is moved in, or present again, or whose lane is free', async () => {
    const away = await fakeDevice(stage.t);
    const absent = await fakeDevice(stage.t);
    const busy = await fakeDevice(stage.t);
    const pc = await fakePc(stage.t, 1);
    const runner = { token: pc.token };
    for (const { id } of [absent, busy]) await patch(`/api/devices/${id}`, { pcId: pc.id });
    await stage.t.send(
      'PUT',
      `/api/pcs/${pc.id}/devices`,
      { devices: [{ id: absent.id, present: false }] },
      runner,
    );
    await busy.assign('LOCK');
    const { action } = await busy.checkIn();
    const all = [pc.devices[0]?.id as string, away.id, absent.id, busy.id];
    await newTask(stage.t, { deviceIds: all });
    expect(deviceIds(await pc.claim())).toEqual([pc.devices[0]?.id]);

    const moved = pc.claim({ wait: 25 });
    await parked(stage);
    await patch(`/api/devices/${away.id}`, { pcId: pc.id });
    expect(deviceIds(await moved)).toEqual([away.id]);
    const there = pc.claim({ wait: 25 });
    await parked(stage);
    await stage.t.send('PUT', `/api/pcs/${pc.id}/devices`, { present: all }, runner);
    expect(deviceIds(await there)).toEqual([absent.id]);
    const free = pc.claim({ wait: 25 });
    await parked(stage);
    await busy.report(action);
    expect(deviceIds(await free)).toEqual([busy.id]);
  });

  test('G55 G58: by a new task, and by the next one becoming active', async () => {
    const pc = await fakePc(stage.t, 1);
    const first = pc.claim({ wait: 25 });
    await parked(stage);
    const one = await newTask(stage.t, listOf(pc));
    const [held] = (await first) as [Held];
    expect(held.taskId).toBe(one.id);
    const two = await newTask(stage.t, listOf(pc));
    expect(two.status).toBe('pending');
    const second = pc.claim({ wait: 25 });
    await parked(stage);
    await pc.complete(held);
    expect(await second).toMatchObject([{ taskId: two.id }]);
  });

  test('by a retry that is due', async () => {
    const { pc, held, woken } = await waiting({
      devices: 1,
      task: { maxAttempts: 2, retryBackoffSeconds: 60 },
    });
    await pc.fail(held);
    await stage.pass(2 * MINUTE);
    expect(await woken).toMatchObject([{ id: held.id, attempt: 2 }]);
  });
});

test('a runner that disconnected while it waited gets nothing', async () => {
  const pc = await fakePc(stage.t, 1);
  const gone = new AbortController();
  const waiting = stage.t
    .post(`/api/pcs/${pc.id}/claim`, { wait: 25 }, { token: pc.token, signal: gone.signal })
    .catch(() => null);
  await parked(stage);
  gone.abort();
  await waiting;
  while (stage.t.engine.parkedWaiters > 0) await new Promise((resolve) => setImmediate(resolve));
  // No new work goes to closed connections. A waiter in the middle of a look may have claimed it and released it.
  await newTask(stage.t, listOf(pc));
  expect(await pc.claim({ wait: 25 })).toMatchObject([{ status: 'running' }]);
});

test('G57: a device never does two things at once, from whichever door', async () => {
  const pc = await fakePc(stage.t, 2);
  const [first, second] = pc.devices;
  await first?.assign('LOCK');
  const { action } = await (first as NonNullable<typeof first>).checkIn();
  await newTask(stage.t, listOf(pc));
  const [held] = (await pc.claim()) as [Held];
  expect(held.deviceId).toBe(second?.id);
  await second?.assign('LOCK');
  expect((await second?.checkIn())?.action).toBeNull();
  expect(await second?.queue()).toMatchObject([
    { id: held.id, source: 'task', status: 'sent' },
    { kind: 'LOCK', status: 'pending', waitingFor: { code: 'BEHIND', actionId: held.id } },
  ]);
  await first?.report(action);
  expect(deviceIds(await pc.claim())).toEqual([first?.id]);
  await pc.complete(held);
  expect((await second?.checkIn())?.action).toMatchObject({ kind: 'LOCK' });
});

test('an action assigned for a check-in does not hold up a task while the device is free', async () => {
  const pc = await fakePc(stage.t, 1);
  await pc.devices[0]?.assign('LOCK');
  await newTask(stage.t, listOf(pc));
  expect(await pc.claim()).toHaveLength(1);
});

test('G57: a moved device finishes under its old PC; its next claim belongs to the new one', async () => {
  const from = await fakePc(stage.t, 1);
  const to = await fakePc(stage.t);
  const task = await newTask(stage.t, listOf(from), { maxAttempts: 5 });
  const [held] = (await from.claim()) as [Held];
  await patch(`/api/devices/${held.deviceId}`, { pcId: to.id });
  expect(await to.claim()).toEqual([]);
  expect(await from.show()).toMatchObject({
    runningCount: 1,
    eligibleDeviceCount: 0,
    target: 0,
    freeSlots: 0,
  });
  expect(await from.running()).toMatchObject([{ id: held.id, pcId: from.id }]);
  expect(
    (await stage.t.post(`/api/task-devices/${held.id}/complete`, { attempt: 1 }, { token: to.token })).body,
  ).toMatchObject({
    code: 'MUSTER_UNKNOWN_TASK_DEVICE',
  });
  expect(await from.fail(held)).toMatchObject({ accepted: true, status: 'pending' });
  expect(await from.claim()).toEqual([]);
  const [again] = (await to.claim()) as [Held];
  expect(again).toMatchObject({ id: held.id, attempt: 2, pcId: to.id });
  // the old PC cannot touch what the new one holds
  expect(await from.complete({ id: held.id, attempt: 2 })).toMatchObject({
    accepted: false,
    status: 'running',
  });
  expect(await from.complete({ id: held.id, attempt: 1 })).toMatchObject({ accepted: false, reason: 'LATE' });
  expect(await to.complete(again)).toMatchObject({ accepted: true, status: 'completed' });
  await stage.pass(0);
  expect(await showTask(stage.t, task.id)).toMatchObject({ status: 'success' });
});

test('G56: an error or fewer slots may leave more running than the target, and nothing is added until that has ended', async () => {
  const pc = await fakePc(stage.t, 6, { slots: 4 });
  await newTask(stage.t, listOf(pc));
  const held = await pc.claim();
  expect(held).toHaveLength(4);
  await patch(`/api/pcs/${pc.id}`, { slots: 2 });
  expect(await pc.show()).toMatchObject({ runningCount: 4, target: 2, freeSlots: 0 });
  expect((await pc.complete(held[0] as Held, { claim: { max: 9 } })).taskDevices).toEqual([]);
  expect((await pc.complete(held[1] as Held, { claim: { max: 9 } })).taskDevices).toEqual([]);
  expect((await pc.complete(held[2] as Held, { claim: { max: 9 } })).taskDevices).toHaveLength(1);
  expect(await pc.show()).toMatchObject({ runningCount: 2, target: 2 });
});

test('G56: a claim never goes above the target, even if running devices are no longer eligible', async () => {
  const pc = await fakePc(stage.t, 3);
  const other = await fakePc(stage.t);
  await newTask(stage.t, listOf(pc));
  const held = await pc.claim({ max: 2 });
  for (const { deviceId } of held) await patch(`/api/devices/${deviceId}`, { pcId: other.id });
  // one eligible device is left, two leases are held: a claim gets nothing
  expect(await pc.show()).toMatchObject({ runningCount: 2, eligibleDeviceCount: 1, target: 1 });
  expect(await pc.claim()).toEqual([]);
  await pc.complete(held[0] as Held);
  expect(await pc.claim()).toEqual([]);
  await pc.complete(held[1] as Held);
  expect(await pc.claim()).toHaveLength(1);
});
