import { describe, expect, test } from 'vitest';
import { fakeDevice } from '../testing/fake-device.ts';
import { fakePc, type Held, newTask, showTask } from '../testing/fake-pc.ts';
import { deviceIds, listOf, MINUTE, taskStage } from '../testing/task-stage.ts';

const stage = taskStage();
const show = (id: string) => showTask(stage.t, id);
const cancel = (id: string, body = {}) => stage.t.post(`/api/tasks/${id}/cancel`, body);
const patch = (path: string, body: object) => stage.t.send('PATCH', path, body);
const eventsOf = async (id: string): Promise<string[]> =>
  (await stage.t.get(`/api/task-devices/${id}/events`)).body.events.map(
    ({ type, reason }: { type: string; reason?: string }) => (reason ? `${type} ${reason}` : type),
  );
const rowsOf = async (id: string, query = '') =>
  (await stage.t.get(`/api/tasks/${id}/devices${query}`)).body.taskDevices;

describe('one task at a time', () => {
  test('G55: exactly the oldest unfinished task is running; when its last device is finished the next is active at once', async () => {
    const pc = await fakePc(stage.t, 2);
    const other = await fakePc(stage.t, 1);
    const first = await newTask(stage.t, listOf(pc));
    const second = await newTask(stage.t, { pcIds: [pc.id, other.id] });
    const third = await newTask(stage.t, listOf(other));
    expect([first.status, second.status, third.status]).toEqual(['running', 'pending', 'pending']);
    expect(second.total).toBeNull();
    // the task, and each of its named devices, says behind which one it waits
    const behind = {
      code: 'TASK_NOT_ACTIVE',
      text: `Task ${first.id} goes first: it is older and not finished.`,
    };
    expect(first).not.toHaveProperty('waitingFor');
    expect([second.waitingFor, third.waitingFor]).toEqual([behind, behind]);
    expect(await rowsOf(third.id)).toEqual([
      expect.objectContaining({ deviceId: other.devices[0]?.id, status: 'pending', waitingFor: behind }),
    ]);
    expect(await rowsOf(second.id)).toEqual([]);
    expect(await other.claim()).toEqual([]); // it has no device in the first
    const [a, b] = (await pc.claim()) as [Held, Held];
    await pc.complete(a);
    expect(await pc.claim()).toEqual([]);
    const { taskDevices } = await pc.complete(b, { claim: { max: 100 } });
    expect(taskDevices).toMatchObject([{ taskId: second.id }, { taskId: second.id }]);
    expect(await show(first.id)).toMatchObject({ status: 'success' });
    expect(await show(second.id)).toMatchObject({
      status: 'running',
      total: 3,
      counts: { running: 2, pending: 1 },
    });
    expect((await stage.t.get('/api/tasks?status=running')).body.tasks).toMatchObject([{ id: second.id }]);
    expect((await stage.t.get('/api/tasks?status=claimed')).body.tasks).toMatchObject([{ id: second.id }]);
    expect((await stage.t.get('/api/tasks?status=pending')).body.tasks).toMatchObject([{ id: third.id }]);
  });

  test('all, tags and pcIds are resolved when the task becomes active; a list is fixed', async () => {
    const pc = await fakePc(stage.t, 2, { tags: ['kiosk'] });
    const before = await newTask(stage.t, listOf(pc));
    const tagged = await newTask(stage.t, { tags: ['kiosk'] });
    const listed = await newTask(stage.t, { deviceIds: [pc.devices[0]?.id, pc.devices[0]?.id] });
    expect(listed).toMatchObject({ total: 1, targets: { deviceCount: 1 } });
    const late = await fakeDevice(stage.t, { pcId: pc.id, tags: ['kiosk'] });
    await patch(`/api/devices/${pc.devices[1]?.id}`, { tags: [] });
    for (const held of await pc.claim()) await pc.complete(held);
    const held = await pc.claim();
    expect(deviceIds(held)).toEqual([pc.devices[0]?.id, late.id]);
    expect(held[0]?.taskId).toBe(tagged.id);
    // fixed: a device that gets the tag now is not included
    await fakeDevice(stage.t, { pcId: pc.id, tags: ['kiosk'] });
    expect(await pc.claim()).toEqual([]);
    expect(await show(tagged.id)).toMatchObject({ total: 2, targets: { tags: ['kiosk'] } });
    expect(await show(before.id)).toMatchObject({ status: 'success', total: 2 });
  });

  test('the history of a device of a task has the words of older systems too', async () => {
    const pc = await fakePc(stage.t, 4, { slots: 3 });
    const task = await newTask(stage.t, listOf(pc), { maxAttempts: 2, retryBackoffSeconds: 60 });
    const [a, b, c] = (await pc.claim()) as [Held, Held, Held];
    await pc.complete(a, { result: { version: 2 } });
    await pc.fail(b);
    expect(await rowsOf(task.id)).toMatchObject([
      { id: a.id, status: 'completed', attempt: 1, pcId: pc.id },
      { id: b.id, status: 'pending', attempt: 1 },
      { id: c.id, status: 'running', attempt: 1 },
      { id: null, status: 'pending', attempt: 0, deviceId: pc.devices[3]?.id },
    ]);
    const idsOf = async (word: string) =>
      (await rowsOf(task.id, `?status=${word}`)).map((row: { id: string | null }) => row.id);
    expect(await idsOf('success')).toEqual([a.id]);
    expect(await idsOf('completed')).toEqual([a.id]);
    expect(await idsOf('claimed')).toEqual([c.id]);
    expect(await idsOf('retrying')).toEqual([b.id]);
    expect(await idsOf('pending')).toEqual([b.id, null]);
    const { body: one } = await stage.t.get(`/api/task-devices/${a.id}`);
    expect(one).toMatchObject({ status: 'completed', result: { version: 2 }, waitingFor: null });
    const { body: two } = await stage.t.get(`/api/task-devices/${b.id}`);
    expect(two).toMatchObject({ status: 'pending', waitingFor: { code: 'RETRY' } });
    const page = await stage.t.get(`/api/tasks/${task.id}/devices?limit=3`);
    expect((await rowsOf(task.id, `?cursor=${page.body.cursor}`)).length).toBe(1);
  });
});

