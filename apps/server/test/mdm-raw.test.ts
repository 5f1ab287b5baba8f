import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type MdmStage, mdmStage } from '../testing/mdm-stage.ts';

let s: MdmStage;
beforeAll(async () => {
  s = await mdmStage({ clock: true, settings: { MUSTER_MDM_HOLD_SECONDS: '0' } });
});
afterAll(() => s.close());

const queue = (id: string, requestType: string, more: object = {}, asking: object = {}) =>
  s.t.post(`/api/devices/${id}/mdm/commands`, { requestType, ...more }, asking);
const action = async (id: string) => (await s.t.get(`/api/actions/${id}`)).body;

test('a command that an operator writes goes through the lane of the phone, and its answer is the result', async () => {
  const { phone, id } = await s.enrolled({ serial: 'F17' });
  const first = await queue(id, 'DeviceInformation', { keys: { Queries: ['SerialNumber', 'OSVersion'] } });
  expect(first.status).toBe(201);
  const second = await queue(id, 'InstallProfile', { keys: { Payload: { $data: 'cHJvZmlsZQ==' } } });
  expect(await action(first.body.id)).toMatchObject({
    ...{ kind: 'mdm.raw', payload: { parameters: { Queries: ['SerialNumber', 'OSVersion'] } } },
  });
  const handled = await phone.connect();
  expect(handled.map((one) => one.commandUuid)).toEqual([first.body.commandUuid, second.body.commandUuid]);
  expect(handled[1]?.keys).toEqual({ Payload: Uint8Array.from(Buffer.from('profile')) });
  expect(await action(first.body.id)).toMatchObject({
    ...{ state: 'succeeded', result: { QueryResponses: { SerialNumber: 'F17', OSVersion: '18.1' } } },
  });
  expect(await action(second.body.id)).toMatchObject({ state: 'succeeded' });
  expect(await phone.connect()).toEqual([]);
});

test('the same request by its key is one command', async () => {
  const { phone, id } = await s.enrolled();
  const asking = { headers: { 'idempotency-key': randomUUID() } };
  const first = await queue(id, 'ProfileList', {}, asking);
  const again = await queue(id, 'ProfileList', {}, asking);
  expect([first.status, again.status]).toEqual([201, 200]);
  expect(again.body).toEqual(first.body);
  expect(await phone.connect()).toHaveLength(1);
});

test('it is with the phone until it is answered, and tried again when its lease has ended', async () => {
  const { phone, id } = await s.enrolled();
  const { body } = await queue(id, 'SecurityInfo');
  expect(await phone.channel.idle()).toMatchObject({ commandUuid: body.commandUuid });
  expect(await phone.channel.idle()).toMatchObject({ commandUuid: body.commandUuid });
  expect(await action(body.id)).toMatchObject({ state: 'claimed', attempt: 1 });
  await s.t.pass(300_001);
  expect(await action(body.id)).toMatchObject({ state: 'pending' });
  await s.t.pass(3_600_000);
  expect(await phone.connect()).toMatchObject([{ commandUuid: body.commandUuid }]);
  expect(await action(body.id)).toMatchObject({ state: 'succeeded', attempt: 2 });
});

test('what the phone refuses for now is passed over and comes last; what it cannot do fails for good', async () => {
  const { phone, id } = await s.enrolled();
  const profile = await queue(id, 'InstallProfile', { keys: { Payload: { $data: 'cHJvZmlsZQ==' } } });
  const list = await queue(id, 'ProfileList');
  const nonsense = await queue(id, 'Nonsense');
  phone.busyFor.add('InstallProfile');
  const given = (await phone.connect()).map((one) => one.commandUuid);
  expect(given.slice(0, 2)).toEqual([profile.body.commandUuid, list.body.commandUuid]);
  expect(phone.channel.said.at(-1)).toBe('NotNow');
  expect(await action(list.body.id)).toMatchObject({ state: 'succeeded' });
  expect(await action(profile.body.id)).toMatchObject({ state: 'pending' });
  phone.busyFor.clear();
  await phone.connect();
  expect(await action(profile.body.id)).toMatchObject({ state: 'succeeded' });
  expect(await action(nonsense.body.id)).toMatchObject({
    ...{ state: 'failed', error: 'Nonsense is not a command.', attempt: 1 },
  });
});

test('erasing a phone needs an admin and the serial number, and what is not answered is presumed', async () => {
  const { phone, id } = await s.enrolled({ serial: 'G18' });
  const { token } = await s.t.token({ kind: 'operator', role: 'operator', name: 'no admin' });
  expect((await queue(id, 'EraseDevice', { serial: 'G18' }, { token })).body.code).toBe('MUSTER_FORBIDDEN');
  expect((await queue(id, 'EraseDevice', { serial: 'G19' })).body.code).toBe('MUSTER_WRONG_SERIAL');
  expect((await queue(id, 'EraseDevice')).body.code).toBe('MUSTER_WRONG_SERIAL');
  const { body } = await queue(id, 'EraseDevice', { serial: 'G18' });
  expect(await phone.channel.idle()).toMatchObject({ requestType: 'EraseDevice' });
  s.t.clock.advance(298_000);
  await s.t.engine.runDuty('mdm-expire-commands');
  expect(await action(body.id)).toMatchObject({ state: 'succeeded', result: { status: 'PRESUMED' } });
  expect(await phone.channel.idle()).toBeNull();
});

