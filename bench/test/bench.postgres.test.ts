// Keeps the benchmark working: one row of each kind of our own runs at a tiny size and gives a number, whatever it is. The other
// queues need their own packages and servers: `npm run bench -- --quick` runs those too.

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

interface Results {
  readonly aims: { readonly text: string; readonly value: number | null; readonly disturbed?: boolean }[];
  readonly rows: { readonly name: string; readonly value?: number }[];
}

const ROWS = [
  'statement-per-claim',
  'engine-fused-postgres',
  'http-fused-postgres',
  'claim-latency-delayed',
  'waiters-engine',
  'control-work-there',
  'checkin-postgres',
  'batch-accept',
];
const root = fileURLToPath(new URL('../..', import.meta.url));

it('npm run bench -- --quick measures our own rows', { timeout: 600_000 }, () => {
  const args = ['bench/run.mjs', '--quick', '--only', ROWS.join(',')];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
  expect(status, `${stdout}\n${stderr}`).toBe(0);
  const results: Results = JSON.parse(readFileSync(`${root}/bench/.cache/results.json`, 'utf8'));
  expect(results.rows.map(({ name }) => name).sort()).toEqual([...ROWS].sort());
  // a busy machine may do nothing in a third of a second
  for (const { name, value } of results.rows) expect(Number.isFinite(value), name).toBe(true);
  // judged, or not judged because the machine lost too much to its neighbours
  expect(results.aims.some(({ value, disturbed }) => value !== null || disturbed)).toBe(true);
});
