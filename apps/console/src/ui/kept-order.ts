import { useRef } from 'react';

/** Rows in the order in which they were first seen, new ones last: a growing count must not swap rows under the pointer. */
export function useKeptOrder<Row>(rows: readonly Row[], keyOf: (row: Row) => string): readonly Row[] {
  const seen = useRef<string[]>([]);
  const keys = rows.map(keyOf);
  seen.current = [
    ...seen.current.filter((key) => keys.includes(key)),
    ...keys.filter((key) => !seen.current.includes(key)),
  ];
  return seen.current.flatMap((key) => rows[keys.indexOf(key)] ?? []);
}
