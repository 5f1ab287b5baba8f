/** Check-in messages. How to answer each: README.md of this package. */
import { MESSAGE_LIMITS, type PlistDict, type PlistLimits, parsePlist } from '../plist/parse-plist.ts';
import { type Channel, readChannel } from './channel.ts';
import { bytesOf, flagOf, incomplete, requiredText, textOf } from './fields.ts';

export type CheckIn =
  | Authenticate
  | TokenUpdate
  | { readonly type: 'CheckOut'; readonly channel: Channel; readonly topic: string }
  /** Without a token, the stored one must be deleted. */
  | {
      readonly type: 'SetBootstrapToken';
      readonly channel: Channel;
      readonly bootstrapToken: Uint8Array | null;
    }
  | { readonly type: 'GetBootstrapToken'; readonly channel: Channel }
  | { readonly type: 'UserAuthenticate'; readonly channel: Channel }
  /**
   * DeclarativeManagement, GetToken, ReturnToService and future types of Apple: only devices that were asked to send
   * them do.
   */
  | { readonly type: 'Unknown'; readonly channel: Channel; readonly messageType: string };

export interface Authenticate {
  readonly type: 'Authenticate';
  readonly channel: Channel;
  readonly topic: string;
  readonly serialNumber: string | null;
  readonly osVersion: string | null;
  readonly buildVersion: string | null;
  readonly productName: string | null;
  readonly model: string | null;
  readonly modelName: string | null;
  readonly deviceName: string | null;
  readonly imei: string | null;
  readonly meid: string | null;
}

export interface TokenUpdate {
  readonly type: 'TokenUpdate';
  readonly channel: Channel;
  readonly topic: string;
  readonly token: Uint8Array;
  readonly pushMagic: string;
  /** Null does not change the stored one: a device may send it only once. */
  readonly unlockToken: Uint8Array | null;
  /** The device stays in its Setup Assistant until it gets DeviceConfigured: the sign of a new life. */
  readonly awaitingConfiguration: boolean;
  readonly notOnConsole: boolean;
}

const MOST_TOKEN_BYTES = 1_024;
const MOST_SECRET_BYTES = 64 * 1_024;

export function parseCheckIn(bytes: Uint8Array, limits?: PlistLimits): CheckIn {
  const dict = parsePlist(bytes, limits ?? MESSAGE_LIMITS);
  const messageType = requiredText(dict, 'MessageType');
  const channel = readChannel(dict);
  switch (messageType) {
    case 'Authenticate':
      return readAuthenticate(dict, channel);
    case 'TokenUpdate':
      return readTokenUpdate(dict, channel);
    case 'CheckOut':
      return { type: messageType, channel, topic: requiredText(dict, 'Topic') };
    case 'SetBootstrapToken':
      return {
        type: messageType,
        channel,
        bootstrapToken: bytesOf(dict, 'BootstrapToken', MOST_SECRET_BYTES),
      };
    case 'GetBootstrapToken':
    case 'UserAuthenticate':
      return { type: messageType, channel };
    default:
      return { type: 'Unknown', channel, messageType };
  }
}

function readAuthenticate(dict: PlistDict, channel: Channel): Authenticate {
  return {
    type: 'Authenticate',
    channel,
    topic: requiredText(dict, 'Topic'),
    serialNumber: textOf(dict, 'SerialNumber'),
    osVersion: textOf(dict, 'OSVersion'),
    buildVersion: textOf(dict, 'BuildVersion'),
    productName: textOf(dict, 'ProductName'),
    model: textOf(dict, 'Model'),
    modelName: textOf(dict, 'ModelName'),
    deviceName: textOf(dict, 'DeviceName'),
    imei: textOf(dict, 'IMEI'),
    meid: textOf(dict, 'MEID'),
  };
}

function readTokenUpdate(dict: PlistDict, channel: Channel): TokenUpdate {
  const token = bytesOf(dict, 'Token', MOST_TOKEN_BYTES);
  if (token === null) throw incomplete('Token');
  return {
    type: 'TokenUpdate',
    channel,
    topic: requiredText(dict, 'Topic'),
    token,
    pushMagic: requiredText(dict, 'PushMagic'),
    unlockToken: bytesOf(dict, 'UnlockToken', MOST_SECRET_BYTES),
    awaitingConfiguration: flagOf(dict, 'AwaitingConfiguration'),
    notOnConsole: flagOf(dict, 'NotOnConsole'),
  };
}
