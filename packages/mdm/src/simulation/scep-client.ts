/** The device's side of SCEP: asks for a certificate and reads the answer. */
import { createHash, randomBytes } from 'node:crypto';
import * as asn1js from 'asn1js';
import * as pkijs from 'pkijs';
import { signingKeyOf } from '../ca/authority.ts';
import { nameOf } from '../ca/build-certificate.ts';
import { engine } from '../cms/engine.ts';
import { type CipherName, openEnvelope, sealEnvelope } from '../cms/envelope.ts';
import { OID } from '../cms/oids.ts';
import { attribute, copy, signData, verifySignedData } from '../cms/signed-data.ts';
import { ATTRIBUTE } from '../scep/pki-message.ts';
import { certificateWith, spkiOf, type TestCertificate } from './certificates.ts';
import type { KeyPair } from './keys.ts';

export interface RequestWish {
  /** The certificate of the authority, in DER. */
  readonly ca: Uint8Array;
  /** OIDs and values. */
  readonly subject: readonly (readonly [oid: string, value: string])[];
  readonly keys: KeyPair;
  readonly challenge?: string;
  /** Signs the message and can read the answer: self-signed for a new certificate, else the current one. */
  readonly signer: TestCertificate;
  readonly messageType?: string;
  readonly cipher?: CipherName;
  readonly digest?: 'SHA-256' | 'SHA-1';
  /**
   * For requests that no client would send: changes the request before it is encrypted, or the envelope before it is
   * signed.
   */
  readonly damageRequest?: (csr: Buffer) => Buffer;
  readonly damageEnvelope?: (envelope: Buffer) => Buffer;
}

export async function scepRequest(wish: RequestWish): Promise<{ message: Buffer; transactionId: string }> {
  const { cipher = 'aes128', digest = 'SHA-256', messageType = '19', signer } = wish;
  const { damageRequest = (csr) => csr, damageEnvelope = (envelope) => envelope } = wish;
  const csr = damageRequest(await certificateRequest(wish));
  const transactionId = createHash('sha1').update(csr).digest('hex');
  const ca = pkijs.Certificate.fromBER(copy(wish.ca));
  const message = await signData({
    content: damageEnvelope(sealEnvelope(csr, ca, cipher)),
    certificate: signer.pki,
    key: await signingKeyOf(signer.keys.privateKey, digest),
    digest,
    attributes: [
      attribute(ATTRIBUTE.messageType, new asn1js.PrintableString({ value: messageType })),
      attribute(ATTRIBUTE.transactionId, new asn1js.PrintableString({ value: transactionId })),
      attribute(ATTRIBUTE.senderNonce, new asn1js.OctetString({ valueHex: copy(randomBytes(16)) })),
    ],
  });
  return { message, transactionId };
}

export async function certificateRequest({
  subject,
  keys,
  challenge,
}: Pick<RequestWish, 'subject' | 'keys' | 'challenge'>) {
  const csr = new pkijs.CertificationRequest();
  csr.subject = nameOf(subject);
  csr.subjectPublicKeyInfo = spkiOf(keys);
  if (challenge !== undefined)
    csr.attributes = [attribute(OID.challengePassword, new asn1js.PrintableString({ value: challenge }))];
  await csr.sign(await signingKeyOf(keys.privateKey), 'SHA-256', engine);
  return Buffer.from(csr.toSchema().toBER());
}

export type ScepReply =
  | { readonly ok: true; readonly transactionId: string; readonly identity: TestCertificate }
  | { readonly ok: false; readonly transactionId: string; readonly failInfo: string };

/** Reads an answer, which must be signed by the authority and meant for the signer of the request. */
export async function readScepReply(body: Uint8Array, { ca, keys, signer }: RequestWish): Promise<ScepReply> {
  const { attributes, content, signer: answering } = await verifySignedData(body);
  if (!Buffer.from(answering.toSchema().toBER()).equals(ca))
    throw new Error('The answer is not signed by the authority.');
  const textOf = (type: string) =>
    String(attributes.find((one) => one.type === type)?.values[0].valueBlock.value ?? '');
  const transactionId = textOf(ATTRIBUTE.transactionId);
  if (textOf(ATTRIBUTE.messageType) !== '3') throw new Error('The answer is not a CertRep.');
  if (textOf(ATTRIBUTE.pkiStatus) !== '0')
    return { ok: false, transactionId, failInfo: textOf(ATTRIBUTE.failInfo) };
  const opened = openEnvelope(content ?? new Uint8Array(0), signer.pki, signer.keys.privateKey);
  const bundle = new pkijs.SignedData({ schema: pkijs.ContentInfo.fromBER(copy(opened.content)).content });
  const [certificate] = bundle.certificates ?? [];
  if (!(certificate instanceof pkijs.Certificate)) throw new Error('There is no certificate in the answer.');
  return { ok: true, transactionId, identity: certificateWith(keys, certificate) };
}
