import path from 'node:path';
import { expect, test } from 'vitest';
import { findTables, tablesOf } from '../engine-tables.mjs';

const root = path.resolve(import.meta.dirname, '../..');
const fixtures = path.join(import.meta.dirname, 'fixtures/engine-tables');
const tables = tablesOf(path.join(root, 'packages/engine/migrations'));

test.each(['src', 'migrations'])('the server names no table of the engine in %s', (folder) => {
  const { files, found } = findTables(path.join(root, 'apps/server', folder), tables);
  expect(found).toEqual([]);
  expect(files).toBeGreaterThan(0);
});

test('the tables are those that the migrations of the engine create', () => {
  expect(tables).toEqual(
    expect.arrayContaining(['actions', 'endings', 'events', 'lanes', 'pauses', 'pending']),
  );
  expect(tablesOf(path.join(fixtures, 'engine'))).toEqual(['events', 'lane_seq', 'lanes']);
});

test('a table is found in migrations and in sources, quoted, as a daily partition and after the name of the schema', () => {
  expect(findTables(path.join(fixtures, 'broken'), tablesOf(path.join(fixtures, 'engine'))).found).toEqual([
    '010_door.up.sql:2: lanes',
    '010_door.up.sql:3: lanes',
    '010_door.up.sql:3: lane_seq',
    'queries.ts:1: lanes',
    'queries.ts:1: events',
    'queries.ts:2: lanes',
    'queries.ts:3: events',
  ]);
});

test('views, functions, other schemas and plain words are left alone', () => {
  const found = findTables(path.join(fixtures, 'clean'), tablesOf(path.join(fixtures, 'engine')));
  expect(found).toEqual({ files: 1, found: [] });
});
