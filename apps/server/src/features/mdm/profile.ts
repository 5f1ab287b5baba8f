import type { Database } from '@muster/engine';
import { buildEnrolmentProfile } from '@muster/mdm';
import type { Tokens } from '../../tokens/tokens.ts';
import type { Enrolments } from './enrolments.ts';
import { mdmError } from './errors.ts';
import type { Pushes } from './push/index.ts';

/** The identifier of all our profiles: removing the profile makes the phone leave. */
export const PROFILE_IDENTIFIER = 'io.muster.enrolment';
const ORGANIZATION = 'Muster';

interface Tools {
  readonly enrolments: Enrolments;
  readonly pushes: Pushes;
  readonly tokens: Tokens;
  readonly tenantName: (tenantId: number) => Promise<string>;
  /** Of an external authority; null: our own. */
  readonly scep: { readonly url: string; readonly challenge: string } | null;
}

/** The profile of an enrolment token; the same one as long as no phone has used it. */
export function createProfiles(db: Database, { enrolments, pushes, scep, tenantName, tokens }: Tools) {
  return async (secret: string, publicUrl: string): Promise<Buffer> => {
    const caller = await tokens.authenticate(secret);
    const deviceId = (caller?.restriction as { deviceId?: unknown } | null)?.deviceId;
    if (caller?.kind !== 'mdm-enrolment' || typeof deviceId !== 'string') throw unknown();
    const { tenantId, tokenId } = caller;
    const topic = await pushes.topicOf(db, tenantId);
    if (topic === null)
      throw mdmError(
        'MUSTER_MDM_NOT_CONFIGURED',
        'There is no push certificate: set APNS_CERT and APNS_KEY, or upload one.',
      );
    const enrolment = await enrolments.ensure(db, { tenantId, tokenId, deviceId });
    if (enrolment.udid !== null) throw unknown();
    return buildEnrolmentProfile({
      identifier: PROFILE_IDENTIFIER,
      displayName: ORGANIZATION,
      organization: ORGANIZATION,
      enrolmentId: enrolment.enrolmentId,
      serverUrl: `${publicUrl}/mdm/${encodeURIComponent(await tenantName(tenantId))}`,
      scep: scep ?? { url: `${publicUrl}/scep`, challenge: enrolment.challenge },
      topic,
    });
  };
}

const unknown = () =>
  mdmError('MUSTER_UNKNOWN_ENROLMENT', 'There is no such enrolment, or a phone has already used it.');

export type Profiles = ReturnType<typeof createProfiles>;
