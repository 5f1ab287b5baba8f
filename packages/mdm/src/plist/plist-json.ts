/**
 * Property lists in JSON, for what stores and shows them: bytes are `{"$data": base64}`, dates `{"$date": ISO}`.
 * A dictionary of just such a key would come back as bytes; no key of the protocol begins with a dollar.
 */
import { MdmError } from '../mdm-error.ts';
import { isDict, type PlistDict, type PlistValue } from './parse-plist.ts';

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

export function plistToJson(value: PlistValue): Json {
  if (value instanceof Uint8Array) return { $data: Buffer.from(value).toString('base64') };
  if (value instanceof Date) return { $date: value.toISOString() };
  if (Array.isArray(value)) return value.map(plistToJson);
  if (!isDict(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plistToJson(item)]));
}

/** Null has no place in a property list: its key is left out. */
export function plistFromJson(json: { readonly [key: string]: unknown }): PlistDict {
  return dictFrom(json, 0);
}

function dictFrom(json: object, depth: number): PlistDict {
  const dict: PlistDict = {};
  for (const [key, item] of Object.entries(json)) {
    if (key === '__proto__') throw new MdmError('COMMAND_INVALID', 'A key of the command is __proto__.');
    const value = valueFrom(item, depth + 1);
    if (value !== null) dict[key] = value;
  }
  return dict;
}

function valueFrom(json: unknown, depth: number): PlistValue | null {
  if (depth > 32) throw new MdmError('COMMAND_INVALID', 'The command is nested deeper than 32.');
  if (json === null || json === undefined) return null;
  if (typeof json === 'string' || typeof json === 'boolean') return json;
  if (typeof json === 'number' && Number.isFinite(json)) return json;
  if (Array.isArray(json)) return json.flatMap((item) => valueFrom(item, depth + 1) ?? []);
  if (typeof json !== 'object')
    throw new MdmError('COMMAND_INVALID', 'A value of the command has no place in a plist.');
  const [[key, item] = [], ...more] = Object.entries(json);
  if (more.length === 0 && typeof item === 'string') {
    if (key === '$data') return Uint8Array.from(Buffer.from(item, 'base64'));
    if (key === '$date' && !Number.isNaN(Date.parse(item))) return new Date(item);
  }
  return dictFrom(json, depth);
}
