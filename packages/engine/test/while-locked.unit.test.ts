import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Database, Transaction } from '../src/db.ts';
import { laneBusy } from '../src/errors.ts';
import { whileLocked } from '../src/while-locked.ts';

/** Which call has a turn when, and what it is answered. A try ends when the test, or the lock timeout, says so. */
const DEADLINE_MS = 10_000;
const TURNS = 6;
const LOCKED_MS = 100;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

function database() {
  const transaction = <T>(run: (tx: Transaction) => Promise<T>) => run({} as Transaction);
  return { deadlineMs: DEADLINE_MS, transaction } as unknown as Database;
}

const locked = () =>
  new Promise<never>((_, reject) => {
    setTimeout(() => reject(laneBusy()), LOCKED_MS);
  });

/** What each call is answered, and when. */
async function heard(call: Promise<unknown>): Promise<{ what: unknown; at: number }> {
  const what = await call.catch((error) => error.code);
  return { what, at: performance.now() };
}

test('G65: new calls go before all retries', async () => {
  const db = database();
  const crowd = Array.from({ length: 60 }, () => heard(whileLocked(db, locked)));
  await vi.advanceTimersByTimeAsync(2_000); // all have tried by now
  const came = performance.now();
  const free = Array.from({ length: 4 }, () => heard(whileLocked(db, async () => 'done')));
  await vi.advanceTimersByTimeAsync(DEADLINE_MS);
  for (const { what, at } of await Promise.all(free)) {
    expect(what).toBe('done');
    expect(at - came).toBeLessThanOrEqual(LOCKED_MS);
  }
  await Promise.all(crowd);
});

test.each([300, 1_000])(
  'G64: of %i calls for one locked lane none is answered after its deadline',
  async (many) => {
    const db = database();
    const began = performance.now();
    const crowd = Array.from({ length: many }, () => heard(whileLocked(db, locked)));
    await vi.advanceTimersByTimeAsync(3 * DEADLINE_MS);
    const answers = await Promise.all(crowd);
    expect(Math.max(...answers.map(({ at }) => at - began))).toBeLessThanOrEqual(DEADLINE_MS);
    const known = ['MUSTER_LANE_BUSY', 'MUSTER_OVERLOADED'];
    expect(answers.filter(({ what }) => !known.includes(what as string))).toEqual([]);
  },
);

test('G64: a try that is not over at the deadline is answered "not known", and keeps its turn until it is', async () => {
  const db = database();
  const began = performance.now();
  const ends: (() => void)[] = [];
  const hangs = () => new Promise<void>((resolve) => void ends.push(resolve));
  const calls = Array.from({ length: TURNS }, () => heard(whileLocked(db, hangs)));
  await vi.advanceTimersByTimeAsync(DEADLINE_MS);
  expect(await Promise.all(calls)).toEqual(
    calls.map(() => ({ what: 'MUSTER_NO_ANSWER', at: began + DEADLINE_MS })),
  );
  let ran = false;
  const next = whileLocked(db, async () => {
    ran = true;
  });
  await vi.advanceTimersByTimeAsync(1);
  expect(ran).toBe(false);
  ends[0]?.();
  await next;
  expect(vi.getTimerCount()).toBe(0);
});

test('G64: but a statement with a limit of its own is waited for', async () => {
  const slow = () => new Promise<string>((resolve) => setTimeout(() => resolve('done'), 2 * DEADLINE_MS));
  const call = heard(whileLocked(database(), slow, { statementMs: 3 * DEADLINE_MS }));
  await vi.advanceTimersByTimeAsync(2 * DEADLINE_MS);
  expect((await call).what).toBe('done');
});

test('G65: new calls have their turns in the order of arrival, and so do retries', async () => {
  const db = database();
  const tries: number[] = [];
  const calls = Array.from({ length: 18 }, (_, n) =>
    heard(
      whileLocked(db, () => {
        tries.push(n);
        return locked();
      }),
    ),
  );
  await vi.advanceTimersByTimeAsync(DEADLINE_MS);
  await Promise.all(calls);
  const order = Array.from({ length: 18 }, (_, n) => n);
  expect(tries.slice(0, 18)).toEqual(order);
  expect(tries.slice(18, 36)).toEqual(order);
});
