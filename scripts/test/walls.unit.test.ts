import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { brokenWalls, wallNames } from '../walls.mjs';

const root = path.resolve(import.meta.dirname, '../..');
const fixtures = path.join(import.meta.dirname, 'fixtures/walls');

const walls = await wallNames();

/** A workspace outside of this one: the allowed tree, and over it the files that break a wall. */
function lay(...layers: string[]): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-walls-'));
  onTestFinished(() => rmSync(folder, { force: true, recursive: true }));
  for (const layer of layers) cpSync(path.join(fixtures, layer), folder, { recursive: true });
  for (const scope of ['@muster', '@electric-sql']) {
    mkdirSync(path.join(folder, 'node_modules', scope), { recursive: true });
  }
  for (const name of ['pg', '@electric-sql/pglite', 'vitest', 'zod']) {
    symlinkSync(path.join(root, 'node_modules', name), path.join(folder, 'node_modules', name));
  }
  for (const group of ['packages', 'apps']) {
    for (const name of readdirSync(path.join(folder, group))) {
      symlinkSync(path.join(folder, group, name), path.join(folder, 'node_modules/@muster', name));
    }
  }
  return folder;
}

function sources(layer: string): string[] {
  return readdirSync(path.join(fixtures, layer), { encoding: 'utf8', recursive: true })
    .filter((file) => file.endsWith('.ts'))
    .sort();
}

function offenders(layer: string): string[] {
  return sources(layer).filter((file) => path.basename(file).startsWith('breaks'));
}

test('the allowed tree breaks no wall', async () => {
  const { files, violations } = await brokenWalls(lay('allowed'));
  expect(violations).toEqual([]);
  expect(files).toBe(sources('allowed').length);
});

test.each(walls)('the wall %s stops every file that breaks it, and nothing else does', async (wall) => {
  const { violations } = await brokenWalls(lay('allowed', wall));
  expect([...new Set(violations.map(({ rule }) => rule))]).toEqual([wall]);
  expect([...new Set(violations.map(({ from }) => from))].sort()).toEqual(offenders(wall));
});

test('every wall has a fixture that breaks it, and every fixture a wall', () => {
  expect(readdirSync(fixtures).sort()).toEqual(['allowed', ...walls].sort());
  for (const wall of walls) expect(offenders(wall), wall).not.toEqual([]);
});

// that there are files in this repository the check itself sees, in each npm test: it ends with 1 if there are none
test('a tree without a source file counts none', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-walls-'));
  onTestFinished(() => rmSync(folder, { force: true, recursive: true }));
  expect(await brokenWalls(folder)).toEqual({ files: 0, violations: [] });
  mkdirSync(path.join(folder, 'packages'));
  expect(await brokenWalls(folder)).toEqual({ files: 0, violations: [] });
});
