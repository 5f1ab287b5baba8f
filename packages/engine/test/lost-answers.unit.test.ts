import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { LostAnswers } from '../src/lost-answers.ts';
import type { Touched, Wake } from '../src/transition.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function lostAnswers(find: (touched: readonly Touched[]) => Promise<Wake[]>) {
  const told: (readonly Wake[] | '*')[] = [];
  const lost = new LostAnswers({ find, tell: (wakes) => told.push(wakes), tellAll: () => told.push('*') });
  return { lost, told };
}
const lane = (laneId: string) => ({ tenantId: 1, laneId });

test('G39: what a lost answer may have touched is woken once, and again when the server must have ended the statement', async () => {
  const { lost, told } = lostAnswers(async (touched) => [...touched]);
  lost.add([lane('7'), lane('7')]);
  await vi.advanceTimersByTimeAsync(59_000);
  expect(told).toEqual([[lane('7')]]);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(told).toEqual([[lane('7')], [lane('7')]]);
  await vi.advanceTimersByTimeAsync(600_000);
  expect(told).toHaveLength(2);
  expect(vi.getTimerCount()).toBe(0);
});

test('G39: no wake-up is sent while the database is away, and every one that is due when it is back', async () => {
  let isAway = true;
  const { lost, told } = lostAnswers(async (touched) => {
    if (isAway) throw new Error('connect ECONNREFUSED');
    return [...touched];
  });
  lost.add([lane('7')]);
  await vi.advanceTimersByTimeAsync(5_000);
  lost.add([lane('8')]);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(told).toEqual([]);
  isAway = false;
  await vi.advanceTimersByTimeAsync(1_000);
  expect(told).toEqual([[lane('7'), lane('8')]]);
  lost.stop();
  expect(vi.getTimerCount()).toBe(0);
});

test('G39: too much to look up wakes everything', async () => {
  const { lost, told } = lostAnswers(async (touched) => [...touched]);
  lost.add(Array.from({ length: 10_001 }, (_, n) => lane(`${n}`)));
  await vi.advanceTimersByTimeAsync(1_000);
  expect(told).toEqual(['*']);
  lost.stop();
});
