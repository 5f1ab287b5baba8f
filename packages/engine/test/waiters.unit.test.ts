import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type Waiter, Waiters } from '../src/waiters.ts';

beforeEach(() => {
  vi.useFakeTimers({
    toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance', 'Date'],
  });
});
afterEach(() => {
  vi.useRealTimers();
});

function park(waiters: Waiters, key: string, waitMs: number, tenantId = 1): Waiter {
  const waiter = waiters.add(key, tenantId, waitMs);
  if (!waiter) throw new Error('There is no place to wait.');
  return waiter;
}

/** When a wait of that length ends, by the fake clock, counted from its beginning. */
async function lengthOf(waiters: Waiters, waitMs: number): Promise<number> {
  const began = performance.now();
  let ended: number | undefined;
  void park(waiters, 'key', waitMs)
    .next('nothing')
    .then((again) => {
      expect(again).toBe(false);
      ended = performance.now() - began;
    });
  await vi.advanceTimersByTimeAsync(waitMs + 1_000);
  if (ended === undefined) throw new Error(`A wait of ${waitMs} ms did not end within ${waitMs + 1_000} ms.`);
  return ended;
}

describe.each([50, 100, 250, 500, 1_000, 5_000, 25_000])('a wait of %i ms', (waitMs) => {
  test('G37: is never longer than requested, nor more than a tenth shorter', async () => {
    const waiters = new Waiters();
    for (let n = 0; n < 40; n += 1) {
      await vi.advanceTimersByTimeAsync(7 * n + 3);
      const length = await lengthOf(waiters, waitMs);
      expect(length).toBeLessThanOrEqual(waitMs);
      expect(length).toBeGreaterThanOrEqual(waitMs * 0.9);
    }
    expect(waiters.count).toBe(0);
  });

  test('G37: likewise while others wait', async () => {
    const waiters = new Waiters();
    void park(waiters, 'other', 3_600_000).next('nothing');
    for (let n = 0; n < 40; n += 1) {
      await vi.advanceTimersByTimeAsync(7 * n + 3);
      const length = await lengthOf(waiters, waitMs);
      expect(length).toBeLessThanOrEqual(waitMs);
      expect(length).toBeGreaterThanOrEqual(waitMs * 0.9);
    }
    waiters.endAll();
  });
});

test.each([1, 5, 10, 19, 20, 21, 39])(
  'G37: a very short wait of %i ms ends too, whenever it begins',
  async (waitMs) => {
    const waiters = new Waiters();
    void park(waiters, 'other', 3_600_000).next('nothing');
    for (let n = 0; n < 45; n += 1) {
      await vi.advanceTimersByTimeAsync(n);
      expect(await lengthOf(waiters, waitMs)).toBeLessThanOrEqual(waitMs);
    }
    waiters.endAll();
  },
);

test('G37: a thousand that began together do not come back together', async () => {
  const waiters = new Waiters();
  const ends = new Set<number>();
  for (let n = 0; n < 1_000; n += 1)
    void park(waiters, 'key', 20_000)
      .next('nothing')
      .then(() => ends.add(Math.floor(performance.now() / 20)));
  await vi.advanceTimersByTimeAsync(20_000);
  expect(ends.size).toBeGreaterThan(20);
});

test('G37: however many wait there is one timer, and none when nothing waits', () => {
  const waiters = new Waiters();
  expect(vi.getTimerCount()).toBe(0);
  const all = Array.from({ length: 500 }, (_, n) => park(waiters, `${n}`, 1_000 + n));
  expect(vi.getTimerCount()).toBe(1);
  expect(waiters.count).toBe(500);
  for (const waiter of all) waiter.end();
  expect(vi.getTimerCount()).toBe(0);
  expect(waiters.count).toBe(0);
});

test('G38: a wake before the waiter asks is not lost, and several count once', async () => {
  const waiters = new Waiters();
  const waiter = park(waiters, 'key', 1_000);
  waiters.wake('key');
  waiters.wake('key');
  expect(await waiter.next('nothing')).toBe(true);
  let again: boolean | undefined;
  void waiter.next('nothing').then((value) => {
    again = value;
  });
  await vi.advanceTimersByTimeAsync(10);
  expect(again).toBeUndefined();
  waiters.wake('key');
  await vi.advanceTimersByTimeAsync(0);
  expect(again).toBe(true);
  waiter.end();
});

test('G38: only waiters of the key, or of the tenant, or all are woken', async () => {
  const waiters = new Waiters();
  const woken: string[] = [];
  for (const [name, key, tenantId] of [
    ['a', '1:1', 1],
    ['b', '1:2', 1],
    ['c', '2:1', 2],
  ] as const)
    void (async () => {
      const waiter = park(waiters, key, 60_000, tenantId);
      while (await waiter.next('nothing')) woken.push(name);
    })();
  const after = async (wake: () => void) => {
    woken.length = 0;
    wake();
    await vi.advanceTimersByTimeAsync(0);
    return [...woken].sort();
  };
  expect(await after(() => waiters.wake('1:2'))).toEqual(['b']);
  expect(await after(() => waiters.wakeAll(1))).toEqual(['a', 'b']);
  expect(await after(() => waiters.wakeAll())).toEqual(['a', 'b', 'c']);
  expect(await after(() => waiters.wake('unknown'))).toEqual([]);
  expect(await after(() => waiters.endAll())).toEqual([]);
  expect(waiters.count).toBe(0);
});

test('an ended waiter stays ended', async () => {
  const waiters = new Waiters();
  const waiter = park(waiters, 'key', 1_000);
  waiter.end();
  waiter.end();
  waiters.wake('key');
  expect(await waiter.next('nothing')).toBe(false);
  expect(waiters.count).toBe(0);
});
