import { expect, test } from 'vitest';
import { thenCleanUp } from '../then-clean-up.mjs';

test('a failure is told as it was, whatever the cleaning up meets', async () => {
  const log: string[] = [];
  const fails = (why: string) => async () => {
    throw new Error(why);
  };
  const run = (work: () => Promise<number>, cleanUp: () => Promise<void>) =>
    thenCleanUp(work, cleanUp, (sentence) => log.push(sentence));
  await expect(run(fails('the row'), fails('in use'))).rejects.toThrow('the row');
  expect(log).toEqual(['Nor could it be cleaned up: in use']);
  await expect(run(async () => 7, fails('in use'))).rejects.toThrow('in use');
  let cleaned = 0;
  const cleanUp = async () => {
    cleaned += 1;
  };
  expect(await run(async () => 7, cleanUp)).toBe(7);
  await expect(run(fails('the row'), cleanUp)).rejects.toThrow('the row');
  expect([cleaned, log.length]).toEqual([2, 1]);
});
