import { expect, test } from 'vitest';
import { closingLine, missingParts, tallyOf } from '../closing-line.mjs';

const files = ['a.pglite.test.ts', 'b.postgres.test.ts', 'c.unit.test.ts', 'd.test.ts'];
const tests = { failed: 0, passed: 10, files, skipped: 0 };
const run = { checks: { failed: 0, passed: 4 }, notRun: 0, requireAll: false, tests };

test('a clean run counts its checks and its tests', () => {
  expect(closingLine(run)).toEqual({ failed: 0, line: '14 passed, 0 failed' });
});

test('a failed check is a failure like a failed test', () => {
  const checks = { failed: 1, passed: 3 };
  expect(closingLine({ ...run, checks })).toEqual({ failed: 1, line: '13 passed, 1 failed' });
  expect(closingLine({ ...run, checks, tests: { ...tests, failed: 2 } }).failed).toBe(3);
});

test('skipped tests are counted, and are a failure if everything is required', () => {
  const skipping = { ...run, tests: { ...tests, skipped: 3 } };
  expect(closingLine(skipping)).toEqual({ failed: 0, line: '14 passed, 0 failed, 3 skipped' });
  expect(closingLine({ ...skipping, requireAll: true })).toEqual({
    failed: 1,
    line: '14 passed, 1 failed, 3 skipped',
  });
});

test('a part that was not run is a failure if everything is required', () => {
  expect(closingLine({ ...run, notRun: 1 }).failed).toBe(0);
  expect(closingLine({ ...run, notRun: 1, requireAll: true })).toEqual({
    failed: 1,
    line: '14 passed, 1 failed',
  });
});

test('a project without a suite is missing from a full run, but not from a filtered one', () => {
  const tally = { ...tests, files: files.filter((file) => !file.includes('postgres')) };
  expect(Object.keys(missingParts(tally, true))).toEqual(['postgres']);
  expect(missingParts(tally, false)).toEqual({});
  expect(missingParts(tests, true)).toEqual({});
});

test('an error outside any test is a failure too', () => {
  const report = {
    numPassedTests: 3,
    numFailedTests: 0,
    numPendingTests: 1,
    numTodoTests: 1,
    testResults: [],
  };
  expect(tallyOf(report, 0)).toEqual({ failed: 0, passed: 3, files: [], skipped: 2 });
  expect(tallyOf(report, 1).failed).toBe(1);
  expect(tallyOf({ ...report, numFailedTests: 2 }, 1).failed).toBe(2);
});
