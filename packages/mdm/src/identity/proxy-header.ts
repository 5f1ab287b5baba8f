import type { X509Certificate } from 'node:crypto';
import { MdmError } from '../mdm-error.ts';
import { readCertificate } from './certificate.ts';

const BYTE_SEQUENCE = /^:([A-Za-z0-9+/]+={0,2}):$/;

/**
 * The certificate that a proxy has seen: `:base64 of DER:` (RFC 9440), else URL-escaped PEM as nginx writes it. The
 * header proves nothing by itself; the caller must have verified that it comes from the proxy.
 */
export function readCertificateHeader(value: string): X509Certificate {
  if (!value.startsWith(':')) return readCertificate(unescapePem(value));
  const base64 = BYTE_SEQUENCE.exec(value.trim())?.[1];
  if (base64 === undefined)
    throw new MdmError('CERTIFICATE_UNREADABLE', 'The certificate in the header is not a byte sequence.');
  return readCertificate(Buffer.from(base64, 'base64'));
}

function unescapePem(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch (cause) {
    throw new MdmError('CERTIFICATE_UNREADABLE', 'The certificate in the header is badly escaped.', {
      cause,
    });
  }
}
