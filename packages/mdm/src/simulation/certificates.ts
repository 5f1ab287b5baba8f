/** Certificates for tests, wrong ones included. */
import { createPrivateKey, createPublicKey, randomBytes, X509Certificate } from 'node:crypto';
import * as pkijs from 'pkijs';
import { signingKeyOf } from '../ca/authority.ts';
import { buildCertificate, nameOf, toPem } from '../ca/build-certificate.ts';
import { OID } from '../cms/oids.ts';
import { copy } from '../cms/signed-data.ts';
import { ecKeys, type KeyPair } from './keys.ts';

export interface TestCertificate {
  readonly keys: KeyPair;
  readonly certificate: X509Certificate;
  readonly pki: pkijs.Certificate;
  /** In PEM. */
  readonly pem: string;
  readonly keyPem: string;
}

export interface CertificateWish {
  readonly commonName: string;
  /** Self-signed without one. */
  readonly issuer?: TestCertificate;
  readonly keys?: KeyPair;
  readonly authority?: boolean;
  readonly purposes?: readonly ('clientAuth' | 'serverAuth')[];
  /** The topic, as in a push certificate. */
  readonly userId?: string;
  readonly dnsNames?: readonly string[];
  readonly notBefore?: Date;
  readonly notAfter?: Date;
}

export async function testCertificate(wish: CertificateWish): Promise<TestCertificate> {
  const keys = wish.keys ?? ecKeys();
  const publicKey = spkiOf(keys);
  const subject = nameOf([
    ...(wish.userId ? [[OID.userId, wish.userId] as const] : []),
    [OID.commonName, wish.commonName] as const,
  ]);
  const pki = await buildCertificate({
    subject,
    publicKey,
    issuer: wish.issuer
      ? { subject: wish.issuer.pki.subject, publicKey: wish.issuer.pki.subjectPublicKeyInfo }
      : { subject, publicKey },
    signingKey: await signingKeyOf((wish.issuer?.keys ?? keys).privateKey),
    serialNumber: randomBytes(16),
    notBefore: wish.notBefore ?? new Date('2020-01-01T00:00:00Z'),
    notAfter: wish.notAfter ?? new Date('2049-01-01T00:00:00Z'),
    authority: wish.authority ?? false,
    purposes: (wish.purposes ?? []).map((purpose) => OID[purpose]),
    dnsNames: wish.dnsNames ?? [],
  });
  return certificateWith(keys, pki);
}

export function certificateWith(keys: KeyPair, pki: pkijs.Certificate): TestCertificate {
  const der = Buffer.from(pki.toSchema().toBER());
  return {
    keys,
    certificate: new X509Certificate(der),
    pki,
    pem: toPem('CERTIFICATE', der),
    keyPem: keys.privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
  };
}

/** The authority of a server under test, for tests to issue with: a thousand devices need no thousand requests. */
export function issuerOf(files: { readonly certificate: string; readonly key: string }): TestCertificate {
  const privateKey = createPrivateKey(files.key);
  const { raw } = new X509Certificate(files.certificate);
  return certificateWith(
    { privateKey, publicKey: createPublicKey(privateKey) },
    pkijs.Certificate.fromBER(copy(raw)),
  );
}

export const testAuthority = (commonName = 'Test CA', keys?: KeyPair) =>
  testCertificate({ commonName, authority: true, ...(keys && { keys }) });

export const spkiOf = ({ publicKey }: KeyPair) =>
  pkijs.PublicKeyInfo.fromBER(copy(publicKey.export({ format: 'der', type: 'spki' })));
