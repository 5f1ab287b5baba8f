import { createHash, createPublicKey } from 'node:crypto';
import * as asn1js from 'asn1js';
import * as pkijs from 'pkijs';
import { OID } from '../cms/oids.ts';
import { copy } from '../cms/signed-data.ts';
import { MdmError } from '../mdm-error.ts';
import { readSubject, type SubjectName } from './subject.ts';

export interface CertificateRequest {
  readonly pki: pkijs.CertificationRequest;
  readonly subject: SubjectName;
  /** SHA-256 of the public key, in hex: a repeated request has the same. */
  readonly keyHash: string;
  /** Empty if there is none. */
  readonly challenge: string;
}

/** PKCS #10, signed by its own key, which must be strong enough for a certificate. */
export async function readCertificateRequest(der: Uint8Array): Promise<CertificateRequest> {
  const pki = read(der);
  if (!(await verified(pki)))
    throw new MdmError('SIGNATURE_WRONG', 'The request is not signed with its own key.');
  const spki = Buffer.from(pki.subjectPublicKeyInfo.toSchema().toBER());
  const key = createPublicKey({ key: spki, format: 'der', type: 'spki' });
  if (
    key.asymmetricKeyType === 'rsa'
      ? (key.asymmetricKeyDetails?.modulusLength ?? 0) < 2_048
      : key.asymmetricKeyType !== 'ec'
  )
    throw new MdmError(
      'ALGORITHM_UNSUPPORTED',
      'The key of the request is too short or of an unsupported type.',
    );
  return {
    pki,
    subject: readSubject(pki.subject),
    keyHash: createHash('sha256').update(spki).digest('hex'),
    challenge: challengeOf(pki),
  };
}

function read(der: Uint8Array): pkijs.CertificationRequest {
  try {
    return pkijs.CertificationRequest.fromBER(copy(der));
  } catch (cause) {
    throw new MdmError('REQUEST_UNREADABLE', 'The request for a certificate cannot be read.', { cause });
  }
}

async function verified(pki: pkijs.CertificationRequest): Promise<boolean> {
  try {
    return await pki.verify();
  } catch {
    return false; // a key or an algorithm that the library does not know
  }
}

function challengeOf({ attributes = [] }: pkijs.CertificationRequest): string {
  const value: unknown = attributes.find(({ type }) => type === OID.challengePassword)?.values[0];
  return value instanceof asn1js.BaseStringBlock ? value.valueBlock.value.slice(0, 255) : '';
}
