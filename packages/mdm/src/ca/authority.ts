/** Muster's own certificate authority, for fleets without one: it issues the certificates of devices. */
import {
  createPrivateKey,
  generateKeyPair,
  type KeyObject,
  randomBytes,
  webcrypto,
  X509Certificate,
} from 'node:crypto';
import { promisify } from 'node:util';
import * as pkijs from 'pkijs';
import { OID } from '../cms/oids.ts';
import { copy } from '../cms/signed-data.ts';
import { MdmError } from '../mdm-error.ts';
import { buildCertificate, nameOf, toPem } from './build-certificate.ts';

/** Both in PEM; the key is the secret of the whole fleet. */
export interface AuthorityFiles {
  readonly certificate: string;
  readonly key: string;
}

export interface NewAuthority {
  readonly commonName: string;
  readonly now: Date;
  readonly years?: number;
  readonly modulusLength?: number;
}

const DAY = 24 * 60 * 60 * 1_000;

/** RSA, because the requests of SCEP are encrypted for it. */
export async function createAuthority({
  commonName,
  now,
  years = 10,
  modulusLength = 2_048,
}: NewAuthority): Promise<AuthorityFiles> {
  const { privateKey, publicKey } = await promisify(generateKeyPair)('rsa', { modulusLength });
  const subject = nameOf([
    [OID.organization, 'Muster'],
    [OID.commonName, commonName],
  ]);
  const spki = pkijs.PublicKeyInfo.fromBER(copy(publicKey.export({ format: 'der', type: 'spki' })));
  const certificate = await buildCertificate({
    subject,
    publicKey: spki,
    issuer: { subject, publicKey: spki },
    signingKey: await signingKeyOf(privateKey),
    serialNumber: randomBytes(16),
    notBefore: new Date(now.getTime() - DAY),
    notAfter: new Date(now.getTime() + years * 365 * DAY),
    authority: true,
  });
  return {
    certificate: toPem('CERTIFICATE', new Uint8Array(certificate.toSchema().toBER())),
    key: privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
  };
}

export interface Authority {
  readonly certificate: X509Certificate;
  readonly pem: string;
  readonly key: KeyObject;
  readonly pki: pkijs.Certificate;
  readonly signingKey: webcrypto.CryptoKey;
}

export async function loadAuthority({ certificate: pem, key: keyPem }: AuthorityFiles): Promise<Authority> {
  const key = readKey(keyPem);
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(pem);
  } catch (cause) {
    throw new MdmError('CERTIFICATE_UNREADABLE', 'The certificate of the authority cannot be read.', {
      cause,
    });
  }
  if (!certificate.checkPrivateKey(key))
    throw new MdmError('KEY_DOES_NOT_MATCH', 'The key does not belong to the certificate.');
  if (!certificate.ca)
    throw new MdmError('CERTIFICATE_FOREIGN', 'The certificate is not that of an authority.');
  if (key.asymmetricKeyType !== 'rsa')
    throw new MdmError(
      'ALGORITHM_UNSUPPORTED',
      'The authority needs an RSA key, because SCEP encrypts to it.',
    );
  const pki = pkijs.Certificate.fromBER(copy(certificate.raw));
  return { certificate, pem: certificate.toString(), key, pki, signingKey: await signingKeyOf(key) };
}

function readKey(pem: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch (cause) {
    throw new MdmError('KEY_UNREADABLE', 'The key of the authority cannot be read.', { cause });
  }
}

export function signingKeyOf(
  key: KeyObject,
  hash: 'SHA-256' | 'SHA-1' = 'SHA-256',
): Promise<webcrypto.CryptoKey> {
  const algorithm =
    key.asymmetricKeyType === 'ec'
      ? { name: 'ECDSA', namedCurve: 'P-256' }
      : { name: 'RSASSA-PKCS1-v1_5', hash };
  return webcrypto.subtle.importKey(
    'pkcs8',
    copy(key.export({ format: 'der', type: 'pkcs8' })),
    algorithm,
    false,
    ['sign'],
  );
}