describe('no task blocks the tenant for ever', () => {
  test('G60: devices in error, deleted, absent or without a PC are cancelled when nothing else is left', async () => {
    const pc = await fakePc(stage.t, 5);
    const [good, inError, deleted, absent, homeless] = pc.devices.map(({ id }) => id) as [
      string,
      string,
      string,
      string,
      string,
    ];
    await stage.t.engine.db.query({
      text: `update muster.devices set state = 'error' where device_id = $1`,
      values: [inError],
    });
    const task = await newTask(stage.t, { deviceIds: [good, inError, deleted, absent, homeless] });
    const next = await newTask(stage.t, { deviceIds: [good] });
    await stage.t.del(`/api/devices/${deleted}`);
    await stage.t.send(
      'PUT',
      `/api/pcs/${pc.id}/devices`,
      { devices: [{ id: absent, present: false }] },
      { token: pc.token },
    );
    await patch(`/api/devices/${homeless}`, { pcId: null });
    const [held] = (await pc.claim()) as [Held];
    expect(held.deviceId).toBe(good);
    await stage.pass(0);
    expect(await show(task.id)).toMatchObject({
      status: 'running',
      counts: { running: 1, pending: 4, cancelled: 0 },
    });
    // the absent one may come back; while the task waits for it, the others are not decided either
    expect(await pc.complete(held, { claim: { max: 9 } })).toMatchObject({ taskDevices: [] });
    await stage.pass(10 * MINUTE - 1);
    expect(await show(task.id)).toMatchObject({ status: 'running', counts: { pending: 4 } });
    const [waiting] = await rowsOf(task.id, '?status=pending&limit=1');
    expect(waiting).not.toHaveProperty('absentSince');
    await stage.pass(1);
    expect(await show(task.id)).toMatchObject({
      status: 'success',
      total: 5,
      counts: { completed: 1, cancelled: 4 },
    });
    expect(await pc.claim()).toMatchObject([{ taskId: next.id }]);
    expect(await rowsOf(task.id, '?status=cancelled')).toMatchObject(
      [inError, deleted, absent, homeless].map((deviceId) => ({
        deviceId,
        reason: 'NOT_ELIGIBLE',
      })),
    );
  });

  test('one that waits for its retry and is no longer eligible is cancelled as well', async () => {
    const pc = await fakePc(stage.t, 2);
    const task = await newTask(stage.t, listOf(pc), { retryBackoffSeconds: 600 });
    const [held, other] = (await pc.claim()) as [Held, Held];
    await pc.fail(held);
    expect(await show(task.id)).toMatchObject({ status: 'running', counts: { pending: 1, running: 1 } });
    await patch(`/api/devices/${held.deviceId}`, { pcId: null });
    const { body } = await stage.t.get(`/api/task-devices/${held.id}`);
    expect(body.waitingFor).toMatchObject({ code: 'NO_PC' });
    await pc.complete(other);
    await stage.pass(1_000);
    expect(await show(task.id)).toMatchObject({ status: 'success', counts: { cancelled: 1, completed: 1 } });
  });

  test('a task that matches no device has ended when it becomes active', async () => {
    expect(await newTask(stage.t, { tags: ['nobody has this'] })).toMatchObject({
      status: 'cancelled',
      reason: 'NOBODY_MEANT',
      total: 0,
    });
  });

  test('G60: a hub that resets does not empty a task: all are waited for, and those that come back run', async () => {
    const pc = await fakePc(stage.t, 3);
    const say = (present: unknown[]) =>
      stage.t.send('PUT', `/api/pcs/${pc.id}/devices`, { present }, { token: pc.token });
    const [retried, back, away] = pc.devices.map(({ id }) => id);
    const task = await newTask(stage.t, listOf(pc));
    const [held] = (await pc.claim({ max: 1 })) as [Held];
    await pc.fail(held);
    const since = stage.t.clock().toISOString();
    await say([]);
    await stage.pass(5 * MINUTE);
    await say([]); // what is said again is no news
    await stage.pass(5 * MINUTE - 1);
    expect(await show(task.id)).toMatchObject({ status: 'running', counts: { pending: 3 } });
    expect(await rowsOf(task.id)).toMatchObject(pc.devices.map(() => ({ absentSince: since })));
    expect((await stage.t.get(`/api/task-devices/${held.id}`)).body.waitingFor).toMatchObject({
      code: 'DEVICE_ABSENT',
      text: `Absent since ${since}, according to its PC.`,
    });
    await say([retried, back]);
    await stage.pass(1);
    const both = await pc.claim();
    expect(deviceIds(both)).toEqual([retried, back]);
    await say([]); // what runs is not asked whether it is there
    for (const one of both) await pc.fail(one, { error: 'gone' });
    await stage.pass(0);
    expect(await show(task.id)).toMatchObject({ status: 'running', counts: { pending: 3 } });
    await stage.pass(10 * MINUTE);
    expect(await show(task.id)).toMatchObject({
      status: 'cancelled',
      reason: 'NOT_ELIGIBLE',
      counts: { cancelled: 3 },
    });
    // given up before its first attempt or after it: one reason, in the list, alone and in the history
    const reason = 'NOT_ELIGIBLE';
    expect(await rowsOf(task.id)).toMatchObject([{ reason }, { reason }, { deviceId: away, reason }]);
    expect((await stage.t.get(`/api/task-devices/${both[0]?.id}`)).body).toMatchObject({ reason });
    expect((await eventsOf(both[0]?.id as string)).at(-1)).toBe(`CANCELLED ${reason}`);
  });

  test('G60: the stall counts from the last contact of a runner that could continue, also one that reports its devices absent', async () => {
    const [dead, reset] = [await fakePc(stage.t, 1), await fakePc(stage.t, 1)];
    const task = await newTask(stage.t, listOf(dead, reset), { retryBackoffSeconds: 3_600 });
    for (const held of await reset.claim()) await reset.fail(held);
    await stage.pass(19 * MINUTE);
    await stage.t.send('PUT', `/api/pcs/${reset.id}/devices`, { present: [] }, { token: reset.token });
    await flushContacts();
    await stage.pass(20 * MINUTE - 1);
    expect(await show(task.id)).toMatchObject({ status: 'running', counts: { pending: 2 } });
    await stage.pass(1);
    expect(await show(task.id)).toMatchObject({ status: 'failed', counts: { failed: 2 } });
  });

  test('G60: without a hand-out, a running device or a runner for twenty minutes, the rest fails with the reason EXPIRED', async () => {
    const pc = await fakePc(stage.t, 3, { slots: 1 });
    const task = await newTask(stage.t, listOf(pc), { retryBackoffSeconds: 10_000 });
    const [held] = (await pc.claim()) as [Held];
    await pc.fail(held);
    await flushContacts();
    await stage.pass(19 * MINUTE);
    expect(await show(task.id)).toMatchObject({ status: 'running' });
    await pc.running(); // a contact
    await flushContacts();
    await stage.pass(19 * MINUTE);
    expect(await show(task.id)).toMatchObject({ status: 'running', counts: { pending: 3 } });
    await stage.pass(2 * MINUTE);
    expect(await show(task.id)).toMatchObject({ status: 'failed', counts: { failed: 3 } });
    expect((await rowsOf(task.id)).map((row: { reason: string }) => row.reason)).toEqual([
      'EXPIRED',
      'EXPIRED',
      'EXPIRED',
    ]);
    expect(await pc.devices[0]?.show()).toMatchObject({ state: 'ok' });
  });

  test('G60: the runner of another PC, which has nothing left to do, does not keep it alive', async () => {
    const [alive, dead] = [await fakePc(stage.t, 1), await fakePc(stage.t, 1)];
    const task = await newTask(stage.t, listOf(alive, dead));
    for (const held of await alive.claim()) await alive.complete(held);
    await flushContacts();
    await stage.pass(15 * MINUTE);
    await alive.claim();
    await flushContacts();
    await stage.pass(5 * MINUTE);
    expect(await show(task.id)).toMatchObject({ status: 'failed', counts: { completed: 1, failed: 1 } });
  });

  test('a running device keeps its task alive, however long', async () => {
    const pc = await fakePc(stage.t, 2, { slots: 1 });
    const task = await newTask(stage.t, listOf(pc), { timeoutSeconds: 7_200 });
    const [held] = (await pc.claim()) as [Held];
    await stage.pass(90 * MINUTE);
    expect(await show(task.id)).toMatchObject({ status: 'running', counts: { running: 1, pending: 1 } });
    await pc.complete(held);
  });

  test('G60: past the deadline, devices that were not handed out fail; a lease never reaches past it', async () => {
    const pc = await fakePc(stage.t, 4, { slots: 3 });
    const deadline = new Date(stage.t.clock().getTime() + 10 * MINUTE).toISOString();
    const task = await newTask(stage.t, listOf(pc), { deadline, retryBackoffSeconds: 900 });
    const [runs, retried, says] = (await pc.claim()) as [Held, Held, Held];
    expect(runs).toMatchObject({ timeoutAt: deadline });
    await pc.fail(retried);
    await stage.pass(10 * MINUTE - 1);
    expect(await pc.fail(says, { timedOut: true })).toMatchObject({ accepted: true, status: 'failed' });
    await stage.pass(1);
    expect(await show(task.id)).toMatchObject({ status: 'failed', counts: { failed: 4 } });
    expect(await rowsOf(task.id)).toMatchObject(pc.devices.map(() => ({ reason: 'DEADLINE' })));
    // it is not a timeout, and the devices are not in error
    for (const device of pc.devices) expect(await device.show()).toMatchObject({ state: 'ok' });
    const sent = ['CREATED', 'SENT'];
    expect(await eventsOf(runs.id)).toEqual([...sent, 'FAILED_FINAL DEADLINE']);
    expect(await eventsOf(says.id)).toEqual([...sent, 'FAILED_FINAL DEADLINE']);
    expect(await eventsOf(retried.id)).toEqual([
      ...[...sent, 'FAILED', 'RETRY_SCHEDULED'],
      'FAILED_FINAL DEADLINE',
    ]);
    const { rows } = await stage.t.engine.db.query({
      text: `select (select array_agg(distinct error) from muster_reports.task_devices where task_id = $1) as errors,
        (select array_agg(event_type order by id) from muster_reports.execution_logs where task_device_id = $2) as types`,
      values: [task.id, runs.id],
    });
    expect(rows[0]).toEqual({ errors: ['DEADLINE'], types: [...sent, 'FAILED_FINAL'] });
  });

  /** Contacts are written a second later, and the stall is judged by what is written. */
  async function flushContacts() {
    const { now } = stage.t.engine;
    await expect
      .poll(async () => {
        const { rows } = await stage.t.engine.db.query({
          text: 'select max(seen_at) as at from muster.contacts',
        });
        return rows[0].at?.getTime();
      })
      .toBe(now()?.getTime());
  }
});

