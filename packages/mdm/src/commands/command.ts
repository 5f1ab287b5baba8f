/** Commands as devices get them: an id of ours and a dictionary of Apple's. */
import { MdmError } from '../mdm-error.ts';
import { buildPlist } from '../plist/build-plist.ts';
import { isDict, type PlistDict, parsePlist } from '../plist/parse-plist.ts';
import { checkKeys } from './known-commands.ts';

export interface Command {
  readonly requestType: string;
  /** The keys beside RequestType. */
  readonly keys: PlistDict;
}

/** The limit for a profile in a command; devices read more, but a queue should not hold it. */
export const MOST_COMMAND_BYTES = 1024 * 1024;

/** The response body that hands the command out; `application/xml; charset=UTF-8`. */
export function buildCommand(commandUuid: string, command: Command, maxBytes = MOST_COMMAND_BYTES): Buffer {
  checkCommand(command);
  const bytes = buildPlist({
    CommandUUID: commandUuid,
    Command: { RequestType: command.requestType, ...command.keys },
  });
  if (bytes.byteLength > maxBytes)
    throw new MdmError('COMMAND_INVALID', `The command is longer than ${maxBytes} bytes.`);
  return bytes;
}

/** Refuses what a device would not understand, as far as that is known here. */
export function checkCommand({ requestType, keys }: Command): void {
  if (!/^[A-Za-z][A-Za-z0-9]{0,63}$/.test(requestType))
    throw new MdmError('COMMAND_INVALID', 'RequestType is not the name of a command.');
  if (Object.hasOwn(keys, 'RequestType'))
    throw new MdmError('COMMAND_INVALID', 'RequestType must not be among the keys of a command.');
  checkKeys(requestType, keys);
}

/**
 * A command written as a property list, as operators of other servers do. The token of ClearPasscode is left out: it is
 * a secret, and the newest one is added when the command is handed out.
 */
export function parseCommand(
  bytes: Uint8Array,
  maxBytes = MOST_COMMAND_BYTES,
): Command & { commandUuid: string | null } {
  const { CommandUUID: uuid, Command: inner } = parsePlist(bytes, {
    maxBytes,
    maxDepth: 32,
    maxElements: 20_000,
  });
  if (!isDict(inner)) throw new MdmError('COMMAND_INVALID', 'There is no Command in the property list.');
  const { RequestType: requestType, ...keys } = inner;
  if (typeof requestType !== 'string')
    throw new MdmError('COMMAND_INVALID', 'The command has no RequestType.');
  const command = { requestType, keys };
  if (requestType === 'ClearPasscode') delete keys.UnlockToken;
  else checkCommand(command);
  return { ...command, commandUuid: typeof uuid === 'string' && /^[!-~]{1,127}$/.test(uuid) ? uuid : null };
}
