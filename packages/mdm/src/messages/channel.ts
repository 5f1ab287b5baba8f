/** The sender of a message: a device, or a user of one. The certificate is the same, tokens and queues are not. */
import type { PlistDict } from '../plist/parse-plist.ts';
import { idOf, incomplete, textOf } from './fields.ts';

export interface Channel {
  /** The UDID, or the EnrollmentID of a personal device that does not reveal its UDID. Opaque, unchanged. */
  readonly deviceId: string;
  /** A user enrolment (BYOD): the id is a new one with each enrolment. */
  readonly byod: boolean;
  /** Null on the channel of the device. Tokens of a user's channel are never those of the device. */
  readonly user: UserOfDevice | null;
}

export interface UserOfDevice {
  /** UserID or EnrollmentUserID; on a Shared iPad, where all users have one UserID, the short name. */
  readonly id: string;
  readonly shortName: string | null;
  readonly longName: string | null;
}

const SHARED_IPAD = 'FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF';

export function readChannel(dict: PlistDict): Channel {
  const udid = idOf(dict, 'UDID');
  const deviceId = udid ?? idOf(dict, 'EnrollmentID');
  if (deviceId === null) throw incomplete('UDID or EnrollmentID');
  return { deviceId, byod: udid === null, user: readUser(dict) };
}

function readUser(dict: PlistDict): UserOfDevice | null {
  const given = idOf(dict, 'UserID') ?? idOf(dict, 'EnrollmentUserID');
  if (given === null) return null;
  const shortName = textOf(dict, 'UserShortName');
  return {
    id: given === SHARED_IPAD && shortName !== null ? shortName : given,
    shortName,
    longName: textOf(dict, 'UserLongName'),
  };
}
