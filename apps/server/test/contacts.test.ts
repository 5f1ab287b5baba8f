import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Contacts } from '../src/contacts/contacts.ts';
import { createLog } from '../src/http/logging.ts';
import type { FakeDevice } from '../testing/fake-device.ts';
import { type FakePc, fakePc, type Held, newTask } from '../testing/fake-pc.ts';
import { type TestServer, testServer } from '../testing/test-server.ts';

/** The last contacts of hosts, devices and PCs are kept in one place, each over its own channel. */
let t: TestServer;
beforeAll(async () => {
  t = await testServer({ clock: true, settings: { MUSTER_ONLINE_WINDOW_SECONDS: '90' } });
});
afterAll(() => t.close());

test('a contact makes its target online at once and until the window ends, and no other target with the same number', async () => {
  const host = (await t.post('/api/hosts', { name: 'h' })).body;
  const device = (await t.post('/api/devices', { name: 'd' })).body;
  const pc = (await t.post('/api/pcs', { name: 'p' })).body;
  expect([host.id, device.id, pc.id]).toEqual(['1', '1', '1']);
  const speak = [
    ['hosts', () => t.get('/api/control/running', { token: t.secret(host.agentToken) })],
    ['devices', () => t.post('/api/checkin', {}, { token: t.secret(device.deviceToken) })],
    ['pcs', () => t.get('/api/pcs/1/running', { token: t.secret(pc.runnerToken) })],
  ] as const;
  const online = async () =>
    Object.fromEntries(
      await Promise.all(
        speak.map(async ([noun]) => [noun, (await t.get(`/api/${noun}/1`)).body.online] as const),
      ),
    );
  const nobody = { hosts: false, devices: false, pcs: false };
  expect(await online()).toEqual(nobody);
  for (const [noun, come] of speak) {
    expect((await come()).status).toBe(200);
    expect(await online()).toEqual({ ...nobody, [noun]: true });
    t.clock.advance(89_000);
    expect(await online()).toEqual({ ...nobody, [noun]: true });
    t.clock.advance(1_000);
    expect(await online()).toEqual(nobody);
  }
});

test('a contact from a former life, written later by another node, does not count for the new one', async () => {
  const { db, now, schema } = t.engine;
  const another = new Contacts({
    db,
    log: createLog('silent', process.stderr),
    now,
    onlineSeconds: 90,
    schema,
  });
  const there = another.of('checkin', 60_000);
  const { id } = (await t.post('/api/devices', { name: 'lives twice' })).body;
  const instance = { id: 'of the former life', version: null };
  there.heardOf(1, id, instance);
  t.secret((await t.post(`/api/devices/${id}/re-enrol`)).body.deviceToken);
  await another.write();
  const show = async () => (await t.get(`/api/devices/${id}`)).body;
  expect(await show()).toMatchObject({ online: false, lastSeenAt: null, instances: [] });

  t.clock.advance(60_000);
  there.heardOf(1, id, instance);
  await another.write();
  expect(await show()).toMatchObject({ online: true, instances: [{ id: instance.id }] });
});

describe('G10: a task does not keep a device from its urgent action', () => {
  async function deviceOfPc(): Promise<{ device: FakeDevice; pc: FakePc }> {
    const pc = await fakePc(t, 1);
    return { device: pc.devices[0] as FakeDevice, pc };
  }
  /** A contact is written a second later. */
  async function comes(device: FakeDevice): Promise<void> {
    await device.checkIn();
    const stored = async () => {
      const { rows } = await t.engine.db.query({
        text: `select seen_at from muster.contacts where tenant_id = 1 and channel = 'checkin' and target_id = $1`,
        values: [device.id],
      });
      return rows[0]?.seen_at;
    };
    await expect.poll(stored).toEqual(t.clock());
  }

  test('while the device is online: the urgent action goes first, and the task says what it waits for', async () => {
    const { device, pc } = await deviceOfPc();
    await newTask(t, { deviceIds: [device.id] }, { retryBackoffSeconds: 1 });
    const [held] = (await pc.claim()) as [Held];
    await pc.fail(held);
    await t.pass(5_000);
    await comes(device);
    const urgent = await device.assign('LOCK', { priority: 'urgent' });
    expect(await pc.claim()).toEqual([]);
    expect((await t.get(`/api/task-devices/${held.id}`)).body.waitingFor).toMatchObject({
      code: 'BEHIND_URGENT',
      actionId: urgent,
      until: new Date(t.clock().getTime() + 90_000).toISOString(),
    });
    const { action } = await device.checkIn();
    expect(action.id).toBe(urgent);
    const waiting = pc.claim({ wait: 20 });
    await device.report(action);
    const [again] = (await waiting) as [Held];
    expect(again).toMatchObject({ id: held.id, attempt: 2 });
    await pc.complete(again);
  });

  test('and no longer: a waiting PC gets the device when it has had no contact for the whole window', async () => {
    const { device, pc } = await deviceOfPc();
    await comes(device);
    const urgent = await device.assign('LOCK', { priority: 'urgent' });
    const { id: taskId } = await newTask(t, { deviceIds: [device.id] });
    const waiting = pc.claim({ wait: 20 });
    await expect.poll(() => t.engine.parkedWaiters).toBe(1);
    const { taskDevices } = (await t.get(`/api/tasks/${taskId}/devices`)).body;
    expect(taskDevices).toMatchObject([
      { id: null, status: 'pending', waitingFor: { code: 'BEHIND_URGENT', actionId: urgent } },
    ]);
    await t.pass(89_999);
    expect(t.engine.parkedWaiters).toBe(1);
    await t.pass(1);
    const [held] = (await waiting) as [Held];
    expect(held.deviceId).toBe(device.id);
    await pc.complete(held);
    expect((await device.checkIn()).action.id).toBe(urgent);
  });

  test('nor if only its PC had contact', async () => {
    const { device, pc } = await deviceOfPc();
    await device.assign('LOCK', { priority: 'urgent' });
    await newTask(t, { deviceIds: [device.id] });
    const [held] = (await pc.claim()) as [Held];
    expect(held.deviceId).toBe(device.id);
    await pc.complete(held);
  });
});

