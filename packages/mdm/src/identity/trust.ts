import type { X509Certificate } from 'node:crypto';
import { OID } from '../cms/oids.ts';
import { MdmError } from '../mdm-error.ts';
import { readCertificates } from './certificate.ts';
import type { CertificateMemory, DeviceCertificate } from './device-certificate.ts';

/**
 * The trusted issuers: a certificate must be issued directly by one of the given ones. No path is searched for, and
 * certificates that a device brings along are ignored; an installation with intermediate authorities puts them into the
 * file.
 */
export class Trust {
  /** What is known about certificates that these issuers have issued; null: nothing is kept. */
  readonly memory: CertificateMemory | null;
  readonly #issuers: readonly X509Certificate[];

  constructor(pem: string, memory: CertificateMemory | null = null) {
    this.memory = memory;
    this.#issuers = readCertificates(pem);
    if (!this.#issuers.every(({ ca }) => ca))
      throw new MdmError('CERTIFICATE_FOREIGN', 'A trusted certificate is not that of an authority.');
  }

  /** The same as `check`, for one that may be known. The key of a signer is kept, because importing it takes longer. */
  admit(given: DeviceCertificate, now: Date, isSigner: boolean): void {
    const { remembered } = given;
    const isValid = remembered && remembered.from <= now.getTime() && now.getTime() <= remembered.to;
    if (isValid && (remembered.publicKey !== null || !isSigner)) return;
    const { parsed } = given;
    this.check(parsed, now);
    this.memory?.set(given.hash, {
      from: Date.parse(parsed.validFrom),
      to: Date.parse(parsed.validTo),
      serialNumber: parsed.serialNumber,
      publicKey: isSigner ? parsed.publicKey : null,
    });
  }

  /** Throws unless the certificate is ours, valid at that time, and meant for clients. */
  check(certificate: X509Certificate, now: Date): void {
    const issuer = this.#issuers.find(
      (one) => certificate.checkIssued(one) && certificate.verify(one.publicKey),
    );
    if (issuer === undefined)
      throw new MdmError('CERTIFICATE_FOREIGN', 'The certificate was issued by an untrusted authority.');
    for (const one of [certificate, issuer])
      if (now.getTime() < Date.parse(one.validFrom) || now.getTime() > Date.parse(one.validTo))
        throw new MdmError('CERTIFICATE_NOT_NOW_VALID', 'The certificate has expired or is not valid yet.');
    // Node's name for the extended key usage; a certificate without it is for everything
    const purposes = certificate.keyUsage;
    if (
      certificate.ca ||
      (purposes && !purposes.some((oid) => oid === OID.clientAuth || oid === OID.anyExtendedKeyUsage))
    )
      throw new MdmError('CERTIFICATE_NOT_FOR_CLIENTS', 'The certificate is not a client certificate.');
  }
}
