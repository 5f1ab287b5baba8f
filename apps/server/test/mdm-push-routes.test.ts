import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTokens } from '../src/tokens/tokens.ts';
import { type MdmStage, mdmStage } from '../testing/mdm-stage.ts';
import type { TestServer } from '../testing/test-server.ts';

let s: MdmStage;
let t: TestServer;
beforeAll(async () => {
  s = await mdmStage({ settings: { MUSTER_MDM_HOLD_SECONDS: '0' } });
  t = s.t;
});
afterAll(() => s.close());

const basic = (token: string, name = 'nanomdm') => ({
  authorization: `Basic ${Buffer.from(`${name}:${token}`).toString('base64')}`,
});
async function certificateFor(topic: string): Promise<{ pem: string; key: string; all: string }> {
  const { certificate: pem, key: keyPem } = await s.apns.pushCertificate(topic);
  for (const line of keyPem.split('\n').slice(1, -2)) t.secret(line);
  return { pem, key: keyPem, all: `${pem}\n${keyPem}` };
}
const put = (body: string, headers: Record<string, string> = basic(t.operator)) =>
  t.send('PUT', '/v1/pushcert', body, {
    token: null,
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
  });

test('a push certificate is uploaded as with NanoMDM, with a token as the Basic password', async () => {
  const { all, pem } = await certificateFor('com.apple.mgmt.External.one');
  const answer = await put(all);
  expect(answer).toMatchObject({ status: 200, body: { topic: 'com.apple.mgmt.External.one' } });
  expect(Date.parse(answer.body.not_after)).toBeGreaterThan(0);
  const { rows } = await t.engine.db.query({
    text: 'select certificate, sealed_key from muster.push_topics where certificate is not null',
  });
  expect(rows).toHaveLength(1);
  expect(rows[0].certificate.trim()).toBe(pem.trim());
  expect(rows[0].sealed_key.toString('latin1')).not.toContain('PRIVATE KEY');
  const { body: audit } = await t.get('/api/audit');
  expect(audit.audit[0]).toMatchObject({ act: 'certificate.renew', target: 'com.apple.mgmt.External.one' });
  expect(JSON.stringify(audit)).not.toContain('PRIVATE');
  expect((await put(all, { authorization: `Bearer ${t.operator}` })).status).toBe(200);
  // as `curl -T -` sends it: without a content type
  const url = `${t.server.url}/v1/pushcert`;
  const bare = await fetch(url, { method: 'PUT', body: Buffer.from(all), headers: basic(t.operator) });
  expect(bare.status).toBe(200);
  const metrics = (await t.get('/metrics')).body;
  expect(metrics).toMatch(
    /muster_push_certificate_not_after_seconds\{tenant="1",topic="com\.apple\.mgmt\.External\.one"\} \d+/,
  );
});

test('an upload without permission, or of something else, is refused', async () => {
  const { all, pem } = await certificateFor('com.apple.mgmt.External.two');
  const { token } = await t.token({ kind: 'operator', role: 'operator', name: 'no admin' });
  expect(await put(all, basic(token))).toMatchObject({ status: 403, body: { code: 'MUSTER_FORBIDDEN' } });
  expect((await put(all, { ...basic(t.operator), cookie: 'a=b' })).status).toBe(403);
  for (const authorization of [
    '',
    'Basic',
    'Basic !',
    basic('').authorization,
    basic('wrong').authorization,
  ]) {
    const refused = await put(all, { authorization });
    expect(refused).toMatchObject({ status: 401, body: { code: 'MUSTER_UNAUTHORIZED' } });
    expect(refused.headers.get('www-authenticate')).toBe('Basic realm="muster"');
  }
  // on other routes Basic is refused
  expect((await t.get('/api/audit', { token: null, headers: basic(t.operator) })).status).toBe(401);
  for (const body of ['', pem, 'x'.repeat(10_000), '{}', '\u0000'])
    expect(await put(body)).toMatchObject({
      status: 400,
      body: { code: 'MUSTER_PUSH_CERTIFICATE_UNUSABLE' },
    });
  const { rows } = await t.engine.db.query({
    text: 'select topic from muster.push_topics where certificate is not null',
  });
  expect(rows).toEqual([{ topic: 'com.apple.mgmt.External.one' }]);
});

test('the companion app registers its push token with the token of its device', async () => {
  const { body: device } = await t.post('/api/devices', { name: 'phone' });
  t.secret(device.deviceToken);
  const putToken = (token: string, by: string) =>
    t.send('PUT', '/api/devices/me/push-token', { token }, { token: by });
  expect((await putToken('ab'.repeat(32), device.deviceToken)).status).toBe(204);
  expect((await putToken('CD'.repeat(32), device.deviceToken)).status).toBe(204);
  const { rows } = await t.engine.db.query({
    text: `select device_id, app, token from muster.push_tokens where app = 'message'`,
  });
  expect(rows).toEqual([{ device_id: device.id, app: 'message', token: Buffer.alloc(32, 0xcd) }]);
  expect((await putToken('abc', device.deviceToken)).status).toBe(400);
  expect((await putToken('ab'.repeat(32), t.operator)).status).toBe(403);
});

