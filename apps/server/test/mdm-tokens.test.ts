import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type MdmStage, mdmStage } from '../testing/mdm-stage.ts';

let s: MdmStage;
beforeAll(async () => {
  const settings = { MUSTER_MDM_HOLD_SECONDS: '0' };
  s = await mdmStage({ clock: true, settings, messageTopic: 'com.example.app' });
});
afterAll(() => s.close());

const [LOCK, MESSAGE] = [5, 7];

async function ask(query: string, variables: object = {}) {
  const { body } = await s.t.post('/graphql', { query, variables });
  if (body.errors) throw new Error(JSON.stringify(body.errors));
  return body.data;
}
const assign = async (deviceId: string, actionId: number, more = ''): Promise<string> =>
  (
    await ask(
      `mutation { assignAction(deviceId: ${deviceId}, actionId: ${actionId} ${more}) { executionId } }`,
    )
  ).assignAction.executionId;
const execution = async (id: string) =>
  (await ask('query ($id: ID!) { execution(id: $id) { status failedReason action { id state } } }', { id }))
    .execution;
const policy = async (id: string) =>
  (await ask('query ($id: ID!) { device(id: $id) { policy } }', { id })).device.policy;

async function active() {
  const { phone, id } = await s.enrolled();
  await expect.poll(() => policy(id)).toBe('active');
  await phone.connect(); // as a pushed phone does
  return { phone, id };
}

async function withApp() {
  const { id } = await active();
  const { deviceToken } = (await s.t.post(`/api/devices/${id}/token`)).body;
  const token = s.t.secret(deviceToken);
  const register = async () => {
    const hex = randomBytes(32).toString('hex');
    const { status } = await s.t.send('PUT', '/api/devices/me/push-token', { token: hex }, { token });
    expect(status).toBe(204);
    return hex;
  };
  const { createMessageTemplate } = await ask(
    'mutation { createMessageTemplate(name: "m", content: "hi") { id } }',
  );
  return { id, register, template: `messageTemplateId: ${createMessageTemplate.id}` };
}

test('#12: a message that waits for a token of the app is sent when the app registers one', async () => {
  const { id, register, template } = await withApp();
  s.apns.answer(await register(), { status: 400, reason: 'BadDeviceToken' });
  const first = await assign(id, MESSAGE, template);
  await expect
    .poll(() => execution(first))
    .toMatchObject({ failedReason: 'apns_bad_token', action: { state: 'pending' } });
  await register();
  await expect.poll(() => execution(first)).toMatchObject({ action: { state: 'succeeded' } });
});

test('#12: with offline: FAIL, what goes to a token known to be dead fails at once, and says why', async () => {
  const { id, phone } = await active();
  s.apns.answer(Buffer.from(phone.channel.token).toString('hex'), { status: 400, reason: 'BadDeviceToken' });
  const waits = await assign(id, LOCK);
  await expect.poll(() => execution(waits)).toMatchObject({ failedReason: 'apns_bad_token' });
  const { action } = await execution(waits);
  expect((await s.t.post(`/api/actions/${action.id}/cancel`, {})).body.outcome).toBe('cancelled');
  const fails = await assign(id, LOCK, 'offline: FAIL');
  await expect
    .poll(() => execution(fails))
    .toMatchObject({ failedReason: 'apns_bad_token', action: { state: 'failed' } });
});
