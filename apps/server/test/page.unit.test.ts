import { expect, test } from 'vitest';
import { readPage } from '../src/http/page.ts';

const rows = Array.from({ length: 150 }, (_, n) => ({ id: String(n + 1) }));
const from = (length: number) => (limit: number) => Promise.resolve(rows.slice(0, Math.min(length, limit)));
const idOf = (row: { id: string }) => row.id;

test.each([
  [undefined, 150, 100, '100'],
  [undefined, 100, 100, null],
  [2, 3, 2, '2'],
  [2, 2, 2, null],
  [2, 1, 1, null],
  [2, 0, 0, null],
])('a page of %s out of %i has %i, and its cursor is %s', async (limit, there, got, cursor) => {
  const page = await readPage(limit, from(there), idOf);
  expect(page.items).toHaveLength(got);
  expect(page.cursor).toBe(cursor);
});
