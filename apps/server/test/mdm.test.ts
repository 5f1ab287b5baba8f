import { Phone, type Refused, rsaKeys, ScepRefused, send } from '@muster/mdm/simulation';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type MdmStage, mdmStage } from '../testing/mdm-stage.ts';

/** The address of the proxy that these tests play; from any other address the header proves nothing. */
const HEADER_OF_A_PROXY = { MUSTER_MDM_CERT_HEADER: 'X-Client-Cert', MUSTER_TRUSTED_PROXIES: '10.9.9.9' };
let s: MdmStage;
beforeAll(async () => {
  s = await mdmStage({ clock: true, settings: { ...HEADER_OF_A_PROXY, MUSTER_MDM_HOLD_SECONDS: '25' } });
});
afterAll(() => s.close());

const eventsOf = (phone: Phone) =>
  s.told.filter(({ udid }) => udid === phone.udid).map((event) => event.event_type);
const refusal = (saying: Promise<unknown>) =>
  saying.then(
    () => 200,
    (error) => (error as Refused).reply.status,
  );

test('a phone enrols with its profile and a certificate of our authority, and is known from then on', async () => {
  const { id, url } = await s.invite();
  const phone = new Phone({ serial: 'C02XYZ' });
  const { body: profile } = await send({ url });
  await phone.enrol(profile);
  expect((await s.t.get(`/api/devices/${id}/mdm`)).body).toMatchObject({
    ...{ id, udid: phone.udid, serial: 'C02XYZ', model: 'iPhone14,5', osVersion: '18.1', byod: false },
    ...{ canBeUnlocked: true, releasedAt: null },
  });
  const { payload } = await s.heard({ event_type: 'DEVICE_AUTHENTICATED', udid: phone.udid });
  expect(payload).toMatchObject({ device_id: id, serial: 'C02XYZ', new_life: false });
  const update = await s.heard({ event_type: 'DEVICE_TOKEN_UPDATE', udid: phone.udid });
  expect(update.payload).toEqual({ has_unlock_token: true, new_life: false });
  // its own data can be searched
  await expect
    .poll(async () => (await s.t.get('/api/devices?text=c02xyz')).body.devices)
    .toMatchObject([{ id }]);
  // used up: neither the profile nor its challenge works for another phone
  expect(await refusal(new Phone().enrol(url))).toBe(404);
  const thief = new Phone({ keys: rsaKeys('thief') });
  await expect(thief.enrol(profile)).rejects.toThrow(ScepRefused);
  // a renewal with its certificate, then the same conversation again
  const before = phone.identity;
  await phone.renewCertificate();
  await phone.authenticate();
  await phone.tokenUpdate();
  expect(await phone.connect()).toEqual([]);
  phone.identity = before;
  expect(await phone.connect()).toEqual([]);
});

test('G78: a command is handed out, answered once and reported once, however often the phone repeats it', async () => {
  const { phone } = await s.enrolled();
  expect(await phone.connect()).toEqual([]);
  const commandUuid = await s.cached(phone, { command_payload: { Message: 'Lost' } });
  phone.channel.duplicates = true;
  const handled = await phone.connect();
  expect(handled).toMatchObject([{ commandUuid, requestType: 'DeviceLock', keys: { Message: 'Lost' } }]);
  expect(phone.locked).toBe(true);
  await s.heard({ event_type: 'ACTION_COMPLETED', command_uuid: commandUuid });
  phone.channel.duplicates = false;
  // a later answer changes nothing, and one to an unknown command does not end the session
  await phone.channel.report(handled[0] as never, { status: 'Error' });
  const next = await s.cached(phone);
  const unknown = { commandUuid: 'nobody-knows-it', requestType: 'DeviceLock', keys: {} };
  const given = await phone.channel.report(unknown, { status: 'Acknowledged' });
  expect(given).toMatchObject({ commandUuid: next });
  await phone.channel.report(given as never, { status: 'Acknowledged' });
  await s.heard({ event_type: 'ACTION_COMPLETED', command_uuid: next });
  expect(s.told.filter((event) => event.command_uuid === commandUuid)).toHaveLength(1);
});

