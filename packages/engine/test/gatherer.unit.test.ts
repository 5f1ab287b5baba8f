import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Gatherer } from '../src/gatherer.ts';
import { BUSY, type Busy, type Run } from '../src/operation.ts';
import { Places } from '../src/places.ts';
import { runDirectly } from '../src/run-directly.ts';

/** A fake operation: an item is `key:value`; statements are collected, and finished when the test says so. */
interface Statement {
  readonly items: readonly string[];
  readonly solo: boolean;
  finish(answers?: (string | Busy)[]): Promise<void>;
  fail(error: unknown): Promise<void>;
}

const statements: Statement[] = [];
const operation = {
  name: 'fake',
  key: (item: string) => item.split(':')[0] || null,
  run: () => Promise.reject(new Error('run by the options')),
};
const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

function gatherer(writers = 1, most?: number) {
  return new Gatherer<string, string>(most ? { ...operation, most } : operation, {
    writers,
    alone: new Places(3),
    deadlineMs: 10_000,
    run: (_operation, items, solo) =>
      new Promise<Run<never>>((resolve, reject) => {
        const list = items as readonly unknown[] as readonly string[];
        statements.push({
          items: list,
          solo,
          async finish(answers = list.map((item) => `did ${item}`)) {
            resolve({ answers: answers as never[], transitions: [], wakes: [] });
            await settled();
            await settled();
          },
          async fail(error) {
            reject(error);
            await settled();
            await settled();
          },
        });
      }),
  });
}
const last = () => statements.at(-1) as Statement;
const databaseError = (code: string) => Object.assign(new Error(`code ${code}`), { code });

beforeEach(() => {
  statements.length = 0;
});
afterEach(() => {
  vi.useRealTimers();
});

test('G35: calls that arrive while a statement is in flight go into the next one; each gets its own answer', async () => {
  const g = gatherer();
  const first = g.add('a:1');
  await settled();
  const others = [g.add('b:2'), g.add('c:3')];
  await settled();
  expect(statements.map(({ items }) => items)).toEqual([['a:1']]);
  await last().finish();
  expect(await first).toBe('did a:1');
  expect(last().items).toEqual(['b:2', 'c:3']);
  await last().finish(['answer b', 'answer c']);
  expect(await Promise.all(others)).toEqual(['answer b', 'answer c']);
});

test('G35: calls of one turn share a statement', async () => {
  const g = gatherer();
  const calls = ['a:1', 'b:2', 'c:3'].map((item) => g.add(item));
  await settled();
  expect(statements).toHaveLength(1);
  await last().finish();
  expect(await Promise.all(calls)).toEqual(['did a:1', 'did b:2', 'did c:3']);
});

test('G35: no call is answered before its statement is committed', async () => {
  const g = gatherer();
  let answered = false;
  const call = g.add('a:1').then(() => {
    answered = true;
  });
  await settled();
  await settled();
  expect(answered).toBe(false);
  await last().finish();
  await call;
});

test('G35: equal keys never share a statement, nor two statements in flight', async () => {
  const g = gatherer(2);
  const calls = [g.add('a:1'), g.add('a:2'), g.add('b:3'), g.add(':4'), g.add(':5')];
  await settled();
  expect(statements.map(({ items }) => items)).toEqual([['a:1', 'b:3', ':4', ':5']]);
  const more = g.add('b:6');
  const free = g.add('c:7');
  await settled();
  expect(last().items).toEqual(['c:7']);
  await statements[1]?.finish();
  await statements[0]?.finish();
  expect(last().items).toEqual(['a:2', 'b:6']);
  await last().finish();
  expect(await Promise.all([...calls, more, free])).toEqual([
    ...['did a:1', 'did a:2', 'did b:3', 'did :4', 'did :5', 'did b:6', 'did c:7'],
  ]);
});

const afterThisMoment = () => new Promise<void>((resolve) => process.nextTick(resolve));

