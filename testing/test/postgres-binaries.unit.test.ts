import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findPostgres } from '../postgres-binaries.mjs';

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'muster-binaries-'));
  for (const version of ['14.9', '15.18', '16.2', '9.6.24', '17beta1']) install(version);
  rmSync(path.join(folder, '17/bin/initdb')); // a client-only installation
});

afterAll(() => rmSync(folder, { force: true, recursive: true }));

function install(version: string): void {
  const bin = path.join(folder, String(Number.parseInt(version, 10)), 'bin');
  mkdirSync(bin, { recursive: true });
  for (const program of ['postgres', 'initdb']) {
    writeFileSync(path.join(bin, program), `#!/bin/sh\necho "${program} (PostgreSQL) ${version} (Debian)"\n`);
    chmodSync(path.join(bin, program), 0o755);
  }
}

const bin = (major: number) => path.join(folder, String(major), 'bin');

test('the newest complete server of the versioned folders is found', () => {
  expect(findPostgres({ folders: [{ inside: 'bin', parent: folder }], searchPath: '' })).toEqual({
    bin: bin(16),
    major: 16,
    version: '16.2',
  });
});

test('a link on the PATH leads to the folder with all programs', () => {
  const onPath = path.join(folder, 'on-path');
  mkdirSync(onPath);
  symlinkSync(path.join(bin(15), 'postgres'), path.join(onPath, 'postgres'));
  expect(findPostgres({ folders: [], searchPath: `${onPath}:relative:` })?.bin).toBe(bin(15));
});

test.each([14, 9, 17])('version %d alone will not do: too old, or not a server', (major) => {
  expect(findPostgres({ folders: [], searchPath: bin(major) })).toBeUndefined();
});
