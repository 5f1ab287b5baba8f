/**
 * Reports about commands. From an unreadable report everything that can be found is still returned, so that a queue
 * goes on.
 */
import { MdmError } from '../mdm-error.ts';
import {
  isDict,
  MESSAGE_LIMITS,
  type PlistDict,
  type PlistLimits,
  parsePlist,
} from '../plist/parse-plist.ts';
import { type Channel, readChannel } from './channel.ts';
import { flagOf, own, requiredText, textOf } from './fields.ts';
import { type Salvaged, salvage, salvageOuter } from './salvage.ts';

interface OfChannel {
  readonly channel: Channel;
  /** The login of a Mac waits for it: serve everything waiting in this session. */
  readonly needSync: boolean;
}

interface OfCommand extends OfChannel {
  readonly commandUuid: string;
  /** Only some devices repeat it. */
  readonly requestType: string | null;
}

export type Report =
  | ({ readonly status: 'Idle' } & OfChannel)
  /** Accepted by the device; what it does later by itself may still fail. */
  | ({ readonly status: 'Acknowledged'; readonly response: PlistDict } & OfCommand)
  | ({
      readonly status: 'Error' | 'CommandFormatError';
      readonly errorChain: readonly ErrorLink[];
    } & OfCommand)
  | ({ readonly status: 'NotNow' } & OfCommand);

/** The first one is the outermost. Codes may change: for people, not for branching. */
export interface ErrorLink {
  /** A text, if a number cannot hold it. */
  readonly code: number | string | null;
  readonly domain: string | null;
  readonly description: string | null;
}

export type ReadReport =
  | { readonly ok: true; readonly report: Report }
  | { readonly ok: false; readonly error: MdmError; readonly salvaged: Salvaged };

export function readReport(bytes: Uint8Array, limits?: PlistLimits): ReadReport {
  try {
    return { ok: true, report: reportOf(parsePlist(bytes, limits ?? MESSAGE_LIMITS)) };
  } catch (error) {
    if (!(error instanceof MdmError)) throw error;
    const isOuter = error.code === 'PLIST_TOO_LARGE' || error.code === 'PLIST_TOO_DEEP';
    return { ok: false, error, salvaged: isOuter ? salvageOuter(bytes) : salvage(bytes) };
  }
}

/** The report's own keys, as opposed to the device's answer. */
const ENVELOPE = new Set([
  ...['UDID', 'EnrollmentID', 'UserID', 'EnrollmentUserID', 'UserShortName', 'UserLongName'],
  ...['Status', 'CommandUUID', 'RequestType', 'NeedSyncResponse', 'NotOnConsole'],
]);

function reportOf(dict: PlistDict): Report {
  const status = requiredText(dict, 'Status');
  const channel = readChannel(dict);
  const needSync = flagOf(dict, 'NeedSyncResponse');
  if (status === 'Idle') return { status, channel, needSync };
  const ofCommand = {
    channel,
    needSync,
    commandUuid: requiredText(dict, 'CommandUUID'),
    requestType: textOf(dict, 'RequestType'),
  };
  switch (status) {
    case 'Acknowledged':
      return { status, ...ofCommand, response: responseOf(dict) };
    case 'Error':
    case 'CommandFormatError':
      return { status, ...ofCommand, errorChain: errorChainOf(dict) };
    case 'NotNow':
      return { status, ...ofCommand };
    default:
      throw new MdmError('MESSAGE_UNKNOWN', 'The report has an unknown Status.');
  }
}

function responseOf(dict: PlistDict): PlistDict {
  return Object.fromEntries(Object.entries(dict).filter(([key]) => !ENVELOPE.has(key)));
}

const MOST_LINKS = 20;

/** A CommandFormatError may come without one. */
function errorChainOf(dict: PlistDict): ErrorLink[] {
  const chain = own(dict, 'ErrorChain');
  if (!Array.isArray(chain)) return [];
  return chain
    .filter(isDict)
    .slice(0, MOST_LINKS)
    .map((link) => {
      const code = own(link, 'ErrorCode');
      return {
        code: typeof code === 'number' ? code : textOf(link, 'ErrorCode'),
        domain: textOf(link, 'ErrorDomain'),
        description:
          textOf(link, 'USEnglishDescription', 1_000) ?? textOf(link, 'LocalizedDescription', 1_000),
      };
    });
}
