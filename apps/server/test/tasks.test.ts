import { expect, test } from 'vitest';
import { fakePc, type Held, newTask, showTask } from '../testing/fake-pc.ts';
import { deviceIds as ids, listOf, MINUTE, taskStage } from '../testing/task-stage.ts';

const stage = taskStage();

test('G61: a task goes to the devices of a PC, slot by slot, and ends as success', async () => {
  const { t } = stage;
  const pc = await fakePc(t, 3, { slots: 2 });
  const task = await newTask(t, listOf(pc), { payload: { version: 7 } });
  expect(task).toMatchObject({
    status: 'running',
    total: 3,
    counts: { pending: 3, running: 0 },
    unsupplied: 3,
  });
  expect(await pc.show()).toMatchObject({ runningCount: 0, eligibleDeviceCount: 3, target: 2, freeSlots: 2 });

  const first = await pc.claim({ max: 100 });
  const at = t.clock().toISOString();
  expect(first).toHaveLength(2);
  expect(first[0]).toEqual({
    id: expect.any(String),
    taskId: task.id,
    deviceId: pc.devices[0]?.id,
    pcId: pc.id,
    kind: 'UPDATE',
    attempt: 1,
    maxAttempts: 3,
    status: 'running',
    startedAt: at,
    timeoutAt: new Date(t.clock().getTime() + 20 * MINUTE).toISOString(),
    payload: { version: 7 },
  });
  expect(await pc.claim()).toEqual([]);
  expect(await pc.show()).toMatchObject({ runningCount: 2, freeSlots: 0 });
  expect(await pc.running()).toEqual(first);
  expect(await showTask(t, task.id)).toMatchObject({ counts: { pending: 1, running: 2 }, unsupplied: 1 });

  const told = await pc.complete(first[0] as Held, { result: { ok: true }, claim: { max: 5 } });
  expect(told).toMatchObject({ accepted: true, status: 'completed' });
  expect(ids(told.taskDevices)).toEqual([pc.devices[2]?.id]);
  await stage.pass(MINUTE);
  await pc.complete(first[1] as Held);
  const done = await t.get(`/api/task-devices/${first[1]?.id}`);
  expect(done.body).toMatchObject({ status: 'completed', startedAt: at, endedAt: t.clock().toISOString() });
  expect(await showTask(t, task.id)).toMatchObject({
    status: 'running',
    counts: { completed: 2, running: 1 },
  });
  expect(await pc.complete(told.taskDevices[0])).toEqual({ accepted: true, status: 'completed' });
  expect(await showTask(t, task.id)).toMatchObject({ counts: { completed: 3, running: 0, pending: 0 } });
  await stage.pass(0);
  expect(await showTask(t, task.id)).toMatchObject({ status: 'success', endedAt: t.clock().toISOString() });
});

test('G59: a failed attempt is retried under the same id; after the last one the device is in error', async () => {
  const { t } = stage;
  const pc = await fakePc(t, 2, { slots: 1 });
  const task = await newTask(t, listOf(pc), { maxAttempts: 2 });
  const [one] = (await pc.claim()) as [Held];
  expect(await pc.fail(one)).toEqual({ accepted: true, status: 'pending' });
  const [again] = (await pc.claim()) as [Held];
  expect(again).toMatchObject({ id: one.id, attempt: 2, deviceId: one.deviceId });
  expect(await pc.fail(one)).toEqual({ accepted: true, status: 'pending' });
  expect(await pc.complete(one)).toMatchObject({ accepted: false, status: 'running', reason: 'LATE' });
  const told = await pc.fail(again, { claim: { max: 1 } });
  expect(told).toMatchObject({ accepted: true, status: 'failed' });
  expect(ids(told.taskDevices)).toEqual([pc.devices[1]?.id]);
  expect(await pc.devices[0]?.show()).toMatchObject({ state: 'error', stateReason: 'broken' });
  expect(await pc.show()).toMatchObject({
    eligibleDeviceCount: 1,
    target: 1,
    errorDeviceCount: 1,
    devicesInError: [one.deviceId],
    namesInError: [(await pc.devices[0]?.show())?.name],
  });
  await pc.complete(told.taskDevices[0]);
  await stage.pass(0);
  expect(await showTask(t, task.id)).toMatchObject({ status: 'failed', counts: { failed: 1, completed: 1 } });

  const { body } = await t.get(`/api/task-devices/${one.id}/events`);
  expect(body.events.map((event: { type: string; attempt: number }) => [event.type, event.attempt])).toEqual([
    ['CREATED', 0],
    ['SENT', 1],
    ['FAILED', 1],
    ['RETRY_SCHEDULED', 1],
    ['SENT', 2],
    ['LATE', 1],
    ['FAILED', 2],
    ['FAILED_FINAL', 2],
  ]);
  expect(body.events[2]).toMatchObject({ worker: `pc:${pc.id}`, error: 'broken' });
  expect(body.events[7]).toMatchObject({ reason: 'FAILED' });
  expect(body.events[7]).not.toHaveProperty('error');

  const cleared = await t.post(`/api/devices/${one.deviceId}/clear-error`);
  expect(cleared.body).toMatchObject({ state: 'ok' });
  expect(cleared.body.stateReason).toBeUndefined();
});
