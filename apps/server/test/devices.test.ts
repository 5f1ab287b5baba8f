import { afterAll, beforeAll, expect, test } from 'vitest';
import { deviceWith, fakeDevice } from '../testing/fake-device.ts';
import { type TestServer, testServer } from '../testing/test-server.ts';

let t: TestServer;
beforeAll(async () => {
  t = await testServer({ clock: true });
});
afterAll(() => t.close());

const ids = (answer: { body: { devices: { id: string }[] } }) => answer.body.devices.map(({ id }) => id);

test('a device is registered, shown, changed and deleted', async () => {
  const { body: pc } = await t.post('/api/pcs', { name: 'PC 1' });
  t.secret(pc.runnerToken);
  expect(await t.post('/api/devices', { name: 'Tablet 7', pcId: '4711' })).toMatchObject({
    status: 404,
    body: { code: 'MUSTER_UNKNOWN_PC' },
  });
  const registered = await t.post('/api/devices', {
    name: 'Tablet 7',
    externalId: 'SN-7',
    tags: ['kiosk', 'kiosk', 'lobby'],
    expiresAt: '2026-12-31T00:00:00Z',
    pcId: pc.id,
  });
  expect(registered.status).toBe(201);
  t.secret(registered.body.deviceToken);
  expect(registered.body).toMatchObject({
    name: 'Tablet 7',
    externalId: 'SN-7',
    tags: ['kiosk', 'lobby'],
    state: 'ok',
    online: false,
    lastSeenAt: null,
    queueDepth: 0,
    current: null,
    expiresAt: '2026-12-31T00:00:00.000Z',
    projectedExpiresAt: '2026-12-31T00:00:00.000Z',
    pcId: pc.id,
    ack: 'onReport',
    createdAt: t.clock().toISOString(),
  });
  expect(registered.body.deviceToken).toMatch(/^mst_device_1_/);
  const { id, deviceToken, ...rest } = registered.body;
  expect((await t.get(`/api/devices/${id}`)).body).toEqual({ id, ...rest, instances: [] });

  const changed = await t.send('PATCH', `/api/devices/${id}`, {
    name: 'Tablet 8',
    tags: [],
    expiresAt: null,
    pcId: null,
  });
  expect(changed.body).toMatchObject({
    name: 'Tablet 8',
    externalId: 'SN-7',
    tags: [],
    expiresAt: null,
    pcId: null,
  });

  expect(await t.post('/api/devices', { name: 'again', externalId: 'SN-7' })).toMatchObject({
    status: 409,
    body: { code: 'MUSTER_DEVICE_EXISTS' },
  });
  const other = await fakeDevice(t, { externalId: 'SN-8' });
  expect((await t.send('PATCH', `/api/devices/${other.id}`, { externalId: 'SN-7' })).status).toBe(409);

  const device = deviceWith(t, id, deviceToken);
  const action = await device.assign('LOCK');
  expect(await t.del(`/api/devices/${id}`)).toMatchObject({ status: 204, body: '' });
  expect((await t.get(`/api/devices/${id}`)).status).toBe(404);
  expect(await t.post('/api/checkin', {}, { token: deviceToken })).toMatchObject({
    status: 401,
    body: { code: 'MUSTER_DEVICE_REPLACED' },
  });
  expect((await t.get(`/api/actions/${action}`)).body).toMatchObject({
    state: 'cancelled',
    reason: 'GENERATION',
  });
  // its external id is free again
  expect((await t.post('/api/devices', { name: 'new', externalId: 'SN-7' })).status).toBe(201);
});

test('unknown ids are 404; invalid input is 400 with the field', async () => {
  for (const path of [
    '/api/devices/999999',
    '/api/devices/x',
    '/api/devices/999999/queue',
    '/api/devices/999999/milestones',
  ])
    expect(await t.get(path)).toMatchObject({ status: 404, body: { code: 'MUSTER_UNKNOWN_DEVICE' } });
  expect((await t.post('/api/devices/999999/actions', { kind: 'X' })).status).toBe(404);
  expect((await t.post('/api/devices/999999/re-enrol')).status).toBe(404);
  expect((await t.post('/api/devices/999999/token')).status).toBe(404);
  expect((await t.del('/api/devices/999999')).status).toBe(404);
  expect((await t.send('PATCH', '/api/devices/999999', {})).status).toBe(404);
  const device = await fakeDevice(t);
  for (const body of [
    {},
    { name: '' },
    { name: 'a', nmae: 'b' },
    { name: 'a', tags: 'kiosk' },
    { name: 'a', expiresAt: 'soon' },
  ])
    expect(await t.post('/api/devices', body)).toMatchObject({
      status: 400,
      body: { code: 'MUSTER_BAD_BODY' },
    });
  for (const body of [
    {},
    { kind: 'X', moreDays: 1.5 },
    { kind: 'X', ack: 'never' },
    { kind: 'X', headOfLine: 'jump' },
  ])
    expect((await t.post(`/api/devices/${device.id}/actions`, body)).status).toBe(400);
});

