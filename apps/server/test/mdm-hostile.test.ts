import { randomUUID } from 'node:crypto';
import { buildPlist } from '@muster/mdm';
import { Phone, send, testAuthority, testCertificate } from '@muster/mdm/simulation';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type MdmStage, mdmStage } from '../testing/mdm-stage.ts';
import { playPhones } from '../testing/phones/crowd.ts';

/** The test's proxy passes the certificate, so bodies need no signature. */
const HEADER = 'x-client-cert';
let s: MdmStage;
let phone: Phone;
beforeAll(async () => {
  s = await mdmStage({
    clock: true,
    settings: {
      MUSTER_MDM_HOLD_SECONDS: '0',
      MUSTER_MDM_CERT_HEADER: HEADER,
      MUSTER_TRUSTED_PROXIES: '127.0.0.1',
    },
  });
  ({ phone } = await s.enrolled({ by: { header: HEADER } }));
});
afterAll(() => s.close());

const DOCTYPE =
  '<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">';
const text = (inner: string, doctype = DOCTYPE) =>
  Buffer.from(`<?xml version="1.0" encoding="UTF-8"?>${doctype}<plist version="1.0">${inner}</plist>`);
const idle = () => buildPlist({ Status: 'Idle', UDID: phone.udid });
const certificate = () => `:${phone.identity?.certificate.raw.toString('base64')}:`;

async function put(
  body: Uint8Array,
  headers: Record<string, string> = { [HEADER]: certificate() },
  path = '/mdm',
) {
  return (await send({ url: s.t.server.url + path, method: 'PUT', body, headers })).status;
}

/** Everything that they could have changed, without the last contact of a phone and the mark of the duty that watches it. */
async function everything() {
  const all = ['mdm_devices', 'mdm_certificates', 'mdm_commands', 'mdm_enrolments', 'push_tokens'].map(
    async (table) => {
      const query = `select coalesce(jsonb_agg(to_jsonb(x) - 'connected_at' - 'watched_at' order by (to_jsonb(x) - 'connected_at' - 'watched_at')::text), '[]') as rows from ${s.t.engine.schema}.${table} x`;
      return (await s.t.engine.db.query({ text: query })).rows[0].rows;
    },
  );
  return Promise.all(all);
}

test('G80: invalid messages to the address of a phone are refused with 400 or 413 and change nothing', async () => {
  await s.cached(phone);
  const before = await everything();
  const checkin = { [HEADER]: certificate(), 'content-type': 'application/x-apple-aspen-mdm-checkin' };
  const status = `<key>Status</key><string>Idle</string><key>UDID</key><string>${phone.udid}</string>`;
  const bodies: [string, Uint8Array][] = [
    ['nothing', new Uint8Array(0)],
    ['no text', Buffer.from([0xff, 0xfe, 0x00, 0x80])],
    ['binary', Buffer.from('bplist00\u0000\u0000')],
    ['JSON', Buffer.from('{"Status":"Idle"}')],
    [
      'entity',
      text(
        `<dict>${status}<key>X</key><string>&x;</string></dict>`,
        '<!DOCTYPE plist [<!ENTITY x SYSTEM "file:///etc/passwd">]>',
      ),
    ],
    [
      'laughs',
      text(
        '<dict><key>X</key><string>&b;</string></dict>',
        `<!DOCTYPE plist [<!ENTITY a "${'ha'.repeat(99)}"><!ENTITY b "${'&a;'.repeat(99)}">]>`,
      ),
    ],
    ['deep', text(`<dict>${status}<key>X</key>${'<array>'.repeat(5_000)}${'</array>'.repeat(5_000)}</dict>`)],
    ['huge', Buffer.alloc(5 * 1_048_576, 'x')],
    ['another type', text('<array/>')],
    ['long id', buildPlist({ MessageType: 'CheckOut', Topic: 'x', UDID: 'U'.repeat(400) })],
    ['NUL', Buffer.from('<plist><dict><key>UDID</key><string>\u0000</string></dict></plist>')],
  ];
  for (const [name, body] of bodies) {
    for (const headers of [checkin, { ...checkin, 'content-type': 'text/plain' }]) {
      const answer = await put(body, headers);
      // an enrolled phone whose answer cannot be read is not stuck: it may get its command
      const mayPass = headers !== checkin && !['entity', 'laughs', 'deep', 'huge'].includes(name);
      expect([name, answer, mayPass || [400, 413].includes(answer)]).toEqual([
        name,
        expect.any(Number),
        true,
      ]);
      expect([200, 400, 413]).toContain(answer);
    }
  }
  for (const path of ['/mdm/nobody', '/mdm/%00', `/mdm/${'x'.repeat(3_000)}`, '/mdm/default?e=%00'])
    expect([400, 404, 414]).toContain(await put(idle(), undefined, path));
  // it had contact, and still holds its command
  const here = { fetched_at: null, watched_at: null, call_after: null, refusals: null };
  const fetched = (rows: object[]) => rows.map((row) => ({ ...row, ...here }));
  expect((await everything()).map(fetched)).toEqual(before.map(fetched));
});

