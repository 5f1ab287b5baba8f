/** The profile that enrols a device: a certificate by SCEP, and the address to report to with it. */
import { createHash } from 'node:crypto';
import { MdmError } from '../mdm-error.ts';
import { buildPlist } from '../plist/build-plist.ts';
import type { PlistDict } from '../plist/parse-plist.ts';

export interface EnrolmentProfile {
  /** Of the profile as a whole, and stable: RemoveProfile with it makes the device leave. */
  readonly identifier: string;
  /** Shown to people. */
  readonly displayName: string;
  readonly organization: string;
  /** Names this enrolment in the address and in the certificate, so that Authenticate finds its device by either. */
  readonly enrolmentId: string;
  /** `https://…/mdm/<tenant>`; must not change in the life of an enrolment. */
  readonly serverUrl: string;
  /** The server URL by default. */
  readonly checkInUrl?: string;
  readonly scep: {
    readonly url: string;
    readonly challenge: string;
    readonly name?: string;
    /** The fingerprint of the authority's certificate, for addresses without TLS. */
    readonly fingerprint?: Uint8Array;
  };
  /** Of the push certificate. */
  readonly topic: string;
  readonly accessRights?: number;
}

/** All of them: inspect, install, lock, erase, query, restrict, apps. */
const ALL_RIGHTS = 8_191;

export const PROFILE_CONTENT_TYPE = 'application/x-apple-aspen-config';

export function buildEnrolmentProfile(wish: EnrolmentProfile): Buffer {
  if (!wish.topic.startsWith('com.apple.mgmt.'))
    throw new MdmError('TOPIC_MISSING', 'The topic is not for device management: com.apple.mgmt.…');
  const scep = payload(wish, 'com.apple.security.scep', 'scep', 'Certificate of the device', {
    PayloadContent: scepContent(wish),
  });
  const mdm = payload(wish, 'com.apple.mdm', 'mdm', 'Device management', {
    AccessRights: wish.accessRights ?? ALL_RIGHTS,
    CheckInURL: addressed(wish.checkInUrl ?? wish.serverUrl, wish.enrolmentId),
    CheckOutWhenRemoved: true,
    IdentityCertificateUUID: uuidOf(wish, 'scep'),
    ServerCapabilities: ['com.apple.mdm.per-user-connections', 'com.apple.mdm.bootstraptoken'],
    ServerURL: addressed(wish.serverUrl, wish.enrolmentId),
    SignMessage: true,
    Topic: wish.topic,
  });
  return buildPlist({
    PayloadContent: [scep, mdm],
    PayloadDisplayName: wish.displayName,
    PayloadIdentifier: wish.identifier,
    PayloadOrganization: wish.organization,
    PayloadScope: 'System',
    PayloadType: 'Configuration',
    PayloadUUID: uuidOf(wish, 'profile'),
    PayloadVersion: 1,
  });
}

function scepContent({ enrolmentId, organization, scep }: EnrolmentProfile): PlistDict {
  return {
    URL: scep.url,
    Name: scep.name ?? organization,
    Challenge: scep.challenge,
    // clients know these two kinds of parts, and not all know more
    Subject: [[['O', organization]], [['CN', enrolmentId]]],
    'Key Type': 'RSA',
    // to sign and to decrypt the answer
    'Key Usage': 5,
    Keysize: 2_048,
    Retries: 3,
    RetryDelay: 10,
    ...(scep.fingerprint && { CAFingerprint: scep.fingerprint }),
  };
}

function payload(
  wish: EnrolmentProfile,
  type: string,
  role: string,
  name: string,
  keys: PlistDict,
): PlistDict {
  return {
    ...keys,
    PayloadDisplayName: name,
    PayloadIdentifier: `${wish.identifier}.${role}`,
    PayloadType: type,
    PayloadUUID: uuidOf(wish, role),
    PayloadVersion: 1,
  };
}

function addressed(address: string, enrolmentId: string): string {
  const url = new URL(address);
  url.searchParams.set('e', enrolmentId);
  return url.href;
}

/** Always the same for the same enrolment: a UUID of version 8, made of a hash. */
function uuidOf({ identifier, enrolmentId }: EnrolmentProfile, role: string): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([identifier, enrolmentId, role]))
    .digest('hex');
  const variant = ((Number.parseInt(hash.slice(16, 17), 16) & 3) | 8).toString(16);
  const parts = [
    hash.slice(0, 8),
    hash.slice(8, 12),
    `8${hash.slice(13, 16)}`,
    `${variant}${hash.slice(17, 20)}`,
  ];
  return [...parts, hash.slice(20, 32)].join('-').toUpperCase();
}
