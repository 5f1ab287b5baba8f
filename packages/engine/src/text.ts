import { EngineError } from './errors.ts';

/**
 * PostgreSQL stores neither NUL nor lone surrogates. One such text would fail a whole gathered statement, so it is
 * refused beforehand.
 */
export function checkText(text: string, what: string): string {
  if (!isStorable(text)) throw badText(what);
  return text;
}

export function encodeJson(value: unknown, what: string): string {
  const json = stringify(value);
  if (json === undefined) throw new EngineError('MUSTER_BAD_VALUE', `The ${what} is not valid JSON.`);
  // JSON.stringify writes both as escapes; only then is a closer look at its output needed.
  if (json.includes('\\u') && !isStorableJson(JSON.parse(json))) throw badText(what);
  if (MAY_BE_LARGE.test(json) && hasLarge(JSON.parse(json)))
    throw new EngineError(
      'MUSTER_BAD_VALUE',
      `The ${what} has a number beyond ${Number.MAX_SAFE_INTEGER}, which may already be rounded. Send it as a string.`,
    );
  return json;
}

/** As JSON.stringify writes numbers: 16 digits, or with an exponent from 1e21 on. Texts may look like that too. */
const MAY_BE_LARGE = /\d{16}|\de\+/;

function hasLarge(value: unknown): boolean {
  const toVisit = [value];
  while (toVisit.length > 0) {
    const next = toVisit.pop();
    if (typeof next === 'number' && Math.abs(next) > Number.MAX_SAFE_INTEGER) return true;
    if (next !== null && typeof next === 'object')
      for (const inner of Object.values(next)) toVisit.push(inner);
  }
  return false;
}

/** A circle, a bigint or endless nesting throws; a function or a symbol is not JSON either. */
function stringify(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\u0000');
}

function isStorableJson(value: unknown): boolean {
  const toVisit = [value];
  while (toVisit.length > 0) {
    const next = toVisit.pop();
    if (typeof next === 'string') {
      if (!isStorable(next)) return false;
    } else if (next !== null && typeof next === 'object') {
      for (const [key, inner] of Object.entries(next)) {
        if (!isStorable(key)) return false;
        toVisit.push(inner);
      }
    }
  }
  return true;
}

function badText(what: string): EngineError {
  return new EngineError(
    'MUSTER_BAD_TEXT',
    `The ${what} contains a character that cannot be stored (NUL or half a surrogate pair).`,
  );
}

const LARGEST_ATTEMPT = 2_147_483_647;

/** A number above all known ones is late, not an error: a worker may outlive a restored backup. */
export function checkAttempt(attempt: number): number {
  if (!Number.isInteger(attempt) || attempt < 1)
    throw new EngineError('MUSTER_BAD_VALUE', 'attempt must be a whole number above 0.');
  return Math.min(attempt, LARGEST_ATTEMPT);
}
