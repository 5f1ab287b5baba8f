// The sums of scripts/test.mjs.

/** @typedef {import('./tally-reporter.mjs').Tally} Tally */

const projects = {
  pglite: 'the suites on PGlite, because no test was found for them',
  postgres: 'the suites on a PostgreSQL server, because no test was found for them',
  unit: 'the unit tests, because none was found',
};

/**
 * The projects without a single test, by name, with a reason to print. A run with a filter leaves out
 * projects on purpose and is not asked.
 * @param {Tally} tally
 * @param {boolean} wholeRun
 * @returns {Record<string, string>}
 */
export function missingParts(tally, wholeRun) {
  if (!wholeRun) return {};
  return Object.fromEntries(Object.entries(projects).filter(([name]) => !tally.projects[name]));
}

/** @param {{ checks: { failed: number, passed: number }, notRun: number, requireAll: boolean, tests: Tally }} run */
export function closingLine({ checks, notRun, requireAll, tests }) {
  const forbidden = requireAll ? notRun + (tests.skipped > 0 ? 1 : 0) : 0;
  const failed = checks.failed + tests.failed + forbidden;
  const skipped = tests.skipped > 0 ? `, ${tests.skipped} skipped` : '';
  return { failed, line: `${checks.passed + tests.passed} passed, ${failed} failed${skipped}` };
}
