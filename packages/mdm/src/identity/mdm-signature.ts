import { verifyDetached } from '../cms/verify-detached.ts';
import { MdmError } from '../mdm-error.ts';
import type { CertificateMemory, DeviceCertificate } from './device-certificate.ts';

const MOST_CHARACTERS = 32 * 1024;

/**
 * The signer of a body, by its header `Mdm-Signature`. The bytes must be those of the wire, before any text decoding.
 * `Trust` decides whether the signer is one of ours.
 */
export function verifyMdmSignature(
  header: string,
  body: Uint8Array,
  memory: CertificateMemory | null,
): DeviceCertificate {
  const base64 = header.replace(/\s+/g, '');
  if (base64.length > MOST_CHARACTERS || !/^[A-Za-z0-9+/]+={0,2}$/.test(base64))
    throw new MdmError('SIGNATURE_UNREADABLE', 'The header Mdm-Signature is not base64.');
  return verifyDetached(Buffer.from(base64, 'base64'), body, memory);
}