test('G78: the same command comes again until it is answered; a lost answer is repeated', async () => {
  const { phone } = await s.enrolled();
  const commandUuid = await s.cached(phone);
  expect(await phone.channel.idle()).toMatchObject({ commandUuid });
  expect(await phone.channel.idle()).toMatchObject({ commandUuid });
  phone.channel.dropNext = 1;
  await expect(phone.connect()).rejects.toThrow('dropped');
  await phone.connect();
  await s.heard({ event_type: 'ACTION_COMPLETED', command_uuid: commandUuid });
  expect(eventsOf(phone).filter((type) => type === 'ACTION_COMPLETED')).toHaveLength(1);
});

test('G78: what a phone refuses for now comes last, and never in answer to its own refusal', async () => {
  const { phone } = await s.enrolled();
  const remove = await s.cached(phone, { request_type: 'RemoveProfile' });
  const lock = await s.cached(phone);
  phone.busyFor.add('RemoveProfile');
  expect((await phone.connect()).map((one) => one.commandUuid)).toEqual([remove, lock]);
  const second = await s.cached(phone);
  expect((await phone.connect()).map((one) => one.commandUuid)).toEqual([second, remove]);
  expect(phone.channel.said.at(-1)).toBe('NotNow');
  expect(s.told.some((event) => event.command_uuid === remove)).toBe(false);
  // until its time runs out: then it was neither done nor failed
  const later = await s.cached(phone, { request_type: 'RemoveProfile' });
  await phone.connect();
  s.t.clock.advance(58_000);
  await s.t.engine.runDuty('mdm-expire-commands');
  for (const uuid of [remove, later])
    expect((await s.heard({ command_uuid: uuid })).payload).toEqual({
      reason: 'device_timeout',
      not_now: true,
    });
  const again = await s.cached(phone, { request_type: 'RemoveProfile' });
  phone.busyFor.clear();
  await phone.connect(); // the identifier was that of its profile, so it leaves
  await s.heard({ event_type: 'ACTION_COMPLETED', command_uuid: again });
  await s.heard({ event_type: 'DEVICE_RELEASED', udid: phone.udid });
  expect(
    eventsOf(phone)
      .filter((type) => type !== 'DEVICE_CONNECTED')
      .slice(-2),
  ).toEqual(['ACTION_COMPLETED', 'DEVICE_RELEASED']);
});

test('a phone that cannot carry out a command says why', async () => {
  const { phone } = await s.enrolled();
  const first = await s.cached(phone);
  const second = await s.cached(phone);
  phone.answer = ({ commandUuid }) =>
    commandUuid === first
      ? { status: 'Error', code: 12_021, description: 'Not this one.' }
      : { status: 'CommandFormatError' };
  await phone.connect();
  expect((await s.heard({ event_type: 'ACTION_FAILED', command_uuid: first })).payload).toEqual({
    reason: 'device_error',
    error_chain: [{ code: 12_021, domain: 'MCMDMErrorDomain', description: 'Not this one.' }],
  });
  const { payload } = await s.heard({ event_type: 'ACTION_FAILED', command_uuid: second });
  expect(payload).toEqual({ reason: 'device_error', error_chain: [] });
});

