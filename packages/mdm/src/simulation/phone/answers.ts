/** What a simulated device does with a command. */
import { type PlistDict, parsePlist } from '../../plist/parse-plist.ts';

export interface ReceivedCommand {
  readonly commandUuid: string;
  readonly requestType: string;
  /** The keys beside RequestType. */
  readonly keys: PlistDict;
}

export type Answer =
  | { readonly status: 'Acknowledged'; readonly keys?: PlistDict }
  | { readonly status: 'Error' | 'CommandFormatError'; readonly code?: number; readonly description?: string }
  | { readonly status: 'NotNow' };

export function readCommand(body: Uint8Array): ReceivedCommand {
  const { Command, CommandUUID } = parsePlist(body);
  const { RequestType, ...keys } = Command as PlistDict; // a server that sends anything else fails the test
  return { commandUuid: String(CommandUUID), requestType: String(RequestType), keys };
}

export function reportOf({ commandUuid, requestType }: ReceivedCommand, answer: Answer): PlistDict {
  const report = { Status: answer.status, CommandUUID: commandUuid, RequestType: requestType };
  if (answer.status === 'Acknowledged') return { ...report, ...answer.keys };
  if (answer.status !== 'Error') return report;
  const description = answer.description ?? 'It did not work.';
  const link = {
    ErrorCode: answer.code ?? 12_021,
    ErrorDomain: 'MCMDMErrorDomain',
    LocalizedDescription: description,
  };
  return { ...report, ErrorChain: [{ ...link, USEnglishDescription: description }] };
}

export interface DeviceState {
  locked: boolean;
  message: string | null;
  configured: boolean;
  erased: boolean;
  /** Answers NotNow to these. */
  readonly busyFor: Set<string>;
  readonly unlockToken: Uint8Array;
  readonly profileIdentifier: string | null;
  readonly facts: PlistDict;
}

/** The answer of a working device. Changes the state. */
export function obey(state: DeviceState, { requestType, keys }: ReceivedCommand): Answer {
  if (state.busyFor.has(requestType)) return { status: 'NotNow' };
  switch (requestType) {
    case 'DeviceLock':
      state.locked = true;
      state.message = typeof keys.Message === 'string' ? keys.Message : null;
      return { status: 'Acknowledged', keys: { MessageResult: 'Success' } };
    case 'ClearPasscode':
      if (!(keys.UnlockToken instanceof Uint8Array)) return { status: 'CommandFormatError' };
      if (!Buffer.from(keys.UnlockToken).equals(state.unlockToken))
        return { status: 'Error', code: 12_000, description: 'The unlock token is not valid.' };
      state.locked = false;
      state.message = null;
      return { status: 'Acknowledged' };
    case 'RemoveProfile':
      return keys.Identifier === state.profileIdentifier
        ? { status: 'Acknowledged' }
        : { status: 'Error', code: 12_013, description: 'The profile is not managed.' };
    case 'InstallProfile':
    case 'ProfileList':
    case 'SecurityInfo':
      return { status: 'Acknowledged' };
    case 'DeviceInformation':
      return { status: 'Acknowledged', keys: { QueryResponses: pick(state.facts, keys.Queries) } };
    case 'DeviceConfigured':
      state.configured = true;
      return { status: 'Acknowledged' };
    case 'EraseDevice':
      state.erased = true;
      return { status: 'Acknowledged' };
    default:
      return { status: 'Error', code: 12_021, description: `${requestType} is not a command.` };
  }
}

/** Unknown queries are left out silently, as devices do. */
function pick(facts: PlistDict, queries: unknown): PlistDict {
  return Object.fromEntries(
    Object.entries(facts).filter(([key]) => Array.isArray(queries) && queries.includes(key)),
  );
}
