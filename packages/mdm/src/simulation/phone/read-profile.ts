/** Reads an enrolment profile as a device does: whatever server has written it. */
import { isDict, type PlistDict, type PlistValue, parsePlist } from '../../plist/parse-plist.ts';

export interface ReadProfile {
  readonly identifier: string;
  readonly scep: {
    readonly url: string;
    readonly challenge: string;
    readonly name: string;
    readonly subject: readonly (readonly [oid: string, value: string])[];
  };
  readonly mdm: {
    readonly serverUrl: string;
    readonly checkInUrl: string;
    readonly topic: string;
    readonly signMessage: boolean;
    readonly checkOutWhenRemoved: boolean;
  };
}

const OIDS: Readonly<Record<string, string>> = {
  C: '2.5.4.6',
  CN: '2.5.4.3',
  L: '2.5.4.7',
  O: '2.5.4.10',
  OU: '2.5.4.11',
  ST: '2.5.4.8',
};

export function readProfile(bytes: Uint8Array): ReadProfile {
  const profile = parsePlist(bytes);
  const payloads = Array.isArray(profile.PayloadContent) ? profile.PayloadContent.filter(isDict) : [];
  const ofType = (type: string) => {
    const found = payloads.find(({ PayloadType }) => PayloadType === type);
    if (found === undefined) throw new Error(`The profile has no ${type}.`);
    return found;
  };
  const scepPayload = ofType('com.apple.security.scep');
  const mdm = ofType('com.apple.mdm');
  if (mdm.IdentityCertificateUUID !== scepPayload.PayloadUUID)
    throw new Error('The identity is not the one of SCEP.');
  const scep = scepPayload.PayloadContent;
  if (!isDict(scep)) throw new Error('The payload for SCEP is empty.');
  const serverUrl = text(mdm, 'ServerURL');
  return {
    identifier: text(profile, 'PayloadIdentifier'),
    scep: {
      url: text(scep, 'URL'),
      challenge: String(scep.Challenge ?? ''),
      name: String(scep.Name ?? ''),
      subject: subjectOf(scep.Subject),
    },
    mdm: {
      serverUrl,
      checkInUrl: typeof mdm.CheckInURL === 'string' ? mdm.CheckInURL : serverUrl,
      topic: text(mdm, 'Topic'),
      signMessage: mdm.SignMessage === true,
      checkOutWhenRemoved: mdm.CheckOutWhenRemoved === true,
    },
  };
}

function text(dict: PlistDict, key: string): string {
  const value = dict[key];
  if (typeof value !== 'string' || value === '') throw new Error(`The profile has no ${key}.`);
  return value;
}

function subjectOf(subject: PlistValue | undefined): [string, string][] {
  if (!Array.isArray(subject)) return [];
  return subject.flatMap((group) =>
    (Array.isArray(group) ? group : []).map((pair): [string, string] => {
      const [name, value] = Array.isArray(pair) ? pair.map(String) : [];
      return [OIDS[name ?? ''] ?? String(name), String(value)];
    }),
  );
}
