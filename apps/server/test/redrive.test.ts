import { expect, test } from 'vitest';
import { fakeDevice } from '../testing/fake-device.ts';
import { type FakePc, fakePc, type Held, newTask, showTask } from '../testing/fake-pc.ts';
import { listOf, MINUTE, taskStage } from '../testing/task-stage.ts';

/** Redrives of dead letters: none is ever lost, whatever happened to its target (issue 11). */
const stage = taskStage();
const action = async (id: string) => (await stage.t.get(`/api/actions/${id}`)).body;
const redrive = (id: string, body: object = {}) => stage.t.post(`/api/actions/${id}/redrive`, body);

/** A task for the devices of a PC, each of which has failed for good and is in error. */
async function failed(devices = 1): Promise<{ pc: FakePc; taskId: string; letters: Held[] }> {
  const pc = await fakePc(stage.t, devices);
  const { id: taskId } = await newTask(stage.t, listOf(pc), { maxAttempts: 1 });
  const letters = await pc.claim({ max: devices });
  for (const one of letters) await pc.fail(one);
  await stage.pass(0);
  return { pc, taskId, letters };
}

async function stateOf(pc: FakePc, n = 0) {
  const { state, stateReason } = (await pc.devices[n]?.show()) ?? {};
  return [state, stateReason];
}

test('the dead letter of a device in error stays one, unless the error is cleared with it', async () => {
  const { pc, letters } = await failed();
  const [{ id }] = letters as [Held];
  const refused = await redrive(id);
  expect(refused).toMatchObject({ status: 409, body: { code: 'MUSTER_DEVICE_IN_ERROR' } });
  expect(refused.body.error).toMatch(/in error \(broken\).*stays a dead letter.*"clearError": true/);
  await stage.pass(MINUTE);
  expect(await action(id)).toMatchObject({ state: 'failed', reason: 'FAILED' });
  expect(await stateOf(pc)).toEqual(['error', 'broken']);

  expect(await redrive(id, { clearError: true, reason: 'new cable' })).toMatchObject({
    status: 200,
    body: { state: 'pending' },
  });
  expect(await stateOf(pc)).toEqual(['ok', undefined]);
  expect((await stage.t.get('/api/audit?limit=2')).body.audit).toMatchObject([
    { act: 'action.redrive', target: `action ${id}`, detail: { clearError: true, reason: 'new cable' } },
    { act: 'device.clear-error', target: `device ${pc.devices[0]?.id}` },
  ]);
  const [again] = (await pc.claim()) as [Held];
  expect(again).toMatchObject({ id, attempt: 2 });
  await pc.complete(again);
});

test('many dead letters are answered one by one', async () => {
  const { pc, letters } = await failed(3);
  const [a, b, c] = letters.map(({ id }) => id) as [string, string, string];
  await stage.t.post(`/api/devices/${letters[0]?.deviceId}/clear-error`);
  await stage.t.del(`/api/devices/${letters[1]?.deviceId}`);
  const many = (more: object = {}) => stage.t.post('/api/actions/redrive', { ids: [a, b, c], ...more });
  expect((await many()).body).toMatchObject({
    redriven: 1,
    refused: 2,
    refusals: [
      { id: b, code: 'MUSTER_TARGET_GONE', error: expect.stringContaining('The device was deleted.') },
      {
        id: c,
        code: 'MUSTER_DEVICE_IN_ERROR',
        device: { id: letters[2]?.deviceId, name: (await pc.devices[2]?.show())?.name },
      },
    ],
  });
  expect((await many({ clearError: true })).body).toMatchObject({ redriven: 1, refused: 1 });
  expect(await stateOf(pc, 2)).toEqual(['ok', undefined]);
  expect((await action(b)).state).toBe('failed');
  expect((await pc.claim({ max: 3 })).map(({ id }) => id).sort()).toEqual([a, c].sort());
});

