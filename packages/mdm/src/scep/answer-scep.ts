/** The server's side of SCEP (RFC 8894), without HTTP: a request goes in, an answer comes out. */
import { X509Certificate } from 'node:crypto';
import type { Authority } from '../ca/authority.ts';
import { issueCertificate } from '../ca/issue.ts';
import { openEnvelope, sealEnvelope } from '../cms/envelope.ts';
import { OID } from '../cms/oids.ts';
import { bundleCertificates } from '../cms/signed-data.ts';
import { certificateHash, readCertificate } from '../identity/certificate.ts';
import { Trust } from '../identity/trust.ts';
import { MdmError, type MdmErrorCode } from '../mdm-error.ts';
import { type CertificateRequest, readCertificateRequest } from './certificate-request.ts';
import { certRep, type Fail, MESSAGE, type PkiMessage, readPkiMessage } from './pki-message.ts';
import type { SubjectName } from './subject.ts';

export interface ScepServer {
  readonly authority: Authority;
  /** How long a certificate of a device is valid. */
  readonly days: number;
  /**
   * Whether this secret may be used for this name. Called last, when nothing else can fail, and once per request. The
   * answer may be lost on the way, so let the same key use the same secret again.
   */
  checkChallenge(challenge: string, asked: Asked): Promise<boolean>;
  /** Whether the owner of this still valid certificate of ours may have the next one, under the same name. */
  checkRenewal(certificateHash: string, asked: Asked): Promise<boolean>;
}

export interface Asked {
  readonly subject: SubjectName;
  readonly keyHash: string;
  readonly transactionId: string;
}

export interface ScepRequest {
  readonly operation: string;
  /** The body of a POST, or `decodeMessage` of the parameter of a GET. */
  readonly message?: Uint8Array;
}

export interface ScepAnswer {
  readonly status: 200 | 400;
  readonly contentType: string;
  readonly body: Buffer;
  readonly issued: X509Certificate | null;
  /** For the log. */
  readonly refusal: { readonly code: MdmErrorCode; readonly message: string } | null;
}

const CAPABILITIES = ['AES', 'DES3', 'POSTPKIOperation', 'Renewal', 'SCEPStandard', 'SHA-1', 'SHA-256'];
const MOST_BYTES = 64 * 1024;

export async function answerScep(server: ScepServer, request: ScepRequest, now: Date): Promise<ScepAnswer> {
  switch (request.operation) {
    case 'GetCACaps':
      return plain(200, 'text/plain', Buffer.from(`${CAPABILITIES.join('\n')}\n`));
    case 'GetCACert':
      return plain(200, 'application/x-x509-ca-cert', server.authority.certificate.raw);
    case 'PKIOperation':
      return pkiOperation(server, request.message ?? new Uint8Array(0), now);
    default:
      return refused(new MdmError('REQUEST_UNREADABLE', 'The operation is unknown.'));
  }
}

async function pkiOperation(server: ScepServer, bytes: Uint8Array, now: Date): Promise<ScepAnswer> {
  let message: PkiMessage;
  try {
    if (bytes.byteLength > MOST_BYTES) throw new MdmError('REQUEST_UNREADABLE', 'The message is too long.');
    message = await readPkiMessage(bytes);
  } catch (error) {
    // without a transaction an answer could not refer to anything
    if (error instanceof MdmError) return refused(error);
    throw error;
  }
  try {
    const { certificate, envelope } = await grant(server, message, now);
    return { ...pki(await certRep(server.authority, message, { envelope })), issued: certificate };
  } catch (error) {
    if (!(error instanceof MdmError)) throw error;
    const { code, message: sentence } = error;
    return {
      ...pki(await certRep(server.authority, message, { fail: failOf(code) })),
      refusal: { code, message: sentence },
    };
  }
}

async function grant(server: ScepServer, message: PkiMessage, now: Date) {
  if (message.messageType !== MESSAGE.pkcsReq && message.messageType !== MESSAGE.renewalReq)
    throw new MdmError('MESSAGE_UNKNOWN', 'Only certificate requests are answered; none is ever pending.');
  // before the secret is used up: the answer must be encrypted for this key
  if (message.signer.subjectPublicKeyInfo.algorithm.algorithmId !== OID.rsaEncryption)
    throw new MdmError('ALGORITHM_UNSUPPORTED', 'The answer can only be encrypted to RSA keys.');
  const { cipher, content } = openEnvelope(message.content, server.authority.pki, server.authority.key);
  const request = await readCertificateRequest(content);
  await (message.messageType === MESSAGE.pkcsReq ? checkNew : checkNext)(server, message, request, now);
  const issued = await issueCertificate(server.authority, {
    subject: request.pki.subject,
    publicKey: request.pki.subjectPublicKeyInfo,
    now,
    days: server.days,
  });
  // older clients know what they sent and nothing newer
  const envelope = sealEnvelope(
    bundleCertificates([issued]),
    message.signer,
    cipher === 'des3' ? 'des3' : 'aes128',
  );
  return { certificate: new X509Certificate(Buffer.from(issued.toSchema().toBER())), envelope };
}

async function checkNew(server: ScepServer, message: PkiMessage, request: CertificateRequest): Promise<void> {
  if (!(await server.checkChallenge(request.challenge, asked(message, request))))
    throw new MdmError('REQUEST_UNREADABLE', 'The challenge is not valid for this name.');
}

async function checkNext(
  server: ScepServer,
  message: PkiMessage,
  request: CertificateRequest,
  now: Date,
): Promise<void> {
  const current = readCertificate(Buffer.from(message.signer.toSchema().toBER()));
  new Trust(server.authority.pem).check(current, now);
  if (!message.signer.subject.isEqual(request.pki.subject))
    throw new MdmError('REQUEST_UNREADABLE', 'A renewal must keep its name.');
  if (!(await server.checkRenewal(certificateHash(current), asked(message, request))))
    throw new MdmError('CERTIFICATE_FOREIGN', 'The certificate cannot be renewed.');
}

const asked = ({ transactionId }: PkiMessage, { subject, keyHash }: CertificateRequest): Asked => ({
  subject,
  keyHash,
  transactionId,
});

function failOf(code: MdmErrorCode): Fail {
  switch (code) {
    case 'ALGORITHM_UNSUPPORTED':
      return 'badAlg';
    case 'ENVELOPE_UNREADABLE':
    case 'SIGNATURE_WRONG':
      return 'badMessageCheck';
    case 'CERTIFICATE_NOT_NOW_VALID':
      return 'badTime';
    case 'CERTIFICATE_FOREIGN':
    case 'CERTIFICATE_NOT_FOR_CLIENTS':
      return 'badCertId';
    default:
      return 'badRequest';
  }
}

const plain = (status: 200 | 400, contentType: string, body: Buffer): ScepAnswer => ({
  status,
  contentType,
  body,
  issued: null,
  refusal: null,
});

const pki = (body: Buffer) => plain(200, 'application/x-pki-message', body);

const refused = ({ code, message }: MdmError): ScepAnswer => ({
  ...plain(400, 'text/plain', Buffer.from(`${message}\n`)),
  refusal: { code, message },
});

/** The parameter `message` of a GET: base64 in either alphabet, where a plus may have become a space. */
export function decodeMessage(parameter: string): Uint8Array {
  return Buffer.from(parameter.replaceAll(' ', '+'), 'base64');
}
