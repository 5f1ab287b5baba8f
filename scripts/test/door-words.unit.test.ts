import path from 'node:path';
import { expect, test } from 'vitest';
import { findDoorWords } from '../door-words.mjs';

const engine = path.resolve(import.meta.dirname, '../../packages/engine');
const fixtures = path.join(import.meta.dirname, 'fixtures/door-words');

test.each(['src', 'migrations'])('the engine has no word of the doors in %s', (folder) => {
  const { files, found } = findDoorWords(path.join(engine, folder));
  expect(found).toEqual([]);
  expect(files).toBeGreaterThan(0);
});

test('door words are found in prose, in names of every case and in SQL', () => {
  expect(findDoorWords(path.join(fixtures, 'broken')).found).toEqual([
    '001_actions.up.sql:1: device',
    '001_actions.up.sql:2: workflow',
    '001_actions.up.sql:2: bots',
    'claim.ts:1: device',
    'claim.ts:2: device',
    'claim.ts:2: mdm',
    'claim.ts:3: device',
    'claim.ts:3: host agent',
  ]);
});

test('words that only look alike are left alone', () => {
  expect(findDoorWords(path.join(fixtures, 'clean'))).toEqual({ files: 1, found: [] });
});
