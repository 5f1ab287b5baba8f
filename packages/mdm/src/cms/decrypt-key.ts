import { constants, type KeyObject, privateDecrypt, randomBytes } from 'node:crypto';

/**
 * The key of an envelope. Node refuses PKCS #1 v1.5 padding if its OpenSSL would reveal whether the padding was right
 * (Bleichenbacher's oracle), and SCEP has no other padding. So it is checked here, as TLS does it: wrong padding gives
 * a random key, and the message fails later like any other that cannot be opened.
 */
export function decryptKey(encrypted: Uint8Array, key: KeyObject, keyBytes: number): Buffer {
  const random = randomBytes(keyBytes);
  let padded: Buffer;
  try {
    padded = privateDecrypt({ key, padding: constants.RSA_NO_PADDING }, encrypted);
  } catch {
    return random; // not a number below the modulus
  }
  const start = padded.length - keyBytes;
  // 00 02, at least eight bytes that are not zero, 00, the key; no branch depends on their values
  let wrong = start < 11 ? 1 : 0;
  wrong |= (padded[0] ?? 1) | ((padded[1] ?? 0) ^ 2) | (padded[start - 1] ?? 1);
  for (let at = 2; at < start - 1; at += 1) wrong |= (((padded[at] ?? 0) - 1) >> 8) & 1;
  const mask = wrong === 0 ? 0xff : 0;
  return Buffer.from(random.map((byte, at) => ((padded[start + at] ?? 0) & mask) | (byte & ~mask & 0xff)));
}
