import { isUtf8 } from 'node:buffer';
import type { FastifyInstance } from 'fastify';
import { MusterError } from '../errors.ts';
import { httpError } from './errors.ts';

/**
 * Bodies: only JSON in valid UTF-8, not too deep, without numbers that would be rounded or text that PostgreSQL cannot
 * store.
 */
const MOST_LEVELS = 64;

export function useJsonBodies(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'ignore');
  app.decorateRequest('bodyBytes', 0);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    const bytes = body as Buffer;
    request.bodyBytes = bytes.length;
    // Many clients send the type on every POST, with or without a body.
    if (bytes.length === 0) return done(null, undefined);
    if (!isUtf8(bytes)) return done(httpError('MUSTER_BAD_JSON', 'The body is not valid UTF-8.'));
    const refused = refusal(bytes);
    if (refused) return done(refused);
    const text = bytes.toString('utf8');
    return parse(request, text, (error, value) => {
      if (error) return done(httpError('MUSTER_BAD_JSON', whyNot(text)));
      // Both characters can only come as escapes: raw ones are invalid JSON or UTF-8.
      if (text.includes('\\u') && !isStorable(value)) return done(unstorable('body'));
      return done(null, value);
    });
  });
}

/** The parser refuses one name that JSON allows: as a field it would reach the prototype of all objects. */
function whyNot(text: string): string {
  try {
    JSON.parse(text);
    return 'The field "__proto__" is not allowed.';
  } catch {
    return 'The body is not valid JSON.';
  }
}

export function unstorable(where: string): MusterError {
  return new MusterError(
    'MUSTER_BAD_TEXT',
    400,
    `The ${where} contains a character that cannot be stored (NUL or half a surrogate pair).`,
  );
}

const code = (character: string) => character.charCodeAt(0);
const [QUOTE, BACKSLASH] = [code('"'), code('\\')];
const [OPEN, CLOSE, OPEN_LIST, CLOSE_LIST] = [code('{'), code('}'), code('['), code(']')];
const [ZERO, NINE, MINUS, PLUS, DOT] = [code('0'), code('9'), code('-'), code('+'), code('.')];
const [E, LARGE_E] = [code('e'), code('E')];
/** A number of up to 15 digits is exact. */
const ALWAYS_EXACT = 15;

/**
 * Checked before parsing: code that reads the parsed value may recurse as deep as it is, and a rounded number looks
 * like any other.
 */
function refusal(bytes: Buffer): MusterError | undefined {
  let depth = 0;
  let inText = false;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] as number;
    if (inText) {
      if (byte === BACKSLASH) at += 1;
      else if (byte === QUOTE) inText = false;
    } else if (byte === QUOTE) inText = true;
    else if (byte === OPEN || byte === OPEN_LIST) {
      depth += 1;
      if (depth > MOST_LEVELS)
        return httpError('MUSTER_BAD_JSON', `The body is nested deeper than ${MOST_LEVELS} levels.`);
    } else if (byte === CLOSE || byte === CLOSE_LIST) depth -= 1;
    else if (byte === MINUS || (byte >= ZERO && byte <= NINE)) {
      const end = endOfNumber(bytes, at);
      if (isRounded(bytes, at, end)) return rounded();
      at = end - 1;
    }
  }
  return undefined;
}

function endOfNumber(bytes: Buffer, begin: number): number {
  let at = begin + 1;
  for (; at < bytes.length; at += 1) {
    const byte = bytes[at] as number;
    const isPart = (byte >= ZERO && byte <= NINE) || byte === E || byte === LARGE_E || byte === DOT;
    if (!isPart && byte !== MINUS && byte !== PLUS) break;
  }
  return at;
}

/**
 * Numbers beyond 2^53 - 1 are rounded: two whole numbers become one, and beyond 1e308 nothing is left. A rounded
 * fraction stays close.
 */
function isRounded(bytes: Buffer, begin: number, end: number): boolean {
  if (end - begin <= ALWAYS_EXACT && !hasExponent(bytes, begin, end)) return false;
  return Math.abs(Number(bytes.toString('latin1', begin, end))) > Number.MAX_SAFE_INTEGER;
}

function hasExponent(bytes: Buffer, begin: number, end: number): boolean {
  for (let at = begin; at < end; at += 1) if (bytes[at] === E || bytes[at] === LARGE_E) return true;
  return false;
}

function rounded(): MusterError {
  return new MusterError(
    'MUSTER_BAD_VALUE',
    400,
    `The body has a number beyond ${Number.MAX_SAFE_INTEGER}, which would be rounded. Send it as a string.`,
  );
}

export function isStorable(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed() && !value.includes('\u0000');
  if (value === null || typeof value !== 'object') return true;
  for (const key in value)
    if (!isStorable(key) || !isStorable((value as Record<string, unknown>)[key])) return false;
  return true;
}