describe('timeouts and attempts', () => {
  test('G59: twenty minutes after its hand-out: TIMEOUT, then a retry; without attempts left: the device is in error', async () => {
    const pc = await fakePc(stage.t, 2, { slots: 1 });
    const task = await newTask(stage.t, listOf(pc));
    for (const attempt of [1, 2, 3]) {
      const [held] = (await pc.claim()) as [Held];
      expect(held).toMatchObject({ attempt, deviceId: pc.devices[0]?.id });
      await pc.say('ack', held);
      await stage.pass(20 * MINUTE - 1);
      expect(await pc.say('heartbeat', held)).toMatchObject({ accepted: true, status: 'running' });
      expect(await pc.running()).toHaveLength(1);
      await stage.pass(1);
      expect(await pc.running()).toEqual([]);
    }
    expect(await pc.devices[0]?.show()).toMatchObject({ state: 'error', stateReason: 'TIMEOUT' });
    const [failed] = await rowsOf(task.id, '?status=failed');
    expect(failed).toMatchObject({
      attempt: 3,
      reason: 'TIMEOUT',
      error: 'Task device timeout: exceeded 20 minutes',
    });
    const { events } = (await stage.t.get(`/api/task-devices/${failed.id}/events`)).body;
    expect(events.map((event: { type: string }) => event.type)).toEqual([
      'CREATED',
      ...[1, 2].flatMap(() => ['SENT', 'ACKED', 'TIMEOUT', 'RETRY_SCHEDULED']),
      ...['SENT', 'ACKED', 'TIMEOUT', 'FAILED_FINAL'],
    ]);
    // the task continues with the other device, and check-in still serves the one in error
    expect(deviceIds(await pc.claim())).toEqual([pc.devices[1]?.id]);
    await pc.devices[0]?.assign('LOCK');
    expect((await pc.devices[0]?.checkIn())?.action).toMatchObject({ kind: 'LOCK' });
    // a late success counts, and clears the error that the device had because of it
    expect(await pc.complete({ id: failed.id, attempt: 3 })).toMatchObject({
      accepted: true,
      status: 'completed',
    });
    expect(await show(task.id)).toMatchObject({ counts: { completed: 1, running: 1, failed: 0 } });
    expect(await pc.devices[0]?.show()).toMatchObject({ state: 'ok' });
    expect(await pc.devices[0]?.show()).not.toHaveProperty('stateReason');
  });

  test('G59: a timeout is a timeout, whether the runner or the server notices it first', async () => {
    const pc = await fakePc(stage.t, 1);
    const task = await newTask(stage.t, listOf(pc), { maxAttempts: 2 });
    const [first] = (await pc.claim()) as [Held];
    const said = { timedOut: true, error: 'TIMEOUT: it was ended.' };
    expect(await pc.fail(first, said)).toMatchObject({ accepted: true, status: 'pending' });
    expect(await pc.fail(first, said)).toMatchObject({ accepted: true, status: 'pending' });
    const [second] = (await pc.claim()) as [Held];
    await stage.pass(20 * MINUTE);
    expect(await pc.fail(second, said)).toMatchObject({ accepted: true, status: 'failed' });
    const error = 'Task device timeout: exceeded 20 minutes';
    expect(await rowsOf(task.id)).toMatchObject([{ status: 'failed', reason: 'TIMEOUT', error }]);
    expect(await pc.devices[0]?.show()).toMatchObject({ state: 'error', stateReason: 'TIMEOUT' });
    const { events } = (await stage.t.get(`/api/task-devices/${first.id}/events`)).body;
    expect(events.filter(({ type }: { type: string }) => type === 'TIMEOUT')).toMatchObject([
      { attempt: 1, error, reason: said.error },
      { attempt: 2, error },
    ]);
    expect(await eventsOf(first.id)).toEqual([
      ...['CREATED', 'SENT', `TIMEOUT ${said.error}`, 'RETRY_SCHEDULED'],
      ...['SENT', 'TIMEOUT', 'FAILED_FINAL TIMEOUT'],
    ]);
  });

  test('a heartbeat never moves the timeout, and an old attempt is refused and recorded', async () => {
    const pc = await fakePc(stage.t, 1);
    await newTask(stage.t, listOf(pc), { timeoutSeconds: 60 });
    const [held] = (await pc.claim()) as [Held & { timeoutAt: string }];
    await stage.pass(30_000);
    expect(await pc.say('heartbeat', held)).toEqual({
      accepted: true,
      status: 'running',
      timeoutAt: held.timeoutAt,
    });
    await stage.pass(30_000);
    const [again] = (await pc.claim()) as [Held];
    for (const what of ['ack', 'heartbeat', 'complete'])
      expect(await pc.say(what, held)).toMatchObject({ accepted: false, status: 'running', reason: 'LATE' });
    expect(await pc.say('heartbeat', held)).toMatchObject({ accepted: false });
    expect(await pc.say('complete', { id: held.id, attempt: 9 })).toMatchObject({ accepted: false });
    const { events } = (await stage.t.get(`/api/task-devices/${held.id}/events`)).body;
    const late = events.filter((event: { type: string }) => event.type === 'LATE');
    expect(late.map((event: { reason: string; attempt: number }) => [event.attempt, event.reason])).toEqual([
      [1, 'ACK'],
      [1, 'HEARTBEAT'],
      [1, 'SUCCEEDED'],
      [9, 'SUCCEEDED'],
    ]);
    for (const event of late) expect(event).not.toHaveProperty('error'); // what came late is none
    expect(await pc.running()).toMatchObject([{ id: again.id, attempt: 2 }]);
  });
});

