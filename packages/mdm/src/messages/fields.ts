/** Reads single keys of a message. Unknown keys are ignored: Apple adds some every year. */
import { MdmError } from '../mdm-error.ts';
import type { PlistDict } from '../plist/parse-plist.ts';

const MOST_CHARACTERS = 255;

/** A text that decides something, so a wrong one is refused. Identifiers stay unchanged, case included. */
export function requiredText(dict: PlistDict, key: string): string {
  const text = idOf(dict, key);
  if (text === null) throw incomplete(key);
  return text;
}

/** An identifier, or null if there is none; an invalid one is refused, not cut. */
export function idOf(dict: PlistDict, key: string): string | null {
  const value = own(dict, key);
  if (value === undefined || value === '') return null;
  if (typeof value !== 'string' || value.length > MOST_CHARACTERS || /\p{Cc}/u.test(value))
    throw incomplete(key);
  return value;
}

/** A text that only describes: one of another type counts as missing, one that is too long is cut. */
export function textOf(dict: PlistDict, key: string, most = MOST_CHARACTERS): string | null {
  const value = own(dict, key);
  return typeof value === 'string' && value !== '' ? value.slice(0, most) : null;
}

/** Bytes, or null if there are none. Sizes of tokens may change, so the bound is wide. */
export function bytesOf(dict: PlistDict, key: string, most: number): Uint8Array | null {
  const value = own(dict, key);
  if (value === undefined || (value instanceof Uint8Array && value.byteLength === 0)) return null;
  if (!(value instanceof Uint8Array) || value.byteLength > most) throw incomplete(key);
  return value;
}

export function flagOf(dict: PlistDict, key: string): boolean {
  return own(dict, key) === true;
}

export const own = (dict: PlistDict, key: string) => (Object.hasOwn(dict, key) ? dict[key] : undefined);

export const incomplete = (key: string) =>
  new MdmError('MESSAGE_INCOMPLETE', `The message has no valid ${key}.`);
