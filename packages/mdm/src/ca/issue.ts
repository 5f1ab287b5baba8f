import { randomBytes } from 'node:crypto';
import type * as pkijs from 'pkijs';
import { OID } from '../cms/oids.ts';
import type { Authority } from './authority.ts';
import { buildCertificate } from './build-certificate.ts';

export interface Wish {
  readonly subject: pkijs.RelativeDistinguishedNames;
  readonly publicKey: pkijs.PublicKeyInfo;
  readonly now: Date;
  readonly days: number;
}

const DAY = 24 * 60 * 60 * 1_000;
/** Clocks of devices differ from ours. */
const SKEW = 60 * 60 * 1_000;

/** A client certificate. Only name and key are taken from a request; its permitted use is decided here. */
export function issueCertificate(
  authority: Authority,
  { subject, publicKey, now, days }: Wish,
): Promise<pkijs.Certificate> {
  const ends = Math.min(now.getTime() + days * DAY, Date.parse(authority.certificate.validTo));
  return buildCertificate({
    subject,
    publicKey,
    issuer: { subject: authority.pki.subject, publicKey: authority.pki.subjectPublicKeyInfo },
    signingKey: authority.signingKey,
    serialNumber: randomBytes(16),
    notBefore: new Date(now.getTime() - SKEW),
    notAfter: new Date(ends),
    purposes: [OID.clientAuth],
  });
}
