import { Phone, send } from '@muster/mdm/simulation';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type MdmStage, mdmStage } from '../testing/mdm-stage.ts';

/** Pipeline and phone layer together: from a mutation to a phone and back. */
let s: MdmStage;
beforeAll(async () => {
  s = await mdmStage({ clock: true, settings: { MUSTER_MDM_HOLD_SECONDS: '25' } });
});
afterAll(async () => {
  // a phone that came again meanwhile is held until the server ends
  await s.close();
  await Promise.all(ears.map(({ stop }) => stop().catch(() => {})));
});

/** Connects whenever it is pushed. */
const ears: { stop(): Promise<void> }[] = [];
const listen = ({ channel }: Phone) => void ears.push(channel.listen(s.apns));

const ASSIGN = `mutation ($deviceId: ID!, $actionId: ID!) {
  assignAction(deviceId: $deviceId, actionId: $actionId) { executionId status enrolmentToken } }`;
const EXECUTION = `query ($id: ID!) { execution(id: $id) { status failedReason action { state executions { status failedReason } } } }`;
const FOUND = `query ($search: String) { devices(search: $search) { nodes { id serial model osVersion } } }`;
const POLICY = `query ($id: ID!) { device(id: $id) { policy } }`;
const [REGISTER, LOCK, RELEASE, DEREGISTER] = ['2', '5', '9', '10'];

async function ask(query: string, variables: object) {
  const { body } = await s.t.post('/graphql', { query, variables });
  if (body.errors) throw new Error(JSON.stringify(body.errors));
  return body.data;
}
const assign = async (deviceId: string, actionId: string | undefined) =>
  (await ask(ASSIGN, { deviceId, actionId })).assignAction;
const execution = async (id: string) => (await ask(EXECUTION, { id })).execution;
const policy = async (id: string) => (await ask(POLICY, { id })).device.policy;

async function active() {
  const { id, deviceToken } = (await s.t.post('/api/devices', { name: 'phone' })).body;
  s.t.secret(deviceToken);
  const { enrolmentToken } = await assign(id, REGISTER);
  const phone = new Phone({ serial: `S-${id}` });
  await phone.enrol(`${s.t.server.url}/mdm/enrol/${s.t.secret(enrolmentToken)}`, {
    identity: await s.identity(),
  });
  await expect.poll(() => policy(id)).toBe('active');
  await phone.connect(); // as a pushed phone does
  return { id, phone };
}

test('G74: from a mutation to a locked phone, which leaves when it is released', async () => {
  const { id, phone } = await active();
  listen(phone);
  const { executionId, status } = await assign(id, LOCK);
  expect(status).toBe('PENDING');
  await expect.poll(() => execution(executionId)).toMatchObject({ status: 'ACTION_COMPLETED' });
  expect(phone.locked).toBe(true);
  expect(await policy(id)).toBe('locked');
  const { devices } = await ask(FOUND, { search: phone.udid });
  expect(devices.nodes).toEqual([{ id, serial: `S-${id}`, model: 'iPhone14,5', osVersion: '18.1' }]);
  const release = await assign(id, RELEASE);
  await expect.poll(() => execution(release.executionId)).toMatchObject({ status: 'ACTION_COMPLETED' });
  await expect.poll(() => policy(id)).toBe('released');
  expect(phone.enrolled).toBe(false);
  expect((await s.t.get(`/api/devices?text=S-${id}`)).body.devices).toMatchObject([{ id }]);
});

test('G79: a phone that has removed its profile has left, even if its CheckOut is lost', async () => {
  const { id, phone } = await active();
  phone.checkOut = async () => {};
  const { executionId } = await assign(id, RELEASE);
  await expect.poll(isFetchable(phone)).toBe(true);
  await phone.connect();
  await expect.poll(() => execution(executionId)).toMatchObject({ status: 'ACTION_COMPLETED' });
  expect((await s.t.get(`/api/devices/${id}/mdm`)).body.releasedAt).not.toBeNull();
  const raw = await s.t.post(`/api/devices/${id}/mdm/commands`, { requestType: 'ProfileList' });
  expect(raw.body.code).toBe('MUSTER_NOT_ENROLLED');
  await phone.enrol(await s.enrolment(id), { identity: await s.identity() });
  await expect.poll(() => policy(id)).toBe('active');
});

