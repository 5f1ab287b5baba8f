/** Builds and signs one certificate. Callers decide what it contains. */
import { createHash, type webcrypto } from 'node:crypto';
import * as asn1js from 'asn1js';
import * as pkijs from 'pkijs';
import { engine } from '../cms/engine.ts';
import { OID } from '../cms/oids.ts';
import { copy } from '../cms/signed-data.ts';

export interface CertificateParts {
  readonly subject: pkijs.RelativeDistinguishedNames;
  readonly publicKey: pkijs.PublicKeyInfo;
  readonly issuer: {
    readonly subject: pkijs.RelativeDistinguishedNames;
    readonly publicKey: pkijs.PublicKeyInfo;
  };
  readonly signingKey: webcrypto.CryptoKey;
  readonly serialNumber: Uint8Array;
  readonly notBefore: Date;
  readonly notAfter: Date;
  readonly authority?: boolean;
  /** Extended key usage: client, server or both; none for anything. */
  readonly purposes?: readonly string[];
  readonly dnsNames?: readonly string[];
}

export async function buildCertificate(parts: CertificateParts): Promise<pkijs.Certificate> {
  const certificate = new pkijs.Certificate();
  certificate.version = 2;
  certificate.serialNumber = new asn1js.Integer({ valueHex: copy(positive(parts.serialNumber)) });
  certificate.subject = parts.subject;
  certificate.issuer = parts.issuer.subject;
  certificate.notBefore.value = parts.notBefore;
  certificate.notAfter.value = parts.notAfter;
  certificate.subjectPublicKeyInfo = parts.publicKey;
  certificate.extensions = extensionsOf(parts);
  await certificate.sign(parts.signingKey, 'SHA-256', engine);
  // parsed again, so that its names are the bytes that were signed
  return pkijs.Certificate.fromBER(certificate.toSchema(true).toBER());
}

function extensionsOf({
  authority = false,
  purposes = [],
  dnsNames = [],
  ...parts
}: CertificateParts): pkijs.Extension[] {
  // digitalSignature and keyEncipherment; an authority signs certificates and lists too
  const usage = new asn1js.BitString({
    valueHex: Uint8Array.of(authority ? 0b10100110 : 0b10100000).buffer,
    unusedBits: authority ? 1 : 5,
  });
  const extensions = [
    extension(
      OID.basicConstraints,
      true,
      new pkijs.BasicConstraints({ cA: authority, ...(authority && { pathLenConstraint: 0 }) }).toSchema(),
    ),
    extension(OID.keyUsage, true, usage),
    extension(OID.subjectKeyIdentifier, false, new asn1js.OctetString({ valueHex: keyId(parts.publicKey) })),
    extension(
      OID.authorityKeyIdentifier,
      false,
      new pkijs.AuthorityKeyIdentifier({
        keyIdentifier: new asn1js.OctetString({ valueHex: keyId(parts.issuer.publicKey) }),
      }).toSchema(),
    ),
  ];
  if (purposes.length > 0)
    extensions.push(
      extension(
        OID.extendedKeyUsage,
        false,
        new pkijs.ExtKeyUsage({ keyPurposes: [...purposes] }).toSchema(),
      ),
    );
  if (dnsNames.length > 0) {
    const names = dnsNames.map((value) => new pkijs.GeneralName({ type: 2, value }));
    extensions.push(extension(OID.subjectAltName, false, new pkijs.GeneralNames({ names }).toSchema()));
  }
  return extensions;
}

const extension = (extnID: string, critical: boolean, value: asn1js.AsnType) =>
  new pkijs.Extension({ extnID, critical, extnValue: value.toBER() });

const keyId = (key: pkijs.PublicKeyInfo) =>
  copy(createHash('sha1').update(key.subjectPublicKey.valueBlock.valueHexView).digest());

/** In DER an integer whose first bit is set is negative, and leading zeros are not allowed. */
function positive(serialNumber: Uint8Array): Uint8Array {
  const bytes = Uint8Array.from(serialNumber);
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40;
  return bytes;
}

/**
 * `[['2.5.4.10', 'Muster'], ['2.5.4.3', 'x']]`, the outermost first. The library itself would make all of them one
 * part.
 */
export function nameOf(
  parts: readonly (readonly [oid: string, value: string])[],
): pkijs.RelativeDistinguishedNames {
  const sets = parts.map(([type, value]) => {
    const one = new pkijs.AttributeTypeAndValue({ type, value: new asn1js.Utf8String({ value }) });
    return new asn1js.Set({ value: [one.toSchema()] });
  });
  return pkijs.RelativeDistinguishedNames.fromBER(new asn1js.Sequence({ value: sets }).toBER());
}

export function toPem(label: string, der: Uint8Array): string {
  const lines =
    Buffer.from(der)
      .toString('base64')
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}