test('devices are listed by text, tags, state and whether they are online, page by page', async () => {
  const mark = `list ${Math.random()}`;
  const all: string[] = [];
  for (let n = 0; n < 5; n += 1)
    all.push(
      (await fakeDevice(t, { name: `${mark} 100%_${n}`, tags: n % 2 ? ['odd', 'all'] : ['even', 'all'] })).id,
    );
  const text = `text=${encodeURIComponent(mark)}`;
  expect(ids(await t.get(`/api/devices?${text}`))).toEqual(all);
  expect(ids(await t.get(`/api/devices?${text}&tag=odd&tag=all`))).toEqual([all[1], all[3]]);
  expect(ids(await t.get(`/api/devices?${text}&tag=none`))).toEqual([]);
  expect(ids(await t.get(`/api/devices?text=${encodeURIComponent('100%_3')}`))).toEqual([all[3]]);
  expect(ids(await t.get(`/api/devices?${text}&state=error`))).toEqual([]);
  const page = await t.get(`/api/devices?${text}&limit=2`);
  expect(ids(page)).toEqual(all.slice(0, 2));
  const rest = await t.get(`/api/devices?${text}&limit=3&cursor=${page.body.cursor}`);
  expect(ids(rest)).toEqual(all.slice(2));
  expect(rest.body.cursor).toBeNull();
  expect((await t.get('/api/devices?online=perhaps')).status).toBe(400);
});

test('the last contact is shown at once and written for many devices together; online depends on its age', async () => {
  const device = await fakeDevice(t, { name: 'contact' });
  await device.checkIn();
  const seen = t.clock().toISOString();
  expect(await device.show()).toMatchObject({ online: true, lastSeenAt: seen });
  await t.pass(16 * 60_000);
  expect(await device.show()).toMatchObject({ online: false, lastSeenAt: seen });
  const id = await device.assign('LOCK');
  expect((await t.get(`/api/actions/${id}`)).body.waitingFor).toEqual({
    code: 'OFFLINE',
    text: `Offline since ${seen}.`,
    since: seen,
  });
});

test('an assignment with an Idempotency-Key happens once, and so does its milestone', async () => {
  const device = await fakeDevice(t);
  const path = `/api/devices/${device.id}/actions`;
  const headers = { 'idempotency-key': `key ${device.id}` };
  const first = await t.post(path, { kind: 'LOCK' }, { headers });
  const second = await t.post(path, { kind: 'LOCK' }, { headers });
  expect([first.status, second.status]).toEqual([201, 200]);
  expect(second.body.id).toBe(first.body.id);
  expect((await t.post(path, { kind: 'WIPE' }, { headers })).status).toBe(409);
  expect((await device.milestones()).map((m) => m.type)).toEqual(['enrolled', 'assigned']);
});

test('LOCK, UNLOCK, LOCK under one supersede key ends locked', async () => {
  const device = await fakeDevice(t);
  for (const kind of ['LOCK', 'UNLOCK', 'LOCK']) await device.assign(kind, { supersede: { key: 'lock' } });
  expect((await device.queue()).map(({ kind }) => kind)).toEqual(['LOCK']);
  expect((await device.milestones()).map((m) => m.type)).toEqual([
    ...['enrolled', 'assigned', 'superseded', 'assigned', 'superseded', 'assigned'],
  ]);
});

test('a rotated token leaves the old one valid until the new one is used', async () => {
  const device = await fakeDevice(t);
  const first = await t.post(`/api/devices/${device.id}/token`);
  const second = await t.post(`/api/devices/${device.id}/token`);
  for (const { body } of [first, second]) t.secret(body.deviceToken);
  await device.checkIn();
  const withNew = deviceWith(t, device.id, second.body.deviceToken);
  const id = await device.assign('LOCK');
  expect((await device.checkIn()).action).toMatchObject({ id, attempt: 1 });
  expect((await withNew.checkIn()).action).toMatchObject({ id, attempt: 1, redelivered: true });
  // it is still the same device
  for (const token of [device.token, first.body.deviceToken])
    expect(await t.post('/api/checkin', {}, { token })).toMatchObject({
      status: 401,
      body: { code: 'MUSTER_UNAUTHORIZED' },
    });
});

