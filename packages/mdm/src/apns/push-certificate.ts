import { createPrivateKey, type KeyObject } from 'node:crypto';
import { readCertificate } from '../identity/certificate.ts';
import { MdmError } from '../mdm-error.ts';

/** Both in PEM. */
export interface PushCertificateFiles {
  readonly certificate: string;
  readonly key: string;
}

export interface PushCertificate extends PushCertificateFiles {
  /**
   * For device management `com.apple.mgmt.…`; a renewal under another Apple ID changes it, and every device must enrol
   * anew.
   */
  readonly topic: string;
  readonly notAfter: Date;
}

export function readPushCertificate({ certificate: pem, key }: PushCertificateFiles): PushCertificate {
  const certificate = readCertificate(pem);
  if (!certificate.checkPrivateKey(readKey(key)))
    throw new MdmError('KEY_DOES_NOT_MATCH', 'The key does not belong to the push certificate.');
  const topic = /^UID=(.+)$/m.exec(certificate.subject)?.[1];
  if (topic === undefined)
    throw new MdmError('TOPIC_MISSING', 'The push certificate has no topic (UID) in its name.');
  return { certificate: pem, key, topic, notAfter: new Date(certificate.validTo) };
}

function readKey(pem: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch (cause) {
    throw new MdmError('KEY_UNREADABLE', 'The key of the push certificate cannot be read.', { cause });
  }
}
