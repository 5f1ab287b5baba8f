import { randomUUID } from 'node:crypto';
import { Phone } from '@muster/mdm/simulation';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { LanesOfBus, laneOfKey } from '../src/bus/bus-lanes.ts';
import { CHECKIN_HANDLER } from '../src/features/pipeline/channel.ts';
import { type MdmStage, mdmStage } from '../testing/mdm-stage.ts';

const RETENTION_DAYS = 2;
let s: MdmStage;
beforeAll(async () => {
  const settings = { MUSTER_MDM_HOLD_SECONDS: '0', MUSTER_RETENTION_DAYS: String(RETENTION_DAYS) };
  s = await mdmStage({ clock: true, settings });
});
afterAll(() => s.close());

const queue = (id: string, requestType: string, more: object = {}, asking: object = {}) =>
  s.t.post(`/api/devices/${id}/mdm/commands`, { requestType, ...more }, asking);
const history = async (id: string) =>
  (await s.t.get(`/api/actions/${id}`)).body.events.map(({ type }: { type: string }) => type);
const action = async (id: string) => (await s.t.get(`/api/actions/${id}`)).body;

test('a command written by an operator goes through the lane of the phone, and its answer is the result', async () => {
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

test('the same request with the same key is one command', async () => {
  const { phone, id } = await s.enrolled();
  const asking = { headers: { 'idempotency-key': randomUUID() } };
  const first = await queue(id, 'ProfileList', {}, asking);
  const again = await queue(id, 'ProfileList', {}, asking);
  expect([first.status, again.status]).toEqual([201, 200]);
  expect(again.body).toEqual(first.body);
  expect(await phone.connect()).toHaveLength(1);
});

test('it is with the phone until it is answered, and retried when its lease has ended', async () => {
  const { phone, id } = await s.enrolled();
  const { body } = await queue(id, 'SecurityInfo');
  expect(await phone.channel.idle()).toMatchObject({ commandUuid: body.commandUuid });
  expect(await phone.channel.idle()).toMatchObject({ commandUuid: body.commandUuid });
  expect(await action(body.id)).toMatchObject({ state: 'claimed', attempt: 1 });
  // its device shows its name, not only its kind
  const { body: device } = await s.t.get(`/api/devices/${id}`);
  expect(device.current).toMatchObject({ id: body.id, kind: 'mdm.raw', name: 'SecurityInfo' });
  await s.t.pass(300_001);
  expect(await action(body.id)).toMatchObject({ state: 'pending' });
  await s.t.pass(3_600_000);
  expect(await phone.connect()).toMatchObject([{ commandUuid: body.commandUuid }]);
  expect(await action(body.id)).toMatchObject({ state: 'succeeded', attempt: 2 });
});

test('G78: a late answer to a command that has timed out for the last time counts', async () => {
  const { phone, id } = await s.enrolled();
  const { body } = await queue(id, 'DeviceInformation', { keys: { Queries: ['OSVersion'] } });
  let command: unknown = null;
  for (let attempt = 0; attempt < 3; attempt += 1) {
    command = await phone.channel.idle();
    await s.t.pass(300_001);
    await s.t.pass(3_600_000);
  }
  expect(await action(body.id)).toMatchObject({ state: 'failed', attempt: 3 });
  await phone.channel.report(command as never, phone.answer(command as never));
  expect(await action(body.id)).toMatchObject({
    ...{ state: 'succeeded', result: { QueryResponses: { OSVersion: '18.1' } } },
  });
});

test('what the phone refuses for now is passed over and comes last; what it cannot do fails for good', async () => {
  const { phone, id } = await s.enrolled();
  const profile = await queue(id, 'InstallProfile', { keys: { Payload: { $data: 'cHJvZmlsZQ==' } } });
  const list = await queue(id, 'ProfileList');
  const nonsense = await queue(id, 'Nonsense');
  phone.busyFor.add('InstallProfile');
  const given = (await phone.connect()).map((one) => one.commandUuid);
  expect(given).toEqual([profile, list, nonsense].map(({ body }) => body.commandUuid));
  expect(await action(list.body.id)).toMatchObject({ state: 'succeeded' });
  expect(await action(profile.body.id)).toMatchObject({ state: 'pending' });
  phone.busyFor.clear();
  await phone.connect();
  expect(await action(profile.body.id)).toMatchObject({ state: 'succeeded' });
  expect(await action(nonsense.body.id)).toMatchObject({
    ...{ state: 'failed', error: 'Nonsense is not a command.', attempt: 1 },
  });
});

test('G78: two commands that a phone refuses do not alternate for ever, and do not block what is behind them', async () => {
  const { phone, id } = await s.enrolled();
  const profiles = [];
  for (const name of ['b25l', 'dHdv'])
    profiles.push(await queue(id, 'InstallProfile', { keys: { Payload: { $data: name } } }));
  phone.busyFor.add('InstallProfile');
  expect(await phone.connect()).toHaveLength(2);
  const list = await queue(id, 'ProfileList');
  await phone.connect();
  expect(await action(list.body.id)).toMatchObject({ state: 'succeeded' });
  phone.busyFor.clear();
  await s.t.pass(1_000);
  await phone.connect();
  for (const { body } of profiles) expect(await action(body.id)).toMatchObject({ state: 'succeeded' });
});

test('erasing a phone needs an admin and the serial number; without an answer it is presumed done', async () => {
  const { phone, id } = await s.enrolled({ serial: 'G18' });
  const { token } = await s.t.token({ kind: 'operator', role: 'operator', name: 'no admin' });
  expect((await queue(id, 'EraseDevice', { serial: 'G18' }, { token })).body.code).toBe('MUSTER_FORBIDDEN');
  expect((await queue(id, 'EraseDevice', { serial: 'G19' })).body.code).toBe('MUSTER_WRONG_SERIAL');
  expect((await queue(id, 'EraseDevice')).body.code).toBe('MUSTER_WRONG_SERIAL');
  const { body } = await queue(id, 'EraseDevice', { serial: 'G18' });
  expect(await phone.channel.idle()).toMatchObject({ requestType: 'EraseDevice' });
  s.t.clock.advance(298_000);
  await s.t.engine.runDuty('mdm-expire-commands');
  // the server's own run of the duty may be handling it
  await expect
    .poll(() => action(body.id))
    .toMatchObject({ state: 'succeeded', result: { status: 'PRESUMED' } });
  expect(await phone.channel.idle()).toBeNull();
});

test('G78: a cancelled command that the phone may have is not handed out again', async () => {
  const { phone, id } = await s.enrolled({ serial: 'G21' });
  const erase = async () => {
    const { body } = await queue(id, 'EraseDevice', { serial: 'G21' });
    const command = await phone.channel.idle();
    expect(command).toMatchObject({ requestType: 'EraseDevice' });
    expect((await s.t.post(`/api/actions/${body.id}/cancel`, {})).body.outcome).toBe('requested');
    return { actionId: body.id as string, command: command as never };
  };
  // a phone that asks for more has not carried it out; what is behind it is not blocked
  const lost = await erase();
  const list = await queue(id, 'ProfileList');
  expect((await phone.connect()).map(({ commandUuid }) => commandUuid)).toEqual([list.body.commandUuid]);
  expect(await action(lost.actionId)).toMatchObject({ state: 'cancelled' });
  await phone.channel.report(lost.command, { status: 'Acknowledged' });
  expect(await history(lost.actionId)).toContain('LATE');
  // one that has carried it out says so, and that counts
  const done = await erase();
  await phone.channel.report(done.command, { status: 'Acknowledged' });
  expect(await action(done.actionId)).toMatchObject({ state: 'succeeded' });
  // without an answer nothing is presumed
  const silent = await erase();
  s.t.clock.advance(298_000);
  await s.t.engine.runDuty('mdm-expire-commands');
  s.t.clock.advance(2_000);
  await s.t.engine.runDuty('end-leases');
  await expect.poll(() => action(silent.actionId)).toMatchObject({ state: 'cancelled' });
  expect((await action(silent.actionId)).result).toBeUndefined();
});

test('a copied command is a new command under the rules of commands; erasing is never redriven', async () => {
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

test('a command that no phone understands is refused before it is queued', async () => {
  const { id } = await s.enrolled();
  expect((await queue(id, 'DeviceInformation')).body.code).toBe('MUSTER_BAD_COMMAND');
  expect((await queue(id, 'Restart Device')).status).toBe(400);
  const values = [{ $date: 'x' }, { $data: '!!' }, { $data: 5 }, { $date: 7 }, { $data: 'aGk=', x: 1 }];
  for (const value of [...values, { $date: null }])
    expect((await queue(id, 'Settings', { keys: { Value: value } })).body.code).toBe('MUSTER_BAD_COMMAND');
  expect((await queue(id, 'ClearPasscode', { keys: { UnlockToken: 'x' } })).body.code).toBe(
    'MUSTER_BAD_COMMAND',
  );
  const other = await s.invite();
  expect((await queue(other.id, 'ProfileList')).body.code).toBe('MUSTER_NOT_ENROLLED');
  expect((await queue('4711', 'ProfileList')).status).toBe(404);
});

test('an answer that is too large to read is dropped, and the outcome of the command counts', async () => {
  const { phone, id } = await s.enrolled();
  const apps = Array.from({ length: 60 }, () => ({ Status: 'Managed', Icon: Buffer.alloc(60_000) }));
  phone.answer = ({ requestType }) => ({
    ...{
      status: 'Acknowledged',
      keys: { ManagedApplicationList: requestType === 'ProfileList' ? [] : apps },
    },
  });
  const large = await queue(id, 'ManagedApplicationList');
  const next = await queue(id, 'ProfileList');
  expect(await phone.connect()).toHaveLength(2);
  expect(await action(large.body.id)).toMatchObject({ state: 'succeeded', result: { tooLarge: true } });
  expect(await action(next.body.id)).toMatchObject({ state: 'succeeded' });
});

test('an urgent command goes before normal actions of other channels of its device', async () => {
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

test('every step of a command is a milestone of its device', async () => {
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

test('a phone that enrolled or connected is online for as long as a device that checks in', async () => {
  const { phone, id } = await s.enrolled();
  const online = async () => (await s.t.get(`/api/devices/${id}`)).body.online;
  const listed = async () =>
    (await s.t.get('/api/devices?online=true&limit=500')).body.devices.some(
      (one: { id: string }) => one.id === id,
    );
  const seen = async () => (await s.t.get(`/api/devices/${id}/mdm`)).body.lastSeenAt;
  // its enrolment is a contact, and so are a new token and a connection, each after an hour of silence
  for (const contact of [
    async () => {},
    () => phone.authenticate(),
    () => phone.tokenUpdate(),
    () => phone.connect(),
  ]) {
    await contact();
    expect([await online(), await seen()]).toEqual([true, s.t.clock().toISOString()]);
    await s.t.server.contacts.write();
    expect(await listed()).toBe(true);
    s.t.clock.advance(3_600_000);
    expect([await online(), await listed()]).toEqual([false, false]);
  }
});

test('an answer that is too large for a result is kept in full', async () => {
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

/** Meanwhile the server processes no events of these phones. */
async function unheard(phones: readonly Phone[], work: () => Promise<void>) {
  const { db, pauseLane, resumeLane } = s.t.engine;
  const lanes = await new LanesOfBus(s.t.engine).of(db, 1, CHECKIN_HANDLER);
  const laneIds = new Set(phones.map(({ udid }) => laneOfKey(lanes, udid)));
  for (const laneId of laneIds) await pauseLane(db, { tenantId: 1, laneId });
  try {
    await work();
  } finally {
    for (const laneId of laneIds) await resumeLane(db, { tenantId: 1, laneId });
  }
}

test.each([
  ['another phone of the device', async (_: Phone, url: string, other: Phone) => enrolledBy(other, url)],
  [
    'a phone that left and comes again',
    async (phone: Phone, url: string) => {
      await phone.checkOut();
      return enrolledBy(phone, url);
    },
  ],
  [
    'a phone that was wiped',
    async (phone: Phone) => {
      await phone.authenticate();
      await phone.tokenUpdate({ AwaitingConfiguration: true });
      const configure = await phone.channel.idle();
      await phone.channel.report(configure as never, { status: 'Acknowledged' });
      return phone;
    },
  ],
] as const)(
  'G79: %s gets nothing of its former life, however late the server processes it',
  async (_, begin) => {
    const { phone, id } = await s.enrolled({ serial: 'G23' });
    const { body: had } = await queue(id, 'ProfileList');
    expect(await phone.channel.idle()).toMatchObject({ commandUuid: had.commandUuid });
    const { body: erase } = await queue(id, 'EraseDevice', { serial: 'G23' });
    const url = await s.enrolment(id);
    const other = new Phone();
    await unheard([phone, other], async () => {
      const next = await begin(phone, url, other);
      expect(await next.channel.idle()).toBeNull();
      const refused = await queue(id, 'ProfileList');
      expect([refused.status, refused.body.code]).toEqual([409, 'MUSTER_NEW_LIFE']);
      expect(refused.headers.get('retry-after')).toBe('1');
      const stale = await s.command(next);
      expect((await s.heard({ command_uuid: stale })).payload).toEqual({ reason: 'dispatch_failed' });
      phone.identity = next.identity;
      Object.assign(phone.ids, next.ids);
    });
    for (const { id: actionId } of [had, erase])
      await expect.poll(() => action(actionId)).toMatchObject({ state: 'cancelled', reason: 'GENERATION' });
    // a phone that left and enrolled again causes two events
    await expect.poll(() => policy(id)).toMatch(/enrolled|active/);
    const { status, body } = await queue(id, 'SecurityInfo');
    expect(status).toBe(201);
    expect(await phone.connect()).toMatchObject([{ commandUuid: body.commandUuid }]);
  },
);

test('G79: a phone that left and enrolled again starts when both events were processed, as whichever device', async () => {
  const { phone, id } = await s.enrolled();
  const url = await s.enrolment(id);
  const { db, laneLoads, raiseGeneration } = s.t.engine;
  const lane = { tenantId: 1, laneId: await s.shell.fleet.laneOf(db, 1, id) };
  const generation = async () => (await laneLoads(db, [lane], 1))[0]?.generation ?? 0;
  const before = await generation();
  await unheard([phone], async () => {
    await phone.checkOut();
    await enrolledBy(phone, url);
    // the effect of processing only the first: the second would cancel what is queued in between
    await raiseGeneration(db, lane);
    expect((await queue(id, 'ProfileList')).body.code).toBe('MUSTER_NEW_LIFE');
    expect(await phone.channel.idle()).toBeNull();
  });
  await expect.poll(generation).toBe(before + 3);
  expect((await queue(id, 'ProfileList')).status).toBe(201);
  // another lane waits only for the event of its new life
  const other = await s.invite();
  await unheard([phone], async () => {
    await phone.checkOut();
    await enrolledBy(phone, other.url);
  });
  await expect.poll(() => policy(other.id)).toBe('active');
  const { status, body } = await queue(other.id, 'ProfileList');
  expect(status).toBe(201);
  expect(await phone.connect()).toMatchObject([{ commandUuid: body.commandUuid }]);
});

async function policy(id: string): Promise<string> {
  const query = `{ device(id: ${id}) { policy } }`;
  return (await s.t.post('/graphql', { query })).body.data.device.policy;
}

async function enrolledBy(phone: Phone, url: string): Promise<Phone> {
  await phone.enrol(url, { identity: await s.identity() });
  return phone;
}

test('an erase is for the phone whose serial number was repeated, whatever it reports later', async () => {
  const { phone, id } = await s.enrolled({ serial: 'G24' });
  const { body } = await queue(id, 'EraseDevice', { serial: 'G24' });
  // a serial number that it no longer reports is still its own
  await phone.authenticate({ SerialNumber: '' });
  expect((await s.t.get(`/api/devices/${id}/mdm`)).body.serial).toBe('G24');
  expect((await queue(id, 'EraseDevice', { serial: phone.udid })).body.code).toBe('MUSTER_WRONG_SERIAL');
  await phone.authenticate({ SerialNumber: 'G25' });
  await phone.tokenUpdate();
  expect(await phone.connect()).toEqual([]);
  expect(await action(body.id)).toMatchObject({
    ...{ state: 'failed', error: 'The phone has another serial number than the one to be erased.' },
  });
});

test('G79: a phone that was erased and enrols with a new enrolment starts a new life', async () => {
  const { phone, id } = await s.enrolled({ serial: 'G26' });
  // one that could not do it, and one that only got a new profile, continue as they were
  const { body: refused } = await queue(id, 'EraseDevice', { serial: 'G26' });
  await phone.channel.report((await phone.channel.idle()) as never, { status: 'Error' });
  expect(await action(refused.id)).toMatchObject({ state: 'failed' });
  const { body: waits } = await queue(id, 'RestartDevice');
  await phone.enrol(await s.enrolment(id), { identity: await s.identity() });
  expect(await phone.channel.idle()).toMatchObject({ commandUuid: waits.commandUuid });
  expect((await phone.connect()).map(({ commandUuid }) => commandUuid)).toEqual([waits.commandUuid]);

  const { body: erase } = await queue(id, 'EraseDevice', { serial: 'G26' });
  const { body: stale } = await queue(id, 'RestartDevice');
  expect(await phone.connect()).toMatchObject([{ commandUuid: erase.commandUuid }]);
  expect(phone.erased).toBe(true);
  expect(await action(erase.id)).toMatchObject({ state: 'succeeded' });
  // however long it lies in a drawer: the command itself is no longer kept
  s.t.clock.advance(RETENTION_DAYS * 86_400_000);
  await s.t.engine.runDuty('prune-mdm-commands');
  const text = `select 1 from ${s.t.engine.schema}.mdm_commands where udid = $1 and request_type = 'EraseDevice'`;
  expect((await s.t.engine.db.query({ text, values: [phone.udid] })).rows).toEqual([]);
  const fresh = new Phone({ udid: phone.udid, serial: 'G26' });
  await fresh.enrol(await s.enrolment(id), { identity: await s.identity() });
  expect(await fresh.connect()).toEqual([]);
  await expect.poll(() => action(stale.id)).toMatchObject({ state: 'cancelled', reason: 'GENERATION' });
  // the same on either route, even if it never answered, and not once it has enrolled
  await s.cached(fresh, { request_type: 'EraseDevice' });
  expect(await fresh.channel.idle()).toMatchObject({ requestType: 'EraseDevice' });
  const third = new Phone({ udid: phone.udid, serial: 'G26' });
  for (let n = 0; n < 2; n += 1) await enrolledBy(third, await s.enrolment(id));
  const lives = () =>
    s.told.flatMap((told) =>
      told.udid === phone.udid && told.event_type === 'DEVICE_AUTHENTICATED' ? [told.payload.new_life] : [],
    );
  await expect.poll(() => lives().length).toBe(5);
  expect(lives()).toEqual([false, false, true, true, false]);
});

test.each([
  [
    'an operator',
    0,
    async (_: Phone, id: string): Promise<string> =>
      (await queue(id, 'RemoveProfile', { keys: { Identifier: 'io.muster.enrolment' } })).body.id,
  ],
  [
    'the pipeline',
    1,
    async (phone: Phone) => void (await s.cached(phone, { request_type: 'RemoveProfile' })),
  ],
])(
  'G79: what a phone did by a command of %s, to leave, is heard when it is said again, if the server failed',
  async (_, completed, tell) => {
    const { phone, id } = await s.enrolled();
    // its CheckOut is lost
    phone.checkOut = async () => {};
    const actionId = await tell(phone, id);
    const command = (await phone.channel.idle()) as never;
    const { db, schema } = s.t.engine;
    const change = (what: string) => db.query({ text: `alter table ${schema}.mdm_devices ${what}` });
    // a division by zero, only for a leaving phone: not a fault of the server, whose log is checked
    const fails = `udid = '${phone.udid}' and released_at is not null`;
    await change(
      `add constraint broken check (case when ${fails} then 1 / (length(udid) - length(udid)) = 1 end) not valid`,
    );
    const said = () => phone.channel.report(command, { status: 'Acknowledged' });
    await expect(said().finally(() => change('drop constraint broken'))).rejects.toThrow('MUSTER_');
    expect(await said()).toBeNull();
    expect((await s.t.get(`/api/devices/${id}/mdm`)).body.releasedAt).not.toBeNull();
    await s.heard({ event_type: 'DEVICE_RELEASED', udid: phone.udid });
    const types = s.told.flatMap(({ udid, event_type: type }) => (udid === phone.udid ? [type] : []));
    expect(types.filter((type) => type === 'ACTION_COMPLETED')).toHaveLength(completed);
    if (actionId) expect(await action(actionId)).toMatchObject({ state: 'succeeded' });
  },
);

test('an erase whose lease ended while no server ran is presumed done too', async () => {
  const { phone, id } = await s.enrolled({ serial: 'G22' });
  const { body } = await queue(id, 'EraseDevice', { serial: 'G22' });
  expect(await phone.channel.idle()).toMatchObject({ requestType: 'EraseDevice' });
  await s.t.restart(() => s.t.clock.advance(600_000));
  await expect
    .poll(async () => action(body.id))
    .toMatchObject({ state: 'succeeded', result: { status: 'PRESUMED' } });
});
