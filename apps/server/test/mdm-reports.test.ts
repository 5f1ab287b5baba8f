import { type Phone, send } from '@muster/mdm/simulation';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type MdmStage, mdmStage } from '../testing/mdm-stage.ts';

const HEADER = 'x-phone-certificate';
let s: MdmStage;
beforeAll(async () => {
  const settings = {
    MUSTER_MDM_HOLD_SECONDS: '0',
    MUSTER_MDM_CERT_HEADER: HEADER,
    MUSTER_TRUSTED_PROXIES: '127.0.0.1',
  };
  s = await mdmStage({ settings });
});
afterAll(() => s.close());

/** A raw XML report from a phone whose certificate a proxy has seen. */
async function report(
  { identity, udid }: Phone,
  about: { status: string; commandUuid: string; more: string; doctype?: string },
) {
  const keys = { UDID: udid, Status: about.status, CommandUUID: about.commandUuid };
  const texts = Object.entries(keys).map(([key, value]) => `<key>${key}</key><string>${value}</string>`);
  const body = Buffer.from(
    `<?xml version="1.0" encoding="UTF-8"?>${about.doctype ?? ''}<plist version="1.0"><dict>${texts.join('')}${about.more}</dict></plist>`,
  );
  const headers = { [HEADER]: `:${identity?.certificate.raw.toString('base64')}:` };
  return (await send({ url: `${s.t.server.url}/mdm`, method: 'PUT', body, headers })).status;
}

const queued = async (id: string) =>
  (await s.t.post(`/api/devices/${id}/mdm/commands`, { requestType: 'SecurityInfo' })).body;
const action = async (id: string) => (await s.t.get(`/api/actions/${id}`)).body;

test.each([
  ['<integer>9007199254740993</integer>', '9007199254740993'],
  ['<integer>-9007199254740993</integer>', '-9007199254740993'],
  ['<integer>18446744073709551615</integer>', '18446744073709551615'],
  ['<real>1e300</real>', '1e300'],
  ['<real>inf</real>', 'inf'],
  ['<integer>9007199254740991</integer>', 9_007_199_254_740_991],
  ['<real>0.5</real>', 0.5],
  ['<string><![CDATA[<integer>9007199254740993</integer>]]></string>', '<integer>9007199254740993</integer>'],
])('#12: a phone that answers %s is processed, and its number is kept exactly', async (value, kept) => {
  const { phone, id } = await s.enrolled();
  const { id: actionId, commandUuid } = await queued(id);
  await phone.channel.idle();
  const more = `<key>Size</key>${value}<key>List</key><array>${value}<true/></array>`;
  expect(await report(phone, { status: 'Acknowledged', commandUuid, more })).toBe(200);
  expect(await action(actionId)).toMatchObject({
    ...{ state: 'succeeded', result: { Size: kept, List: [kept, true] } },
  });
});

test('#12: an error code of any size is processed, for a raw command and for one of the pipeline', async () => {
  const { phone, id } = await s.enrolled();
  const more =
    '<key>ErrorChain</key><array><dict><key>ErrorCode</key><integer>9007199254740993</integer><key>ErrorDomain</key><string>d</string></dict></array>';
  const { id: actionId, commandUuid } = await queued(id);
  await phone.channel.idle();
  expect(await report(phone, { status: 'Error', commandUuid, more })).toBe(200);
  const chain = [{ code: '9007199254740993', domain: 'd', description: null }];
  expect(await action(actionId)).toMatchObject({ state: 'failed', result: { errorChain: chain } });
  const ofBus = await s.cached(phone);
  await phone.channel.idle();
  expect(await report(phone, { status: 'Error', commandUuid: ofBus, more })).toBe(200);
  expect((await s.heard({ command_uuid: ofBus })).payload).toMatchObject({ error_chain: chain });
});

test('#12: an answer nested too deeply is dropped, and the outcome of the command counts; entities are refused', async () => {
  const { phone, id } = await s.enrolled();
  const deep = `<key>X</key>${'<array>'.repeat(40)}${'</array>'.repeat(40)}`;
  const first = await queued(id);
  await phone.channel.idle();
  const about = { status: 'Acknowledged', commandUuid: first.commandUuid, more: deep };
  expect(await report(phone, about)).toBe(200);
  expect(await action(first.id)).toMatchObject({ state: 'succeeded', result: { unreadable: true } });
  const second = await queued(id);
  await phone.channel.idle();
  const doctype = '<!DOCTYPE plist [<!ENTITY a "b">]>';
  expect(
    await report(phone, { status: 'Acknowledged', commandUuid: second.commandUuid, more: '', doctype }),
  ).toBe(400);
  expect(await action(second.id)).toMatchObject({ state: 'claimed' });
});

test('#12: profiles and bypass codes are hidden, and revealed on request', async () => {
  const { phone, id } = await s.enrolled();
  const keys = { Payload: { $data: 'cGFzc3dvcmQ=' } };
  const { body } = await s.t.post(`/api/devices/${id}/mdm/commands`, { requestType: 'InstallProfile', keys });
  phone.answer = () => ({ status: 'Acknowledged', keys: { ActivationLockBypassCode: 'CODE' } });
  await phone.connect();
  expect(await action(body.id)).toMatchObject({
    payload: { parameters: { Payload: '[hidden]' } },
    result: { ActivationLockBypassCode: '[hidden]' },
  });
  expect((await s.t.post(`/api/actions/${body.id}/reveal`)).body).toMatchObject({
    payload: { parameters: keys },
    result: { ActivationLockBypassCode: 'CODE' },
  });
});

test('#12: a signature that does not match is refused, whatever else identifies the phone', async () => {
  const { phone } = await s
    .enrolled({ by: { header: HEADER }, headers: { 'mdm-signature': 'AAAA' } })
    .catch(() => ({ phone: null }));
  expect(phone).toBeNull();
});

test('#12: null is not a value of a command, and an empty id is not a phone', async () => {
  const { id } = await s.enrolled();
  const request = { requestType: 'Settings', keys: { a: null } };
  expect((await s.t.post(`/api/devices/${id}/mdm/commands`, request)).body.code).toBe('MUSTER_BAD_COMMAND');
  const basic = `Basic ${Buffer.from(`x:${s.t.operator}`).toString('base64')}`;
  const answer = await s.t.get('/v1/push/,', { token: null, headers: { authorization: basic } });
  expect([answer.status, answer.body.code]).toEqual([400, 'MUSTER_BAD_REQUEST']);
});

test('#12: a push certificate that cannot wake enrolled phones is accepted with a warning', async () => {
  await s.enrolled();
  const { certificate, key } = await s.apns.pushCertificate('com.apple.mgmt.External.another');
  const authorization = `Basic ${Buffer.from(`x:${s.t.operator}`).toString('base64')}`;
  const response = await fetch(`${s.t.server.url}/v1/pushcert`, {
    method: 'PUT',
    headers: { authorization, 'content-type': 'application/x-pem-file' },
    body: `${certificate}${key}`,
  });
  const { warnings } = (await response.json()) as { warnings: string[] };
  expect(warnings[0]).toContain('have another topic');
  expect(s.t.log()).toContain('have another topic');
});
