import { MdmError } from '../mdm-error.ts';

/** As every tool writes it: then its bytes tell whether it is known. */
const PLAIN_PEM =
  /^-----BEGIN CERTIFICATE-----\n((?:[A-Za-z0-9+/]{64}\n)*[A-Za-z0-9+/]{1,64}={0,2}\n)-----END CERTIFICATE-----\n?$/;
const BYTE_SEQUENCE = /^:([A-Za-z0-9+/]+={0,2}):$/;

/**
 * The certificate that a proxy has seen, in DER or PEM: `:base64 of DER:` (RFC 9440), else URL-escaped PEM as nginx
 * writes it. The header proves nothing by itself; the caller must have verified that it comes from the proxy.
 */
export function readCertificateHeader(value: string): Uint8Array | string {
  if (!value.startsWith(':')) {
    const pem = unescapePem(value);
    const plain = PLAIN_PEM.exec(pem)?.[1];
    return plain === undefined ? pem : Buffer.from(plain, 'base64');
  }
  const base64 = BYTE_SEQUENCE.exec(value.trim())?.[1];
  if (base64 === undefined)
    throw new MdmError('CERTIFICATE_UNREADABLE', 'The certificate in the header is not a byte sequence.');
  return Buffer.from(base64, 'base64');
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
