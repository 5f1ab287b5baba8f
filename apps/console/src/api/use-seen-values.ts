import { useRef } from 'react';
import type { SeenValues } from '../words/completions.ts';

/** The most values of a key: a list to choose from, not a catalogue. */
const MOST = 200;

/**
 * The values that rows have shown since the page was opened, by key. Completing a word must not cost a scan that counts kinds and
 * tags. They are kept while a filter leaves fewer rows.
 */
export function useSeenValues<Row>(
  rows: readonly Row[],
  valuesOf: (row: Row) => Readonly<Record<string, readonly (string | null | undefined)[]>>,
): SeenValues {
  const seen = useRef<Record<string, string[]>>({});
  for (const row of rows)
    for (const [key, values] of Object.entries(valuesOf(row))) {
      seen.current[key] ??= [];
      const known = seen.current[key];
      for (const value of values)
        if (value && known.length < MOST && !known.includes(value)) known.push(value);
    }
  return seen.current;
}
