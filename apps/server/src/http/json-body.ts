import { isUtf8 } from 'node:buffer';
import type { FastifyInstance } from 'fastify';
import { MusterError } from '../errors.ts';
import { httpError } from './errors.ts';

/** Bodies: JSON and nothing else, valid UTF-8, not too deep, and no text in it that PostgreSQL cannot hold. */
const MOST_LEVELS = 64;

export function useJsonBodies(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'ignore');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    const bytes = body as Buffer;
    // Many clients name the type on every POST, with or without a body.
    if (bytes.length === 0) return done(null, undefined);
    if (!isUtf8(bytes)) return done(httpError('MUSTER_BAD_JSON', 'The body is not valid UTF-8.'));
    if (isTooDeep(bytes))
      return done(httpError('MUSTER_BAD_JSON', `The body is nested deeper than ${MOST_LEVELS} levels.`));
    const text = bytes.toString('utf8');
    return parse(request, text, (error, value) => {
      if (error) return done(httpError('MUSTER_BAD_JSON', 'The body is not valid JSON.'));
      // Both characters can only come as escapes: raw ones are no JSON or no UTF-8.
      if (text.includes('\\u') && !isStorable(value)) return done(unstorable('body'));
      return done(null, value);
    });
  });
}

export function unstorable(where: string): MusterError {
  return new MusterError(
    'MUSTER_BAD_TEXT',
    400,
    `The ${where} contains a character that cannot be stored (NUL or half a pair).`,
  );
}

const [QUOTE, BACKSLASH, OPEN, CLOSE, OPEN_LIST, CLOSE_LIST] = [...'"\\{}[]'].map((c) => c.charCodeAt(0));

/** Before parsing, because what reads the parsed value may go as deep as the value does. */
function isTooDeep(bytes: Buffer): boolean {
  if (bytes.length <= MOST_LEVELS) return false;
  let depth = 0;
  let inText = false;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (inText) {
      if (byte === BACKSLASH) at += 1;
      else if (byte === QUOTE) inText = false;
    } else if (byte === QUOTE) inText = true;
    else if (byte === OPEN || byte === OPEN_LIST) {
      depth += 1;
      if (depth > MOST_LEVELS) return true;
    } else if (byte === CLOSE || byte === CLOSE_LIST) depth -= 1;
  }
  return false;
}

function isStorable(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed() && !value.includes('\u0000');
  if (value === null || typeof value !== 'object') return true;
  for (const key in value)
    if (!isStorable(key) || !isStorable((value as Record<string, unknown>)[key])) return false;
  return true;
}