describe('cancelling', () => {
  test('devices that were not handed out end, running ones are told, and the next task follows the last of them', async () => {
    const pc = await fakePc(stage.t, 4, { slots: 2 });
    const task = await newTask(stage.t, listOf(pc));
    const next = await newTask(stage.t, listOf(pc));
    const [a, b] = (await pc.claim()) as [Held, Held];
    const { body } = await cancel(task.id, { reason: 'wrong version' });
    expect(body.cancelReason).toBe('wrong version');
    expect(body).toMatchObject({
      status: 'running',
      cancelRequested: true,
      counts: { running: 2, cancelled: 2 },
    });
    expect(await pc.say('heartbeat', a)).toMatchObject({ accepted: true, cancelRequested: true });
    expect(await pc.running()).toMatchObject([{ cancelRequested: true }, { cancelRequested: true }]);
    expect(await pc.complete(a)).toMatchObject({ accepted: true, status: 'completed' });
    expect(await pc.claim()).toEqual([]);
    expect(await show(next.id)).toMatchObject({ status: 'pending' });
    expect((await pc.fail(b, { claim: { max: 1 } })).taskDevices).toMatchObject([{ taskId: next.id }]);
    expect(await show(task.id)).toMatchObject({
      status: 'cancelled',
      counts: { completed: 1, cancelled: 3 },
    });
    expect(await cancel(task.id)).toMatchObject({ status: 409, body: { code: 'MUSTER_FINISHED' } });
    expect(await pc.devices[1]?.show()).toMatchObject({ state: 'ok' });
  });

  test('G60: a device that never answers ends with its time, and only then the next task follows', async () => {
    const pc = await fakePc(stage.t, 1);
    const task = await newTask(stage.t, listOf(pc));
    const next = await newTask(stage.t, listOf(pc));
    await pc.claim();
    await cancel(task.id);
    await stage.pass(20 * MINUTE - 1);
    expect(await show(next.id)).toMatchObject({ status: 'pending' });
    await stage.pass(1);
    expect(await show(task.id)).toMatchObject({ status: 'cancelled', counts: { cancelled: 1 } });
    expect(await pc.claim()).toMatchObject([{ taskId: next.id }]);
  });

  test('a task that is not active yet ends at once, and counts still add up', async () => {
    const pc = await fakePc(stage.t, 2);
    await newTask(stage.t, listOf(pc));
    const listed = await newTask(stage.t, listOf(pc));
    const predicate = await newTask(stage.t, { all: true });
    expect((await cancel(listed.id)).body).toMatchObject({
      status: 'cancelled',
      total: 2,
      counts: { cancelled: 2 },
    });
    expect((await cancel(predicate.id)).body).toMatchObject({
      status: 'cancelled',
      reason: 'CANCELLED',
      total: 0,
    });
    expect(await cancel('4711')).toMatchObject({ status: 404, body: { code: 'MUSTER_UNKNOWN_TASK' } });
  });

  test('a device that waits for its retry is cancelled at once', async () => {
    const pc = await fakePc(stage.t, 1);
    const task = await newTask(stage.t, listOf(pc));
    const [held] = (await pc.claim()) as [Held];
    await pc.fail(held);
    expect((await cancel(task.id)).body).toMatchObject({ status: 'cancelled', counts: { cancelled: 1 } });
    expect(await pc.complete(held)).toMatchObject({ accepted: false, status: 'cancelled' });
  });
});