test('a dead letter of a deleted device, PC or service is not redriven to wait for ever', async () => {
  const { t } = stage;
  const { pc, letters } = await failed();
  await t.post(`/api/devices/${letters[0]?.deviceId}/clear-error`);
  await t.del(`/api/pcs/${pc.id}`);

  const device = await fakeDevice(t);
  const lock = await device.assign('LOCK', { maxAttempts: 1 });
  await device.report({ id: lock, attempt: (await device.checkIn()).action.attempt }, 'failed');
  await t.del(`/api/devices/${device.id}`);

  const host = (await t.post('/api/hosts', { name: 'with a service' })).body;
  const agent = { token: t.secret(host.agentToken) };
  const service = (await t.post(`/api/hosts/${host.id}/services`, { unitName: 'nginx' })).body;
  const queued = await t.post(`/api/hosts/${host.id}/actions`, { serviceId: service.id, kind: 'stop' });
  for (;;) {
    const [one] = (await t.get('/api/control/queue', agent)).body.actions ?? [];
    if (!one) break;
    const { id: actionId, attempt } = one;
    await t.post('/api/control/report', { actionId, attempt, status: 'failed', message: 'no' }, agent);
    await t.pass(10 * MINUTE);
  }
  await t.del(`/api/hosts/${host.id}/services/${service.id}`);

  for (const [id, sentence] of [
    [letters[0]?.id as string, /^The device belongs to no PC\./],
    [lock, /^The device was deleted\./],
    [queued.body.id, /^The service was deleted\./],
  ] as const) {
    expect((await action(id)).state, `${sentence}`).toBe('failed');
    const refused = await redrive(id, { clearError: true });
    expect(refused).toMatchObject({ status: 409, body: { code: 'MUSTER_TARGET_GONE' } });
    expect(refused.body.error).toMatch(sentence);
    expect((await action(id)).state).toBe('failed');
  }
});

test('at every door, a redrive clears the error of the device if asked, and is refused otherwise', async () => {
  const { pc } = await failed();
  const [device] = pc.devices as [FakePc['devices'][number]];
  const id = await device.assign('LOCK', { maxAttempts: 1 });
  await device.report((await device.checkIn()).action, 'failed');
  const { body: batch } = await stage.t.post('/api/batches', {
    targets: { deviceIds: [device.id] },
    action: { kind: 'UPDATE', maxAttempts: 1 },
  });
  // the request supplies it, and so does housekeeping
  await expect.poll(async () => (await device.queue()).length).toBe(1);
  const { action: ofBatch } = await device.checkIn();
  await device.report(ofBatch, 'failed');

  const retry = (body?: object) => stage.t.post(`/api/batches/${batch.id}/retry`, body);
  expect(await redrive(id)).toMatchObject({ status: 409, body: { code: 'MUSTER_DEVICE_IN_ERROR' } });
  expect((await retry()).body).toMatchObject({ redriven: 0, refused: 1 });
  expect([(await action(id)).state, (await action(ofBatch.id)).state]).toEqual(['failed', 'failed']);
  // a copy is a new assignment, which an error does not prevent
  const copy = await stage.t.post(`/api/actions/${id}/copy`);
  expect(copy.status).toBe(201);
  await device.report((await device.checkIn()).action);

  expect((await retry({ clearError: true })).body).toMatchObject({ redriven: 1, refused: 0 });
  expect(await stateOf(pc)).toEqual(['ok', undefined]);
  expect((await redrive(id)).status).toBe(200);
  expect((await device.checkIn()).action).toMatchObject({ id: ofBatch.id, attempt: 2 });
});

