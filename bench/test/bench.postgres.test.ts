// Keeps the benchmark alive: every row runs at a tiny size and gives numbers. What they are means nothing here.

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

interface Results {
  readonly aims: { readonly text: string; readonly value: number | null }[];
  readonly rows: { readonly name: string; readonly value?: number; readonly notRun?: string }[];
}

const root = fileURLToPath(new URL('../..', import.meta.url));
const requireAll = process.env.CI === 'true' || process.env.MUSTER_TEST_REQUIRE_ALL === '1';

describe('npm run bench -- --quick', () => {
  it('runs every row, or says which server is missing for it', { timeout: 600_000 }, () => {
    const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/bench.mjs', '--quick'], {
      cwd: root,
      encoding: 'utf8',
    });
    expect(status, `${stdout}\n${stderr}`).toBe(0);
    const results: Results = JSON.parse(readFileSync(`${root}/bench/.cache/results.json`, 'utf8'));
    const notRun = results.rows.filter((row) => row.notRun !== undefined);
    if (requireAll) expect(notRun).toEqual([]);
    for (const row of notRun) expect(row.notRun).toMatch(/no redis-server was found|needs a newer Node/);
    for (const row of results.rows.filter((one) => one.notRun === undefined)) {
      expect(Number.isFinite(row.value), `${row.name} gave ${row.value}`).toBe(true);
    }
    if (notRun.length === 0) {
      for (const aim of results.aims) expect(aim.value, aim.text).not.toBeNull();
    }
  });
});
