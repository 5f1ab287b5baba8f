import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, inject, test } from 'vitest';
import { processDatabase } from '../testing/process-database.ts';
import { describeRound } from '../testing/torture/describe-round.ts';
import { runRound } from '../testing/torture/round.ts';

// The servers are the build, which `npm test` makes first. MUSTER_TEST_SEED repeats the decisions of a run; `npm run torture`
// runs for longer (docs/testing.md).
const SEED = process.env.MUSTER_TEST_SEED ?? String(Math.floor(Math.random() * 2 ** 31));
const DATABASE = inject('database') === 'pglite' ? 'embedded' : 'postgres';

test('G1 G2 G3 G10 G11 G15 G16 G17 G19 G21 G25 G26 G35 G36 G42 G43 G45 G53 G54: whatever is killed, cut or held, nothing acknowledged is lost and every promise holds', {
  timeout: 600_000,
}, async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-torture-'));
  // one with the tables; on a server the stage creates its own cluster
  if (DATABASE === 'embedded') await processDatabase(path.join(folder, 'data'));
  const result = await runRound({
    database: DATABASE,
    seed: SEED,
    disturbances: DATABASE === 'embedded' ? 6 : 18, // as many as there are kinds of them
    callsBetween: 40,
    folder,
  });
  const text = describeRound(result).join('\n');
  console.log(`torture on ${DATABASE}, MUSTER_TEST_SEED=${SEED}\n${text}`);
  expect(result.findings, `${text}\nThe calls are in ${folder}`).toEqual([]);
  // a round in which nothing happened proves nothing; how much happened depends on the machine
  expect(result.calls - result.unknown).toBeGreaterThanOrEqual(40);
  expect(result.actions).toBeGreaterThan(0);
  rmSync(folder, { force: true, recursive: true });
});
