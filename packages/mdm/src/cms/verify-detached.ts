/**
 * `verifySignedData` for a detached signature, optimised because every message of a phone brings one: plain ones are
 * taken apart by `plain-signature.ts`, others by the library, and OpenSSL does the rest. The key of a known certificate
 * is at hand: 50 µs where the library alone takes 6 ms. test/hostile.unit.test.ts compares it with the library.
 */
import { createHash, timingSafeEqual, verify } from 'node:crypto';
import * as asn1js from 'asn1js';
import * as pkijs from 'pkijs';
import { type CertificateMemory, DeviceCertificate } from '../identity/device-certificate.ts';
import { MdmError } from '../mdm-error.ts';
import { OID } from './oids.ts';
import { readPlainSignature, type SignatureParts, type SignedAttributes } from './plain-signature.ts';
import { copy } from './signed-data.ts';

const DIGESTS: Readonly<Record<string, string>> = {
  '1.3.14.3.2.26': 'sha1',
  '2.16.840.1.101.3.4.2.1': 'sha256',
  '2.16.840.1.101.3.4.2.2': 'sha384',
  '2.16.840.1.101.3.4.2.3': 'sha512',
};
/** Accepted signature algorithms, and the digest that each name includes. Without one the signer names it elsewhere. */
const SIGNATURES: Readonly<Record<string, { readonly key: 'rsa' | 'ec'; readonly digest?: string }>> = {
  '1.2.840.113549.1.1.1': { key: 'rsa' },
  '1.2.840.113549.1.1.5': { key: 'rsa', digest: 'sha1' },
  '1.2.840.113549.1.1.11': { key: 'rsa', digest: 'sha256' },
  '1.2.840.113549.1.1.12': { key: 'rsa', digest: 'sha384' },
  '1.2.840.113549.1.1.13': { key: 'rsa', digest: 'sha512' },
  '1.2.840.10045.4.1': { key: 'ec', digest: 'sha1' },
  '1.2.840.10045.4.3.2': { key: 'ec', digest: 'sha256' },
  '1.2.840.10045.4.3.3': { key: 'ec', digest: 'sha384' },
  '1.2.840.10045.4.3.4': { key: 'ec', digest: 'sha512' },
};

/** Who signed these bytes. */
export function verifyDetached(
  der: Buffer,
  bytes: Uint8Array,
  memory: CertificateMemory | null,
): DeviceCertificate {
  const parts = readPlainSignature(der) ?? read(der);
  const certificates = certificatesOf(parts, memory);
  const digest = DIGESTS[parts.digest];
  const made = SIGNATURES[parts.algorithm];
  if (digest === undefined || made === undefined || (made.digest ?? digest) !== digest)
    throw unreadable('uses an unsupported method');
  const certificate = certificates.find((one) => isOf(parts, one, certificates.length));
  if (certificate === undefined) throw unreadable('lacks the certificate of its signer');
  const about = signed(parts.attributes, bytes, digest);
  if (!fits(certificate, made.key, digest, about, parts.signature)) throw wrong();
  return certificate;
}

function certificatesOf(
  { certificates }: SignatureParts,
  memory: CertificateMemory | null,
): DeviceCertificate[] {
  try {
    return certificates.map((one) => new DeviceCertificate(one, memory));
  } catch (cause) {
    throw unreadable('cannot be read', cause);
  }
}

function fits(
  of: DeviceCertificate,
  kind: string,
  digest: string,
  about: Uint8Array,
  signature: Uint8Array,
): boolean {
  try {
    const key = of.publicKey;
    return key.asymmetricKeyType === kind && verify(digest, about, key, signature);
  } catch {
    return false; // a key that OpenSSL does not know
  }
}

/** What is signed: the bytes, or attributes that must contain the digest of the bytes. */
function signed(attributes: SignedAttributes | null, bytes: Uint8Array, digest: string): Uint8Array {
  if (attributes === null) return bytes;
  const { contentType, encoded, messageDigest } = attributes;
  if (contentType !== OID.data) throw wrong();
  const hash = createHash(digest).update(bytes).digest();
  if (messageDigest === null) throw wrong();
  if (messageDigest.byteLength !== hash.byteLength || !timingSafeEqual(messageDigest, hash)) throw wrong();
  return encoded;
}