test('G80: no other sender can claim the identity of a phone', async () => {
  const before = await everything();
  const raw = async (wish: Parameters<typeof testCertificate>[0]) =>
    `:${(await testCertificate(wish)).certificate.raw.toString('base64')}:`;
  const foreign = await testAuthority('Somebody else');
  const other = await s.enrolled({ by: { header: HEADER } });
  const afterOther = await everything();
  const wrong: Record<string, string>[] = [
    {},
    { [HEADER]: 'nonsense' },
    { [HEADER]: ':AAAA:' },
    { [HEADER]: '%E0%A4%A' },
    { [HEADER]: await raw({ commonName: 'x', issuer: foreign, purposes: ['clientAuth'] }) },
    { [HEADER]: `:${(await s.identity()).certificate.raw.toString('base64')}:` },
    { [HEADER]: `:${other.phone.identity?.certificate.raw.toString('base64')}:` },
    { 'mdm-signature': 'AAAA' },
    { 'mdm-signature': 'MIIB'.repeat(9_000) },
    { authorization: `Bearer ${s.t.operator}` },
    { cookie: 'x=y' },
  ];
  for (const headers of wrong) {
    expect([headers, [400, 431].includes(await put(idle(), headers))]).toEqual([headers, true]);
    const tokens = {
      MessageType: 'TokenUpdate',
      Topic: 't',
      Token: Buffer.from('t'),
      PushMagic: 'm',
      UDID: phone.udid,
    };
    const checkin = { ...headers, 'content-type': 'application/x-apple-aspen-mdm-checkin' };
    expect([400, 431]).toContain(await put(buildPlist(tokens), checkin));
    expect([400, 431]).toContain(
      await put(buildPlist({ ...tokens, MessageType: 'Authenticate' }), checkin, '/checkin?e=1-x'),
    );
    expect([400, 431]).toContain(await put(buildPlist({ ...tokens, MessageType: 'CheckOut' }), checkin));
  }
  expect(before[0]).toHaveLength(1);
  expect(await everything()).toEqual(afterOther);
});

test('G78: twenty phones with a bad network: every command is done, and no device stays busy', async () => {
  const report = await playPhones({
    ...{ phones: 20, commandsEach: 2, seed: 'twenty', issuer: s.authority, operator: s.t.operator },
    url: () => s.t.server.url,
  });
  expect(report.faults).toEqual([]);
  expect(report).toMatchObject({ commands: 40, connections: expect.any(Number) });
});