test('devices register themselves with a reusable token', async () => {
  const made = await t.token({ kind: 'device-enrolment', name: 'shop floor', tags: ['shop'] });
  const { token } = made;
  const [first, second] = [
    await t.post('/api/devices/enrol', { name: 'Till 1', externalId: 'till-1', tags: ['till'] }, { token }),
    await t.post('/api/devices/enrol', { name: 'Till 2' }, { token }),
  ];
  expect(first).toMatchObject({ status: 201, body: { name: 'Till 1' } });
  expect(second).toMatchObject({ status: 201, body: { name: 'Till 2' } });
  for (const { body } of [first, second]) t.secret(body.deviceToken);
  const device = deviceWith(t, first.body.id, first.body.deviceToken);
  expect(await device.show()).toMatchObject({ name: 'Till 1', tags: ['shop', 'till'] });
  expect(await device.checkIn()).toEqual({ action: null, pending: 0 });
  // that token cannot take over an existing device
  expect(
    (await t.post('/api/devices/enrol', { name: 'Thief', externalId: 'till-1' }, { token })).status,
  ).toBe(409);
  expect((await t.get('/api/devices', { token })).status).toBe(403);
  await t.del(`/api/tokens/${made.id}`);
  expect((await t.post('/api/devices/enrol', { name: 'Till 3' }, { token })).status).toBe(401);

  const again = await t.token({ kind: 'device-enrolment', name: 'wiped ones', reEnrol: true });
  const id = await device.assign('OLD');
  const back = await t.post(
    '/api/devices/enrol',
    { name: 'Till 1, wiped', externalId: 'till-1' },
    { token: again.token },
  );
  expect(back).toMatchObject({ status: 201, body: { id: device.id, name: 'Till 1' } });
  expect((await t.get(`/api/actions/${id}`)).body.state).toBe('cancelled');
  expect((await t.post('/api/checkin', {}, { token: device.token })).status).toBe(401);
  expect(await deviceWith(t, device.id, t.secret(back.body.deviceToken)).checkIn()).toEqual({
    action: null,
    pending: 0,
  });
});

test('a viewer can read and change nothing; another tenant sees nothing', async () => {
  const device = await fakeDevice(t);
  const viewer = await t.token({ kind: 'operator', role: 'viewer', name: 'viewer' });
  expect((await t.get(`/api/devices/${device.id}`, { token: viewer.token })).status).toBe(200);
  for (const [method, path] of [
    ['POST', '/api/devices'],
    ['PATCH', `/api/devices/${device.id}`],
    ['DELETE', `/api/devices/${device.id}`],
    ['POST', `/api/devices/${device.id}/actions`],
    ['POST', `/api/devices/${device.id}/re-enrol`],
  ] as const)
    expect((await t.send(method, path, { name: 'x', kind: 'x' }, { token: viewer.token })).status).toBe(403);
});

test('every change by an operator is in the audit log, without secrets', async () => {
  const device = await fakeDevice(t);
  const id = await device.assign('LOCK');
  await t.post(`/api/devices/${device.id}/re-enrol`);
  const { body } = await t.get('/api/audit?limit=3');
  expect(body.audit.map((entry: { act: string; target: string }) => [entry.act, entry.target])).toEqual([
    ['device.re-enrol', `device ${device.id}`],
    ['action.assign', `action ${id}`],
    ['device.create', `device ${device.id}`],
  ]);
  expect(JSON.stringify(body)).not.toContain('mst_');
});

test('reports read the queue under its old name: two rows before the first check-in, one after it', async () => {
  const device = await fakeDevice(t);
  const [lock, message] = [
    await device.assign('LOCK', { payload: { pin: 1 } }),
    await device.assign('LOCK_MSG'),
  ];
  const rows = async () => {
    const read = await t.engine.db.query({
      text: 'select * from muster_reports.t_queue_action where tenant_id = 1 and device_id = $1 order by assigned_at, id',
      values: [device.id],
    });
    return read.rows;
  };
  const [, first] = await device.milestones();
  expect(await rows()).toMatchObject([
    {
      id: lock,
      action_id: 'LOCK',
      action_type: 'LOCK (assign)',
      assigned_at: t.clock(),
      assigned_by: 'MUSTER_OPERATOR_TOKEN',
      action_trigger_payload: { pin: 1 },
      assigned_action_history_id: first.id,
    },
    { id: message, action_id: 'LOCK_MSG' },
  ]);
  await device.checkIn();
  expect(await rows()).toMatchObject([{ id: message }]);
  await expect(t.engine.db.query({ text: 'delete from muster_reports.t_queue_action' })).rejects.toThrow(
    /view/,
  );
});