test('a phone that was offline gets its command as soon as it connects, in the same connection', async () => {
  const { id, phone } = await active();
  const { executionId } = await assign(id, LOCK);
  const text = `select 1 from ${s.t.engine.schema}.mdm_commands where udid = $1`;
  const waiting = async () => (await s.t.engine.db.query({ text, values: [phone.udid] })).rows.length;
  await expect.poll(waiting).toBe(1);
  s.t.clock.advance(58_000);
  await s.t.engine.runDuty('mdm-expire-commands');
  await expect.poll(() => execution(executionId)).toMatchObject({ failedReason: 'device_timeout' });
  s.t.clock.advance(30_000);
  await s.t.engine.runDuty('end-leases');
  expect(await phone.connect()).toMatchObject([{ requestType: 'DeviceLock' }]);
  await expect.poll(() => policy(id)).toBe('locked');
  expect((await execution(executionId)).action).toMatchObject({
    ...{ state: 'succeeded', executions: [{ status: 'ACTION_FAILED' }, { status: 'ACTION_COMPLETED' }] },
  });
});

test("a token that APNs does not know ends the execution; the phone's next token starts a new one", async () => {
  const { id, phone } = await active();
  s.apns.answer(hex(phone), { status: 400, reason: 'BadDeviceToken' });
  const { executionId } = await assign(id, LOCK);
  await expect.poll(() => execution(executionId)).toMatchObject({ failedReason: 'apns_bad_token' });
  phone.channel.rotateToken();
  listen(phone);
  await phone.tokenUpdate();
  await expect.poll(() => policy(id)).toBe('locked');
});

test('#12: a phone becomes active when it leaves its Setup Assistant, in its first life and in a new one', async () => {
  const { phone, id, enrol } = await s.invited();
  await enrol({ AwaitingConfiguration: true });
  await s.heard({ udid: phone.udid, event_type: 'DEVICE_TOKEN_UPDATE' });
  await expect.poll(() => policy(id)).toBe('enrolled');
  expect(await phone.channel.idle()).toMatchObject({ requestType: 'DeviceConfigured' });
  expect(await policy(id)).toBe('enrolled');
  void phone.connect();
  await expect.poll(() => policy(id)).toBe('active');

  const other = await active();
  await other.phone.authenticate();
  await other.phone.tokenUpdate({ AwaitingConfiguration: true });
  await expect.poll(() => policy(other.id)).toBe('enrolled');
  void other.phone.connect();
  await expect.poll(() => policy(other.id)).toBe('active');
});

test('#12: a cancelled lock is not handed out from then on, whatever the server does later', async () => {
  const { id, phone } = await active();
  const { executionId } = await assign(id, LOCK);
  await expect.poll(isFetchable(phone)).toBe(true);
  const { current } = (await s.t.get(`/api/devices/${id}`)).body;
  expect((await s.t.post(`/api/actions/${current.id}/cancel`, {})).body.outcome).toBe('requested');
  expect(await phone.channel.report(NO_COMMAND, { status: 'NotNow' })).toBeNull(); // a phone that says this is not held
  await s.t.engine.runDuty('withdraw-cancelled');
  await expect.poll(isFetchable(phone)).toBe(false);
  await s.t.engine.runDuty('mdm-expire-commands');
  await expect
    .poll(() => execution(executionId))
    .toMatchObject({ failedReason: 'CANCELLED', action: { state: 'cancelled' } });
  expect(phone.locked).toBe(false);
});