const plist = (requestType: string, uuid?: string, more = '') => `<?xml version="1.0" encoding="UTF-8"?>
<plist version="1.0"><dict>
  <key>Command</key><dict><key>RequestType</key><string>${requestType}</string>${more}</dict>
  ${uuid ? `<key>CommandUUID</key><string>${uuid}</string>` : ''}
</dict></plist>`;
const enqueue = (ids: string, body: string, headers: Record<string, string> = basic(t.operator)) =>
  t.send('PUT', `/v1/enqueue/${ids}`, body, {
    token: null,
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
  });
const push = (ids: string) => t.get(`/v1/push/${ids}`, { token: null, headers: basic(t.operator) });
const tokensOf = (pushes: readonly { token: string }[]) => pushes.map(({ token }) => token);

test('a command is queued and pushed as with NanoMDM, and the phone carries it out', async () => {
  const [{ phone, id }, { phone: other }] = [await s.enrolled(), await s.enrolled()];
  await s.apns.arrived(2); // one for each that has just enrolled
  await Promise.all([phone.connect(), other.connect()]);
  s.apns.forget();
  const ids = `${phone.udid},${other.udid}`;
  const { status, body } = await enqueue(ids, plist('ProfileList', '0001_ProfileList'));
  expect(status).toBe(200);
  expect(body).toEqual({
    status: {
      [phone.udid]: { push_result: expect.any(String) },
      [other.udid]: { push_result: expect.any(String) },
    },
    command_uuid: '0001_ProfileList',
    request_type: 'ProfileList',
  });
  const apnsIds = s.apns.pushes.map(({ headers }) => headers['apns-id']);
  for (const { udid } of [phone, other]) expect(apnsIds).toContain(body.status[udid].push_result);
  expect(await phone.connect()).toMatchObject([
    { commandUuid: '0001_ProfileList', requestType: 'ProfileList' },
  ]);
  const { body: actions } = await t.get('/api/actions?kind=mdm.raw');
  expect(actions.actions.map((one: { state: string }) => one.state).sort()).toEqual(['pending', 'succeeded']);
  const { body: audit } = await t.get('/api/audit?limit=2');
  expect(audit.audit.map((line: { target: string }) => line.target)).toContain(`device ${id}`);
});

test('an error of one id is reported for that id, and no other phone is pushed', async () => {
  const { phone } = await s.enrolled();
  await expect.poll(() => tokensOf(s.apns.pushes).length).toBeGreaterThan(0);
  await phone.connect();
  s.apns.forget();
  const some = await enqueue(`${phone.udid},unknown`, plist('SecurityInfo'));
  expect(some.status).toBe(207);
  expect(some.body.status).toEqual({
    [phone.udid]: { push_result: expect.any(String) },
    unknown: { command_error: 'No phone with this id is enrolled.' },
  });
  expect(some.body.command_uuid).toMatch(/^[0-9a-f-]{36}$/);
  await phone.connect();
  await expect.poll(isWatched(phone.udid)).toBe(false);
  s.apns.forget();
  const quiet = await enqueue(`${phone.udid}?nopush=1`, plist('SecurityInfo'));
  expect(quiet).toMatchObject({ status: 200, body: { status: { [phone.udid]: {} }, no_push: true } });
  // nor later, by the duty that looks for unfinished work of phones that connected
  const past = `update muster.mdm_devices set watched_at = now() - interval '1 minute' where udid = $1`;
  await t.engine.db.query({ text: past, values: [phone.udid] });
  await t.engine.runDuty('mdm-watch-phones');
  const wanted = `select 1 from muster.push_ledger l join muster.mdm_devices d using (tenant_id, device_id) where d.udid = $1`;
  expect((await t.engine.db.query({ text: wanted, values: [phone.udid] })).rows).toEqual([]);
  expect(s.apns.pushes).toEqual([]);
  const pushed = await push(`${phone.udid},unknown`);
  expect(pushed.body).toEqual({
    status: {
      [phone.udid]: { push_result: s.apns.pushes.at(-1)?.headers['apns-id'] },
      unknown: { push_error: 'No phone with this id is enrolled.' },
    },
  });
  s.apns.answer('all', { status: 429, reason: 'TooManyRequests' });
  const refused = await push(phone.udid);
  expect(refused).toMatchObject({
    status: 207,
    body: { status: { [phone.udid]: { push_error: 'TooManyRequests' } } },
  });
  s.apns.answer('all', null);
  // another tenant knows none of them
  const { token } = await otherTenant();
  expect((await enqueue(phone.udid, plist('SecurityInfo'), basic(token))).body.status).toEqual({
    [phone.udid]: { command_error: 'No phone with this id is enrolled.' },
  });
});

