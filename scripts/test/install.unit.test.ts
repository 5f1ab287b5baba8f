import { expect, test } from 'vitest';
import { complaintAboutNode, isInstalled } from '../install.mjs';

test.each(['v20.19.0', 'v20.20.2', 'v22.0.0', 'v100.1.0'])('Node %s is new enough', (version) => {
  expect(complaintAboutNode(version, '>=20.19')).toBeUndefined();
});

test.each(['v20.18.3', 'v18.20.0', 'v9.99.9'])('Node %s gets a sentence', (version) => {
  expect(complaintAboutNode(version, '>=20.19')).toBe(
    `Muster needs Node 20.19 or newer, and this is Node ${version.slice(1)}.`,
  );
});

const lock = {
  packages: {
    '': {},
    'apps/server': { version: '0.1.0' },
    'node_modules/@muster/server': { link: true },
    'node_modules/a': { integrity: 'sha512-a', version: '1.0.0' },
    'node_modules/for-another-platform': { optional: true, version: '1.0.0' },
  },
};
const { '': _root, 'node_modules/for-another-platform': _other, ...installed } = lock.packages;

test('an install is complete if npm has recorded every package of the lock file', () => {
  expect(isInstalled(lock, { packages: installed })).toBe(true);
});

test.each([
  ['a package is missing', { 'node_modules/a': undefined }],
  ['a package has another version', { 'node_modules/a': { integrity: 'sha512-a', version: '1.0.1' } }],
  ['a package has another content', { 'node_modules/a': { integrity: 'sha512-b', version: '1.0.0' } }],
  ['a workspace is not linked', { 'node_modules/@muster/server': { version: '0.1.0' } }],
])('it is not when %s', (_case, difference) => {
  const packages = JSON.parse(JSON.stringify({ ...installed, ...difference }));
  expect(isInstalled(lock, { packages })).toBe(false);
});
