import { testCertificate } from '@muster/mdm/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestServer, testServer } from '../testing/test-server.ts';

let t: TestServer;
beforeAll(async () => {
  t = await testServer();
});
afterAll(() => t.close());

const basic = (token: string, name = 'nanomdm') => ({
  authorization: `Basic ${Buffer.from(`${name}:${token}`).toString('base64')}`,
});
async function certificateFor(topic: string): Promise<{ pem: string; key: string; all: string }> {
  const { pem, keyPem } = await testCertificate({ commonName: 'APSP', userId: topic });
  for (const line of keyPem.split('\n').slice(1, -2)) t.secret(line);
  return { pem, key: keyPem, all: `${pem}\n${keyPem}` };
}
const put = (body: string, headers: Record<string, string> = basic(t.operator)) =>
  t.send('PUT', '/v1/pushcert', body, {
    token: null,
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
  });

test('a push certificate is put as NanoMDM takes it, with a token as the password of Basic', async () => {
  const { all, pem } = await certificateFor('com.apple.mgmt.External.one');
  const answer = await put(all);
  expect(answer).toMatchObject({ status: 200, body: { topic: 'com.apple.mgmt.External.one' } });
  expect(Date.parse(answer.body.not_after)).toBeGreaterThan(0);
  const { rows } = await t.engine.db.query({ text: 'select certificate, sealed_key from muster.push_topics' });
  expect(rows).toHaveLength(1);
  expect(rows[0].certificate.trim()).toBe(pem.trim());
  expect(rows[0].sealed_key.toString('latin1')).not.toContain('PRIVATE KEY');
  const { body: audit } = await t.get('/api/audit');
  expect(audit.entries[0]).toMatchObject({ act: 'certificate.renew', target: 'com.apple.mgmt.External.one' });
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

test('whoever may not put one, or puts something else, is told so', async () => {
  const { all, pem } = await certificateFor('com.apple.mgmt.External.two');
  const { token } = await t.token({ kind: 'operator', role: 'operator', name: 'no admin' });
  expect(await put(all, basic(token))).toMatchObject({ status: 403, body: { code: 'MUSTER_FORBIDDEN' } });
  expect((await put(all, { ...basic(t.operator), cookie: 'a=b' })).status).toBe(403);
  for (const authorization of ['', 'Basic', 'Basic !', basic('').authorization, basic('wrong').authorization]) {
    const refused = await put(all, { authorization });
    expect(refused).toMatchObject({ status: 401, body: { code: 'MUSTER_UNAUTHORIZED' } });
    expect(refused.headers.get('www-authenticate')).toBe('Basic realm="muster"');
  }
  // elsewhere Basic is no way in
  expect((await t.get('/api/audit', { token: null, headers: basic(t.operator) })).status).toBe(401);
  for (const body of ['', pem, 'x'.repeat(10_000), '{}', '\u0000'])
    expect(await put(body)).toMatchObject({
      status: 400,
      body: { code: 'MUSTER_PUSH_CERTIFICATE_UNUSABLE' },
    });
  const { rows } = await t.engine.db.query({ text: 'select topic from muster.push_topics' });
  expect(rows).toEqual([{ topic: 'com.apple.mgmt.External.one' }]);
});

test('a companion app says with the token of its device how messages get to it', async () => {
  const { body: device } = await t.post('/api/devices', { name: 'phone' });
  t.secret(device.deviceToken);
  const putToken = (token: string, by: string) =>
    t.send('PUT', '/api/devices/me/push-token', { token }, { token: by });
  expect((await putToken('ab'.repeat(32), device.deviceToken)).status).toBe(204);
  expect((await putToken('CD'.repeat(32), device.deviceToken)).status).toBe(204);
  const { rows } = await t.engine.db.query({
    text: 'select device_id, app, token from muster.push_tokens',
  });
  expect(rows).toEqual([{ device_id: device.id, app: 'message', token: Buffer.alloc(32, 0xcd) }]);
  expect((await putToken('abc', device.deviceToken)).status).toBe(400);
  expect((await putToken('ab'.repeat(32), t.operator)).status).toBe(403);
});
