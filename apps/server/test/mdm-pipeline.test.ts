import { Phone } from '@muster/mdm/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type MdmStage, mdmStage } from '../testing/mdm-stage.ts';

/** The saga of seed 002 with both halves: from a mutation to a phone and back. */
let s: MdmStage;
beforeAll(async () => {
  s = await mdmStage({ clock: true, settings: { MUSTER_MDM_HOLD_SECONDS: '25' } });
});
afterAll(async () => {
  // one that came again meanwhile is held until the server ends
  await s.close();
  await Promise.all(ears.map(({ stop }) => stop().catch(() => {})));
});

/** Comes whenever it is pushed to. */
const ears: { stop(): Promise<void> }[] = [];
const listen = ({ channel }: Phone) => void ears.push(channel.listen(s.apns));

const ASSIGN = `mutation ($deviceId: ID!, $actionId: ID!) {
  assignAction(deviceId: $deviceId, actionId: $actionId) { executionId status enrolmentToken } }`;
const EXECUTION = `query ($id: ID!) { execution(id: $id) { status failedReason action { state executions { status failedReason } } } }`;
const FOUND = `query ($search: String) { devices(search: $search) { nodes { id serial model osVersion } } }`;
const POLICY = `query ($id: ID!) { device(id: $id) { policy } }`;
const [REGISTER, LOCK, RELEASE] = ['2', '5', '9'];

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
  await phone.connect(); // as whoever was pushed to does
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

test('a phone that was away is told as soon as it comes, in the connection it came with', async () => {
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

test('a token that APNs does not know ends the execution; the next token of the phone brings it back', async () => {
  const { id, phone } = await active();
  s.apns.answer(hex(phone), { status: 400, reason: 'BadDeviceToken' });
  const { executionId } = await assign(id, LOCK);
  await expect.poll(() => execution(executionId)).toMatchObject({ failedReason: 'apns_bad_token' });
  phone.channel.rotateToken();
  listen(phone);
  await phone.tokenUpdate();
  await expect.poll(() => policy(id)).toBe('locked');
});

const hex = (phone: Phone) => Buffer.from(phone.channel.token).toString('hex');
