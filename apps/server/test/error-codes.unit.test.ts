import type { ErrorCatalogue } from '@muster/contracts/words';
import { expect, test } from 'vitest';
import { joinCatalogues } from '../src/errors.ts';

const catalogue = (code: `MUSTER_${string}`, status: number): ErrorCatalogue => ({
  [code]: { status, meaning: 'A sentence.' },
});

test('catalogues are joined, and a code that two features declare stops the start', () => {
  const bell = catalogue('MUSTER_BELL_BROKEN', 409);
  const door = catalogue('MUSTER_DOOR_SHUT', 404);
  expect(joinCatalogues([bell, door])).toEqual({ ...bell, ...door });
  expect(() => joinCatalogues([bell, door, catalogue('MUSTER_BELL_BROKEN', 404)])).toThrow(
    'The error code MUSTER_BELL_BROKEN is declared twice.',
  );
});