test('G55: redriving a dead letter makes its task unfinished again: as the oldest it is active at once', async () => {
  const pc = await fakePc(stage.t, 2, { slots: 1 });
  const task = await newTask(stage.t, { deviceIds: [pc.devices[0]?.id] }, { maxAttempts: 1 });
  const [held] = (await pc.claim()) as [Held];
  await pc.fail(held);
  await stage.pass(0);
  expect(await show(task.id)).toMatchObject({ status: 'failed' });
  const next = await newTask(stage.t, { deviceIds: [pc.devices[1]?.id] });
  await stage.t.post(`/api/devices/${held.deviceId}/clear-error`);
  expect((await stage.t.post(`/api/actions/${held.id}/redrive`)).status).toBe(200);
  expect(await show(task.id)).toMatchObject({ status: 'running', counts: { pending: 1, failed: 0 } });
  expect(await show(next.id)).toMatchObject({ status: 'pending' });
  const told = await pc.complete((await pc.claim())[0] as Held, { claim: { max: 1 } });
  expect(await show(task.id)).toMatchObject({ status: 'success' });
  expect(told.taskDevices).toMatchObject([{ taskId: next.id }]);
});

test('deleting or re-enrolling a device cancels what it runs', async () => {
  const pc = await fakePc(stage.t, 2);
  const task = await newTask(stage.t, listOf(pc));
  await pc.claim();
  await stage.t.del(`/api/devices/${pc.devices[0]?.id}`);
  stage.t.secret((await stage.t.post(`/api/devices/${pc.devices[1]?.id}/re-enrol`)).body.deviceToken);
  await stage.pass(0);
  expect(await show(task.id)).toMatchObject({
    status: 'cancelled',
    reason: 'NOT_ELIGIBLE',
    counts: { cancelled: 2 },
  });
  expect(await pc.show()).toMatchObject({ deviceCount: 1, runningCount: 0 });
});