test('a copy of a command is a new command by the rules of commands, and erasing is never redriven', async () => {
  const { phone, id } = await s.enrolled({ serial: 'G20' });
  const { token } = await s.t.token({ kind: 'operator', role: 'operator', name: 'copies' });
  const list = (await queue(id, 'ProfileList')).body;
  await phone.connect();
  const copy = (actionId: string, changes: object, asking: object = {}) =>
    s.t.post(`/api/actions/${actionId}/copy`, changes, asking);
  const erase = { requestType: 'EraseDevice', parameters: {} };
  const codes = [
    await copy(list.id, { payload: erase }, { token }),
    await copy(list.id, { payload: erase }),
    await copy(list.id, { payload: { foo: 1 } }),
    await copy(list.id, { payload: { requestType: 'DeviceInformation', parameters: {} } }),
    await copy(list.id, { kind: 'mdm.cooked' }),
  ].map(({ body }) => body.code);
  expect(codes).toEqual([
    ...['MUSTER_FORBIDDEN', 'MUSTER_WRONG_SERIAL', 'MUSTER_BAD_COMMAND', 'MUSTER_BAD_COMMAND'],
    'MUSTER_BAD_BODY',
  ]);
  expect(await phone.connect()).toEqual([]);

  const edited = await copy(list.id, { payload: { requestType: 'SecurityInfo' } }, { token });
  const again = await copy(list.id, {}, { token });
  expect([edited.body, again.body]).toMatchObject(Array(2).fill({ copiedFrom: list.id, kind: 'mdm.raw' }));
  const handled = await phone.connect();
  expect(handled.map(({ requestType }) => requestType)).toEqual(['SecurityInfo', 'ProfileList']);
  expect(handled.map(({ commandUuid }) => commandUuid)).not.toContain(list.commandUuid);
  const keys = { Queries: ['SerialNumber'] };
  const asked = (await queue(id, 'DeviceInformation', { keys })).body;
  await phone.connect();
  expect((await copy(asked.id, {}, { token })).status).toBe(201);
  expect(await phone.connect()).toMatchObject([{ requestType: 'DeviceInformation', keys }]);

  const dead = (await queue(id, 'EraseDevice', { serial: 'G20' })).body;
  const command = await phone.channel.idle();
  if (!command) throw new Error('nothing came');
  await phone.channel.report(command, { status: 'Error' });
  expect(await action(dead.id)).toMatchObject({ state: 'failed' });
  expect((await s.t.post(`/api/actions/${dead.id}/redrive`, {})).body.code).toBe('MUSTER_WRONG_SERIAL');
  expect((await copy(dead.id, {}, { token })).body.code).toBe('MUSTER_FORBIDDEN');
  const once = await copy(dead.id, { payload: { ...erase, serial: 'G20' }, maxAttempts: 3 });
  expect(once.body).toMatchObject({ maxAttempts: 1, payload: { requestType: 'EraseDevice' } });
});

test('what no phone understands is refused before it is queued', async () => {
  const { id } = await s.enrolled();
  expect((await queue(id, 'DeviceInformation')).body.code).toBe('MUSTER_BAD_COMMAND');
  expect((await queue(id, 'Restart Device')).status).toBe(400);
  expect((await queue(id, 'ClearPasscode', { keys: { UnlockToken: 'x' } })).body.code).toBe(
    'MUSTER_BAD_COMMAND',
  );
  const other = await s.invite();
  expect((await queue(other.id, 'ProfileList')).body.code).toBe('MUSTER_NOT_ENROLLED');
  expect((await queue('4711', 'ProfileList')).status).toBe(404);
});

test('what is urgent for a phone goes before what is normal on another way to its device', async () => {
  const { phone, id } = await s.enrolled();
  const { deviceToken } = (await s.t.post(`/api/devices/${id}/token`)).body;
  const token = s.t.secret(deviceToken);
  await phone.connect();
  await s.t.server.contacts.write();
  await s.t.post(`/api/devices/${id}/actions`, { kind: 'NORMAL' });
  const urgent = { requestType: 'ProfileList', priority: 'urgent' };
  const { body } = await s.t.post(`/api/devices/${id}/mdm/commands`, urgent);
  expect((await s.t.post('/api/checkin', {}, { token })).body.action).toBeNull();
  expect(await phone.connect()).toMatchObject([{ commandUuid: body.commandUuid }]);
  expect((await s.t.post('/api/checkin', {}, { token })).body.action).toMatchObject({ kind: 'NORMAL' });
});

test('everything that happens to a command is a milestone of its device', async () => {
  const { phone, id } = await s.enrolled();
  const { body } = await queue(id, 'ProfileList');
  await phone.connect();
  const { milestones } = (await s.t.get(`/api/devices/${id}/milestones`)).body;
  const own = milestones.filter(({ actionId }: { actionId: string | null }) => actionId === body.id);
  expect(own.map(({ type, source }: { type: string; source: string }) => [type, source]).reverse()).toEqual([
    ['assigned', 'mdm'],
    ['sent', 'mdm'],
    ['done', 'mdm'],
  ]);
  expect(own.at(-1).by).toBe('MUSTER_OPERATOR_TOKEN');
});

