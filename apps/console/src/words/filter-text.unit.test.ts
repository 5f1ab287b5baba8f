import { expect, test } from 'vitest';
import { readFilter, unknownKey } from './filter-text.ts';

const KEYS = { state: ['ok', 'error'], tag: [] };

test('a key in the address that filters nothing is refused with the sentence of the field', () => {
  const wrong = 'There is no filter "colour". There are state, tag.';
  expect(readFilter('colour:red', KEYS)).toEqual({ wrong });
  expect(unknownKey({ state: 'ok', colour: 'red' }, KEYS, ['type'])).toBe(wrong);
  expect(unknownKey({ state: 'ok', type: 'devices' }, KEYS, ['type'])).toBeUndefined();
});

test('words behind a text key belong to it', () => {
  const keys = { ...KEYS, text: [] };
  expect(readFilter('text:Tablet 0412 state:ok', keys, 'text')).toEqual({
    filter: { text: 'Tablet 0412', state: 'ok' },
  });
  expect(readFilter('Tablet 0412', keys, 'text')).toEqual({ filter: { text: 'Tablet 0412' } });
});
