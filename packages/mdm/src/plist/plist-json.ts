/**
 * Property lists in JSON, to store and show them: bytes are `{"$data": base64}`, dates `{"$date": ISO}`. A dictionary
 * with such a key has no other meaning, so anything that almost looks like one is refused; no key of the protocol
 * begins with a dollar.
 */
import { MdmError } from '../mdm-error.ts';
import { checkString } from './build-plist.ts';
import { isDict, type PlistDict, type PlistValue } from './parse-plist.ts';

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

export function plistToJson(value: PlistValue): Json {
  if (value instanceof Uint8Array) return { $data: Buffer.from(value).toString('base64') };
  if (value instanceof Date) return { $date: value.toISOString() };
  if (Array.isArray(value)) return value.map(plistToJson);
  if (!isDict(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plistToJson(item)]));
}

/** Null has no place in a property list: it is refused. */
export function plistFromJson(json: { readonly [key: string]: unknown }): PlistDict {
  return dictFrom(json, 0);
}

function dictFrom(json: object, depth: number): PlistDict {
  const dict: PlistDict = {};
  for (const [key, item] of Object.entries(json)) {
    if (key === '__proto__') throw new MdmError('COMMAND_INVALID', 'A key of the command is __proto__.');
    checkString(key);
    dict[key] = valueFrom(item, depth + 1);
  }
  return dict;
}

function dataFrom(text: string): Uint8Array {
  if (!/^[A-Za-z0-9+/\s]*={0,2}\s*$/.test(text))
    throw new MdmError('COMMAND_INVALID', 'The value of $data is not base64.');
  return Uint8Array.from(Buffer.from(text, 'base64'));
}

function dateFrom(text: string): Date {
  const time = Date.parse(text);
  if (Number.isNaN(time)) throw new MdmError('COMMAND_INVALID', 'The value of $date is not a time.');
  return new Date(time);
}

function valueFrom(json: unknown, depth: number): PlistValue {
  if (depth > 32) throw new MdmError('COMMAND_INVALID', 'The command is nested deeper than 32 levels.');
  if (json === null || json === undefined)
    throw new MdmError('COMMAND_INVALID', 'A value of the command is null. Leave its key out.');
  if (typeof json === 'string') checkString(json);
  if (typeof json === 'string' || typeof json === 'boolean') return json;
  if (typeof json === 'number' && Number.isFinite(json)) return json;
  if (Array.isArray(json)) return json.map((item) => valueFrom(item, depth + 1));
  if (typeof json !== 'object')
    throw new MdmError('COMMAND_INVALID', 'A value of the command cannot be put into a property list.');
  const special = ['$data', '$date'].find((key) => Object.hasOwn(json, key));
  if (special === undefined) return dictFrom(json, depth);
  const [[, item] = [], ...more] = Object.entries(json);
  if (more.length > 0 || typeof item !== 'string')
    throw new MdmError(
      'COMMAND_INVALID',
      `The value of ${special} must be a text, with no other key beside it.`,
    );
  return special === '$data' ? dataFrom(item) : dateFrom(item);
}