test('an invalid command is refused, and erasing a phone needs an admin and its serial number', async () => {
  const { phone } = await s.enrolled();
  for (const body of [
    '',
    'x',
    plist('Nonsense!'),
    '<plist><dict/></plist>',
    '<!DOCTYPE a [<!ENTITY b "c">]><plist>&b;</plist>',
  ])
    expect(await enqueue(phone.udid, body)).toMatchObject({
      status: 400,
      body: { code: 'MUSTER_BAD_REQUEST' },
    });
  const { token } = await t.token({ kind: 'operator', role: 'operator', name: 'no eraser' });
  expect((await enqueue(phone.udid, plist('EraseDevice'), basic(token))).status).toBe(403);
  const wrong = await enqueue(`${phone.udid}?serial=other`, plist('EraseDevice'));
  expect(wrong.body.status[phone.udid].command_error).toMatch(/serial/);
  const right = await enqueue(`${phone.udid}?serial=${phone.serial}`, plist('EraseDevice'));
  expect(right.body.status[phone.udid].command_error).toBeUndefined();
});

test('a CommandUUID belongs to one command: repeating it queues nothing, and another command is refused', async () => {
  const { phone } = await s.enrolled();
  const first = await enqueue(phone.udid, plist('SecurityInfo', 'used-0001'));
  const again = await enqueue(phone.udid, plist('SecurityInfo', 'used-0001'));
  expect([first.status, again.status]).toEqual([200, 200]);
  expect(again.body).toMatchObject({ command_uuid: 'used-0001' });
  const before = await enqueue(phone.udid, plist('DeviceLock', 'used-0001'));
  expect(before).toMatchObject({ status: 207 });
  const used = 'Another command for this phone has this CommandUUID.';
  expect(before.body.status[phone.udid]).toEqual({ command_error: used });
  expect((await phone.connect()).map(({ requestType }) => requestType)).toEqual(['SecurityInfo']);
  const after = await enqueue(phone.udid, plist('DeviceLock', 'used-0001'));
  expect(after.body.status[phone.udid]).toEqual({ command_error: used });
  // whichever route gave it its id
  const ofPipeline = await s.cached(phone);
  const taken = await enqueue(phone.udid, plist('DeviceLock', ofPipeline));
  expect(taken.body.status[phone.udid]).toEqual({ command_error: used });
});

test('ClearPasscode is enqueued with a token or without, and the stored token is sent to the phone', async () => {
  const { phone } = await s.enrolled();
  await phone.connect();
  const token = Buffer.from('a token that somebody knows').toString('base64');
  const given = `<key>UnlockToken</key><data>${t.secret(token)}</data>`;
  for (const more of [given, '']) {
    phone.locked = true;
    expect((await enqueue(phone.udid, plist('ClearPasscode', undefined, more))).status).toBe(200);
    expect(await phone.connect()).toMatchObject([
      { keys: { UnlockToken: Uint8Array.from(phone.unlockToken) } },
    ]);
    expect(phone.locked).toBe(false);
  }
  const { rows } = await t.engine.db.query({
    text: `select payload from muster.action_states where payload->>'requestType' = 'ClearPasscode'`,
  });
  expect(rows.map(({ payload }) => payload.parameters)).toEqual([{}, {}]);
});

test('a thousand ids are accepted at once, in any form', async () => {
  const { phone } = await s.enrolled();
  const ids = Array.from({ length: 998 }, (_, n) => `${n}`.padStart(40, '0'));
  const many = await push([...ids, '__proto__', phone.udid].join(','));
  expect(many.status).toBe(207);
  expect(Object.keys(many.body.status)).toHaveLength(1_000);
  expect(many.body.status[phone.udid]).toEqual({ push_result: expect.any(String) });
  const unknown = { command_error: 'No phone with this id is enrolled.' };
  const queued = await enqueue([...ids, phone.udid].join(','), plist('SecurityInfo'));
  expect(queued.body.status[ids[997] as string]).toEqual(unknown);
  expect(queued.body.status[phone.udid]).toEqual({ push_result: expect.any(String) });
  expect((await push([...ids, ...ids].join(','))).body.code).toBe('MUSTER_HEADERS_TOO_LARGE');
  expect((await push(ids.join(',').padEnd(46_000, '0'))).body.code).toBe('MUSTER_PATH_TOO_LONG');
});

