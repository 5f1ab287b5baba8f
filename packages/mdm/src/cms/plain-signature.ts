/**
 * The parts of a detached signature in plain DER, as phones write it: one certificate, one signer. It takes 10 µs where
 * the library needs 600, most of them for a certificate that is known by its hash. A form it does not know is left to the
 * library (null), and parts that decide nothing (the issuer's name, parameters of algorithms) are not read; test/hostile.unit.test.ts compares the two.
 */
import { OID } from './oids.ts';

/** Of a signed message without content. */
export interface SignatureParts {
  /** In DER. */
  readonly certificates: readonly Uint8Array[];
  /** The serial number by which the signer names its certificate, in hex; null: it names its key. */
  readonly serialNumber: string | null;
  readonly digest: string;
  readonly algorithm: string;
  readonly attributes: SignedAttributes | null;
  readonly signature: Uint8Array;
}

export interface SignedAttributes {
  /** What is signed. */
  readonly encoded: Uint8Array;
  /** Null: missing, or more than one. */
  readonly contentType: string | null;
  readonly messageDigest: Uint8Array | null;
}

const [INTEGER, OCTETS, IDENTIFIER, SEQUENCE, SET, TAGGED_0] = [0x02, 0x04, 0x06, 0x30, 0x31, 0xa0];

interface Element {
  readonly tag: number;
  /** With its tag and length. */
  readonly whole: Buffer;
  readonly content: Buffer;
}

class Unusual extends Error {}

export function readPlainSignature(der: Buffer): SignatureParts | null {
  try {
    return partsOf(der);
  } catch (error) {
    if (error instanceof Unusual) return null;
    throw error;
  }
}

function partsOf(der: Buffer): SignatureParts {
  const [message] = elements(der, SEQUENCE);
  const [kind, tagged] = elements(message.content, IDENTIFIER, TAGGED_0);
  const [signedData] = elements(tagged.content, SEQUENCE);
  const [, , about, certificates, signers] = elements(
    signedData.content,
    ...[INTEGER, SET, SEQUENCE, TAGGED_0, SET],
  ) as [Element, Element, Element, Element, Element];
  const [contentKind] = elements(about.content, IDENTIFIER);
  if (oidOf(kind) !== OID.signedData || oidOf(contentKind) !== OID.data) throw new Unusual();
  const [certificate] = elements(certificates.content, SEQUENCE);
  const [signer] = elements(signers.content, SEQUENCE);
  const [, name, digest, attributes, algorithm, signature] = elements(
    signer.content,
    ...[INTEGER, SEQUENCE, SEQUENCE, TAGGED_0, SEQUENCE, OCTETS],
  ) as [Element, Element, Element, Element, Element, Element];
  const [, serialNumber] = elements(name.content, SEQUENCE, INTEGER);
  if (serialNumber.content.length === 0) throw new Unusual();
  return {
    certificates: [certificate.whole],
    serialNumber: serialNumber.content.toString('hex'),
    digest: firstOid(digest),
    algorithm: firstOid(algorithm),
    attributes: attributesOf(attributes),
    signature: signature.content,
  };
}

function attributesOf({ whole, content }: Element): SignedAttributes {
  const encoded = Buffer.from(whole);
  encoded[0] = SET;
  let [contentType, messageDigest]: [string | null, Buffer | null] = [null, null];
  for (const attribute of every(content)) {
    if (attribute.tag !== SEQUENCE) throw new Unusual();
    const [type, values] = elements(attribute.content, IDENTIFIER, SET);
    const oid = oidOf(type);
    if (oid === OID.contentType) {
      if (contentType !== null) throw new Unusual();
      contentType = oidOf(elements(values.content, IDENTIFIER)[0]);
    } else if (oid === OID.messageDigest) {
      if (messageDigest !== null) throw new Unusual();
      messageDigest = elements(values.content, OCTETS)[0].content;
    }
  }
  return { encoded, contentType, messageDigest };
}

/** Elements of exactly these tags. */
function elements<Tags extends number[]>(bytes: Buffer, ...tags: Tags): { [At in keyof Tags]: Element } {
  const found = every(bytes);
  if (found.length !== tags.length || found.some(({ tag }, n) => tag !== tags[n])) throw new Unusual();
  return found as { [At in keyof Tags]: Element }; // the lengths are equal
}

function every(bytes: Buffer): Element[] {
  const found: Element[] = [];
  for (let at = 0; at < bytes.length; ) {
    const element = elementAt(bytes, at);
    found.push(element);
    at += element.whole.length;
  }
  return found;
}

function elementAt(bytes: Buffer, at: number): Element {
  const [tag = 0, short = 0x80] = bytes.subarray(at, at + 2);
  // more bytes of length than two are more than a header has
  const more = short < 0x80 ? 0 : short - 0x80;
  if ((tag & 0x1f) === 0x1f || short === 0x80 || more > 2 || at + 2 + more > bytes.length)
    throw new Unusual();
  const length = more === 0 ? short : bytes.readUIntBE(at + 2, more);
  const from = at + 2 + more;
  // DER has one form for each length
  if (from + length > bytes.length || (more > 0 && length < (more === 1 ? 0x80 : 0x100))) throw new Unusual();
  return { tag, whole: bytes.subarray(at, from + length), content: bytes.subarray(from, from + length) };
}

/** An algorithm, whatever parameters follow. */
function firstOid({ content }: Element): string {
  const [first] = every(content);
  if (first?.tag !== IDENTIFIER) throw new Unusual();
  return oidOf(first);
}

function oidOf({ content }: Element): string {
  const numbers: number[] = [];
  let number = 0;
  for (const [n, byte] of content.entries()) {
    // a number that begins with zeros, or is too large for arithmetic
    if ((number === 0 && byte === 0x80) || number > 0xffffff) throw new Unusual();
    number = number * 0x80 + (byte & 0x7f);
    if (byte < 0x80) {
      numbers.push(number);
      number = 0;
    } else if (n === content.length - 1) throw new Unusual();
  }
  const [first] = numbers;
  if (first === undefined) throw new Unusual();
  const root = Math.min(2, Math.floor(first / 40));
  return [root, first - root * 40, ...numbers.slice(1)].join('.');
}
