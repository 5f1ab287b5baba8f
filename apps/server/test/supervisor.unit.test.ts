import { AggregatorRegistry } from 'prom-client';
import { expect, test } from 'vitest';
import { Member } from '../src/processes/member.ts';
import type { FromMember, Metrics, ToMember } from '../src/processes/messages.ts';
import { type Child, Supervisor } from '../src/processes/supervisor.ts';

/** Processes and a clock controlled by the test. */
function stage(count: number) {
  let now = 0;
  const timers = new Set<{ readonly at: number; readonly then: () => void }>();
  const children: FakeChild[] = [];
  const lines: object[] = [];
  class FakeChild implements Child {
    readonly pid = children.length + 1;
    readonly sent: ToMember[] = [];
    readonly signals: string[] = [];
    say: (message: FromMember) => void = () => {};
    end: (code: number | null) => void = () => {};
    send(message: ToMember) {
      this.sent.push(message);
    }
    kill(signal: string) {
      this.signals.push(signal);
    }
    onMessage(heard: (message: FromMember) => void) {
      this.say = heard;
    }
    onExit(ended: (code: number | null) => void) {
      this.end = ended;
    }
    last<T extends ToMember['muster']>(what: T) {
      return this.sent.findLast(({ muster }) => muster === what) as Extract<ToMember, { muster: T }>;
    }
    listen() {
      this.say({ muster: 'listening', url: `http://${this.pid}`, operatorToken: { from: 'issued' } });
    }
  }
  const supervisor = new Supervisor({
    count,
    stopMs: 25_000,
    fork() {
      const child = new FakeChild();
      children.push(child);
      return child;
    },
    log: (_, more) => lines.push(more),
    now: () => now,
    later(ms, then) {
      const timer = { at: now + ms, then };
      timers.add(timer);
      return () => timers.delete(timer);
    },
  });
  return {
    supervisor,
    children,
    lines,
    child: (n: number) => children[n - 1] as FakeChild,
    advance(ms: number) {
      now += ms;
      for (const timer of [...timers])
        if (timer.at <= now) {
          timers.delete(timer);
          timer.then();
        }
    },
  };
}

type Stage = Pick<ReturnType<typeof stage>, 'advance' | 'child'>;

async function started(count: number) {
  const made = stage(count);
  const start = made.supervisor.start();
  made.child(1).listen();
  await Promise.resolve();
  await expect.poll(() => made.children.length).toBe(count);
  for (const child of made.children.slice(1)) child.listen();
  return { ...made, first: await start };
}

test('the others start when the first one listens, which speaks for all', async () => {
  const { supervisor, children, child } = stage(3);
  const start = supervisor.start();
  expect(children.length).toBe(1);
  child(1).listen();
  await expect.poll(() => children.length).toBe(3);
  child(2).listen();
  child(3).listen();
  expect(await start).toMatchObject({ url: 'http://1' });
});

test('a first process that cannot serve is not replaced, and its exit code is the result', async () => {
  const { supervisor, children, child, advance } = stage(2);
  const start = supervisor.start();
  child(1).end(1);
  expect(await start).toEqual({ code: 1 });
  advance(100_000);
  expect(children.length).toBe(1);
});

test('a process that ends is replaced, with growing delays while it keeps ending', async () => {
  const { advance, child, children, lines } = await started(2);
  child(2).end(null);
  advance(999);
  expect(children.length).toBe(2);
  advance(1);
  expect(children.length).toBe(3);
  for (const pause of [2_000, 4_000, 8_000, 16_000, 30_000, 30_000]) {
    const before = children.length;
    children.at(-1)?.end(1);
    expect(lines.at(-1)).toEqual({ process: before, code: 1, inMs: pause });
    advance(pause);
    expect(children.length).toBe(before + 1);
  }
  children.at(-1)?.listen();
  advance(60_000);
  children.at(-1)?.end(null);
  expect(lines.at(-1)).toMatchObject({ inMs: 1_000 });
});

test('a stop ends all and waits for them; none is replaced any more', async () => {
  const { advance, child, children, supervisor } = await started(3);
  child(3).end(null);
  const stop = supervisor.stop();
  expect(child(1).signals).toEqual(['SIGTERM']);
  let over = false;
  void stop.then(() => {
    over = true;
  });
  child(1).end(0);
  await new Promise(setImmediate);
  expect(over).toBe(false);
  child(2).end(0);
  await stop;
  advance(100_000);
  expect(children.length).toBe(3);
});

test('one that does not stop is killed in the end; one that is still starting gets as long after its start', async () => {
  const { advance, child, children, lines, supervisor } = await started(3);
  child(3).end(null);
  advance(1_000);
  expect(children.length).toBe(4);
  const stop = supervisor.stop();
  child(1).end(0);
  advance(24_999);
  expect(child(2).signals).toEqual(['SIGTERM']);
  advance(1);
  expect(child(2).signals).toEqual(['SIGTERM', 'SIGKILL']);
  expect(lines.at(-1)).toEqual({ process: 2 });
  child(2).end(null);
  advance(100_000);
  expect(child(4).signals).toEqual(['SIGTERM']);
  child(4).listen();
  advance(25_000);
  expect(child(4).signals).toEqual(['SIGTERM', 'SIGKILL']);
  child(4).end(null);
  await stop;
  expect(children.map(({ signals }) => signals.length)).toEqual([1, 2, 0, 2]);
});

