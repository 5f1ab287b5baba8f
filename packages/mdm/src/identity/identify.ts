import type { X509Certificate } from 'node:crypto';
import { MdmError } from '../mdm-error.ts';
import { DeviceCertificate } from './device-certificate.ts';
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

export class Identity {
  readonly hash: string;
  readonly by: 'tls' | 'header' | 'signature';
  readonly #certificate: DeviceCertificate;

  constructor(by: Identity['by'], certificate: DeviceCertificate) {
    this.by = by;
    this.hash = certificate.hash;
    this.#certificate = certificate;
  }

  /** Parsed when asked for: most messages need only its hash. */
  get certificate(): X509Certificate {
    return this.#certificate.parsed;
  }
}

/**
 * The first present source decides: another one does not correct its errors. A signature, if present, must be valid in
 * any case.
 */
export async function identify(presented: Presented, trust: Trust, now: Date): Promise<Identity> {
  const [by, certificate] = certificateOf(presented, trust);
  if (by !== 'signature' && presented.signature)
    verifyMdmSignature(presented.signature, presented.body, trust.memory);
  trust.admit(certificate, now, by === 'signature');
  return new Identity(by, certificate);
}

function certificateOf(
  { tls, header, signature, body }: Presented,
  { memory }: Trust,
): [Identity['by'], DeviceCertificate] {
  if (tls !== undefined && tls.byteLength > 0) return ['tls', new DeviceCertificate(tls, memory)];
  if (header) return ['header', new DeviceCertificate(readCertificateHeader(header), memory)];
  if (signature) return ['signature', verifyMdmSignature(signature, body, memory)];
  throw new MdmError('CERTIFICATE_MISSING', 'The request has no device certificate.');
}