test('a signature is valid only for its own bytes', async () => {
  const signing = await s.enrolled();
  const sent = await signing.phone.put(`${s.t.server.url}/mdm`, { UDID: signing.phone.udid, Status: 'Idle' });
  expect(sent.status).toBe(200);
  const headers = await signatureOf(signing.phone);
  expect(await put(buildPlist({ Status: 'Idle', UDID: signing.phone.udid }), headers)).toBe(200);
  expect(await put(buildPlist({ Status: 'Idle', UDID: phone.udid }), headers)).toBe(400);
});

async function signatureOf(signing: Phone): Promise<Record<string, string>> {
  const seen: Record<string, string>[] = [];
  const { createServer } = await import('node:http');
  const server = createServer((request, response) => {
    seen.push({ 'mdm-signature': String(request.headers['mdm-signature']) });
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await signing.put(`http://127.0.0.1:${port}/`, { Status: 'Idle', UDID: signing.udid });
  await new Promise((resolve) => server.close(resolve));
  return seen[0] as Record<string, string>;
}

test('G80: a phone of another tenant is unknown, and no phone takes over another by its id', async () => {
  const name = `tenant-${randomUUID().slice(0, 8)}`;
  const tenant = await s.t.post('/api/tenants', { name });
  s.t.secret(tenant.body.token);
  expect(await put(idle(), undefined, `/mdm/${name}`)).toBe(400);
  // an impostor with an enrolment of its own claims this id
  const { id, url } = await s.invite();
  const thief = new Phone({ udid: phone.udid });
  await expect(thief.enrol(url, { identity: await s.identity() })).rejects.toThrow('400');
  // or has the certificate of another phone
  const { url: second } = await s.invite();
  const twin = new Phone();
  await expect(twin.enrol(second, { identity: phone.identity as never })).rejects.toThrow(
    'Authenticate: 400',
  );
  expect(await put(idle())).toBe(200);
  // or has a certificate of our authority, for another tenant or an enrolment that has ended, and knows the address of the phone
  const theirs = await s.invite(tenant.body.token);
  const ended = await s.enrolment(id);
  const names = [await nameOf(theirs.url), await nameOf(ended)];
  const valid = await s.enrolment(id);
  names.push(await nameOf(valid));
  for (const name of names.slice(0, 2))
    await expect(new Phone().enrol(valid, { identity: await s.identity(name) })).rejects.toThrow('400');
  const before = await everything();
  for (const name of names) {
    thief.profile = phone.profile;
    thief.identity = await s.identity(name);
    await expect(thief.authenticate()).rejects.toThrow('Authenticate: 400');
  }
  expect(await everything()).toEqual(before);
});

/** The certificate that a phone would get with this profile. */
async function nameOf(url: string): Promise<string> {
  const named = new Phone();
  named.authenticate = named.tokenUpdate = async () => {};
  await named.enrol(url, { identity: await s.identity() });
  return new URL(named.profile?.mdm.serverUrl ?? '').searchParams.get('e') as string;
}

test('invalid certificate requests are refused, and an address that sends many of them must wait', async () => {
  const ask = (path: string, more: object = {}) => send({ url: `${s.t.server.url}/scep${path}`, ...more });
  expect((await ask('')).status).toBe(400);
  expect((await ask('?operation=GetNextCACert')).status).toBe(400);
  expect((await ask('?operation=PKIOperation&message=%00')).status).toBe(400);
  expect((await ask('?operation=PKIOperation&message=AAAA')).status).toBe(400);
  expect((await ask('?operation=PKIOperation', { method: 'POST', body: Buffer.alloc(300_000) })).status).toBe(
    413,
  );
  let last = 0;
  for (let n = 0; n < 60; n += 1) {
    last = (await ask('?operation=PKIOperation', { method: 'POST', body: Buffer.from('nonsense') })).status;
    if (last === 429) break;
  }
  expect(last).toBe(429);
  expect((await ask('?operation=GetCACert')).status).toBe(200);
  s.t.clock.advance(60_000);
  const again = await ask('?operation=PKIOperation', { method: 'POST', body: Buffer.from('nonsense') });
  expect(again.status).toBe(400);
});
