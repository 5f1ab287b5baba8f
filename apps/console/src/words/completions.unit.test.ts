import { expect, test } from 'vitest';
import { completionsOf } from './completions.ts';

const KEYS = { state: ['pending', 'failed'], kind: [], tag: [], source: [] };
const SEEN = { kind: ['UPDATE', 'ROTATE KEY'], tag: ['batch:7', 'subbatch'] };
const words = (text: string, caret = text.length) =>
  completionsOf(text, caret, KEYS, SEEN).map(({ word }) => word);

test('a beginning is completed to keys, and to the values that are known', () => {
  expect(words('')).toEqual(['state:', 'kind:', 'tag:', 'source:']);
  expect(words('s')).toEqual(['state:', 'source:']);
  expect(words('fail')).toEqual(['state:failed']);
  expect(words('state:failed ')).toEqual(['kind:', 'tag:', 'source:']);
});

test('a key is completed to its values, also those that were seen, the likeliest first', () => {
  expect(words('state:')).toEqual(['state:pending', 'state:failed']);
  expect(words('kind:up')).toEqual(['kind:UPDATE']);
  expect(words('kind:"ro')).toEqual(['kind:"ROTATE KEY"']);
  expect(words('tag:batch')).toEqual(['tag:batch:7', 'tag:subbatch']);
  expect(words('colour:r')).toEqual([]);
});

test('only the word under the caret changes, and the caret is behind it', () => {
  const [one] = completionsOf('sta kind:UPDATE', 3, KEYS, SEEN);
  expect(one).toMatchObject({ text: 'state: kind:UPDATE', caret: 6 });
});