function read(der: Uint8Array): SignatureParts {
  try {
    const { offset, result } = asn1js.fromBER(copy(der));
    const [kind, content] = offset === -1 ? [] : partsOf(result, asn1js.Sequence);
    if (!isOid(kind, OID.signedData)) throw unreadable('is not a signed message');
    // version, digest algorithms, content, certificates, perhaps revocation lists, signers
    const parts = partsOf(partsOf(content)[0], asn1js.Sequence);
    const about = partsOf(parts[2], asn1js.Sequence);
    if (!isOid(about[0], OID.data)) throw unreadable('does not contain data');
    // the library, too, would check this and never look at the bytes
    if (about.length !== 1) throw unreadable('contains its own content');
    const signers = partsOf(parts.at(-1), asn1js.Set);
    if (signers.length !== 1) throw unreadable('does not have exactly one signer');
    const set = parts.slice(3, -1).find(({ idBlock }) => idBlock.tagClass === 3 && idBlock.tagNumber === 0);
    const signer = new pkijs.SignerInfo({ schema: signers[0] });
    return {
      certificates: partsOf(set)
        .slice(0, MOST_CERTIFICATES)
        .map((one) => one.valueBeforeDecodeView),
      serialNumber: serialNumberOf(signer),
      digest: signer.digestAlgorithm.algorithmId,
      algorithm: signer.signatureAlgorithm.algorithmId,
      attributes: attributesOf(signer),
      signature: new Uint8Array(signer.signature.getValue()),
    };
  } catch (cause) {
    throw cause instanceof MdmError ? cause : unreadable('cannot be read', cause);
  }
}

const MOST_CERTIFICATES = 4;

function serialNumberOf({ sid }: pkijs.SignerInfo): string | null {
  if (!(sid instanceof pkijs.IssuerAndSerialNumber)) return null;
  return Buffer.from(sid.serialNumber.valueBlock.valueHexView).toString('hex');
}

function attributesOf({ signedAttrs }: pkijs.SignerInfo): SignedAttributes | null {
  if (signedAttrs === undefined) return null;
  const only = (type: string): unknown => {
    const [found, ...more] = signedAttrs.attributes.filter((one) => one.type === type);
    return found?.values.length === 1 && more.length === 0 ? found.values[0] : undefined;
  };
  const given = only(OID.messageDigest);
  return {
    encoded: new Uint8Array(signedAttrs.encodedValue),
    contentType: isOid(only(OID.contentType), OID.data) ? OID.data : null,
    messageDigest: given instanceof asn1js.OctetString ? new Uint8Array(given.getValue()) : null,
  };
}

/** The elements of a sequence, a set, or the content under tag 0. */
function partsOf(block: unknown, kind?: typeof asn1js.Sequence | typeof asn1js.Set): asn1js.AsnType[] {
  if (!(block instanceof (kind ?? asn1js.Constructed))) throw unreadable('cannot be read');
  if (!kind && (block.idBlock.tagClass !== 3 || block.idBlock.tagNumber !== 0))
    throw unreadable('cannot be read');
  return block.valueBlock.value;
}

const isOid = (block: unknown, oid: string) =>
  block instanceof asn1js.ObjectIdentifier && block.valueBlock.toString() === oid;

/** By its serial number; a signer that is named by its key must be the only one. */
function isOf(
  { serialNumber: named }: SignatureParts,
  { serialNumber }: DeviceCertificate,
  of: number,
): boolean {
  if (named === null) return of === 1;
  return /^[0-9A-F]+$/.test(serialNumber) && BigInt(`0x${named}`) === BigInt(`0x${serialNumber}`);
}

const wrong = () => new MdmError('SIGNATURE_WRONG', 'The signature does not match the message.');
const unreadable = (what: string, cause?: unknown) =>
  new MdmError('SIGNATURE_UNREADABLE', `The signed message ${what}.`, { cause });
