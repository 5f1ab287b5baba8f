// The sums of scripts/test.mjs.

/**
 * @typedef {{ failed: number, passed: number, files: readonly string[], skipped: number }} Tally
 * @typedef {object} JsonReport what Vitest's reporter `json` writes, as far as it is read here
 * @property {number} numFailedTests
 * @property {number} numPassedTests
 * @property {number} numPendingTests
 * @property {number} numTodoTests
 * @property {{ name: string }[]} testResults
 */

/**
 * A file or hook that fails without a failed test, and an error outside any test, are not counted; only the exit code shows them.
 * @param {JsonReport} report @param {number | null} status
 * @returns {Tally}
 */
export function tallyOf({ testResults, ...counted }, status) {
  return {
    failed: Math.max(counted.numFailedTests, status === 0 ? 0 : 1),
    passed: counted.numPassedTests,
    files: testResults.map(({ name }) => name),
    skipped: counted.numPendingTests + counted.numTodoTests,
  };
}

/** Each has suites that only it runs. */
const projects = {
  pglite: 'the suites on PGlite, because no test was found for them',
  postgres: 'the suites on a PostgreSQL server, because no test was found for them',
  unit: 'the unit tests, because none was found',
};

/**
 * The projects that ran no suite, by name, with a reason to print. A run with a filter leaves out projects on purpose and is
 * not checked.
 * @param {Tally} tally
 * @param {boolean} wholeRun
 * @returns {Record<string, string>}
 */
export function missingParts({ files }, wholeRun) {
  if (!wholeRun) return {};
  return Object.fromEntries(
    Object.entries(projects).filter(([name]) => !files.some((file) => file.endsWith(`.${name}.test.ts`))),
  );
}

/** @param {{ checks: { failed: number, passed: number }, notRun: number, requireAll: boolean, tests: Tally }} run */
export function closingLine({ checks, notRun, requireAll, tests }) {
  const forbidden = requireAll ? notRun + (tests.skipped > 0 ? 1 : 0) : 0;
  const failed = checks.failed + tests.failed + forbidden;
  const skipped = tests.skipped > 0 ? `, ${tests.skipped} skipped` : '';
  return { failed, line: `${checks.passed + tests.passed} passed, ${failed} failed${skipped}` };
}
