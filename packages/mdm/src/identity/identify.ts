import type { X509Certificate } from 'node:crypto';
import { MdmError } from '../mdm-error.ts';
import { certificateHash, readCertificate } from './certificate.ts';
import { verifyMdmSignature } from './mdm-signature.ts';
import { readCertificateHeader } from './proxy-header.ts';
import type { Trust } from './trust.ts';

/** Where a certificate may come from. Omit the sources that an installation cannot trust. */
export interface Presented {
  /** From the TLS connection, in DER. */
  readonly tls?: Uint8Array | undefined;
  /** From a verified proxy. */
  readonly header?: string | undefined;
  /** `Mdm-Signature`, and the bytes that it signs. */
  readonly signature?: string | undefined;
  readonly body: Uint8Array;
}

export interface Identity {
  readonly certificate: X509Certificate;
  readonly hash: string;
  readonly by: 'tls' | 'header' | 'signature';
}

/**
 * The first present source decides: another one does not correct its errors. A signature, if present, must be valid in
 * any case.
 */
export async function identify(presented: Presented, trust: Trust, now: Date): Promise<Identity> {
  const [by, certificate] = await certificateOf(presented);
  if (by !== 'signature' && presented.signature)
    await verifyMdmSignature(presented.signature, presented.body);
  trust.check(certificate, now);
  return { by, certificate, hash: certificateHash(certificate) };
}

async function certificateOf({
  tls,
  header,
  signature,
  body,
}: Presented): Promise<[Identity['by'], X509Certificate]> {
  if (tls !== undefined && tls.byteLength > 0) return ['tls', readCertificate(tls)];
  if (header) return ['header', readCertificateHeader(header)];
  if (signature) return ['signature', await verifyMdmSignature(signature, body)];
  throw new MdmError('CERTIFICATE_MISSING', 'The request has no device certificate.');
}
