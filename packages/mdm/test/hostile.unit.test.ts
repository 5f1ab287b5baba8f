import fc from 'fast-check';
import * as pkijs from 'pkijs';
import { beforeAll, expect, test, vi } from 'vitest';
import { signingKeyOf } from '../src/ca/authority.ts';
import { readPlainSignature } from '../src/cms/plain-signature.ts';
import { signData } from '../src/cms/signed-data.ts';
import type { Remembered } from '../src/identity/device-certificate.ts';
import {
  type Authority,
  answerScep,
  buildPlist,
  createAuthority,
  identify,
  loadAuthority,
  MdmError,
  parseCheckIn,
  parseCommand,
  readReport,
  Trust,
} from '../src/index.ts';
import { rsaKeys, type TestCertificate, testAuthority, testCertificate } from '../src/simulation/index.ts';
import { type RequestWish, scepRequest } from '../src/simulation/scep-client.ts';

const NOW = new Date('2026-05-01T12:00:00Z');
let ca: TestCertificate;
let signature: Buffer;
let authority: Authority;
let wish: RequestWish;
const message = buildPlist({
  MessageType: 'TokenUpdate',
  UDID: 'x',
  Topic: 'com.apple.mgmt.x',
  Token: Uint8Array.of(1, 2, 3),
  PushMagic: 'magic & <more>',
  Status: 'Acknowledged',
  CommandUUID: 'c-1',
  Command: { RequestType: 'ProfileList' },
});

beforeAll(async () => {
  ca = await testAuthority();
  const leaf = await testCertificate({ commonName: 'phone', issuer: ca });
  const key = await signingKeyOf(leaf.keys.privateKey);
  signature = await signData({ content: message, detached: true, certificate: leaf.pki, key });
  authority = await loadAuthority(await createAuthority({ commonName: 'CA', now: NOW }));
  const signer = await testCertificate({ commonName: 'signer', keys: rsaKeys('signer') });
  const subject = [['2.5.4.3', 'x']] as const;
  wish = { ca: authority.certificate.raw, subject, keys: rsaKeys('device'), signer, challenge: 'once' };
});

/** One to three places of the bytes are overwritten, or removed. */
const damage = fc.array(
  fc.record({
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    bytes: fc.uint8Array({ maxLength: 4 }),
    out: fc.nat(8),
  }),
  { minLength: 1, maxLength: 3 },
);
type Damage = typeof damage extends fc.Arbitrary<infer D> ? D : never;
function damaged(bytes: Buffer, wounds: Damage): Buffer {
  let torn = bytes;
  for (const { at, bytes: written, out } of wounds) {
    const place = Math.floor(at * torn.length);
    torn = Buffer.concat([torn.subarray(0, place), written, torn.subarray(place + out)]);
  }
  return torn;
}

const onlyRefused = (run: () => unknown) => {
  try {
    run();
  } catch (error) {
    if (!(error instanceof MdmError)) throw error;
  }
};

test('a mutated message is read or refused, and nothing is printed', () => {
  const printed = [vi.spyOn(console, 'error'), vi.spyOn(console, 'warn'), vi.spyOn(console, 'log')];
  fc.assert(
    fc.property(damage, (wounds) => {
      const torn = damaged(message, wounds);
      onlyRefused(() => parseCheckIn(torn));
      onlyRefused(() => parseCommand(torn));
      readReport(torn);
    }),
    { numRuns: 300 },
  );
  for (const spy of printed) {
    expect(spy).not.toHaveBeenCalled();
    spy.mockRestore();
  }
});

/** Null if it cannot read it at all: around the signed parts it reads more than our code. */
function inTheLibrary(der: Buffer): pkijs.SignedData | null {
  try {
    return new pkijs.SignedData({ schema: pkijs.ContentInfo.fromBER(Uint8Array.from(der)).content });
  } catch {
    return null;
  }
}

test.each([
  ['unknown', null],
  ['known', new Map<string, Remembered>()],
])(
  'a mutated signature, of a phone that is %s, is refused, or the library too finds the same signer',
  async (_, memory) => {
    const trust = new Trust(ca.pem, memory);
    const whole = await identify({ signature: signature.toString('base64'), body: message }, trust, NOW);
    await fc.assert(
      fc.asyncProperty(damage, async (wounds) => {
        const torn = damaged(signature, wounds);
        try {
          const { hash } = await identify({ signature: torn.toString('base64'), body: message }, trust, NOW);
          expect(hash).toBe(whole.hash);
        } catch (error) {
          if (!(error instanceof MdmError)) throw error;
          return;
        }
        const data = Uint8Array.from(message).buffer;
        expect(await inTheLibrary(torn)?.verify({ signer: 0, checkChain: false, data })).not.toBe(false);
      }),
      { numRuns: 300 },
    );
  },
);

test('what is read of a signature without the library is what the library reads', () => {
  let read = 0;
  const compare = (torn: Buffer) => {
    const plain = readPlainSignature(torn);
    const [known, ...more] = inTheLibrary(torn)?.signerInfos ?? [];
    if (!plain || !known) return;
    read += 1;
    expect(more).toEqual([]);
    expect(plain.digest).toBe(known.digestAlgorithm.algorithmId);
    expect(plain.algorithm).toBe(known.signatureAlgorithm.algorithmId);
    expect(Buffer.from(plain.signature)).toEqual(Buffer.from(known.signature.getValue()));
    expect(plain.attributes?.encoded).toEqual(Buffer.from(known.signedAttrs?.encodedValue as ArrayBuffer));
    const { serialNumber } = known.sid as pkijs.IssuerAndSerialNumber;
    expect(plain.serialNumber).toBe(Buffer.from(serialNumber.valueBlock.valueHexView).toString('hex'));
  };
  compare(signature);
  expect(read).toBe(1);
  fc.assert(
    fc.property(damage, (wounds) => compare(damaged(signature, wounds))),
    { numRuns: 300 },
  );
});

test.each([
  ['a message', {}, (torn: (bytes: Buffer) => Buffer, message: Buffer) => torn(message)],
  [
    'an envelope, by an attacker that can sign',
    { damageEnvelope: true },
    (_: unknown, message: Buffer) => message,
  ],
  [
    'a request, by an attacker that can sign and encrypt',
    { damageRequest: true },
    (_: unknown, message: Buffer) => message,
  ],
])(
  'a mutated %s of SCEP gets an answer, and no certificate for another name',
  async (_what, inside, outside) => {
    const checkChallenge = async (challenge: string) => challenge === 'once';
    const server = { authority, days: 1, checkChallenge, checkRenewal: async () => true };
    await fc.assert(
      fc.asyncProperty(damage, async (wounds) => {
        const tear = (bytes: Buffer) => damaged(bytes, wounds);
        const damages = Object.fromEntries(Object.keys(inside).map((key) => [key, tear]));
        const message = outside(tear, (await scepRequest({ ...wish, ...damages })).message);
        const { issued, status } = await answerScep(server, { operation: 'PKIOperation', message }, NOW);
        expect([200, 400]).toContain(status);
        // unsigned parts may be damaged without harm
        if (issued) expect(issued.subject).toBe('CN=x');
      }),
      { numRuns: 15 },
    );
  },
);