test('one that hangs is killed and replaced; one that answers late is not', async () => {
  const { advance, child, children, lines } = await started(3);
  const heard = (n: number) => child(n).sent.filter(({ muster }) => muster === 'alive?').length;
  for (let asked = 1; asked <= 6; asked += 1) {
    advance(5_000);
    child(1).say({ muster: 'alive' });
    expect([heard(1), heard(2), heard(3)]).toEqual([asked, asked, asked]);
  }
  advance(4_999);
  child(2).say({ muster: 'alive' }); // to the first of six questions
  expect(child(3).signals).toEqual([]);
  advance(1);
  expect(children.map(({ signals }) => signals)).toEqual([[], [], ['SIGKILL']]);
  expect(lines.at(-1)).toEqual({ process: 3 });
  child(3).end(null);
  advance(1_000);
  expect(children.length).toBe(4);
  // a start takes its time: it is not checked before it listens
  for (let n = 0; n < 10; n += 1) {
    advance(5_000);
    for (const alive of [1, 2]) child(alive).say({ muster: 'alive' });
  }
  expect([heard(4), child(4).signals.length]).toEqual([0, 0]);
});

test('if the first process itself stood still, none is killed for it', async () => {
  const { advance, child, supervisor } = await started(2);
  advance(3_600_000);
  expect(child(2).signals).toEqual([]);
  void supervisor.stop();
  const asked = child(2).sent.length;
  advance(5_000); // nor is a stopping process checked
  expect(child(2).sent.length).toBe(asked);
});

test('a process answers the check that it is alive', () => {
  const said: FromMember[] = [];
  let tell = (_: ToMember) => {};
  new Member({
    on(_, heard) {
      tell = heard;
    },
    send: (message) => said.push(message) > 0,
  });
  tell({ muster: 'alive?' });
  expect(said).toEqual([{ muster: 'alive' }]);
});

/** The metrics of a process: a counter, a histogram with one bucket, and a gauge. */
const metricsOf = (count: number): Metrics =>
  [
    { name: 'done_total', type: 'counter', values: [{ value: count, labels: { kind: 'a' } }] },
    {
      name: 'seconds',
      type: 'histogram',
      values: [{ value: count, labels: {}, metricName: 'seconds_count' }],
    },
    { name: 'waiting', type: 'gauge', values: [{ value: count, labels: {} }] },
  ].map((one) => ({ ...one, help: one.name, aggregator: 'sum' })) as unknown as Metrics;

/** The sum that one of them returns, once `others` have answered and the rest is late. */
async function shown({ advance, child }: Stage, asked: number, own: number, others: Record<number, number>) {
  child(asked).say({ muster: 'ask', id: 7, metrics: metricsOf(own) });
  for (const [n, count] of Object.entries(others)) {
    const { id } = child(Number(n)).last('metrics?');
    child(Number(n)).say({ muster: 'metrics', id, metrics: metricsOf(count) });
  }
  advance(2_000);
  const { metrics } = child(asked).last('metrics of all');
  const all = await AggregatorRegistry.aggregate([...metrics]).getMetricsAsJSON();
  return Object.fromEntries(all.map(({ name, values }) => [name, values[0]?.value]));
}

test('a scrape of one process returns those of all that answer in time', async () => {
  const made = await started(4);
  expect(await shown(made, 1, 1, { 2: 10, 3: 100 })).toEqual({ done_total: 111, seconds: 111, waiting: 111 });
  const { child } = made;
  child(1).say({ muster: 'ask', id: 8, metrics: metricsOf(1) });
  const { id } = child(2).last('metrics?');
  for (const n of [2, 3]) child(n).say({ muster: 'metrics', id, metrics: metricsOf(1) });
  const before = child(1).sent.length;
  child(4).end(null); // it will not answer
  expect(child(1).sent.length).toBe(before + 1);
  child(4).say({ muster: 'metrics', id, metrics: metricsOf(1) });
  expect(child(1).sent.length).toBe(before + 1);
});

test('counters never fall: they include processes that are late, have ended, or whose answers overtake each other', async () => {
  const made = await started(3);
  const { advance, child, children } = made;
  expect(await shown(made, 1, 1, { 2: 10, 3: 100 })).toEqual({ done_total: 111, seconds: 111, waiting: 111 });
  // late ones are added with their last known values; their waiters may be gone
  expect(await shown(made, 2, 20, { 1: 1 })).toEqual({ done_total: 121, seconds: 121, waiting: 21 });
  // read before the last one, and answered after it
  expect(await shown(made, 1, 1, { 2: 15, 3: 100 })).toEqual({ done_total: 121, seconds: 121, waiting: 116 });
  child(2).end(null);
  child(1).end(null); // the one that was asked
  advance(2_000);
  expect(children.length).toBe(5);
  for (const n of [4, 5]) child(n).listen();
  expect(await shown(made, 4, 2, { 3: 100, 5: 3 })).toEqual({ done_total: 126, seconds: 126, waiting: 105 });
});
