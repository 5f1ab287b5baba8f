// The plan of docs/scaling.md: its arithmetic, and that its tables are those of the code.

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { bytesOf, DEFAULTS, planOf, ratesOf, walOf } from '../plan/model.mjs';
import { readCosts, tables } from '../plan/print.mjs';

const costs = readCosts();
const root = fileURLToPath(new URL('../..', import.meta.url));
const fleet = (more: Partial<typeof DEFAULTS> = {}) => ({ ...DEFAULTS, ...more });

test('docs/scaling.md shows the plans as the code makes them', () => {
  const text = readFileSync(`${root}/docs/scaling.md`, 'utf8');
  for (const [mark, table] of Object.entries(tables(costs)))
    expect(text, `run npm run generate: ${mark}`).toContain(
      `<!-- ${mark}: made by npm run generate -->\n${table}\n<!-- end of ${mark} -->`,
    );
});

test('a device that checks in every minute reports with its next check-in, one that comes every hour with another', () => {
  expect(ratesOf(fleet({ devices: 86_400, every: 60, actionsPerDay: 5 }))).toEqual({
    actions: 5,
    checkIns: 1_440,
    asksAgain: 0,
  });
  expect(ratesOf(fleet({ devices: 86_400, every: 3_600, actionsPerDay: 5 }))).toEqual({
    actions: 5,
    checkIns: 29,
    asksAgain: 0,
  });
});

test('a fleet that waits asks again every 25 seconds, and its connections and memory are counted', () => {
  const waiting = fleet({ devices: 1_000_000, waiting: 1, actionsPerDay: 0 });
  const plan = planOf(waiting, costs);
  expect(plan.rates).toEqual({ actions: 0, checkIns: 0, asksAgain: 40_000 });
  expect(plan.parked).toBe(1_000_000);
  expect(plan.processes).toBeGreaterThanOrEqual(20); // MUSTER_MAX_WAITING is 50,000
  expect(plan.memory.node).toBeGreaterThan(1_000_000 * costs.parked.rssBytes);
});

test('ten times the devices are ten times the rows and the log', () => {
  const [small, large] = [fleet({ devices: 1e6 }), fleet({ devices: 1e7 })];
  expect(bytesOf(large, costs).devices / bytesOf(small, costs).devices).toBeCloseTo(10, 6);
  expect(bytesOf(large, costs).actions / bytesOf(small, costs).actions).toBeCloseTo(10, 6);
  const ratio = walOf(large, costs).all / walOf(small, costs).all;
  expect(ratio).toBeGreaterThan(9.9);
  expect(ratio).toBeLessThanOrEqual(10);
});

test('whole pages: not more than are touched, not more than there are', () => {
  const rare = fleet({ devices: 1e9, every: 86_400, actionsPerDay: 0, checkpointEvery: 60 });
  const perCheckIn = walOf(rare, costs).images / ratesOf(rare).checkIns;
  expect(perCheckIn / costs.imageBytes.contacts).toBeGreaterThan(0.9);
  expect(perCheckIn / costs.imageBytes.contacts).toBeLessThan(1.001);
  const often = fleet({ every: 60, actionsPerDay: 0, checkpointEvery: 900 });
  const pages = (often.devices * costs.pages.contacts) / 8_192;
  expect((walOf(often, costs).images * 900) / (pages * costs.imageBytes.contacts)).toBeCloseTo(1, 2);
});

test('npm run plan takes the fleet and the prices as options', () => {
  const plan = (...args: string[]) =>
    spawnSync(process.execPath, ['scripts/plan.mjs', ...args], { cwd: root, encoding: 'utf8' });
  const free = plan('--devices', '100000', '--price-core', '0', '--price-memory-gb', '0', '--price-gb', '0');
  expect(free.stdout).toContain('| per month | 0 |');
  expect(plan('--help').stdout).toContain('--price-core');
  const wrong = plan('--devices', 'many');
  expect(wrong.status).not.toBe(0);
  expect(wrong.stderr).toContain('--devices must be a number, not "many".');
});