const isWatched = (udid: string) => async () => {
  const text = 'select watched_at is not null as is_watched from muster.mdm_devices where udid = $1';
  return (await t.engine.db.query({ text, values: [udid] })).rows[0].is_watched;
};

async function otherTenant(name = 'other'): Promise<{ token: string }> {
  const { body: tenant } = await t.post('/api/tenants', { name });
  const { token } = await createTokens(t.engine.db, 'muster')
    .create(t.engine.db, {
      ...{ tenantId: Number(tenant.id), kind: 'operator', role: 'admin', name: 'other' },
    })
    .then(({ secret }) => ({ token: t.secret(secret) }));
  return { token };
}

test('operators see which phones can be woken up, and until when, and push to one', async () => {
  const [{ phone, id }, { id: newer }] = [await s.enrolled(), await s.enrolled()];
  const of = async (device: string) => (await t.get(`/api/devices/${device}/mdm`)).body;
  await phone.connect();
  expect(await of(id)).toMatchObject({
    ...{ online: true, certificateEndsAt: new Date(phone.identity?.certificate.validTo ?? 0).toISOString() },
    push: { state: 'idle', tokenAt: expect.any(String), deadReason: null, pushes: 0, nextAt: null },
  });
  expect((await t.post(`/api/devices/${id}/mdm/commands`, { requestType: 'SecurityInfo' })).status).toBe(201);
  await expect
    .poll(async () => (await of(id)).push)
    .toMatchObject({ state: 'sent', pushes: 1, nextAt: expect.any(String) });
  s.apns.forget();
  const now = await t.post(`/api/devices/${id}/mdm/push`, {});
  expect(now.body).toEqual({ result: s.apns.pushes.at(-1)?.headers['apns-id'], error: null });
  s.apns.answer('all', { status: 410, reason: 'Unregistered' });
  expect((await t.post(`/api/devices/${id}/mdm/push`, {})).body).toEqual({
    ...{ result: null, error: 'Unregistered' },
  });
  s.apns.answer('all', null);
  await expect
    .poll(async () => (await of(id)).push)
    .toMatchObject({ state: 'dead', deadReason: 'apns_unregistered', nextAt: null });

  const first = (await t.get('/api/phones?limit=1')).body;
  expect(first).toMatchObject({ phones: [{ id: newer }], cursor: newer });
  const second = (await t.get(`/api/phones?limit=1&cursor=${first.cursor}`)).body;
  expect(second.phones).toEqual([await of(id)]);
  await put((await certificateFor('com.apple.mgmt.External.four')).all);
  const { certificates } = (await t.get('/api/push-certificates')).body;
  expect(certificates).toContainEqual({
    ...{ topic: 'com.apple.mgmt.External.four', own: true, notAfter: expect.any(String), stopReason: null },
  });

  // a viewer can only read; another tenant knows none of them
  const { token: viewer } = await t.token({ kind: 'operator', role: 'viewer', name: 'v' });
  expect((await t.get('/api/phones', { token: viewer })).status).toBe(200);
  expect((await t.post(`/api/devices/${id}/mdm/push`, {}, { token: viewer })).status).toBe(403);
  const { token } = await otherTenant('third');
  expect((await t.get('/api/phones', { token })).body).toEqual({ phones: [], cursor: null });
  expect((await t.post(`/api/devices/${id}/mdm/push`, {}, { token })).status).toBe(404);
});

test('an expiring certificate and stopped pushes are among the problems', async () => {
  const codes = async () => {
    const { problems } = (await t.get('/api/overview')).body as {
      problems: { code: string; text: string }[];
    };
    return problems.filter(({ code }) => code.startsWith('PUSH'));
  };
  const topic = 'com.apple.mgmt.External.ending';
  const days = (count: number) => new Date(t.engine.now().getTime() + count * 86_400_000);
  const certify = async (until: Date) => {
    const { certificate, key } = await s.apns.pushCertificate(topic, until);
    for (const line of key.split('\n').slice(1, -2)) t.secret(line);
    expect((await put(`${certificate}\n${key}`)).status).toBe(200);
  };
  await certify(days(31));
  await expect.poll(codes).toEqual([]);
  await certify(days(29));
  await expect
    .poll(codes)
    .toMatchObject([{ code: 'PUSH_CERTIFICATES_END', count: 1, example: { type: 'topic', id: topic } }]);
  const { db, schema } = t.engine;
  await db.query({
    text: `update ${schema}.push_topics set stop_reason = 'BadCertificate' where topic = $1`,
    values: [topic],
  });
  await expect
    .poll(async () => (await codes())[0])
    .toMatchObject({ code: 'PUSHES_STOPPED', text: `${topic}: BadCertificate` });
  await certify(days(300)); // a renewal ends both
  await expect.poll(codes).toEqual([]);
});
