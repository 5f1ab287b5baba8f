import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { type Config, SettingError } from '../config.ts';

/** What the server needs to serve TLS. */
export interface Tls {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** Null: plain HTTP. An unusable file stops the start, with the name of its setting. */
export function readTls({ MUSTER_TLS_CERT: cert, MUSTER_TLS_KEY: key }: Config): Tls | null {
  if (cert === null && key === null) return null;
  if (cert === null) throw new SettingError('MUSTER_TLS_CERT', 'is missing: MUSTER_TLS_KEY is set.');
  if (key === null) throw new SettingError('MUSTER_TLS_KEY', 'is missing: MUSTER_TLS_CERT is set.');
  const tls = { cert: read('MUSTER_TLS_CERT', cert), key: read('MUSTER_TLS_KEY', key) };
  try {
    createSecureContext(tls);
  } catch (error) {
    throw new SettingError('MUSTER_TLS_CERT', `and its key do not go together: ${(error as Error).message}`);
  }
  return tls;
}

function read(setting: string, file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new SettingError(setting, `cannot be read: ${(error as Error).message}`);
  }
}

/**
 * Clients are asked for a certificate but need none: routes that want one check it themselves, against the authorities
 * they trust.
 */
export const tlsOptions = (tls: Tls) => ({
  ...tls,
  minVersion: 'TLSv1.2' as const,
  rejectUnauthorized: false,
  requestCert: true,
});
