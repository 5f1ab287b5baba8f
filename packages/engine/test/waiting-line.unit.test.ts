import { expect, test } from 'vitest';
import { type Waiter, Waiters } from '../src/waiters.ts';
import type { Verdict } from '../src/waiting-line.ts';
import { createDie, SEED } from '../testing/random.ts';

/** One turn of everything that is ready to go on. */
const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

function park(waiters: Waiters, key = 'key', alike?: string): Waiter {
  const waiter = waiters.add(key, 1, 3_600_000, alike);
  if (!waiter) throw new Error('There is no place to wait.');
  return waiter;
}

/** Waits in a line as a claim does, and counts how often it looked. */
function crowd(waiters: Waiters, size: number, look: (n: number) => Verdict | 'found', alike?: string) {
  const looks: number[] = [];
  for (let n = 0; n < size; n += 1) {
    const waiter = park(waiters, 'key', alike);
    void (async () => {
      while (await waiter.next('nothing')) {
        looks.push(n);
        const verdict = look(n);
        if (verdict === 'found') return waiter.end('taken');
        if (verdict !== 'nothing') return waiter.end(verdict);
      }
    })();
  }
  return looks;
}

test('G62: of 300 waiters for one lane the oldest looks, and if it takes something the others do not look', async () => {
  const waiters = new Waiters();
  const looks = crowd(waiters, 300, () => 'found');
  waiters.wake('key');
  await settle();
  expect(looks).toEqual([0]);
  waiters.wakeAll();
  await settle();
  expect(looks).toEqual([0, 1]);
  expect(waiters.count).toBe(298);
  waiters.endAll();
});

test('G62: a look that finds nothing answers for waiters that ask alike, and for no others', async () => {
  const waiters = new Waiters();
  const alike = crowd(waiters, 100, () => 'nothing', 'one channel');
  const other = crowd(waiters, 1, () => 'found', 'another channel');
  const strangers = crowd(waiters, 3, () => 'nothing');
  waiters.wake('key');
  await settle();
  expect({ alike, other, strangers }).toEqual({ alike: [0], other: [0], strangers: [] });
  waiters.wake('key');
  await settle();
  expect({ alike, strangers }).toEqual({ alike: [0, 0], strangers: [0, 1, 2] });
  waiters.endAll();
});

test('G62: where there was something, twice as many look next, until one finds nothing', async () => {
  const waiters = new Waiters();
  let left = 20;
  const looks = crowd(
    waiters,
    100,
    () => {
      left -= 1;
      return left >= 0 ? 'more' : 'nothing';
    },
    'one pool',
  );
  waiters.wake('key');
  for (let turn = 0; turn < 20; turn += 1) await settle();
  expect(waiters.count).toBe(80);
  // no more than found something, and the wave that found nothing
  expect(looks.length).toBeLessThan(20 + 32);
  const before = looks.length;
  left = 1;
  waiters.wake('key');
  for (let turn = 0; turn < 20; turn += 1) await settle();
  expect(waiters.count).toBe(79);
  expect(looks.length - before).toBeLessThanOrEqual(3);
  waiters.endAll();
});

test('G62: a runner has something for several, so after one that has found something the next looks', async () => {
  const waiters = new Waiters();
  let left = 3;
  const looks = crowd(
    waiters,
    10,
    () => {
      left -= 1;
      return left >= 0 ? 'unclear' : 'nothing';
    },
    'alike',
  );
  waiters.wake('key');
  await settle();
  expect(looks).toEqual([0, 1, 2, 3]);
  waiters.endAll();
});

test('G62: a waiter that is woken and leaves at that moment passes it on', async () => {
  const waiters = new Waiters();
  const first = park(waiters);
  const asked = first.next('nothing');
  const looks = crowd(waiters, 2, () => 'found');
  waiters.wake('key');
  first.end();
  expect(await asked).toBe(true); // it was woken before, and looks in vain
  await settle();
  expect(looks).toEqual([0]);
  waiters.endAll();
});

test('G62: a waiter that looked too early looks again, also if others are woken meanwhile', async () => {
  const waiters = new Waiters();
  const early = park(waiters); // looks since before the wake-up
  const other = park(waiters);
  const others = other.next('nothing');
  waiters.wake('key');
  expect(await others).toBe(true);
  const again = early.next('nothing');
  other.end('unclear'); // it failed
  expect(await again).toBe(true);
  early.end();
});

/**
 * A lane with actions of two channels, and its waiters: they come, look (what they see is decided in the middle of a
 * look), fail, time out, and take; leases are given back. Whenever nothing moves any more, no waiter may be waiting for
 * something that is there.
 */
async function game(seed: number, isLane: boolean): Promise<void> {
  const { below: int, of: pick } = createDie(seed);
  const waiters = new Waiters();
  const there = new Map([
    ['a', 0],
    ['b', 0],
  ]);
  let held = 0;
  /** Looks under way; each is moved forward by hand: first it sees, then it is answered. */
  const underWay = new Set<() => void>();
  const waiting = new Map<Waiter, string>();

  const wake = () => {
    if (int(5) === 0) waiters.wakeAll();
    else waiters.wake('key');
  };
  const step = () => new Promise<void>((resolve) => underWay.add(resolve));
  const take = (channel: string): 'found' | Verdict => {
    if (isLane && held > 0) return 'taken';
    if ((there.get(channel) ?? 0) === 0) return 'nothing';
    there.set(channel, (there.get(channel) ?? 0) - 1);
    held += 1;
    return 'found';
  };
  async function client(channel: string) {
    const waiter = park(waiters, 'key', int(2) === 0 ? channel : undefined);
    waiting.set(waiter, channel);
    try {
      for (;;) {
        await step();
        if (int(8) === 0) throw new Error('The look failed.');
        const verdict = take(channel);
        await step();
        if (int(8) === 0) throw new Error('The answer was lost.');
        if (verdict === 'found') return waiter.end(isLane ? 'taken' : 'unclear');
        if (!(await waiter.next(verdict))) return;
      }
    } catch {
      // as a claim that is answered with an error
    } finally {
      waiter.end();
      waiting.delete(waiter);
    }
  }
  const acts = [
    () => void client(pick(['a', 'b'])),
    () => {
      const channel = pick(['a', 'b']);
      there.set(channel, (there.get(channel) ?? 0) + 1);
      wake();
    },
    () => {
      if (held === 0) return;
      held -= 1;
      wake();
    },
    () => [...waiting.keys()].at(int(Math.max(1, waiting.size)))?.end(),
  ];
  const bringForward = () => {
    const one = pick([...underWay]);
    underWay.delete(one);
    one();
  };
  for (let n = 0; n < 200; n += 1) {
    if (underWay.size > 0 && int(3) > 0) bringForward();
    else pick(acts)();
    if (int(2) === 0) await settle();
  }
  for (await settle(); underWay.size > 0; await settle()) bringForward();
  const missed = [...waiting.values()].filter(
    (channel) => (there.get(channel) ?? 0) > 0 && !(isLane && held > 0),
  );
  expect(missed, `seed ${seed}`).toEqual([]);
  waiters.endAll();
  await settle();
  expect(waiters.count).toBe(0);
}

test.each([
  ['lane', true],
  ['runner', false],
])(
  'G62: whatever happens in whatever order, no waiter waits for something that is there (%s)',
  async (_, isLane) => {
    for (let n = 0; n < 150; n += 1) await game(SEED + n, isLane);
  },
);
