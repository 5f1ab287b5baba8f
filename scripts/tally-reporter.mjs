// A Vitest reporter that counts, for the closing line of scripts/test.mjs: passed, failed and skipped
// tests, by project. A file or a hook that fails without a failed test counts as one failure, and so
// does an error outside of any test; a test that never got its turn is a failure and not a pass.

import { writeFileSync } from 'node:fs';

/** @typedef {{ failed: number, passed: number, projects: Record<string, number>, skipped: number }} Tally */

/**
 * @param {readonly import('vitest/node').TestModule[]} modules
 * @param {readonly unknown[]} unhandledErrors
 * @returns {Tally}
 */
function count(modules, unhandledErrors) {
  /** @type {Tally} */
  const tally = { failed: unhandledErrors.length, passed: 0, projects: {}, skipped: 0 };
  for (const module of modules) {
    tally.failed += module.errors().length;
    for (const suite of module.children.allSuites()) tally.failed += suite.errors().length;
    for (const test of module.children.allTests()) {
      const { state } = test.result();
      tally[state === 'passed' || state === 'skipped' ? state : 'failed'] += 1;
      tally.projects[module.project.name] = (tally.projects[module.project.name] ?? 0) + 1;
    }
  }
  return tally;
}

export default class TallyReporter {
  /**
   * @param {readonly import('vitest/node').TestModule[]} modules
   * @param {readonly unknown[]} unhandledErrors
   */
  onTestRunEnd(modules, unhandledErrors) {
    const file = process.env.MUSTER_TEST_TALLY;
    if (!file) throw new Error('MUSTER_TEST_TALLY must name the file for the tally.');
    writeFileSync(file, JSON.stringify(count(modules, unhandledErrors)));
  }
}
