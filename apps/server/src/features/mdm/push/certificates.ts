import type { Queryable } from '@muster/engine';
import { MdmError, type PushCertificate, readPushCertificate } from '@muster/mdm';
import type { Secrets } from '../../../secrets/secrets.ts';
import { pushError } from './errors.ts';
import { type Providers, purposeOfKey } from './providers.ts';
import type { Topics } from './topics.ts';

const MDM_TOPIC = 'com.apple.mgmt.';

export type Certificates = ReturnType<typeof createCertificates>;

/** Push certificates of tenants: the certificates are stored openly, their keys sealed. */
export function createCertificates(tools: { providers: Providers; secrets: Secrets; topics: Topics }) {
  const { providers, secrets, topics } = tools;
  return {
    /**
     * Used on every node after the commit; stopped pushes resume. `text` has certificate and key, in PEM and in any
     * order.
     */
    async put(tx: Queryable, tenantId: number, text: string): Promise<PushCertificate> {
      const read = readBoth(text);
      const { topic } = read;
      const sealedKey = secrets.seal(read.key, purposeOfKey(tenantId, topic));
      await topics.put(tx, { tenantId, topic, certificate: read.certificate, sealedKey });
      await providers.changed(tx, tenantId, topic);
      return read;
    },
  };
}

function readBoth(text: string): PushCertificate {
  const part = (kind: string) =>
    new RegExp(`-----BEGIN ${kind}-----[^-]+-----END ${kind}-----`).exec(text)?.[0];
  const certificate = part('CERTIFICATE');
  const key = part('(?:[A-Z]+ )?PRIVATE KEY');
  if (!certificate || !key)
    throw unusable(`The body has no ${certificate ? 'key without a password' : 'certificate'} in PEM.`);
  let read: PushCertificate;
  try {
    read = readPushCertificate({ certificate: `${certificate}\n`, key: `${key}\n` });
  } catch (error) {
    if (error instanceof MdmError) throw unusable(error.message);
    throw error;
  }
  if (!read.topic.startsWith(MDM_TOPIC))
    throw unusable(`The certificate is for ${read.topic}, not for device management.`);
  return read;
}

const unusable = (sentence: string) => pushError('MUSTER_PUSH_CERTIFICATE_UNUSABLE', sentence);
