// `npm test`: types, lint, import walls, then the suites. Prints what it did not run and why, and ends with
// 'N passed, N failed'; each check counts as one. Arguments are passed to Vitest.
// With CI=true or MUSTER_TEST_REQUIRE_ALL=1, anything skipped or not run is a failure.

import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { findHaproxy } from '../testing/haproxy.mjs';
import { findPgbouncer } from '../testing/pgbouncer.mjs';
import { findPostgres, oldestMajor } from '../testing/postgres-binaries.mjs';
import { closingLine, missingParts, tallyOf } from './closing-line.mjs';
import { prepareCheckout, root, runTool } from './install.mjs';

const args = process.argv.slice(2);
const requireAll = process.env.CI === 'true' || process.env.MUSTER_TEST_REQUIRE_ALL === '1';

prepareCheckout();

/** @type {[name: string, entry: string, args: string[]][]} */
const checks = [
  ['types (build)', 'typescript/bin/tsc', ['-b']],
  ['types (tests and scripts)', 'typescript/bin/tsc', ['-p', 'tsconfig.check.json']],
  ['types (console)', 'typescript/bin/tsc', ['-p', 'apps/console']],
  ['lint', '@biomejs/biome/bin/biome', ['check', '--error-on-warnings', '--diagnostic-level=warn', '.']],
  ['import walls', '../scripts/walls.mjs', []],
  ['weight of the console', '../scripts/console-budget.mjs', []],
];
const failedChecks = checks.filter(([name, entry, toolArgs]) => {
  const ok = runTool(entry, toolArgs).status === 0;
  console.log(`${ok ? 'ok' : 'FAILED'}: ${name}`);
  return !ok;
});

const hasPostgres = Boolean(process.env.MUSTER_TEST_DATABASE_URL) || findPostgres() !== undefined;
const hasCitus = Boolean(process.env.MUSTER_TEST_CITUS_URL);
const hasHaproxy = findHaproxy() !== undefined;
const hasPgbouncer = findPgbouncer() !== undefined;
const tally = await runSuites([
  ...args,
  ...(hasPostgres ? [] : ['--project=!postgres']),
  ...(hasHaproxy ? [] : ['--exclude=**/balancer.postgres.test.ts']),
]);

const notRun = missingParts(tally, args.length === 0 || requireAll);
if (!hasPostgres) {
  notRun.postgres =
    `the suites on a PostgreSQL server, because no PostgreSQL ${oldestMajor}+ server binaries were found; ` +
    'install postgresql or set MUSTER_TEST_DATABASE_URL';
}
if (!hasHaproxy)
  notRun.balancer = 'the suite of nodes behind a balancer, because no HAProxy was found; install haproxy';
if (hasPostgres && !hasPgbouncer) {
  notRun.pooler =
    'the suites through a pooler, because no PgBouncer was found; install pgbouncer or set MUSTER_TEST_PGBOUNCER';
}
for (const reason of Object.values(notRun)) console.log(`not run: ${reason}`);
// a cluster is nothing that a machine has by chance, so this is no failure where everything is required
if (!hasCitus)
  console.log(
    'not run: the suites on a database that is distributed by tenant; they need a cluster of Citus with two workers or more (MUSTER_TEST_CITUS_URL)',
  );

const { failed, line } = closingLine({
  checks: { failed: failedChecks.length, passed: checks.length - failedChecks.length },
  notRun: Object.keys(notRun).length,
  requireAll,
  tests: tally,
});
if (requireAll && tally.skipped > 0) console.log('FAILED: tests were skipped, which is not allowed here');
console.log(line);
process.exitCode = failed > 0 ? 1 : 0;

/**
 * @param {string[]} vitestArgs
 * @returns {Promise<import('./closing-line.mjs').Tally>}
 */
async function runSuites(vitestArgs) {
  const cache = path.join(root, 'node_modules/.cache');
  const file = path.join(cache, `tally-${process.pid}.json`);
  const programs = path.join(cache, `programs-${process.pid}`);
  mkdirSync(cache, { recursive: true });
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`];
  try {
    // Vite is installed only now
    const { bundlePrograms } = await import('../testing/bundle.mjs');
    await bundlePrograms(root, programs);
    const { status } = runTool('vitest/vitest.mjs', ['run', ...reporters, ...vitestArgs], {
      env: { ...process.env, MUSTER_TEST_PROGRAMS: programs },
    });
    return tallyOf(JSON.parse(readFileSync(file, 'utf8')), status);
  } catch (error) {
    console.error(`The suites left no tally: ${error instanceof Error ? error.message : error}`);
    return { failed: 1, passed: 0, files: [], skipped: 0 };
  } finally {
    rmSync(file, { force: true });
    rmSync(programs, { force: true, recursive: true });
  }
}
