import type { FilterKeys } from './filter-text.ts';

/** The completions of the word under the caret: keys, or values of the key before it. */
export interface Completion {
  /** As offered: "state:" or "state:failed". */
  readonly word: string;
  /** The whole text with it, and the caret then. */
  readonly text: string;
  readonly caret: number;
}

/** Values that were seen, for keys whose values cannot be listed. */
export type SeenValues = Readonly<Record<string, readonly string[]>>;

const MOST = 50;

export function completionsOf(
  text: string,
  caret: number,
  keys: FilterKeys,
  seen: SeenValues = {},
): Completion[] {
  const begin = beginOf(text, caret);
  const typed = text.slice(begin, caret);
  const rest = text.slice(caret).replace(/^\S+/, '').trimStart();
  const before = text.slice(0, begin);
  const colon = typed.indexOf(':');
  const words = colon < 0 ? keysFor(typed, before, keys) : valuesFor(typed, colon, keys, seen);
  return words
    .filter((word) => word !== typed)
    .slice(0, MOST)
    .map((word) => {
      // after a value comes the next word, after a key its value
      const done = `${before}${word}${word.endsWith(':') ? '' : ' '}`;
      return {
        word,
        text: done + (rest === '' || done.endsWith(' ') ? rest : ` ${rest}`),
        caret: done.length,
      };
    });
}

function keysFor(typed: string, before: string, keys: FilterKeys): string[] {
  const start = typed.toLowerCase();
  const isFree = (key: string) => !new RegExp(`(^|\\s)${key}:`).test(before);
  const free = Object.keys(keys).filter(isFree);
  const named = free.filter((key) => key.toLowerCase().startsWith(start)).map((key) => `${key}:`);
  if (start === '') return named;
  // "fail" completes to state:failed
  const valued = free.flatMap((key) =>
    (keys[key] ?? []).filter((value) => value.startsWith(start)).map((value) => `${key}:${value}`),
  );
  return [...named, ...valued];
}

function valuesFor(typed: string, colon: number, keys: FilterKeys, seen: SeenValues): string[] {
  const key = typed.slice(0, colon);
  const start = typed
    .slice(colon + 1)
    .replace(/^"/, '')
    .toLowerCase();
  if (!(key in keys)) return [];
  const values = [...new Set([...(keys[key] ?? []), ...(seen[key] ?? [])])];
  const rank = (value: string) => (value.toLowerCase().startsWith(start) ? 0 : 1);
  return values
    .filter((value) => value.toLowerCase().includes(start))
    .sort((a, b) => rank(a) - rank(b))
    .map((value) => `${key}:${/\s/.test(value) ? `"${value}"` : value}`);
}

/** Where the word under the caret begins; quoted text is one word. */
function beginOf(text: string, caret: number): number {
  let isQuoted = false;
  let begin = 0;
  for (let at = 0; at < caret; at += 1) {
    if (text[at] === '"') isQuoted = !isQuoted;
    else if (!isQuoted && /\s/.test(text[at] ?? '')) begin = at + 1;
  }
  return begin;
}
