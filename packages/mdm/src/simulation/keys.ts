import { generateKeyPairSync, type KeyObject } from 'node:crypto';

export interface KeyPair {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

const made = new Map<string, KeyPair>();

/** An RSA key costs a tenth of a second: each named one is made once per process and shared. */
export function rsaKeys(name: string, modulusLength = 2_048): KeyPair {
  const keys = made.get(`${name} ${modulusLength}`) ?? generateKeyPairSync('rsa', { modulusLength });
  made.set(`${name} ${modulusLength}`, keys);
  return keys;
}

/** A new one each time: it costs nothing. */
export const ecKeys = (): KeyPair => generateKeyPairSync('ec', { namedCurve: 'P-256' });
