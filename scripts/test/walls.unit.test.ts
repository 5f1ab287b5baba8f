import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { brokenWalls, wallNames } from '../walls.mjs';
import { allowed, breaks, type Tree } from './wall-trees.ts';

const root = path.resolve(import.meta.dirname, '../..');

const walls = await wallNames();

/** A workspace outside this one: the allowed tree, overlaid with the files that break a wall. */
function lay(...layers: Tree[]): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-walls-'));
  onTestFinished(() => rmSync(folder, { force: true, recursive: true }));
  for (const [file, text] of layers.flatMap((layer) => Object.entries(layer))) {
    mkdirSync(path.join(folder, path.dirname(file)), { recursive: true });
    writeFileSync(path.join(folder, file), text);
  }
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

const sources = (tree: Tree) => Object.keys(tree).filter((file) => file.endsWith('.ts'));
const offenders = (tree: Tree) =>
  sources(tree)
    .filter((file) => path.basename(file).startsWith('breaks'))
    .sort();

test('the allowed tree breaks no wall', async () => {
  const { files, violations } = await brokenWalls(lay(allowed));
  expect(violations).toEqual([]);
  expect(files).toBe(sources(allowed).length);
});

test.each(walls)('the wall %s stops every file that breaks it, and nothing else does', async (wall) => {
  const { violations } = await brokenWalls(lay(allowed, breaks[wall] as Tree));
  expect([...new Set(violations.map(({ rule }) => rule))]).toEqual([wall]);
  expect([...new Set(violations.map(({ from }) => from))].sort()).toEqual(offenders(breaks[wall] as Tree));
});

test('every wall has files that break it, and all those files belong to a wall', () => {
  expect(Object.keys(breaks).sort()).toEqual([...walls].sort());
  for (const [wall, tree] of Object.entries(breaks)) expect(offenders(tree), wall).not.toEqual([]);
});

// that this repository has source files is checked in each npm test by walls.mjs itself, which exits with 1 if it finds none
test('a tree without a source file counts none', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-walls-'));
  onTestFinished(() => rmSync(folder, { force: true, recursive: true }));
  expect(await brokenWalls(folder)).toEqual({ files: 0, violations: [] });
  mkdirSync(path.join(folder, 'packages'));
  expect(await brokenWalls(folder)).toEqual({ files: 0, violations: [] });
});
