import { createHash, X509Certificate } from 'node:crypto';
import { MdmError } from '../mdm-error.ts';

const MOST_BYTES = 16 * 1024;

/** One certificate, in DER or PEM. */
export function readCertificate(bytes: Uint8Array | string): X509Certificate {
  if (bytes.length > MOST_BYTES) throw unreadable();
  try {
    return new X509Certificate(bytes);
  } catch (cause) {
    throw unreadable(cause);
  }
}

/** Every certificate of a PEM file, at least one. */
export function readCertificates(pem: string): X509Certificate[] {
  const found = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  if (found.length === 0) throw unreadable();
  return found.map(readCertificate);
}

/** What a device is pinned to: the SHA-256 of the DER, in lower-case hex. */
export function certificateHash(certificate: X509Certificate): string {
  return createHash('sha256').update(certificate.raw).digest('hex');
}

const unreadable = (cause?: unknown) =>
  new MdmError('CERTIFICATE_UNREADABLE', 'The value is not a certificate.', { cause });