test('a phone that has come is online, for as long as whoever checks in', async () => {
  const { phone, id } = await s.enrolled();
  const online = async () => (await s.t.get(`/api/devices/${id}`)).body.online;
  const listed = async () =>
    (await s.t.get('/api/devices?online=true&limit=500')).body.devices.some(
      (one: { id: string }) => one.id === id,
    );
  expect([await online(), await listed()]).toEqual([false, false]);
  await phone.connect();
  expect(await online()).toBe(true);
  await s.t.server.contacts.write();
  expect(await listed()).toBe(true);
  s.t.clock.advance(3_600_000);
  expect([await online(), await listed()]).toEqual([false, false]);
});

test('an answer that is too large for a result is kept whole', async () => {
  const { phone, id } = await s.enrolled();
  const list = Array.from({ length: 300 }, (_, n) => ({
    Name: `App ${n}`,
    Identifier: `com.example.${n}`.padEnd(200, 'x'),
  }));
  const { answer } = phone;
  phone.answer = () => ({
    status: 'Acknowledged',
    keys: { InstalledApplicationList: list, RecoveryKey: 'x' },
  });
  const { body } = await queue(id, 'InstalledApplicationList');
  await phone.connect();
  const path = `/api/devices/${id}/mdm/answers/${body.id}`;
  const { state, result } = await action(body.id);
  expect({ state, result }).toEqual({
    state: 'succeeded',
    result: {
      tooLarge: expect.any(Number),
      fields: ['InstalledApplicationList', 'RecoveryKey'],
      answer: path,
    },
  });
  expect(result.tooLarge).toBeGreaterThan(60_000);
  expect((await s.t.get(path)).body).toEqual({ InstalledApplicationList: list, RecoveryKey: '[hidden]' });
  const small = await queue(id, 'ProfileList');
  phone.answer = answer;
  await phone.connect();
  for (const [device, of] of [
    [id, small.body.id],
    [id, 'x'],
    [(await s.enrolled()).id, body.id],
  ])
    expect((await s.t.get(`/api/devices/${device}/mdm/answers/${of}`)).body.code).toBe(
      'MUSTER_NO_PHONE_ANSWER',
    );
});

const CALL = 'mdm-call-phones';
/** Whether somebody wants it: a push is on its way, or will be. */
const isWanted = async (id: string) => {
  const text = 'select 1 from muster.push_ledger where device_id = $1';
  return (await s.t.engine.db.query({ text, values: [id] })).rows.length > 0;
};
const pushesTo = ({ channel }: { channel: { token: Uint8Array } }) =>
  s.apns.pushes.filter(({ token }) => token === Buffer.from(channel.token).toString('hex')).length;

test.each([
  ['everything', () => s.t.post('/api/pause', {}), () => s.t.post('/api/resume', {})],
  [
    'its lane',
    (lane: object) => s.t.engine.pauseLane(s.t.engine.db, lane as never),
    (lane: object) => s.t.engine.resumeLane(s.t.engine.db, lane as never),
  ],
] as const)(
  'G81: a phone that left while %s was paused is called when it goes on',
  async (_, pause, resume) => {
    const { phone, id } = await s.enrolled();
    await phone.connect();
    const laneId = await s.shell.fleet.laneOf(s.t.engine.db, 1, id);
    await pause({ tenantId: 1, laneId });
    const { body } = await queue(id, 'ProfileList');
    await expect.poll(() => pushesTo(phone)).toBe(2);
    expect(await phone.connect()).toEqual([]);
    await s.t.engine.runDuty(CALL);
    expect(await isWanted(id)).toBe(false);
    await resume({ tenantId: 1, laneId });
    await s.t.engine.runDuty(CALL);
    await expect.poll(() => pushesTo(phone)).toBe(3);
    expect(await phone.connect()).toMatchObject([{ commandUuid: body.commandUuid }]);
    await s.t.engine.runDuty(CALL);
    expect(await isWanted(id)).toBe(false);
    const left = 'select 1 from muster.mdm_devices where left_at is not null';
    expect((await s.t.engine.db.query({ text: left })).rows).toEqual([]); // nobody is looked at for ever
  },
);

test('G81: a phone that left before its retry was due is called when it is', async () => {
  const { phone, id } = await s.enrolled();
  const { body } = await queue(id, 'SecurityInfo');
  await phone.channel.idle();
  await s.t.pass(300_001);
  await expect.poll(() => pushesTo(phone)).toBe(2);
  expect(await phone.connect()).toEqual([]);
  await s.t.engine.runDuty(CALL);
  expect(await isWanted(id)).toBe(false);
  await s.t.pass(3_000);
  await s.t.engine.runDuty(CALL);
  await expect.poll(() => pushesTo(phone)).toBe(3);
  expect(await phone.connect()).toMatchObject([{ commandUuid: body.commandUuid }]);
});
