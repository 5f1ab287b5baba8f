import { expect, test } from 'vitest';
import { startProgress } from '../src/cli/start-progress.ts';

/** Time passes only when the test says so. */
function scene() {
  const said: string[] = [];
  const waiting = new Map<() => void, number>();
  const progress = startProgress(
    (sentence) => void said.push(sentence),
    (ms, then) => {
      waiting.set(then, ms);
      return () => waiting.delete(then);
    },
  );
  const pass = (passed: number) => {
    for (const [then, ms] of waiting) if (ms <= passed) then();
  };
  return { said, progress, pass };
}

test('a start that takes longer than two seconds prints its current step, and each further one', () => {
  const { said, progress, pass } = scene();
  progress.step('opening');
  progress.step('migrating');
  pass(1_999);
  expect(said).toEqual([]);
  pass(2_000);
  progress.step('listening');
  expect(said).toEqual(['Starting: migrating …', 'Starting: listening …']);
});

test('a quick start prints nothing', () => {
  const { said, progress, pass } = scene();
  progress.step('opening');
  progress.end();
  pass(2_000);
  expect(said).toEqual([]);
});
