/** The outer shell of SCEP's messages: signed, with attributes that say what they are about and an encrypted content. */
import { randomBytes } from 'node:crypto';
import * as asn1js from 'asn1js';
import type * as pkijs from 'pkijs';
import type { Authority } from '../ca/authority.ts';
import { attribute, copy, signData, verifySignedData } from '../cms/signed-data.ts';
import { MdmError } from '../mdm-error.ts';

export const ATTRIBUTE = {
  messageType: '2.16.840.1.113733.1.9.2',
  pkiStatus: '2.16.840.1.113733.1.9.3',
  failInfo: '2.16.840.1.113733.1.9.4',
  senderNonce: '2.16.840.1.113733.1.9.5',
  recipientNonce: '2.16.840.1.113733.1.9.6',
  transactionId: '2.16.840.1.113733.1.9.7',
} as const;

export const MESSAGE = { certRep: '3', renewalReq: '17', pkcsReq: '19' } as const;

/** Why a request got no certificate, in SCEP's five words. */
export const FAIL = {
  badAlg: '0',
  badMessageCheck: '1',
  badRequest: '2',
  badTime: '3',
  badCertId: '4',
} as const;
export type Fail = keyof typeof FAIL;

export interface PkiMessage {
  readonly messageType: string;
  readonly transactionId: string;
  readonly senderNonce: Uint8Array;
  readonly signer: pkijs.Certificate;
  readonly content: Uint8Array;
}

export async function readPkiMessage(der: Uint8Array): Promise<PkiMessage> {
  const { attributes, content, signer } = await verifySignedData(der);
  const find = (type: string) => attributes.find((one) => one.type === type)?.values[0];
  const messageType = textOf(find(ATTRIBUTE.messageType));
  const transactionId = textOf(find(ATTRIBUTE.transactionId));
  const nonce = find(ATTRIBUTE.senderNonce);
  if (messageType === null || transactionId === null || !(nonce instanceof asn1js.OctetString))
    throw new MdmError('REQUEST_UNREADABLE', 'The message lacks its type, its transaction or its nonce.');
  return {
    messageType,
    transactionId,
    senderNonce: new Uint8Array(nonce.getValue()),
    signer,
    content: content ?? new Uint8Array(0),
  };
}

function textOf(value: unknown): string | null {
  if (!(value instanceof asn1js.PrintableString || value instanceof asn1js.Utf8String)) return null;
  const text = value.valueBlock.value;
  return text.length > 0 && text.length <= 255 ? text : null;
}

/** The answer: encrypted content for the requester, or the reason of a refusal. */
export function certRep(
  authority: Authority,
  request: PkiMessage,
  outcome: { readonly envelope: Uint8Array } | { readonly fail: Fail },
): Promise<Buffer> {
  const text = (type: string, value: string) => attribute(type, new asn1js.PrintableString({ value }));
  const bytes = (type: string, value: Uint8Array) =>
    attribute(type, new asn1js.OctetString({ valueHex: copy(value) }));
  const failed = 'fail' in outcome;
  return signData({
    content: failed ? new Uint8Array(0) : outcome.envelope,
    certificate: authority.pki,
    key: authority.signingKey,
    attributes: [
      text(ATTRIBUTE.messageType, MESSAGE.certRep),
      text(ATTRIBUTE.transactionId, request.transactionId),
      text(ATTRIBUTE.pkiStatus, failed ? '2' : '0'),
      ...(failed ? [text(ATTRIBUTE.failInfo, FAIL[outcome.fail])] : []),
      bytes(ATTRIBUTE.senderNonce, randomBytes(16)),
      bytes(ATTRIBUTE.recipientNonce, request.senderNonce),
    ],
  });
}
