import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { signingKeyOf } from '../src/ca/authority.ts';
import { signData } from '../src/cms/signed-data.ts';
import { certificateHash } from '../src/identity/certificate.ts';
import type { Remembered } from '../src/identity/device-certificate.ts';
import { identify, type Presented } from '../src/identity/identify.ts';
import { Trust } from '../src/identity/trust.ts';
import { type TestCertificate, testAuthority, testCertificate } from '../src/simulation/certificates.ts';
import { ecKeys, rsaKeys } from '../src/simulation/keys.ts';

const NOW = new Date('2026-05-01T12:00:00Z');
const body = Buffer.from('<plist>the bytes of the wire</plist>\n');
let ca: TestCertificate;
let leaf: TestCertificate;
let trust: Trust;

beforeAll(async () => {
  ca = await testAuthority('Fleet');
  leaf = await testCertificate({ commonName: 'phone', issuer: ca, purposes: ['clientAuth'] });
  trust = new Trust(ca.pem);
});

const refused = (code: string) => expect.objectContaining({ name: 'MdmError', code });
const ask = (presented: Omit<Presented, 'body'>, now = NOW) => identify({ ...presented, body }, trust, now);
async function sign(
  by: TestCertificate,
  content: Uint8Array = body,
  more: { detached?: boolean; digest?: 'SHA-1' } = {},
) {
  const key = await signingKeyOf(by.keys.privateKey, more.digest);
  return (await signData({ content, certificate: by.pki, key, detached: true, ...more })).toString('base64');
}

test('a certificate is the same by TLS, by a header of either form, and by a signature', async () => {
  const raw = leaf.certificate.raw;
  const seen = await Promise.all([
    ask({ tls: raw }),
    ask({ header: `:${raw.toString('base64')}:` }),
    ask({ header: encodeURIComponent(leaf.pem) }),
    ask({ signature: await sign(leaf) }),
  ]);
  expect(seen.map(({ by }) => by)).toEqual(['tls', 'header', 'header', 'signature']);
  const hash = createHash('sha256').update(raw).digest('hex');
  expect(seen.map((identity) => identity.hash)).toEqual([hash, hash, hash, hash]);
  expect(certificateHash(leaf.certificate)).toBe(
    leaf.certificate.fingerprint256.replaceAll(':', '').toLowerCase(),
  );
});

test('RSA with SHA-1, as mdmb signs, is read too', async () => {
  const phone = await testCertificate({ commonName: 'mdmb', issuer: ca, keys: rsaKeys('device') });
  const signature = await sign(phone, body, { digest: 'SHA-1' });
  expect(await ask({ signature })).toMatchObject({
    by: 'signature',
    hash: certificateHash(phone.certificate),
  });
});

test('an OpenSSL signature is read as well', async () => {
  const file = path.join(import.meta.dirname, 'fixtures/openssl-signature.json');
  const { body: signed, ca: pem, signature } = JSON.parse(readFileSync(file, 'utf8'));
  const presented = { signature, body: Buffer.from(signed) };
  const now = new Date('2027-01-01T00:00:00Z');
  expect((await identify(presented, new Trust(pem), now)).certificate.subject).toBe('O=Fixture\nCN=phone');
  const changed = { signature, body: Buffer.from(`${signed} `) };
  await expect(identify(changed, new Trust(pem), now)).rejects.toThrow(refused('SIGNATURE_WRONG'));
});

test('a signature is valid for its own bytes only', async () => {
  const signature = await sign(leaf, Buffer.from('another body'));
  await expect(ask({ signature })).rejects.toThrow(refused('SIGNATURE_WRONG'));
  // of this very one: no two signatures of the same bytes are alike
  const torn = Buffer.from(await sign(leaf), 'base64');
  torn.writeUInt8(torn.readUInt8(torn.length - 1) ^ 1, torn.length - 1);
  await expect(ask({ signature: torn.toString('base64') })).rejects.toThrow(refused('SIGNATURE_WRONG'));
});

test('a signature that brings its own content is refused: it proves nothing about the body', async () => {
  const signature = await sign(leaf, Buffer.from('another body'), { detached: false });
  await expect(ask({ signature })).rejects.toThrow(refused('SIGNATURE_UNREADABLE'));
});

test.each(['%%%', 'AAAA', 'MIIB', Buffer.alloc(40_000).toString('base64')])(
  'the signature %.10s… is refused',
  async (signature) => {
    await expect(ask({ signature })).rejects.toThrow(refused('SIGNATURE_UNREADABLE'));
  },
);

test.each([
  ':AAAA:',
  ':no',
  '::',
  '%E0%A4%A',
  'hello',
  encodeURIComponent('-----BEGIN CERTIFICATE-----\nAA\n'),
])('the header %s is refused', async (header) => {
  await expect(ask({ header })).rejects.toThrow(refused('CERTIFICATE_UNREADABLE'));
});

test('a missing certificate gives a clear error; an empty header of a proxy counts as missing', async () => {
  await expect(ask({})).rejects.toThrow(refused('CERTIFICATE_MISSING'));
  await expect(ask({ header: '', tls: new Uint8Array(0) })).rejects.toThrow(refused('CERTIFICATE_MISSING'));
});

