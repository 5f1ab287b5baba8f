import { beforeAll, expect, test, vi } from 'vitest';
import { type Authority, createAuthority, loadAuthority } from '../src/ca/authority.ts';
import { OID } from '../src/cms/oids.ts';
import { certificateHash } from '../src/identity/certificate.ts';
import { Trust } from '../src/identity/trust.ts';
import { type Asked, answerScep, decodeMessage, type ScepServer } from '../src/scep/answer-scep.ts';
import { commonNameOf } from '../src/scep/subject.ts';
import { type TestCertificate, testCertificate } from '../src/simulation/certificates.ts';
import { ecKeys, rsaKeys } from '../src/simulation/keys.ts';
import { type RequestWish, readScepReply, scepRequest } from '../src/simulation/scep-client.ts';

const NOW = new Date('2026-05-01T12:00:00Z');
const subject = [
  [OID.organization, 'Muster'],
  [OID.commonName, 'enrolment-1'],
] as const;
let authority: Authority;
let signer: TestCertificate;

beforeAll(async () => {
  authority = await loadAuthority(await createAuthority({ commonName: 'Muster CA', now: NOW }));
  signer = await testCertificate({ commonName: 'SCEP SIGNER', keys: rsaKeys('signer') });
});

function server(
  accept: boolean | ((challenge: string, asked: Asked) => boolean) = (secret) => secret === 'once',
) {
  const decide = typeof accept === 'boolean' ? () => accept : accept;
  return {
    authority,
    days: 365,
    checkChallenge: vi.fn(async (secret: string, asked: Asked) => decide(secret, asked)),
    checkRenewal: vi.fn(async (hash: string, asked: Asked) => decide(hash, asked)),
  } satisfies ScepServer;
}

const wish = (more: Partial<RequestWish> = {}): RequestWish => ({
  ca: authority.certificate.raw,
  subject,
  keys: rsaKeys('device'),
  challenge: 'once',
  signer,
  ...more,
});

async function ask(to: ScepServer, asked: RequestWish, now = NOW) {
  const { message, transactionId } = await scepRequest(asked);
  const answer = await answerScep(to, { operation: 'PKIOperation', message }, now);
  const reply = await readScepReply(answer.body, asked);
  expect(reply.transactionId).toBe(transactionId);
  expect(answer).toMatchObject({ status: 200, contentType: 'application/x-pki-message' });
  return { answer, reply };
}

const FAIL = { badAlg: '0', badMessageCheck: '1', badRequest: '2', badTime: '3', badCertId: '4' };

test('the authority reports its capabilities and its certificate', async () => {
  const caps = await answerScep(server(), { operation: 'GetCACaps' }, NOW);
  expect(caps.body.toString().trim().split('\n')).toEqual(
    expect.arrayContaining(['AES', 'DES3', 'POSTPKIOperation', 'Renewal', 'SHA-1', 'SHA-256']),
  );
  const cert = await answerScep(server(), { operation: 'GetCACert' }, NOW);
  expect(cert).toMatchObject({ status: 200, contentType: 'application/x-x509-ca-cert' });
  expect(cert.body.equals(authority.certificate.raw)).toBe(true);
  expect(await answerScep(server(), { operation: 'GetNextCACert' }, NOW)).toMatchObject({ status: 400 });
});

test.each([
  ['aes128', 'SHA-256'],
  ['aes256', 'SHA-256'],
  ['des3', 'SHA-1'],
  ['des', 'SHA-1'],
] as const)(
  'a device that encrypts with %s and signs with %s gets its certificate',
  async (cipher, digest) => {
    const scep = server();
    const { answer, reply } = await ask(scep, wish({ cipher, digest }));
    if (!reply.ok) throw new Error(`refused: ${reply.failInfo}`);
    const { certificate } = reply.identity;
    expect(answer.issued?.raw.equals(certificate.raw)).toBe(true);
    expect(certificate.subject).toBe('O=Muster\nCN=enrolment-1');
    expect(certificate.checkPrivateKey(rsaKeys('device').privateKey)).toBe(true);
    expect(certificate.keyUsage).toEqual([OID.clientAuth]);
    new Trust(authority.pem).check(certificate, NOW);
    expect(Date.parse(certificate.validTo)).toBe(NOW.getTime() + 365 * 86_400_000);
    const [secret, asked] = scep.checkChallenge.mock.calls[0] ?? [];
    expect([secret, commonNameOf(asked?.subject ?? [])]).toEqual(['once', 'enrolment-1']);
  },
);

test('a message in the address, with a plus that became a space, is read as well', async () => {
  const { message } = await scepRequest(wish());
  for (const text of [message.toString('base64url'), message.toString('base64').replaceAll('+', ' ')])
    expect(Buffer.from(decodeMessage(text)).equals(message)).toBe(true);
});

