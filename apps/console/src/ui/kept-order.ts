import { useRef } from 'react';

/** Rows in the order in which they were seen first, new ones last: a count that grows swaps nothing under the pointer. */
export function useKeptOrder<Row>(rows: readonly Row[], keyOf: (row: Row) => string): readonly Row[] {
  const seen = useRef<string[]>([]);
  const keys = rows.map(keyOf);
  seen.current = [
    ...seen.current.filter((key) => keys.includes(key)),
    ...keys.filter((key) => !seen.current.includes(key)),
  ];
  return seen.current.flatMap((key) => rows[keys.indexOf(key)] ?? []);
}
