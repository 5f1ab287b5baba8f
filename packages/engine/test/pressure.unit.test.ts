import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Gatherer, type GathererOptions } from '../src/gatherer.ts';
import { BUSY, type Busy, type Operation, type Run } from '../src/operation.ts';
import { Places } from '../src/places.ts';
import { runDirectly } from '../src/run-directly.ts';

/**
 * Calls that pile up: what is refused, what is sent, and what each caller is told. A statement ends when the test says
 * so.
 */
interface Item {
  readonly tenantId: number;
  readonly key?: string;
  readonly bytes?: number;
}
interface Statement {
  readonly items: readonly Item[];
  finish(answer?: string | Busy): Promise<void>;
  fail(code: string): Promise<void>;
}

const DEADLINE_MS = 10_000;
let statements: Statement[] = [];
const settled = async () => {
  for (let n = 0; n < 3; n += 1) await new Promise<void>((resolve) => setImmediate(resolve));
};
const codeOf = (error: { code: string }) => error.code;

const run = (_: unknown, items: readonly Item[]) =>
  new Promise<Run<string | Busy>>((resolve, reject) => {
    statements.push({
      items,
      async finish(answer = 'done') {
        resolve({ answers: items.map(() => answer), transitions: [], wakes: [] });
        await settled();
      },
      async fail(code) {
        reject(Object.assign(new Error(code), { code }));
        await settled();
      },
    });
  });

function gatherer(
  options: Partial<GathererOptions<Item, string>> = {},
  more: Partial<Operation<Item, string>> = {},
) {
  const operation: Operation<Item, string> = {
    name: 'test',
    key: (item) => item.key ?? null,
    bytes: (item) => item.bytes ?? 0,
    run: () => Promise.reject(new Error('run by the options')),
    ...more,
  };
  return new Gatherer<Item, string>(operation, {
    writers: 1,
    alone: new Places(3),
    deadlineMs: DEADLINE_MS,
    run,
    ...options,
  });
}