test('the last contact is the newest one, alone and in lists, and is deleted with its target', async () => {
  const host = (await t.post('/api/hosts', { name: 'seen' })).body;
  const device = (await t.post('/api/devices', { name: 'seen' })).body;
  const pc = (await t.post('/api/pcs', { name: 'seen' })).body;
  const headers = { 'muster-instance': 'the-only-one', 'user-agent': 'x/1' };
  const come = async () => {
    await t.get('/api/control/queue', { token: t.secret(host.agentToken), headers });
    await t.post('/api/checkin', {}, { token: t.secret(device.deviceToken), headers });
    await t.post(`/api/pcs/${pc.id}/claim`, {}, { token: t.secret(pc.runnerToken), headers });
  };
  const targets = [
    ['hosts', host.id],
    ['devices', device.id],
    ['pcs', pc.id],
  ] as const;
  const stored = async () => {
    const { schema } = t.engine;
    const { rows } = await t.engine.db.query({
      text: `select channel, target_id from ${schema}.contacts union all select channel, target_id from ${schema}.instances`,
    });
    return rows.filter(({ channel, target_id: id }) =>
      [`control ${host.id}`, `checkin ${device.id}`, `runner ${pc.id}`].includes(`${channel} ${id}`),
    ).length;
  };
  await come();
  await t.server.contacts.write();
  t.clock.advance(4_000); // not written down again yet
  await come();
  const at = t.clock().toISOString();
  for (const [noun, id] of targets) {
    const one = (await t.get(`/api/${noun}/${id}`)).body;
    expect(one).toMatchObject({ online: true, lastSeenAt: at });
    expect(one.instances).toEqual([{ id: 'the-only-one', version: 'x/1', lastSeenAt: at }]);
    const listed = (await t.get(`/api/${noun}`)).body[noun].find((row: { id: string }) => row.id === id);
    expect(listed).toMatchObject({ online: true, lastSeenAt: at });
  }
  const { hosts: loads } = (await t.get('/api/hosts/load')).body;
  expect(loads.find(({ id }: { id: string }) => id === host.id)).toMatchObject({ lastSeenAt: at });
  expect(await stored()).toBe(6);
  t.clock.advance(60_000);
  await come(); // heard, and deleted before it is written down
  for (const [noun, id] of targets) expect((await t.del(`/api/${noun}/${id}`)).status).toBe(204);
  await t.server.contacts.write();
  expect(await stored()).toBe(0);
});

test('another node shows a contact a few seconds later at most', async () => {
  const host = (await t.post('/api/hosts', { name: 'elsewhere' })).body;
  const poll = () => t.get('/api/control/queue', { token: t.secret(host.agentToken) });
  const { schema } = t.engine;
  const stored = async () => {
    await t.server.contacts.write();
    const { rows } = await t.engine.db.query({
      text: `select seen_at from ${schema}.contacts where channel = 'control' and target_id = $1`,
      values: [host.id],
    });
    return rows[0].seen_at.toISOString();
  };
  for (let polls = 0; polls < 3; polls += 1) {
    await poll();
    expect(await stored()).toBe(t.clock().toISOString());
    t.clock.advance(5_000);
  }
});