test('G77: a lock that is cancelled before the phone has fetched it is not handed out', async () => {
  const { id, phone } = await active();
  const { executionId } = await assign(id, LOCK);
  const text = `select expires_at <= $2 as is_over from ${s.t.engine.schema}.mdm_commands where udid = $1`;
  const isOver = async () =>
    (await s.t.engine.db.query({ text, values: [phone.udid, s.t.clock()] })).rows[0]?.is_over;
  await expect.poll(isOver).toBe(false);
  const { current } = (await s.t.get(`/api/devices/${id}`)).body;
  expect((await s.t.post(`/api/actions/${current.id}/cancel`, {})).body.outcome).toBe('requested');
  await s.t.engine.runDuty('withdraw-cancelled');
  await expect.poll(isOver).toBe(true);
  await s.t.engine.runDuty('mdm-expire-commands');
  await expect.poll(() => execution(executionId)).toMatchObject({ action: { state: 'cancelled' } });
  expect(await phone.connect()).toEqual([]);
  expect([phone.locked, await policy(id)]).toEqual([false, 'active']);
  // it may have carried out what it has fetched: it does not get it again, and its answer counts
  const second = await assign(id, LOCK);
  await expect.poll(isFetchable(phone)).toBe(true);
  const command = await phone.channel.idle();
  const { current: running } = (await s.t.get(`/api/devices/${id}`)).body;
  await s.t.post(`/api/actions/${running.id}/cancel`, {});
  await s.t.engine.runDuty('withdraw-cancelled');
  await expect.poll(isFetchable(phone)).toBe(false);
  await phone.channel.report(command as never, { status: 'Acknowledged' });
  await expect.poll(() => execution(second.executionId)).toMatchObject({ status: 'ACTION_COMPLETED' });
});

test.each([
  ['has left', 1, 'released'],
  ['has left with a lock that was a dead letter', 3, 'released'],
  ['has left and come again', 3, 'active'],
] as const)('G77: a late answer of a phone that %s does not make it locked', async (_, attempts, is) => {
  const { id, phone } = await active();
  const { executionId } = await assign(id, LOCK);
  let command: Awaited<ReturnType<typeof phone.channel.idle>> = null;
  for (let n = 0; n < attempts; n += 1) {
    if (n > 0) s.t.clock.advance(30_000);
    else await expect.poll(isFetchable(phone)).toBe(true);
    command = await phone.channel.idle();
    expect(command).not.toBeNull();
    s.t.clock.advance(60_000);
    await s.t.engine.runDuty('end-leases');
  }
  expect((await execution(executionId)).action.state).toBe(attempts === 1 ? 'pending' : 'failed');
  await phone.checkOut();
  await expect.poll(() => policy(id)).toBe('released');
  if (is === 'active') await phone.enrol(await s.enrolment(id), { identity: await s.identity() });
  await expect.poll(() => policy(id)).toBe(is);
  await phone.channel.report(command as never, { status: 'Acknowledged' });
  const text = `select 1 from ${s.t.engine.schema}.executions where acknowledged_at is not null and command_uuid = $1`;
  const isHeard = async () =>
    (await s.t.engine.db.query({ text, values: [command?.commandUuid] })).rows.length > 0;
  await expect.poll(isHeard).toBe(true);
  expect(await policy(id)).toBe(is);
});

test('no phone can enrol as a deregistered device, with any profile', async () => {
  const { id } = (await s.t.post('/api/devices', { name: 'gone' })).body;
  const { enrolmentToken } = await assign(id, REGISTER);
  const url = `${s.t.server.url}/mdm/enrol/${s.t.secret(enrolmentToken)}`;
  const { body: profile } = await send({ url });
  await assign(id, DEREGISTER);
  expect((await send({ url })).status).toBe(404);
  const phone = new Phone();
  await expect(phone.enrol(profile, { identity: await s.identity() })).rejects.toThrow('Authenticate: 400');
  const { status, body } = await s.t.post(`/api/devices/${id}/mdm/enrolment`, {});
  expect([status, body.code]).toEqual([409, 'MUSTER_DEVICE_DEREGISTERED']);
  expect(await policy(id)).toBe('deregistered');
});

const isFetchable = (phone: Phone) => async () => {
  const text = `select 1 from ${s.t.engine.schema}.mdm_commands where udid = $1 and closed_at is null and expires_at > $2`;
  return (await s.t.engine.db.query({ text, values: [phone.udid, s.t.clock()] })).rows.length > 0;
};
const NO_COMMAND = { commandUuid: 'unknown', requestType: 'DeviceLock', keys: {} };
const hex = (phone: Phone) => Buffer.from(phone.channel.token).toString('hex');
