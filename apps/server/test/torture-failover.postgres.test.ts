import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { describeRound } from '../testing/torture/describe-round.ts';
import { failoverStage } from '../testing/torture/failover-stage.ts';
import { playRound, runRound } from '../testing/torture/round.ts';

// The servers are the build, which `npm test` makes first. `npm run torture -- --database failover` runs for longer
// (docs/testing.md).
const SEED = process.env.MUSTER_TEST_SEED ?? String(Math.floor(Math.random() * 2 ** 31));
const folder = mkdtempSync(path.join(tmpdir(), 'muster-failover-'));
afterAll(() => rmSync(folder, { force: true, recursive: true }));

test('G54 G11 G43: the primary is killed and its standby promoted under load: nothing acknowledged is lost, no lane has two leases, the feed has no gap', {
  timeout: 600_000,
}, async () => {
  const result = await runRound({
    database: 'failover',
    seed: SEED,
    disturbances: 8, // as many as there are kinds of them
    callsBetween: 25,
    folder: path.join(folder, 'sound'),
  });
  const text = describeRound(result).join('\n');
  console.log(`failover, MUSTER_TEST_SEED=${SEED}\n${text}`);
  expect(result.findings, text).toEqual([]);
  expect(result.calls - result.unknown).toBeGreaterThanOrEqual(40);
});

test('an asynchronous standby loses what was acknowledged, and the checker sees it', {
  timeout: 600_000,
}, async () => {
  const stage = await failoverStage(path.join(folder), { asynchronous: true });
  try {
    const { findings } = await playRound(stage, {
      seed: SEED,
      disturbances: 1,
      callsBetween: 60,
      folder,
      mostSweeps: 4,
    });
    expect(findings.map(({ promise }) => promise)).toContain('G54');
  } finally {
    await stage.close();
  }
});
