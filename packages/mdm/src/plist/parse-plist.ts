import { parse } from 'plist';
import { MdmError } from '../mdm-error.ts';
import { checkXml, type LargeNumber, type XmlLimits } from './check-xml.ts';
import type { PlistDict, PlistValue } from './plist-value.ts';
import { readPlain } from './read-plain.ts';

export type { PlistDict, PlistValue };

export interface PlistLimits extends XmlLimits {
  readonly maxBytes: number;
  /** Numbers beyond 2^53 become texts with all their digits; otherwise the code that stores them refuses them. */
  readonly largeNumbersAsText?: boolean;
}

/**
 * Lists of installed apps are the largest that devices send: some hundred kilobytes, ten or twenty thousand values.
 * 50,000 values keep the thread for a quarter of a second (bench of the parser alone, two busy cores).
 */
export const PLIST_LIMITS: PlistLimits = { maxBytes: 4 * 1024 * 1024, maxDepth: 32, maxElements: 50_000 };

/** For phones: a message must be heard, whatever numbers it has. */
export const MESSAGE_LIMITS: PlistLimits = { ...PLIST_LIMITS, largeNumbersAsText: true };

/** Bytes in XML to a dictionary, or an MdmError. */
export function parsePlist(bytes: Uint8Array, limits: PlistLimits = PLIST_LIMITS): PlistDict {
  if (bytes.byteLength > limits.maxBytes)
    throw new MdmError('PLIST_TOO_LARGE', `The property list is longer than ${limits.maxBytes} bytes.`);
  const text = decode(bytes).trim();
  // the parser would accept other notations too, by the first character
  if (!text.startsWith('<')) throw new MdmError('PLIST_NOT_XML', 'The body is not a property list in XML.');
  const { root, large } = checkXml(text, limits);
  let value: unknown = large.length === 0 ? readPlain(text, root) : undefined;
  try {
    value ??= parse(limits.largeNumbersAsText ? withTexts(text, root, large) : text.slice(root));
  } catch (cause) {
    throw new MdmError('PLIST_MALFORMED', 'The property list cannot be read.', { cause });
  }
  if (!isDict(value)) throw new MdmError('PLIST_NOT_A_DICT', 'The property list is not a dictionary.');
  checkNumbers(value);
  return value;
}

function withTexts(text: string, root: number, large: readonly LargeNumber[]): string {
  let [at, written] = [root, ''];
  for (const { from, to, text: digits } of large) {
    written += `${text.slice(at, from)}<string>${digits}</string>`;
    at = to;
  }
  return written + text.slice(at);
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function decode(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch (cause) {
    throw new MdmError('PLIST_NOT_XML', 'The property list is not in UTF-8.', { cause });
  }
}

export function isDict(value: unknown): value is PlistDict {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    !(value instanceof Date) &&
    !(value instanceof Uint8Array)
  );
}

/** The parser returns an invalid number or date as a value that compares with nothing. */
function checkNumbers(value: PlistValue): void {
  if (Array.isArray(value)) for (const item of value) checkNumbers(item);
  else if (isDict(value)) for (const item of Object.values(value)) checkNumbers(item);
  else if (Number.isNaN(value instanceof Date ? value.getTime() : value))
    throw new MdmError('PLIST_MALFORMED', 'The property list has an invalid number or date.');
}