test('G79: the unlock token is the newest one, stored sealed, and each use is recorded', async () => {
  const { phone, id } = await s.enrolled();
  const commandUuid = await s.cached(phone, { request_type: 'ClearPasscode' });
  phone.unlockToken = Buffer.from('the newest unlock token of this phone');
  await phone.tokenUpdate({ UnlockToken: phone.unlockToken });
  await phone.tokenUpdate(); // says nothing about the one that is kept
  phone.locked = true;
  await phone.connect();
  expect(phone.locked).toBe(false);
  await s.heard({ event_type: 'ACTION_COMPLETED', command_uuid: commandUuid });
  const text = `select sealed_unlock_token from ${s.t.engine.schema}.mdm_devices where udid = $1`;
  const { rows } = await s.t.engine.db.query({ text, values: [phone.udid] });
  expect(Buffer.from(rows[0].sealed_unlock_token).includes(Buffer.from(phone.unlockToken))).toBe(false);
  const { body } = await s.t.get('/api/audit');
  expect(body.audit.find((line: { act: string }) => line.act === 'device.use-unlock-token')).toMatchObject({
    ...{ actor: 'mdm', target: `device ${id}`, detail: { commandUuid } },
  });
  const other = await s.invited();
  await other.enrol({ UnlockToken: new Uint8Array(0) });
  const refused = await s.command(other.phone, { request_type: 'ClearPasscode' });
  expect((await s.heard({ command_uuid: refused })).payload).toEqual({
    ...{ reason: 'dispatch_failed', code: 'NO_UNLOCK_TOKEN' },
  });
});

test('G79: a renewal keeps queue and unlock token; another certificate of the phone is as good as the first', async () => {
  const { phone, id } = await s.enrolled();
  const commandUuid = await s.cached(phone);
  phone.identity = await s.identity();
  expect(await refusal(phone.connect())).toBe(400);
  // a certificate without an enrolment proves nothing, whatever address it is sent to
  expect(await refusal(phone.authenticate())).toBe(400);
  const enrolmentId = new URL(phone.profile?.mdm.serverUrl ?? '').searchParams.get('e');
  phone.identity = await s.identity(enrolmentId as string);
  await phone.authenticate();
  await phone.tokenUpdate();
  expect(await phone.connect()).toMatchObject([{ commandUuid }]);
  expect((await s.t.get(`/api/devices/${id}/mdm`)).body.canBeUnlocked).toBe(true);
  expect(s.told.filter(({ payload }) => 'new_life' in payload && payload.new_life)).toEqual([]);
});

test('G79: a phone that left needs a new enrolment, and then starts a new life', async () => {
  const { phone, id } = await s.enrolled();
  await s.cached(phone);
  await phone.checkOut();
  await s.heard({ event_type: 'DEVICE_RELEASED', udid: phone.udid });
  expect(await phone.connect()).toEqual([]);
  expect(await refusal(phone.tokenUpdate())).toBe(400);
  expect(await refusal(phone.authenticate())).toBe(400);
  const late = await s.command(phone);
  expect((await s.heard({ command_uuid: late })).payload).toEqual({ reason: 'dispatch_failed' });
  const again = await s.enrolment(id);
  await phone.enrol(again, { identity: await s.identity(), tokenUpdate: { UnlockToken: new Uint8Array(0) } });
  await expect.poll(() => eventsOf(phone).filter((type) => type === 'DEVICE_AUTHENTICATED')).toHaveLength(2);
  const lives = s.told.filter((one) => one.udid === phone.udid && one.event_type === 'DEVICE_AUTHENTICATED');
  expect(lives.map(({ payload }) => (payload as { new_life: boolean }).new_life)).toEqual([false, true]);
  expect(await phone.connect()).toEqual([]);
  expect((await s.t.get(`/api/devices/${id}/mdm`)).body).toMatchObject({
    canBeUnlocked: false,
    releasedAt: null,
  });
});

