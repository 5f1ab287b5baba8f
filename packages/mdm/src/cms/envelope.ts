/**
 * CMS EnvelopedData for one recipient with an RSA key, as in SCEP. The library reads and writes the structure; ciphers
 * are Node's, because WebCrypto has neither the padding nor the older ciphers that clients still use.
 */
import {
  constants,
  createCipheriv,
  createDecipheriv,
  createPublicKey,
  type KeyObject,
  publicEncrypt,
  randomBytes,
} from 'node:crypto';
import * as asn1js from 'asn1js';
import * as pkijs from 'pkijs';
import { MdmError } from '../mdm-error.ts';
import { decryptKey } from './decrypt-key.ts';
import { OID } from './oids.ts';
import { copy, wrap } from './signed-data.ts';

interface Cipher {
  readonly oid: string;
  /** In Node. */
  readonly name: string;
  readonly keyBytes: number;
  readonly ivBytes: number;
}

export type CipherName = keyof typeof CIPHERS;

const CIPHERS = {
  aes128: { oid: '2.16.840.1.101.3.4.1.2', name: 'aes-128-cbc', keyBytes: 16, ivBytes: 16 },
  aes192: { oid: '2.16.840.1.101.3.4.1.22', name: 'aes-192-cbc', keyBytes: 24, ivBytes: 16 },
  aes256: { oid: '2.16.840.1.101.3.4.1.42', name: 'aes-256-cbc', keyBytes: 32, ivBytes: 16 },
  des3: { oid: '1.2.840.113549.3.7', name: 'des-ede3-cbc', keyBytes: 24, ivBytes: 8 },
  // the only cipher of mdmb. OpenSSL 3 has moved it to its legacy provider, but triple DES with one key three times is
  // the same
  des: { oid: '1.3.14.3.2.7', name: 'des-ede3-cbc', keyBytes: 8, ivBytes: 8 },
} as const satisfies Record<string, Cipher>;

export interface Opened {
  readonly content: Buffer;
  readonly cipher: CipherName;
}

/** Opens an envelope with the recipient's key. The reason of a failure is not reported: it would help an attacker. */
export function openEnvelope(der: Uint8Array, certificate: pkijs.Certificate, key: KeyObject): Opened {
  const envelope = read(der);
  const { contentEncryptionAlgorithm, encryptedContent } = envelope.encryptedContentInfo;
  const cipher = cipherBy(contentEncryptionAlgorithm.algorithmId);
  const iv = contentEncryptionAlgorithm.algorithmParams;
  if (!(iv instanceof asn1js.OctetString) || encryptedContent === undefined) throw unreadable();
  const contentKey = decryptKey(encryptedKeyFor(envelope, certificate), key, CIPHERS[cipher].keyBytes);
  try {
    const decipher = createDecipheriv(
      CIPHERS[cipher].name,
      forNode(cipher, contentKey),
      new Uint8Array(iv.getValue()),
    );
    const content = Buffer.concat([
      decipher.update(new Uint8Array(envelope.encryptedContentInfo.getEncryptedContent())),
      decipher.final(),
    ]);
    return { content, cipher };
  } catch {
    throw unreadable();
  }
}

export function sealEnvelope(
  content: Uint8Array,
  reader: pkijs.Certificate,
  cipher: CipherName = 'aes128',
): Buffer {
  const { oid, name, keyBytes, ivBytes } = CIPHERS[cipher];
  const contentKey = randomBytes(keyBytes);
  const iv = randomBytes(ivBytes);
  const encipher = createCipheriv(name, forNode(cipher, contentKey), iv);
  const encrypted = Buffer.concat([encipher.update(content), encipher.final()]);
  const envelope = new pkijs.EnvelopedData({
    version: 0,
    recipientInfos: [new pkijs.RecipientInfo({ variant: 1, value: keyFor(reader, contentKey) })],
    encryptedContentInfo: new pkijs.EncryptedContentInfo({
      contentType: OID.data,
      contentEncryptionAlgorithm: new pkijs.AlgorithmIdentifier({
        algorithmId: oid,
        algorithmParams: new asn1js.OctetString({ valueHex: copy(iv) }),
      }),
      encryptedContent: new asn1js.OctetString({ valueHex: copy(encrypted) }),
      disableSplit: true,
    }),
  });
  return wrap(OID.envelopedData, envelope.toSchema());
}

function keyFor(reader: pkijs.Certificate, contentKey: Uint8Array): pkijs.KeyTransRecipientInfo {
  const spki = Buffer.from(reader.subjectPublicKeyInfo.toSchema().toBER());
  const publicKey = createPublicKey({ key: spki, format: 'der', type: 'spki' });
  if (publicKey.asymmetricKeyType !== 'rsa')
    throw new MdmError('ALGORITHM_UNSUPPORTED', 'Only RSA keys can receive an envelope.');
  return new pkijs.KeyTransRecipientInfo({
    version: 0,
    rid: new pkijs.IssuerAndSerialNumber({ issuer: reader.issuer, serialNumber: reader.serialNumber }),
    keyEncryptionAlgorithm: new pkijs.AlgorithmIdentifier({
      algorithmId: OID.rsaEncryption,
      algorithmParams: new asn1js.Null(),
    }),
    encryptedKey: new asn1js.OctetString({
      valueHex: copy(publicEncrypt({ key: publicKey, padding: constants.RSA_PKCS1_PADDING }, contentKey)),
    }),
  });
}

function read(der: Uint8Array): pkijs.EnvelopedData {
  try {
    const info = pkijs.ContentInfo.fromBER(copy(der));
    if (info.contentType !== OID.envelopedData) throw unreadable();
    return new pkijs.EnvelopedData({ schema: info.content });
  } catch {
    throw unreadable();
  }
}

function cipherBy(oid: string): CipherName {
  for (const [name, cipher] of Object.entries(CIPHERS)) if (cipher.oid === oid) return name as CipherName; // a key of CIPHERS
  throw new MdmError('ALGORITHM_UNSUPPORTED', `The cipher ${oid} is not supported.`);
}

function encryptedKeyFor(envelope: pkijs.EnvelopedData, certificate: pkijs.Certificate): Uint8Array {
  for (const { value } of envelope.recipientInfos) {
    if (!(value instanceof pkijs.KeyTransRecipientInfo)) continue;
    if (!(value.rid instanceof pkijs.IssuerAndSerialNumber)) continue;
    if (!value.rid.serialNumber.isEqual(certificate.serialNumber)) continue;
    if (!value.rid.issuer.isEqual(certificate.issuer)) continue;
    if (value.keyEncryptionAlgorithm.algorithmId !== OID.rsaEncryption)
      throw new MdmError('ALGORITHM_UNSUPPORTED', 'The key of the envelope is not encrypted with plain RSA.');
    return new Uint8Array(value.encryptedKey.getValue());
  }
  throw unreadable();
}

const forNode = (cipher: CipherName, key: Uint8Array) =>
  cipher === 'des' ? Buffer.concat([key, key, key]) : key;

const unreadable = () => new MdmError('ENVELOPE_UNREADABLE', 'The encrypted message cannot be opened.');
