import { constants, publicEncrypt, randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { decryptKey } from '../src/cms/decrypt-key.ts';
import { rsaKeys } from '../src/simulation/keys.ts';

const { privateKey, publicKey } = rsaKeys('device');
const key = randomBytes(16);

/** Encrypts the padding as it is given, with the key at its end. */
function padded(change: (block: Buffer) => void): Buffer {
  const block = Buffer.concat([Buffer.from([0, 2]), Buffer.alloc(256 - 3 - 16, 7), Buffer.from([0]), key]);
  change(block);
  return publicEncrypt({ key: publicKey, padding: constants.RSA_NO_PADDING }, block);
}

test('the key of an envelope is found, padded by us or by OpenSSL', () => {
  expect(
    decryptKey(
      padded(() => {}),
      privateKey,
      16,
    ),
  ).toEqual(key);
  const byOpenssl = publicEncrypt({ key: publicKey, padding: constants.RSA_PKCS1_PADDING }, key);
  expect(decryptKey(byOpenssl, privateKey, 16)).toEqual(key);
});

test.each<[string, (block: Buffer) => void]>([
  ['another kind of block', (block) => block.writeUInt8(1, 1)],
  ['a first byte that is not zero', (block) => block.writeUInt8(1, 0)],
  ['an end of the padding that is not zero', (block) => block.writeUInt8(1, 239)],
  ['a padding that is too short', (block) => block.writeUInt8(0, 100)],
])('with %s an attacker learns no more than a random key', (_what, change) => {
  const encrypted = padded(change);
  const found = decryptKey(encrypted, privateKey, 16);
  expect(found).toHaveLength(16);
  expect(found).not.toEqual(key);
  expect(decryptKey(encrypted, privateKey, 16)).not.toEqual(found);
});

test('an invalid number for this key, or for another length, gives a random key too', () => {
  expect(decryptKey(Buffer.alloc(256, 0xff), privateKey, 16)).toHaveLength(16);
  expect(decryptKey(Buffer.alloc(3), privateKey, 24)).toHaveLength(24);
  expect(
    decryptKey(
      padded(() => {}),
      privateKey,
      24,
    ).subarray(-16),
  ).not.toEqual(key);
});
