import { build } from 'plist';
import { MdmError } from '../mdm-error.ts';
import type { PlistDict, PlistValue } from './parse-plist.ts';
import { forbiddenIn } from './xml-characters.ts';

/** A dictionary as XML. A character that XML cannot carry is refused here and not by the device. */
export function buildPlist(dict: PlistDict): Buffer {
  check(dict);
  return Buffer.from(build(dict), 'utf8');
}

function check(value: PlistValue): void {
  if (typeof value === 'string') checkString(value);
  else if (Array.isArray(value)) for (const item of value) check(item);
  else if (typeof value === 'object' && !(value instanceof Date) && !(value instanceof Uint8Array))
    for (const [key, item] of Object.entries(value)) {
      checkString(key);
      check(item);
    }
}

export function checkString(text: string): void {
  if (forbiddenIn(text) !== -1 || !text.isWellFormed())
    throw new MdmError('COMMAND_INVALID', 'A string has a character that XML cannot represent.');
}
