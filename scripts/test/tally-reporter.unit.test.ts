import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';

const root = path.resolve(import.meta.dirname, '../..');

/** Runs Vitest with the reporter on some of the fixtures. */
function tallyOf(...filters: string[]) {
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-tally-'));
  onTestFinished(() => rmSync(folder, { force: true, recursive: true }));
  const file = path.join(folder, 'tally.json');
  const vitest = path.join(root, 'node_modules/vitest/vitest.mjs');
  const reporter = `--reporter=${path.join(root, 'scripts/tally-reporter.mjs')}`;
  const here = `--root=${path.join(import.meta.dirname, 'fixtures/tally')}`;
  spawnSync(process.execPath, [vitest, 'run', here, reporter, ...filters], {
    env: { ...process.env, MUSTER_TEST_TALLY: file },
  });
  return JSON.parse(readFileSync(file, 'utf8'));
}

test('passed, failed and skipped tests are counted, and a test still to do as skipped', () => {
  expect(tallyOf('mixed')).toEqual({ failed: 1, passed: 2, projects: { fixture: 5 }, skipped: 2 });
});

test('a file that cannot be loaded is a failure', () => {
  expect(tallyOf('broken-import')).toEqual({ failed: 1, passed: 0, projects: {}, skipped: 0 });
});

test('a failed hook is a failure, also when its tests are only skipped', () => {
  expect(tallyOf('broken-hook')).toMatchObject({ failed: 1, passed: 0 });
});

test('an error outside of the tests is a failure', () => {
  expect(tallyOf('unhandled')).toMatchObject({ failed: 1, passed: 1 });
});