test('G35: 64 calls are sent within the turn, while others still arrive', async () => {
  const g = gatherer(2);
  const calls = Array.from({ length: 63 }, (_, n) => g.add(`:${n}`));
  await afterThisMoment();
  expect(statements).toHaveLength(0);
  calls.push(g.add(':63'));
  await afterThisMoment();
  expect(statements.map(({ items }) => items.length)).toEqual([64]);
  for (let n = 64; n < 300; n += 1) calls.push(g.add(`:${n}`));
  await afterThisMoment();
  expect(statements.map(({ items }) => items.length)).toEqual([64, 236]);
  for (let n = 300; n < 500; n += 1) calls.push(g.add(`:${n}`));
  await settled();
  expect(statements).toHaveLength(2); // no writer is free
  for (const statement of [...statements]) await statement.finish();
  await last().finish();
  expect(await Promise.all(calls)).toHaveLength(500);
});

test('G35: beside a statement of many calls, others are sent when they are many too', async () => {
  const g = gatherer(2);
  const calls = Array.from({ length: 20 }, (_, n) => g.add(`:${n}`));
  await settled();
  for (let n = 20; n < 179; n += 1) calls.push(g.add(`:${n}`));
  await settled();
  expect(statements.map(({ items }) => items.length)).toEqual([20]);
  calls.push(g.add(':179'));
  await settled();
  expect(statements.map(({ items }) => items.length)).toEqual([20, 160]);
  calls.push(g.add(':180'));
  await statements[0]?.finish();
  expect(statements).toHaveLength(2); // the other one is still large
  await statements[1]?.finish();
  await last().finish();
  expect(await Promise.all(calls)).toHaveLength(181);
});

test('G35: many that wait are sent before the callers of the statement before them go on', async () => {
  const g = gatherer();
  const sentBefore: number[] = [];
  const first = g.add(':first').then(() => sentBefore.push(statements.length));
  await settled();
  const calls = Array.from({ length: 64 }, (_, n) => g.add(`:${n}`));
  await settled();
  await last().finish();
  await first;
  expect(sentBefore).toEqual([2]);
  await last().finish();
  expect(await Promise.all(calls)).toHaveLength(64);
});

test('G36: beside a statement that takes long, any call is sent', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  const g = gatherer(2);
  const calls = Array.from({ length: 20 }, (_, n) => g.add(`:${n}`));
  await settled();
  calls.push(g.add('late:1'));
  await vi.advanceTimersByTimeAsync(24);
  await settled();
  expect(statements).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(2);
  await settled();
  expect(last().items).toEqual(['late:1']);
  // it holds up none of those that follow either
  for (const n of [2, 3]) {
    await last().finish();
    calls.push(g.add(`late:${n}`));
    await settled();
    expect(last().items).toEqual([`late:${n}`]);
  }
  for (const statement of [...statements]) await statement.finish();
  expect(await Promise.all(calls)).toHaveLength(23);
});

test('G35: an operation may take fewer calls into a statement; the others go with the next', async () => {
  const g = gatherer(1, 2);
  const calls = ['a:1', 'b:2', 'c:3'].map((item) => g.add(item));
  await settled();
  expect(statements.map(({ items }) => items)).toEqual([['a:1', 'b:2']]);
  await last().finish();
  expect(last().items).toEqual(['c:3']);
  await last().finish();
  expect(await Promise.all(calls)).toEqual(['did a:1', 'did b:2', 'did c:3']);
});

test('G36: a busy item is tried again, its neighbours are answered', async () => {
  const g = gatherer();
  const calls = [g.add('a:1'), g.add('b:2')];
  await settled();
  await last().finish([BUSY, 'done b']);
  expect(await calls[1]).toBe('done b');
  expect(last().items).toEqual(['a:1']);
  await last().finish();
  expect(await calls[0]).toBe('did a:1');
});

test('G36: an item that waits for its next try is not forgotten while others come and go', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  const g = gatherer();
  const call = g.add('a:1');
  await settled();
  for (let n = 0; n < 4; n += 1) await last().finish([BUSY]);
  const other = g.add('b:2');
  await settled();
  expect(last().items).toEqual(['b:2']);
  await last().finish();
  await other;
  await vi.advanceTimersByTimeAsync(100);
  await settled();
  expect(last().items).toEqual(['a:1']);
  await last().finish();
  expect(await call).toBe('did a:1');
});

