/**
 * The certificate of a device, parsed only if nothing is known about it: that an authority issued one does not change,
 * so it is parsed and verified once (0.1 ms and more) and recognised by its hash afterwards. Whether it is valid today
 * is checked each time.
 */
import { createHash, type KeyObject, type X509Certificate } from 'node:crypto';
import { certificateHash, readCertificate } from './certificate.ts';

/** What is remembered of a certificate of a trusted authority. */
export interface Remembered {
  /** Its validity, in milliseconds. */
  readonly from: number;
  readonly to: number;
  /** In hex, as Node writes it. */
  readonly serialNumber: string;
  /** Only of one that has signed. */
  readonly publicKey: KeyObject | null;
}

/** By hash; its owner bounds it. */
export interface CertificateMemory {
  get(hash: string): Remembered | undefined;
  set(hash: string, remembered: Remembered): unknown;
}

export class DeviceCertificate {
  /** SHA-256 of the DER, in lower-case hex. */
  readonly hash: string;
  readonly remembered: Remembered | undefined;
  readonly #bytes: Uint8Array | string;
  #parsed: X509Certificate | undefined;

  /** In DER; in PEM it is always parsed. */
  constructor(bytes: Uint8Array | string, memory: CertificateMemory | null) {
    this.#bytes = bytes;
    const given = typeof bytes === 'string' ? null : createHash('sha256').update(bytes).digest('hex');
    const known = given === null ? undefined : memory?.get(given);
    // bytes may follow the certificate: its own hash counts
    this.hash = known && given !== null ? given : certificateHash(this.parsed);
    this.remembered = known ?? memory?.get(this.hash);
  }

  get parsed(): X509Certificate {
    this.#parsed ??= readCertificate(this.#bytes);
    return this.#parsed;
  }

  get serialNumber(): string {
    return this.remembered?.serialNumber ?? this.parsed.serialNumber;
  }

  /** Throws if OpenSSL does not know the kind of key. */
  get publicKey(): KeyObject {
    return this.remembered?.publicKey ?? this.parsed.publicKey;
  }
}