test('G30: a cloned device and a cloned runner of a PC get nothing that the original holds', async () => {
  const pc = (await t.post('/api/pcs', { name: 'cloned' })).body;
  const device = (await t.post('/api/devices', { name: 'cloned', pcId: pc.id })).body;
  const as = (token: string, instance: string) => ({
    token: t.secret(token),
    headers: { 'muster-instance': instance },
  });
  const checkIn = (instance: string) => t.post('/api/checkin', {}, as(device.deviceToken, instance));
  const HELD = 'muster-held-elsewhere';
  const { id } = (await t.post(`/api/devices/${device.id}/actions`, { kind: 'LOCK' })).body;
  expect((await checkIn('original')).body.action).toMatchObject({ id, attempt: 1 });
  const empty = await checkIn('the-clone');
  expect(empty.body.action).toBe(null);
  expect(empty.headers.get(HELD)).toMatch(new RegExp(`^id=${id}, attempt=1, instance=original, since=`));
  const again = await checkIn('original');
  expect(again.body.action).toMatchObject({ id, attempt: 1, redelivered: true });
  const result = { actionId: id, attempt: 1, status: 'done' };
  await t.post('/api/checkin', { result }, as(device.deviceToken, 'original'));

  await t.post('/api/tasks', { name: 't', kind: 'k', targets: { deviceIds: [device.id] } });
  const claim = (instance: string) => t.post(`/api/pcs/${pc.id}/claim`, {}, as(pc.runnerToken, instance));
  const running = async (instance: string) =>
    (await t.get(`/api/pcs/${pc.id}/running`, as(pc.runnerToken, instance))).body;
  const [given] = (await claim('original')).body.taskDevices;
  expect(await running('original')).toEqual({ taskDevices: [given] });
  expect(await running('the-clone')).toMatchObject({
    taskDevices: [],
    heldElsewhere: [{ id: given.id, attempt: 1, instance: 'original' }],
  });
  expect((await claim('the-clone')).headers.get(HELD)).toMatch(new RegExp(`^id=${given.id}, attempt=1`));
  // operators see both, and a report counts from either of them
  expect((await t.get(`/api/pcs/${pc.id}/running`)).body.taskDevices).toMatchObject([{ id: given.id }]);
  const done = await t.post(
    `/api/task-devices/${given.id}/complete`,
    { attempt: 1 },
    as(pc.runnerToken, 'the-clone'),
  );
  expect(done.body).toMatchObject({ accepted: true, status: 'completed' });
});

test('G33 G38: a runner that waits with its heartbeat learns at once what was cancelled', async () => {
  const pc = await fakePc(t, 2);
  const task = await newTask(t, { deviceIds: pc.devices.map(({ id }) => id) });
  const held = (await pc.claim()) as Held[];
  const named = held.map(({ id, attempt }) => ({ id, attempt }));
  const beat = (taskDevices: object[], wait: number) =>
    t
      .post(`/api/pcs/${pc.id}/heartbeat`, { taskDevices, wait }, { token: pc.token })
      .then(({ body }) => body.taskDevices);
  expect(await beat(named, 0)).toMatchObject(named.map((one) => ({ ...one, running: true })));
  const waiting = beat(named, 25);
  await expect.poll(() => t.engine.parkedWaiters).toBe(1);
  await t.post(`/api/tasks/${task.id}/cancel`);
  expect(await waiting).toMatchObject(named.map((one) => ({ ...one, running: true, cancelRequested: true })));
  // what it is already stopping is not news; what has ended is
  const again = beat(
    named.map((one) => ({ ...one, stopping: true })),
    25,
  );
  await expect.poll(() => t.engine.parkedWaiters).toBe(1);
  for (const one of held) await pc.fail(one);
  const late = await beat(named, 25);
  expect(late).toEqual(named.map((one) => ({ ...one, running: false })));
  await t.del(`/api/pcs/${pc.id}/token`);
  await again;
});

test('only the ten most recent instances of a client are kept', async () => {
  const device = (await t.post('/api/devices', { name: 'often reinstalled' })).body;
  const token = t.secret(device.deviceToken);
  for (let n = 0; n < 11; n += 1) {
    t.clock.advance(1_000);
    await t.post('/api/checkin', {}, { token, headers: { 'muster-instance': `installation-${n}` } });
    await t.server.contacts.write();
  }
  const { instances } = (await t.get(`/api/devices/${device.id}`)).body;
  expect(instances.map(({ id }: { id: string }) => id)).toEqual(
    Array.from({ length: 10 }, (_, n) => `installation-${10 - n}`),
  );
  const { rows } = await t.engine.db.query({
    text: `select from ${t.engine.schema}.instances where channel = 'checkin' and target_id = $1`,
    values: [device.id],
  });
  expect(rows.length).toBe(10);
});

test('hosts are listed by whether they are online, from the written contacts', async () => {
  t.clock.advance(90_000); // those of before are away
  const [here, away] = [
    (await t.post('/api/hosts', { name: 'here' })).body,
    (await t.post('/api/hosts', { name: 'away' })).body,
  ];
  t.secret(away.agentToken);
  await t.get('/api/control/running', { token: t.secret(here.agentToken) });
  const listed = async (online: boolean) =>
    (await t.get(`/api/hosts?online=${online}`)).body.hosts.map(({ id }: { id: string }) => id);
  await expect.poll(() => listed(true)).toEqual([here.id]);
  expect(await listed(false)).toEqual(expect.not.arrayContaining([here.id]));
  expect(await listed(false)).toContain(away.id);
  expect((await t.get('/api/hosts?online=perhaps')).status).toBe(400);
  for (const { id } of [here, away]) await t.del(`/api/hosts/${id}`);
});