test('another phone becomes a device only with an enrolment issued for it, and a milestone says so', async () => {
  const { id, url } = await s.invite();
  const { body: profile } = await send({ url });
  const [phone, other] = [new Phone(), new Phone()];
  await phone.enrol(profile, { identity: await s.identity() });
  await expect(other.enrol(profile, { identity: await s.identity() })).rejects.toThrow('Authenticate: 400');
  expect(await phone.connect()).toEqual([]);
  const fetched = await send({ url: await s.enrolment(id) });
  // the newest one counts, whichever phone has downloaded another profile
  const newest = await s.enrolment(id);
  await expect(other.enrol(fetched.body, { identity: await s.identity() })).rejects.toThrow(
    'Authenticate: 400',
  );
  const types = async () =>
    (await s.t.get(`/api/devices/${id}/milestones`)).body.milestones.map((one: { type: string }) => one.type);
  expect(await types()).not.toContain('phoneReplaced');
  await other.enrol(newest, { identity: await s.identity() });
  expect(await types()).toContain('phoneReplaced');
  expect(await refusal(phone.connect())).toBe(400);
  expect((await s.t.get(`/api/devices/${id}/mdm`)).body.udid).toBe(other.udid);
});

test('a topic is accepted only if one of our push certificates has it', async () => {
  const { phone, enrol } = await s.invited();
  await enrol();
  const Topic = 'com.apple.mgmt.External.somebody-else';
  expect(await refusal(phone.tokenUpdate({ Topic }))).toBe(400);
  expect(await refusal(phone.authenticate({ Topic }))).toBe(400);
  const text = 'select 1 from muster.push_topics where topic = $1';
  expect((await s.t.engine.db.query({ text, values: [Topic] })).rows).toEqual([]);
  expect(await phone.connect()).toEqual([]);
});

test('a phone in its Setup Assistant was wiped: it starts a new life, once, and may leave the assistant', async () => {
  const { phone } = await s.enrolled();
  await s.cached(phone);
  await phone.authenticate();
  await phone.tokenUpdate({ AwaitingConfiguration: true });
  await phone.tokenUpdate({ AwaitingConfiguration: true });
  expect((await phone.connect()).map((one) => one.requestType)).toEqual(['DeviceConfigured']);
  expect(phone.configured).toBe(true);
  await expect.poll(() => eventsOf(phone).filter((type) => type === 'DEVICE_TOKEN_UPDATE')).toHaveLength(4);
  const updates = s.told.filter((one) => one.udid === phone.udid && one.event_type === 'DEVICE_TOKEN_UPDATE');
  expect(updates.map(({ payload }) => payload)).toEqual([
    { new_life: false, has_unlock_token: true },
    { new_life: true, has_unlock_token: false, awaits_configuration: true },
    { new_life: false, has_unlock_token: false, awaits_configuration: true },
    {}, // it has left its Setup Assistant
  ]);
});

test('users of a device are not managed, and their tokens are not those of the device', async () => {
  const { phone, id } = await s.enrolled();
  const user = phone.user('USER-1');
  await user.tokenUpdate({ UserShortName: 'somebody' });
  const commandUuid = await s.cached(phone);
  expect(await user.connect()).toEqual([]);
  const ofUser = { MessageType: 'UserAuthenticate', UserID: 'USER-1' };
  expect(await refusal(phone.checkIn(ofUser))).toBe(410);
  expect(await refusal(phone.checkIn({ MessageType: 'DeclarativeManagement' }))).toBe(400);
  const text = `select token from ${s.t.engine.schema}.push_tokens where device_id = $1 and app = 'mdm'`;
  const { rows } = await s.t.engine.db.query({ text, values: [id] });
  expect(rows.map(({ token }) => Buffer.from(token))).toEqual([Buffer.from(phone.channel.token)]);
  expect(await phone.connect()).toMatchObject([{ commandUuid }]);
});

test('a personal phone is known by its enrolment id', async () => {
  const { phone, id } = await s.enrolled({ enrollmentId: 'BYOD-7' });
  const commandUuid = await s.cached(phone);
  expect(await phone.connect()).toMatchObject([{ commandUuid }]);
  expect((await s.t.get(`/api/devices/${id}/mdm`)).body).toMatchObject({
    udid: 'BYOD-7',
    byod: true,
    serial: null,
  });
});

