// npm ci refuses a lock file without the optional packages of other platforms, and npm install writes such a
// file silently when the registry does not have them yet.

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';

type Lock = {
  packages: Record<string, { optionalDependencies?: Record<string, string>; resolved?: string }>;
};

/** Optional packages that the lock file names but does not contain. */
function missingFrom({ packages }: Lock): string[] {
  return Object.entries(packages).flatMap(([where, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies).filter(
      (name) => !(`${where}/node_modules/${name}` in packages) && !(`node_modules/${name}` in packages),
    ),
  );
}

const root = path.resolve(import.meta.dirname, '../..');
const locks = ['.', 'bench'].map((folder): [string, Lock] => [
  folder,
  JSON.parse(readFileSync(path.join(root, folder, 'package-lock.json'), 'utf8')),
]);

test.each(locks)('the lock file of %s holds the packages of every platform', (_folder, lock) => {
  expect(missingFrom(lock)).toEqual([]);
});

test('a lock file without the packages of another platform is detected', () => {
  const optionalDependencies = { 'a-darwin': '1.0.0', 'a-linux': '1.0.0' };
  expect(
    missingFrom({ packages: { 'node_modules/a': { optionalDependencies }, 'node_modules/a-linux': {} } }),
  ).toEqual(['a-darwin']);
});

test.each(locks)('the lock file of %s names no place to download from', (_folder, lock) => {
  const places = Object.values(lock.packages).flatMap(({ resolved }) => (resolved ? [resolved] : []));
  expect(places.filter((place) => place.includes('://'))).toEqual([]);
});