test('a known certificate is recognised by its hash, and everything else is still checked', async () => {
  const wish = { commonName: 'phone', issuer: ca, notAfter: new Date('2026-06-01') };
  const phone = await testCertificate(wish);
  const memory = new Map<string, Remembered>();
  const trusting = new Trust(ca.pem, memory);
  const [header, signature] = [`:${phone.certificate.raw.toString('base64')}:`, await sign(phone)];
  const ways = [{ header }, { header: encodeURIComponent(phone.pem) }, { signature }];
  const hash = certificateHash(phone.certificate);
  for (const way of [...ways, ...ways])
    expect(await identify({ ...way, body }, trusting, NOW)).toMatchObject({ hash });
  expect([...memory.keys()]).toEqual([hash]);

  const ask = (presented: Omit<Presented, 'body'>, now = NOW) =>
    identify({ ...presented, body }, trusting, now);
  for (const way of ways)
    await expect(ask(way, new Date('2026-06-02'))).rejects.toThrow(refused('CERTIFICATE_NOT_NOW_VALID'));
  await expect(identify({ signature, body: Buffer.from('other') }, trusting, NOW)).rejects.toThrow(
    refused('SIGNATURE_WRONG'),
  );
  // the certificate of the known phone, the signature of another
  const other = await testCertificate({ commonName: 'phone', issuer: ca });
  const forged = await sign({ ...other, pki: phone.pki });
  await expect(ask({ signature: forged })).rejects.toThrow(refused('SIGNATURE_WRONG'));
  await expect(ask({ header, signature: forged })).rejects.toThrow(refused('SIGNATURE_WRONG'));
  const foreign = await testCertificate({ commonName: 'phone' });
  await expect(ask({ tls: foreign.certificate.raw })).rejects.toThrow(refused('CERTIFICATE_FOREIGN'));
  expect([...memory.keys()]).toEqual([hash]);
});

test('bytes behind a certificate change nothing about it, known or not', async () => {
  const trusting = new Trust(ca.pem, new Map<string, Remembered>());
  const long = Buffer.concat([leaf.certificate.raw, Buffer.from('more')]);
  const hash = certificateHash(leaf.certificate);
  for (const tls of [long, leaf.certificate.raw, long])
    expect(await identify({ tls, body }, trusting, NOW)).toMatchObject({ hash });
});

test('certificates of others are refused, even under the name of the authority', async () => {
  const foreign = await testAuthority('Fleet');
  for (const issuer of [foreign, leaf]) {
    const fake = await testCertificate({ commonName: 'phone', issuer, purposes: ['clientAuth'] });
    await expect(ask({ signature: await sign(fake) })).rejects.toThrow(refused('CERTIFICATE_FOREIGN'));
    await expect(ask({ tls: fake.certificate.raw })).rejects.toThrow(refused('CERTIFICATE_FOREIGN'));
  }
  const forged = await testCertificate({ commonName: 'phone', issuer: { ...ca, keys: ecKeys() } });
  await expect(ask({ tls: forged.certificate.raw })).rejects.toThrow(refused('CERTIFICATE_FOREIGN'));
  const lonely = await testCertificate({ commonName: 'phone' });
  await expect(ask({ tls: lonely.certificate.raw })).rejects.toThrow(refused('CERTIFICATE_FOREIGN'));
});

test('the validity of a certificate is checked at the given time', async () => {
  const wish = {
    commonName: 'phone',
    issuer: ca,
    notBefore: new Date('2026-01-01'),
    notAfter: new Date('2026-06-01'),
  };
  const tls = (await testCertificate(wish)).certificate.raw;
  await expect(ask({ tls })).resolves.toMatchObject({ by: 'tls' });
  for (const now of ['2025-12-31', '2026-06-02'])
    await expect(ask({ tls }, new Date(now))).rejects.toThrow(refused('CERTIFICATE_NOT_NOW_VALID'));
});

test('a certificate of a server or of the authority itself is not a device certificate', async () => {
  const server = await testCertificate({ commonName: 'phone', issuer: ca, purposes: ['serverAuth'] });
  await expect(ask({ tls: server.certificate.raw })).rejects.toThrow(refused('CERTIFICATE_NOT_FOR_CLIENTS'));
  await expect(ask({ tls: ca.certificate.raw })).rejects.toThrow(refused('CERTIFICATE_NOT_FOR_CLIENTS'));
});

test('several authorities can be trusted, and only authorities', async () => {
  const second = await testAuthority('Second');
  const phone = await testCertificate({ commonName: 'phone', issuer: second });
  expect(() => new Trust(`${ca.pem}\n${second.pem}`).check(phone.certificate, NOW)).not.toThrow();
  expect(() => new Trust(leaf.pem)).toThrow(refused('CERTIFICATE_FOREIGN'));
  expect(() => new Trust('no pem')).toThrow(refused('CERTIFICATE_UNREADABLE'));
});
