import { expect, test } from 'vitest';
import { closingLine, missingParts } from '../closing-line.mjs';

const tests = { failed: 0, passed: 10, projects: { pglite: 4, postgres: 4, unit: 2 }, skipped: 0 };
const run = { checks: { failed: 0, passed: 4 }, notRun: 0, requireAll: false, tests };

test('a clean run counts its checks and its tests', () => {
  expect(closingLine(run)).toEqual({ failed: 0, line: '14 passed, 0 failed' });
});

test('a failed check is a failure like a failed test', () => {
  const checks = { failed: 1, passed: 3 };
  expect(closingLine({ ...run, checks })).toEqual({ failed: 1, line: '13 passed, 1 failed' });
  expect(closingLine({ ...run, checks, tests: { ...tests, failed: 2 } }).failed).toBe(3);
});

test('skipped tests are counted, and a failure where all is required', () => {
  const skipping = { ...run, tests: { ...tests, skipped: 3 } };
  expect(closingLine(skipping)).toEqual({ failed: 0, line: '14 passed, 0 failed, 3 skipped' });
  expect(closingLine({ ...skipping, requireAll: true })).toEqual({
    failed: 1,
    line: '14 passed, 1 failed, 3 skipped',
  });
});

test('a part that was not run is a failure where all is required', () => {
  expect(closingLine({ ...run, notRun: 1 }).failed).toBe(0);
  expect(closingLine({ ...run, notRun: 1, requireAll: true })).toEqual({
    failed: 1,
    line: '14 passed, 1 failed',
  });
});

test('a project without a test is a missing part of a whole run, and of no other', () => {
  const tally = { ...tests, projects: { pglite: 4, unit: 2 } };
  expect(Object.keys(missingParts(tally, true))).toEqual(['postgres']);
  expect(missingParts(tally, false)).toEqual({});
  expect(missingParts(tests, true)).toEqual({});
});
