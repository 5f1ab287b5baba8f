/** CMS SignedData: the form of signed messages from devices and in SCEP. */
import { createHash, type webcrypto } from 'node:crypto';
import * as asn1js from 'asn1js';
import * as pkijs from 'pkijs';
import { MdmError } from '../mdm-error.ts';
import { engine } from './engine.ts';
import { OID } from './oids.ts';

export interface Signed {
  /** The signer's certificate. Whether it may be trusted is another question. */
  readonly signer: pkijs.Certificate;
  /** The signed content; null if it is not in the message. */
  readonly content: Uint8Array | null;
  readonly attributes: readonly pkijs.Attribute[];
}

/** Reads a message with exactly one signer, and checks the signature. */
export async function verifySignedData(der: Uint8Array): Promise<Signed> {
  const signedData = read(der);
  const [signerInfo, ...more] = signedData.signerInfos;
  if (signerInfo === undefined || more.length > 0) throw unreadable('does not have exactly one signer');
  if (signedData.encapContentInfo.eContentType !== OID.data) throw unreadable('does not contain data');
  const { eContent } = signedData.encapContentInfo;
  return {
    signer: await verify(signedData),
    content: eContent === undefined ? null : new Uint8Array(eContent.getValue()),
    attributes: signerInfo.signedAttrs?.attributes ?? [],
  };
}

function read(der: Uint8Array): pkijs.SignedData {
  try {
    const info = pkijs.ContentInfo.fromBER(copy(der));
    if (info.contentType !== OID.signedData) throw unreadable('is not a signed message');
    return new pkijs.SignedData({ schema: info.content });
  } catch (cause) {
    throw cause instanceof MdmError ? cause : unreadable('cannot be read', cause);
  }
}

async function verify(signedData: pkijs.SignedData): Promise<pkijs.Certificate> {
  try {
    const { signatureVerified, signerCertificate } = await signedData.verify({
      signer: 0,
      checkChain: false,
      extendedMode: true,
    });
    if (signatureVerified && signerCertificate) return signerCertificate;
  } catch (cause) {
    throw new MdmError('SIGNATURE_WRONG', 'The signature does not match the message.', { cause });
  }
  throw new MdmError('SIGNATURE_WRONG', 'The signature does not match the message.');
}

export interface ToSign {
  readonly content: Uint8Array;
  /** The content is not included. */
  readonly detached?: boolean;
  readonly certificate: pkijs.Certificate;
  readonly key: webcrypto.CryptoKey;
  readonly digest?: 'SHA-256' | 'SHA-1';
  readonly attributes?: readonly pkijs.Attribute[];
}

export async function signData({
  content,
  detached = false,
  certificate,
  key,
  digest = 'SHA-256',
  attributes = [],
}: ToSign) {
  const hash = createHash(digest.replace('-', '').toLowerCase()).update(content).digest();
  const signedData = new pkijs.SignedData({
    version: 1,
    encapContentInfo: new pkijs.EncapsulatedContentInfo({
      eContentType: OID.data,
      ...(!detached && { eContent: new asn1js.OctetString({ valueHex: copy(content) }) }),
    }),
    certificates: [certificate],
    signerInfos: [
      new pkijs.SignerInfo({
        version: 1,
        sid: new pkijs.IssuerAndSerialNumber({
          issuer: certificate.issuer,
          serialNumber: certificate.serialNumber,
        }),
        signedAttrs: new pkijs.SignedAndUnsignedAttributes({
          type: 0,
          attributes: inDerOrder([
            attribute(OID.contentType, new asn1js.ObjectIdentifier({ value: OID.data })),
            attribute(OID.messageDigest, new asn1js.OctetString({ valueHex: copy(hash) })),
            ...attributes,
          ]),
        }),
      }),
    ],
  });
  await signedData.sign(key, 0, digest, undefined, engine);
  return wrap(OID.signedData, signedData.toSchema(true));
}

/** Certificates only, in the form of a signed message without signers. */
export function bundleCertificates(certificates: pkijs.Certificate[]): Buffer {
  const signedData = new pkijs.SignedData({
    version: 1,
    encapContentInfo: new pkijs.EncapsulatedContentInfo({ eContentType: OID.data }),
    certificates,
  });
  return wrap(OID.signedData, signedData.toSchema(true));
}

export const attribute = (type: string, value: asn1js.AsnType) =>
  new pkijs.Attribute({ type, values: [value] });

export function wrap(contentType: string, content: unknown): Buffer {
  return Buffer.from(new pkijs.ContentInfo({ contentType, content }).toSchema().toBER());
}

/** The library takes whole buffers; a view of Node's may be part of a shared one. */
export function copy(bytes: Uint8Array): ArrayBuffer {
  return Uint8Array.from(bytes).buffer;
}

/** Signed is the set as DER requires it, sorted; others sort before they verify, and the library does not. */
function inDerOrder(attributes: pkijs.Attribute[]): pkijs.Attribute[] {
  return attributes
    .map((one) => ({ one, der: Buffer.from(one.toSchema().toBER()) }))
    .sort((a, b) => Buffer.compare(a.der, b.der))
    .map(({ one }) => one);
}

const unreadable = (what: string, cause?: unknown) =>
  new MdmError('SIGNATURE_UNREADABLE', `The signed message ${what}.`, { cause });
