// The simulated day in a short form, with figures that no busy machine changes. `npm run plan:day` plays it at length.

import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { readCosts } from '../plan/print.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const play = (...more: string[]) =>
  spawnSync(
    process.execPath,
    [
      'scripts/plan.mjs',
      'day',
      ...['--devices', '1000', '--scale', '1', '--minutes', '8', '--actions-per-day', '500', ...more],
    ],
    { cwd: root, encoding: 'utf8' },
  );

test('a few minutes of a fleet cost the rows, bytes and log that the model says', {
  timeout: 600_000,
}, () => {
  const { status, stdout, stderr } = play();
  expect(status, `${stdout}\n${stderr}`).toBe(0);
  expect(stdout).toContain('| check-ins |');
});

test('a model that is wrong is noticed', { timeout: 600_000 }, () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-plan-test-'));
  const costs = readCosts();
  const wrong = {
    ...costs,
    bytes: { ...costs.bytes, finishedAction: costs.bytes.finishedAction * 2 },
    report: { ...costs.report, walBytes: costs.report.walBytes * 3 },
  };
  const file = path.join(folder, 'costs.json');
  writeFileSync(file, JSON.stringify(wrong));
  const { status, stdout } = play('--costs', file);
  rmSync(folder, { recursive: true });
  expect(status, stdout).toBe(1);
  for (const what of ['actions', 'log'])
    expect(stdout).toMatch(new RegExp(`\\| bytes of ${what} \\|.*\\*\\*more than`));
  expect(stdout).toMatch(/\| bytes of milestones \|.*at most 25 %/);
});
