import { atLeast } from '@muster/contracts/words';
import { MdmError, plistFromJson } from '@muster/mdm';
import { httpError } from '../../http/errors.ts';
import type { Caller } from '../../tokens/caller.ts';
import { mdmError } from './errors.ts';

/** The rules of commands that operators write, on any route. */
export const ERASE = 'EraseDevice';

export function refuseErasing({ role }: Caller, requestType: string): void {
  if (requestType === ERASE && (role === null || !atLeast(role, 'admin')))
    throw httpError('MUSTER_FORBIDDEN', 'Erasing a phone requires the role admin.');
}

export function keysOf(keys: Readonly<Record<string, unknown>>) {
  try {
    return plistFromJson(keys);
  } catch (error) {
    if (error instanceof MdmError) throw mdmError('MUSTER_BAD_COMMAND', error.message);
    throw error;
  }
}
