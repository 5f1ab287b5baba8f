import { statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { expect, test } from 'vitest';
import { fleetingFolder } from '../fleeting-folder.mjs';

const plenty = 2 ** 40;

test('data goes into memory only if there is a place for it and plenty of it', () => {
  // any folder of this machine will do: only the free space in it matters
  const { bavail, bsize } = statfsSync('/');
  const isRoomy = bavail * bsize >= 2 * 1_024 ** 3;
  expect(fleetingFolder({ memory: '/', free: plenty })).toBe(isRoomy ? '/' : tmpdir());
  expect(fleetingFolder({ memory: '/', free: 1_024 ** 3 })).toBe(tmpdir());
  expect(fleetingFolder({ memory: '/proc', free: plenty })).toBe(tmpdir()); // no room at all
  expect(fleetingFolder({ memory: '/no-such-place', free: plenty })).toBe(tmpdir());
});