test('the messages about copies differ from those about dead letters', async () => {
  const { pc, letters } = await failed();
  const copy = (id: string) => stage.t.post(`/api/actions/${id}/copy`);
  const [{ id: ofTask }] = letters as [Held];
  // neither clearing the error nor another PC would help
  expect((await copy(ofTask)).body.code).toBe('MUSTER_NOT_COPIED');
  const [device] = pc.devices as [FakePc['devices'][number]];
  await device.assign('LOCK');
  const { action: done } = await device.checkIn();
  await device.report(done);
  await stage.t.del(`/api/devices/${device.id}`);
  expect((await copy(done.id)).body.error).toBe('The device was deleted. The action cannot be copied.');
});

test('G60: a redriven one that no PC can process is a dead letter again', async () => {
  const { pc, taskId, letters } = await failed();
  const [{ id }] = letters as [Held];
  await redrive(id, { clearError: true });
  await stage.t.send('PATCH', `/api/devices/${pc.devices[0]?.id}`, { pcId: null });
  await stage.pass(0);
  expect(await action(id)).toMatchObject({ state: 'failed', reason: 'NOT_ELIGIBLE' });
  expect(await showTask(stage.t, taskId)).toMatchObject({ counts: { pending: 0, failed: 1, cancelled: 0 } });
  // nothing was tried, so the device is not in error
  expect(await stateOf(pc)).toEqual(['ok', undefined]);
  await stage.t.send('PATCH', `/api/devices/${pc.devices[0]?.id}`, { pcId: pc.id });

  // and so it is if no runner comes for it
  await redrive(id);
  await stage.pass(20 * MINUTE);
  expect(await action(id)).toMatchObject({ state: 'failed', reason: 'EXPIRED' });
  expect((await redrive(id)).status).toBe(200);
  await pc.complete((await pc.claim())[0] as Held);
  await stage.pass(0);
  expect(await showTask(stage.t, taskId)).toMatchObject({ status: 'success', counts: { completed: 1 } });
});

test('G18: a late success counts whatever the device does meanwhile, until its own work is handed out again', async () => {
  const [pc, other] = [await fakePc(stage.t, 2), await fakePc(stage.t)];
  const { id: taskId } = await newTask(stage.t, listOf(pc), { maxAttempts: 2 });
  const [one, two] = (await pc.claim({ max: 2 })) as [Held, Held];
  for (const { deviceId } of [one, two])
    await stage.t.send('PATCH', `/api/devices/${deviceId}`, { pcId: other.id });
  const [first] = pc.devices as [FakePc['devices'][number]];
  await first.assign('LOCK', { priority: 'urgent' });
  await stage.pass(20 * MINUTE);
  // the first device works on something else; the other has the second one again
  const { action: lock } = await first.checkIn();
  const [again] = (await other.claim({ max: 2 })) as [Held];
  expect(again).toMatchObject({ id: two.id, attempt: 2 });
  expect(await pc.complete(one)).toMatchObject({ accepted: true, status: 'completed' });
  expect(await pc.complete(two)).toMatchObject({ accepted: false, reason: 'LATE' });
  await first.report(lock);
  await other.complete(again);
  await stage.pass(0);
  expect(await showTask(stage.t, taskId)).toMatchObject({ status: 'success', counts: { completed: 2 } });
});

test('G59: a late success clears the error that its own failure caused, and no other', async () => {
  const pc = await fakePc(stage.t, 1);
  const timeOut = async () => {
    await newTask(stage.t, listOf(pc), { maxAttempts: 1 });
    const [held] = (await pc.claim()) as [Held];
    await stage.pass(20 * MINUTE);
    expect(await stateOf(pc)).toEqual(['error', 'TIMEOUT']);
    return held;
  };
  const first = await timeOut();
  await stage.t.post(`/api/devices/${first.deviceId}/clear-error`);
  const second = await timeOut();
  expect(await pc.complete(first)).toMatchObject({ accepted: true, status: 'completed' });
  expect(await stateOf(pc)).toEqual(['error', 'TIMEOUT']);
  expect(await pc.complete(second)).toMatchObject({ accepted: true, status: 'completed' });
  expect(await stateOf(pc)).toEqual(['ok', undefined]);
});