test('a certificate in a header counts only from a trusted proxy', async () => {
  const { phone } = await s.enrolled();
  const thief = new Phone({ udid: phone.udid, by: { header: 'x-client-cert' } });
  [thief.profile, thief.identity] = [phone.profile, phone.identity];
  expect(await refusal(thief.connect())).toBe(400);
});

test('a bootstrap token is stored, returned and deleted', async () => {
  const { phone } = await s.enrolled();
  const get = async () => (await phone.checkIn({ MessageType: 'GetBootstrapToken' })).body.toString();
  expect(await get()).toBe('');
  await phone.checkIn({ MessageType: 'SetBootstrapToken', BootstrapToken: Buffer.from('bootstrap') });
  expect(await get()).toContain(Buffer.from('bootstrap').toString('base64'));
  await phone.checkIn({ MessageType: 'SetBootstrapToken' });
  expect(await get()).toBe('');
});

test('G78: a command that was never fetched in time ends without counting as a failure; a late answer still counts', async () => {
  const { phone } = await s.enrolled();
  const never = await s.cached(phone);
  s.t.clock.advance(30_000);
  const fetched = await s.cached(phone, { request_type: 'DeviceLock' });
  s.t.clock.advance(28_000);
  await s.t.engine.runDuty('mdm-expire-commands');
  expect((await s.heard({ command_uuid: never })).payload).toEqual({
    reason: 'device_timeout',
    fetched: false,
  });
  const command = await phone.channel.idle();
  expect(command).toMatchObject({ commandUuid: fetched });
  s.t.clock.advance(30_000);
  expect(await phone.channel.idle()).toBeNull();
  await s.t.engine.runDuty('mdm-expire-commands');
  expect(await phone.channel.idle()).toBeNull();
  await phone.channel.report(command as never, { status: 'Acknowledged' });
  await s.heard({ event_type: 'ACTION_COMPLETED', command_uuid: fetched });
  expect(s.told.filter((event) => event.command_uuid === fetched)).toHaveLength(1);
});

test('a phone that finds nothing is reported at most every 30 seconds', async () => {
  const { phone } = await s.enrolled();
  // the report is committed before the phone is answered; whether it was processed yet is unknown
  const text = `select count(*)::int as n from muster.action_states where payload::text like '%DEVICE_CONNECTED%' and payload::text like $1`;
  const told = async () =>
    (await s.t.engine.db.query({ text, values: [`%${phone.udid}%`] })).rows[0].n as number;
  await phone.connect();
  const once = await told();
  expect(once).toBeGreaterThan(0);
  await phone.connect();
  s.t.clock.advance(29_999);
  await phone.connect();
  expect(await told()).toBe(once);
  s.t.clock.advance(1);
  await phone.connect();
  expect(await told()).toBe(2 * once);
  await expect.poll(() => eventsOf(phone).filter((type) => type === 'DEVICE_CONNECTED').length).toBe(2);
  s.t.clock.advance(30_000);
  await s.cached(phone);
  expect(await phone.channel.idle()).not.toBeNull(); // there was something
  expect(await told()).toBe(2 * once);
});

test('a phone that connects while a command is on its way is held for it', async () => {
  const { phone, id } = await s.enrolled();
  const laneId = await s.shell.fleet.laneOf(s.t.engine.db, 1, id);
  // the actions in its lane belong to the pipeline, which learns that the phone is connected
  await s.t.engine.enqueue(s.t.engine.db, { tenantId: 1, laneId, channel: 'played', kind: 'x' });
  const idle = phone.channel.idle();
  await s.heard({ event_type: 'DEVICE_CONNECTED', udid: phone.udid });
  const commandUuid = await s.command(phone);
  expect(await idle).toMatchObject({ commandUuid });
});

test('G80: deleting a device makes its phone unknown; the phone is not told to leave', async () => {
  const { phone, id } = await s.enrolled();
  await s.t.del(`/api/devices/${id}`);
  expect(await refusal(phone.connect())).toBe(400);
  expect(phone.enrolled).toBe(true);
});