test('a repeated request asks with the same key', async () => {
  const keys = new Set<string>();
  const scep = server((_secret, { keyHash }) => keys.add(keyHash).size === 1);
  expect((await ask(scep, wish())).reply.ok).toBe(true);
  expect((await ask(scep, wish())).reply.ok).toBe(true);
  expect((await ask(scep, wish({ keys: ecKeys() }))).reply).toMatchObject({
    ok: false,
    failInfo: FAIL.badRequest,
  });
});

test.each<[string, () => Partial<RequestWish>, keyof typeof FAIL, number]>([
  ['a wrong challenge', () => ({ challenge: 'twice' }), 'badRequest', 1],
  ['a key that is too short', () => ({ keys: rsaKeys('short', 1_024) }), 'badAlg', 0],
  [
    'a key that the device does not have',
    () => ({ keys: { privateKey: ecKeys().privateKey, publicKey: ecKeys().publicKey } }),
    'badMessageCheck',
    0,
  ],
  ['GetCertInitial: requests are never pending', () => ({ messageType: '20' }), 'badRequest', 0],
  ['a renewal by an unknown device', () => ({ messageType: '17' }), 'badCertId', 0],
])('%s is refused in the words of SCEP', async (_what, more, failInfo, looks) => {
  const scep = server();
  const { answer, reply } = await ask(scep, wish(more()));
  expect(reply).toMatchObject({ ok: false, failInfo: FAIL[failInfo] });
  expect(answer.issued).toBeNull();
  expect(answer.refusal).not.toBeNull();
  expect(scep.checkChallenge).toHaveBeenCalledTimes(looks);
  expect(scep.checkRenewal).not.toHaveBeenCalled();
});

test('a request without a challenge asks with an empty one', async () => {
  const { challenge: _, ...without } = wish();
  const scep = server(false);
  expect((await ask(scep, without)).reply.ok).toBe(false);
  expect(scep.checkChallenge).toHaveBeenCalledWith('', expect.anything());
});

test('a request whose answer could not be encrypted is refused before the challenge is used', async () => {
  const { message } = await scepRequest(wish({ signer: await testCertificate({ commonName: 'ec' }) }));
  const scep = server();
  expect(await answerScep(scep, { operation: 'PKIOperation', message }, NOW)).toMatchObject({
    refusal: { code: 'ALGORITHM_UNSUPPORTED' },
  });
  expect(scep.checkChallenge).not.toHaveBeenCalled();
});

test('a message for another authority, a damaged one or none gets no certificate and no server error', async () => {
  const other = await testCertificate({ commonName: 'Muster CA', authority: true, keys: rsaKeys('device') });
  const { message } = await scepRequest(wish({ ca: other.certificate.raw }));
  expect(await answerScep(server(), { operation: 'PKIOperation', message }, NOW)).toMatchObject({
    status: 200,
    refusal: { code: 'ENVELOPE_UNREADABLE' },
  });
  const torn = Buffer.from(message);
  torn[torn.length - 1] = (torn.at(-1) ?? 0) ^ 1;
  for (const bytes of [torn, Buffer.from('hello'), Buffer.alloc(0), Buffer.alloc(70_000)])
    expect(await answerScep(server(), { operation: 'PKIOperation', message: bytes }, NOW)).toMatchObject({
      status: 400,
      issued: null,
    });
});

test('a certificate of ours is renewed by its own key, under its own name, while it is valid', async () => {
  const scep = server(true);
  const first = (await ask(scep, wish())).reply;
  if (!first.ok) throw new Error('no first certificate');
  const current = first.identity;
  const renewal = wish({ messageType: '17', signer: current, keys: ecKeys() });
  const later = new Date(NOW.getTime() + 200 * 86_400_000);
  const { reply } = await ask(scep, renewal, later);
  expect(reply.ok && reply.identity.certificate.subject).toBe(current.certificate.subject);
  expect(scep.checkRenewal).toHaveBeenCalledWith(certificateHash(current.certificate), expect.anything());
  expect(scep.checkChallenge).toHaveBeenCalledTimes(1);

  const another = [[OID.commonName, 'enrolment-2']] as const;
  expect((await ask(scep, { ...renewal, subject: another }, later)).reply).toMatchObject({
    failInfo: FAIL.badRequest,
  });
  expect((await ask(server(false), renewal, later)).reply).toMatchObject({ failInfo: FAIL.badCertId });
  const tooLate = new Date(NOW.getTime() + 366 * 86_400_000);
  expect((await ask(scep, renewal, tooLate)).reply).toMatchObject({ failInfo: FAIL.badTime });
});

test('an authority is loaded only with its own key', async () => {
  const files = {
    certificate: authority.pem,
    key: rsaKeys('device').privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
  };
  await expect(loadAuthority(files)).rejects.toThrow(expect.objectContaining({ code: 'KEY_DOES_NOT_MATCH' }));
  await expect(loadAuthority({ ...files, key: 'no' })).rejects.toThrow(
    expect.objectContaining({ code: 'KEY_UNREADABLE' }),
  );
});