beforeEach(() => {
  statements = [];
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

test('G64: past the limit of waiting calls the next is refused at once, and answers make room again', async () => {
  const g = gatherer({ room: { calls: 100, bytes: 1_000 } });
  const admitted = Array.from({ length: 80 }, () => g.add({ tenantId: 1 }));
  await expect(g.add({ tenantId: 1 })).rejects.toMatchObject({ code: 'MUSTER_OVERLOADED' });
  await settled();
  await statements[0]?.finish();
  expect(await Promise.all(admitted)).toHaveLength(80);
  expect(g.room.calls).toBe(0);
  const again = g.add({ tenantId: 1 });
  await settled();
  await statements[1]?.finish();
  expect(await again).toBe('done');
});

test('G64: the same in bytes', async () => {
  const g = gatherer({ room: { calls: 100, bytes: 1_000 } });
  const calls = Array.from({ length: 10 }, () => g.add({ tenantId: 1, bytes: 100 }).catch(codeOf));
  expect(g.room.bytes).toBe(800);
  await settled();
  await statements[0]?.finish();
  const answers = await Promise.all(calls);
  expect(answers).toEqual([...Array(8).fill('done'), 'MUSTER_OVERLOADED', 'MUSTER_OVERLOADED']);
  expect(g.room.bytes).toBe(0);
});

test('G64: whatever others have waiting, a new tenant is let in, and is served in turn', async () => {
  const g = gatherer({ room: { calls: 1_000, bytes: 1_000_000 } });
  void g.add({ tenantId: 0 });
  await settled(); // in flight: the others wait for the next statement
  for (const tenantId of [1, 2, 3])
    for (let n = 0; n < 1_000; n += 1) void g.add({ tenantId, bytes: 1_000 }).catch(() => {});
  expect(g.room.calls).toBeLessThan(1_000);
  expect(g.room.bytes).toBeLessThan(1_000_000);
  const fresh = g.add({ tenantId: 4, bytes: 1_000 });
  await statements[0]?.finish();
  expect(statements[1]?.items.slice(0, 4).map(({ tenantId }) => tenantId)).toEqual([1, 2, 3, 4]);
  await statements[1]?.finish();
  expect(await fresh).toBe('done');
});

test('G64: a statement takes 4 MB at most; a larger call runs by itself', async () => {
  const g = gatherer();
  const mb = 1_048_576;
  const sizes = [1, 1.5, 1, 1, 5, 1];
  const calls = sizes.map((size) => g.add({ tenantId: 1, bytes: size * mb }));
  await settled();
  for (let n = 0; n < 4; n += 1) await statements[n]?.finish();
  await Promise.all(calls);
  expect(statements.map(({ items }) => items.map(({ bytes }) => (bytes ?? 0) / mb))).toEqual([
    [1, 1.5, 1],
    [1],
    [5],
    [1],
  ]);
});

test('G64: many of one caller are split the same way, in their order', async () => {
  const mb = 1_048_576;
  const seen: number[] = [];
  const operation = {
    name: 'test',
    key: () => null,
    bytes: (size: number) => size * mb,
    run: async () => null as never,
  };
  await runDirectly<number, string>(
    operation,
    [3, 2, 1, 9, 1],
    async (items) => {
      seen.push(items.length);
      return { answers: items.map(() => 'done'), transitions: [], wakes: [] };
    },
    null,
  );
  expect(seen).toEqual([1, 2, 1, 1]);
});

test('G64: at its deadline an unsent call is refused and never sent; one in flight is told that its outcome is unknown', async () => {
  const late: string[] = [];
  const g = gatherer({ unwanted: (_, answer) => void late.push(answer) });
  const sent = g.add({ tenantId: 1, key: 'a' }).catch(codeOf);
  await settled();
  const waiting = g.add({ tenantId: 1, key: 'b' }).catch(codeOf);
  const behind = g.add({ tenantId: 1, key: 'a' }).catch(codeOf);
  expect(vi.getTimerCount()).toBe(1);
  await vi.advanceTimersByTimeAsync(DEADLINE_MS - 1);
  expect(g.room.calls).toBe(3);
  await vi.advanceTimersByTimeAsync(1);
  expect(await Promise.all([sent, waiting, behind])).toEqual([
    'MUSTER_NO_ANSWER',
    'MUSTER_OVERLOADED',
    'MUSTER_OVERLOADED',
  ]);
  expect(g.room.calls).toBe(0);
  const next = g.add({ tenantId: 1, key: 'a' });
  await settled();
  expect(statements).toHaveLength(1);
  await statements[0]?.finish('too late');
  expect(late).toEqual(['too late']);
  expect(statements[1]?.items).toHaveLength(1);
  await statements[1]?.finish();
  expect(await next).toBe('done');
});

test('G64: a call behind one whose lane is locked is refused at its own deadline', async () => {
  const g = gatherer();
  const first = g.add({ tenantId: 1, key: 'a' }).catch(codeOf);
  await settled();
  for (let n = 0; n < 4; n += 1) await statements[n]?.finish(BUSY);
  await vi.advanceTimersByTimeAsync(DEADLINE_MS / 2);
  const second = g.add({ tenantId: 1, key: 'a' }).catch(codeOf);
  for (let n = 4; n < statements.length || n < 60; n += 1) {
    await statements[n]?.finish(BUSY);
    await vi.advanceTimersByTimeAsync(100);
    await settled();
  }
  expect(await first).toBe('MUSTER_LANE_BUSY');
  for (let n = 60; n < 200; n += 1) {
    await statements.at(-1)?.finish(BUSY);
    await vi.advanceTimersByTimeAsync(100);
    await settled();
  }
  expect(await second).toBe('MUSTER_LANE_BUSY');
  expect(g.room.calls).toBe(0);
});

test('G36: calls that run alone are few over all kinds of calls together', async () => {
  const alone = new Places(3);
  const all = [gatherer({ alone }), gatherer({ alone }), gatherer({ alone })];
  const calls = all.flatMap((g) => ['a', 'b', 'c'].map((key) => g.add({ tenantId: 1, key })));
  await settled();
  for (const statement of statements.slice(0, 3)) await statement.fail('55P03');
  const running = () => statements.slice(3).filter((one) => !ended.has(one));
  const ended = new Set<Statement>();
  let most = 0;
  while (running().length > 0) {
    most = Math.max(most, running().length);
    const [one] = running() as [Statement];
    ended.add(one);
    await one.finish();
  }
  expect(most).toBe(3);
  expect(await Promise.all(calls)).toEqual(Array(9).fill('done'));
});

test('G36: a place for calls that run alone goes to the kind of call that waits longest, in turn', async () => {
  const alone = new Places(1);
  const [busy, other] = [gatherer({ alone }), gatherer({ alone })];
  for (let n = 0; n < 20; n += 1) void busy.add({ tenantId: 1 }).catch(() => {});
  for (let n = 0; n < 3; n += 1) void other.add({ tenantId: 2 }).catch(() => {});
  await settled();
  for (const statement of statements.slice(0, 2)) await statement.fail('55P03');
  for (let n = 2; n < 9; n += 1) await statements[n]?.finish();
  const order = statements.slice(2, 9).map(({ items }) => items[0]?.tenantId);
  expect(order).toEqual([1, 1, 2, 1, 2, 1, 2]); // the busy one began to wait first
});

test('G36: a place that comes too late for its calls is passed on', async () => {
  const alone = new Places(1);
  expect(alone.take(() => {})).toBe(true);
  const late = gatherer({ alone });
  const calls = [late.add({ tenantId: 1 }).catch(codeOf), late.add({ tenantId: 1 }).catch(codeOf)];
  await settled();
  await statements[0]?.fail('55P03');
  await vi.advanceTimersByTimeAsync(DEADLINE_MS);
  expect(await Promise.all(calls)).toEqual(['MUSTER_LANE_BUSY', 'MUSTER_LANE_BUSY']);
  const next = vi.fn();
  expect(alone.take(next)).toBe(false);
  alone.free();
  await settled();
  expect(next).toHaveBeenCalledTimes(1);
  expect(alone.take(next)).toBe(true);
});

test('G35: where equal calls share an answer, all waiting ones take it', async () => {
  const g = gatherer({}, { isShared: true });
  const calls = Array.from({ length: 1_000 }, () => g.add({ tenantId: 1, key: 'a' }));
  const other = g.add({ tenantId: 1, key: 'b' });
  await settled();
  expect(statements.map(({ items }) => items.length)).toEqual([2]);
  await statements[0]?.finish('made');
  expect(new Set(await Promise.all(calls))).toEqual(new Set(['made']));
  expect(await other).toBe('made');
  expect(statements).toHaveLength(1);
});

// Each statement scanned every waiting call: 20,000 of one key took 6.6 s.
test('G35: a call costs the same however many share its key', async () => {
  const looksPerCall = async (many: number) => {
    statements = [];
    const looks = [
      vi.spyOn(Set.prototype, 'has'),
      vi.spyOn(Map.prototype, 'get'),
      vi.spyOn(Map.prototype, 'has'),
    ];
    const g = gatherer();
    const calls = Array.from({ length: many }, () => g.add({ tenantId: 1, key: 'a' }));
    await settled();
    for (let n = 0; n < many; n += 1) await statements[n]?.finish();
    await Promise.all(calls);
    const seen = looks.reduce((sum, spy) => sum + spy.mock.calls.filter(([of]) => of === 'a').length, 0);
    for (const spy of looks) spy.mockRestore();
    return seen / many;
  };
  const few = await looksPerCall(20);
  expect(few).toBeGreaterThan(0);
  expect(await looksPerCall(400)).toBeLessThanOrEqual(few + 1);
});