test('G36: an item that stays busy is given up with a clear error, after ever longer waits', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  const g = gatherer();
  const began = performance.now();
  const call = g.add('a:1').catch((error) => [error.code, performance.now() - began]);
  await settled();
  const at: number[] = [];
  for (let seen = 0; seen < statements.length; ) {
    seen = statements.length;
    at.push(performance.now() - began);
    await last().finish([BUSY]);
    await vi.advanceTimersByTimeAsync(100);
    await settled();
  }
  const [code, afterMs] = await call;
  expect(code).toBe('MUSTER_LANE_BUSY');
  expect(afterMs).toBeGreaterThan(9_000);
  expect(afterMs).toBeLessThanOrEqual(10_000);
  expect(at.length).toBeLessThan(120);
});

test('G36: after a data error each row runs alone, and only the bad one fails', async () => {
  const g = gatherer();
  const calls = ['a:1', 'bad:2', 'c:3'].map((item) => g.add(item).catch((error) => error.code));
  await settled();
  await last().fail(databaseError('22P02'));
  const alone = statements.slice(1);
  expect(alone.map(({ items, solo }) => [items.length, solo])).toEqual(alone.map(() => [1, true]));
  for (const statement of alone)
    await (statement.items[0] === 'bad:2' ? statement.fail(databaseError('22P02')) : statement.finish());
  expect(await Promise.all(calls)).toEqual(['did a:1', '22P02', 'did c:3']);
});

test('G36: a call that waits for a lock does not hold up the others', async () => {
  const g = gatherer(1);
  const stuck = [g.add('a:1'), g.add('b:2')];
  await settled();
  await last().fail(databaseError('55P03'));
  const alone = statements.filter(({ solo }) => solo);
  expect(alone.length).toBeGreaterThan(0);
  const free = g.add('c:3');
  await settled();
  const next = statements.find(({ items }) => items.includes('c:3'));
  expect(next, 'c:3 must not wait for the calls that run alone').toBeDefined();
  await next?.finish();
  expect(await free).toBe('did c:3');
  for (const statement of statements.filter(({ solo }) => solo)) await statement.finish();
  for (const statement of statements.filter(({ solo }) => solo)) await statement.finish();
  expect(await Promise.all(stuck)).toEqual(['did a:1', 'did b:2']);
});

test('a connection error fails the batch at once: it is unknown whether it was committed', async () => {
  const g = gatherer();
  const calls = ['a:1', 'b:2'].map((item) => g.add(item).catch((error) => error.message));
  await settled();
  await last().fail(new Error('Connection terminated'));
  expect(await Promise.all(calls)).toEqual(['Connection terminated', 'Connection terminated']);
  expect(statements).toHaveLength(1);
});

test('G35: a statement takes 500 calls at most, even when as many wait as may', async () => {
  const g = gatherer();
  const calls = Array.from({ length: 16_000 }, (_, n) => g.add(`${n}:x`));
  await settled();
  let answered = 0;
  for (const call of calls) void call.then(() => (answered += 1));
  expect(last().items).toHaveLength(500);
  for (let at = 0; at < 32; at += 1) await statements[at]?.finish();
  expect(answered).toBe(16_000);
});

test('close answers all earlier calls, retries included, and refuses later ones', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  const g = gatherer();
  const call = g.add('a:1');
  await settled();
  let closed = false;
  const closing = g.close().then(() => {
    closed = true;
  });
  await expect(g.add('b:2')).rejects.toMatchObject({ code: 'MUSTER_STOPPING' });
  for (let n = 0; n < 5; n += 1) {
    await last().finish([BUSY]);
    await vi.advanceTimersByTimeAsync(100);
    await settled();
  }
  expect(closed).toBe(false);
  await last().finish();
  await closing;
  expect(await call).toBe('did a:1');
});

test('close of an idle gatherer ends at once', async () => {
  await gatherer().close();
});

test('G35: run directly, equal keys are kept apart, busy items repeated, answers in the order of the items', async () => {
  const seen: (readonly string[])[] = [];
  const answers = await runDirectly<string, string>(
    operation,
    ['a:1', 'b:2', 'a:3', ':4', ':5'],
    async (items) => {
      seen.push(items);
      return {
        answers: items.map((item) => (item === 'b:2' && seen.length === 1 ? BUSY : `did ${item}`)),
        transitions: [],
        wakes: [],
      };
    },
    null,
  );
  expect(seen).toEqual([
    ['a:1', 'b:2', ':4', ':5'],
    ['b:2', 'a:3'],
  ]);
  expect(answers).toEqual(['did a:1', 'did b:2', 'did a:3', 'did :4', 'did :5']);
});
