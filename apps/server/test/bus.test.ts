import { createEngine, type Engine } from '@muster/engine';
import { settledUpTo, type TestClock, testClock, testDatabase } from '@muster/engine/testing';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Alerts } from '../src/alerts/alerts.ts';
import { Bus, RECEIVES } from '../src/bus/bus.ts';
import { VISIBLE_MS } from '../src/bus/consumer.ts';
import { type DeadLetter, type Received, Unusable } from '../src/bus/subscription.ts';
import { LINES } from '../src/database/migrations.ts';

const TENANT = 1;
const errors: string[] = [];
const registry = new Registry();
const log = { warn: () => {}, error: (_: object, text: string) => errors.push(text) } as never;

interface Body {
  readonly n: number;
}
let engine: Engine;
let bus: Bus;
let clock: TestClock;
let close: () => Promise<void>;
const taken: Received<Body>[] = [];
const givenUp: DeadLetter<Body>[] = [];
let bad: (message: Received<Body>) => Error | null = () => null;
const others: number[] = [];

beforeAll(async () => {
  const database = await testDatabase({ lines: LINES });
  clock = testClock();
  engine = createEngine(database.db, { clock, depthLimit: 20 });
  bus = new Bus({ alerts: new Alerts({ engine, log, registry }), engine, log });
  bus.subscribe<Body>({
    topic: 'numbers',
    name: 'first',
    async take(tx, messages) {
      for (const message of messages) {
        const error = bad(message);
        if (error) throw error;
      }
      await tx.query({ text: 'select 1' });
      if ('afterCommit' in tx)
        (tx as { afterCommit(run: () => void): void }).afterCommit(() => void taken.push(...messages));
    },
    giveUp: async (_, letter) => void givenUp.push(letter),
  });
  bus.subscribe<Body>({
    topic: 'numbers',
    name: 'second',
    take: async (_, messages) => void others.push(...messages.map(({ body }) => body.n)),
  });
  await engine.start();
  await bus.start();
  close = async () => {
    await bus.stop();
    await engine.stop();
    await database.drop();
  };
});
afterAll(() => close());

const publish = (messages: readonly { key: string; n: number }[]) =>
  engine.db.transaction((tx) =>
    bus.publish(
      tx,
      'numbers',
      messages.map(({ key, n }) => ({ tenantId: TENANT, key, body: { n } })),
    ),
  );
const ofKey = (key: string) => taken.filter((one) => one.key === key).map(({ body }) => body.n);
const states = async () => (await engine.list(engine.db, { tenantId: TENANT, channel: 'bus' })).actions;
/** Time passes, and housekeeping does its work. */
async function pass(ms: number): Promise<void> {
  clock.advance(ms);
  for (const duty of ['end-leases', 'make-due', 'bus-dead-letters']) await engine.runDuty(duty);
}

test('every subscription gets every message once, in the order of its key, even if a lane cannot hold them all', async () => {
  const all = Array.from({ length: 150 }, (_, n) => ({ key: n % 3 === 0 ? 'one' : `key ${n % 40}`, n }));
  await publish(all);
  await expect.poll(() => taken.length).toBe(all.length);
  await expect.poll(() => others.length).toBe(all.length);
  for (const key of new Set(all.map((one) => one.key)))
    expect(ofKey(key)).toEqual(all.filter((one) => one.key === key).map(({ n }) => n));
  expect(new Set(others).size).toBe(all.length);
});

test('a rolled-back message was never published, and no subscriber takes an uncommitted one', async () => {
  const before = taken.length;
  await expect(
    engine.db.transaction(async (tx) => {
      await bus.publish(tx, 'numbers', [{ tenantId: TENANT, key: 'undone', body: { n: 1 } }]);
      throw new Error('undo');
    }),
  ).rejects.toThrow('undo');
  await publish([{ key: 'done', n: 2 }]);
  await expect.poll(() => ofKey('done')).toEqual([2]);
  expect(taken.length).toBe(before + 1);
});

test('a bad message fails alone, holds up only its own lane, and is retried in its place', async () => {
  let tries = 0;
  bad = ({ key, receives }) => {
    if (key !== 'bad' || receives > 1) return null;
    tries += 1;
    return new Error('not now');
  };
  await publish([
    { key: 'bad', n: 1 },
    { key: 'fine', n: 2 },
    { key: 'bad', n: 3 },
  ]);
  await expect.poll(() => ofKey('fine')).toEqual([2]);
  expect(ofKey('bad')).toEqual([]);
  await expect
    .poll(async () => {
      await pass(1_000);
      return ofKey('bad');
    })
    .toEqual([1, 3]);
  expect(tries).toBeGreaterThan(0);
});

test('a message that may succeed later is queued again three times with growing delays, then given up with an alert', async () => {
  bad = ({ key }) => (key === 'later' ? new Error('database is away') : null);
  await publish([{ key: 'later', n: 1 }]);
  const letter = async () =>
    (await states()).find(({ kind, payload }) => kind === 'first' && hasKey(payload, 'later'));
  const dead = async (attempt: number) =>
    expect
      .poll(async () => {
        await pass(1_000);
        const { state, attempt: at } = (await letter()) ?? {};
        return { state, at };
      })
      .toEqual({ state: 'failed', at: attempt });
  for (const [round, seconds] of [30, 120, 480].entries()) {
    await dead(3 * (round + 1));
    await pass(1);
    await pass((seconds - 10) * 1_000);
    expect((await letter())?.state).toBe('failed');
    await pass(10_000);
  }
  await dead(12);
  await pass(1);
  expect(givenUp.map(({ key, error }) => ({ key, error }))).toEqual([
    { key: 'later', error: 'Error: database is away' },
  ]);
  expect(errors.at(-1)).toMatch(/^A first message could not be consumed: Error: database is away/);
  await settledUpTo(engine.db);
  const notes = (await engine.feed.read(engine.db, { tenantId: TENANT, limit: 100_000 })).events;
  expect(notes.filter(({ reason }) => reason === 'alert.raised')).toHaveLength(1);
  expect(await registry.getSingleMetricAsString('muster_alerts_total')).toMatch(
    /\{name="bus.dead-letter"\} 1$/m,
  );
  await pass(86_400_000);
  expect((await letter())?.state).toBe('failed');

  bad = () => null;
  await engine.redrive(engine.db, { tenantId: TENANT, actionId: (await letter())?.id as string });
  await expect.poll(() => ofKey('later')).toEqual([1]);
});

test('a message whose consumer dies is retried after 30 s; after three deaths it is a dead letter that is queued again', async () => {
  expect([RECEIVES, VISIBLE_MS]).toEqual([3, 30_000]);
  await bus.stop();
  const { rows } = await engine.db.query({
    text: `select runner_id from muster.bus_subscriptions where subscription = 'first'`,
  });
  /** Messages claimed by a node that never reports them. */
  const die = () =>
    engine.claimSlots(engine.db, {
      ...{ tenantId: TENANT, runnerId: rows[0].runner_id, channel: 'bus' },
      ...{ worker: 'a dead node', leaseMs: VISIBLE_MS, max: 64 },
    });
  await publish([{ key: 'lost', n: 1 }]);
  for (let receive = 1; receive <= RECEIVES; receive += 1) {
    expect((await die()).map(({ attempt }) => attempt)).toEqual([receive]);
    await pass(VISIBLE_MS - 1);
    expect(await die()).toEqual([]);
    await pass(1);
    await pass(5_000); // the pause before the next try
  }
  const letter = async () =>
    (await states()).find(({ kind, payload }) => kind === 'first' && hasKey(payload, 'lost'));
  expect(await letter()).toMatchObject({ state: 'failed', attempt: RECEIVES });
  await bus.start();
  await pass(30_000);
  await expect.poll(() => ofKey('lost')).toEqual([1]);
});

test('a message that can never succeed is given up at once, after its three tries', async () => {
  bad = ({ key }) => (key === 'never' ? new Unusable('it has no head') : null);
  await publish([{ key: 'never', n: 1 }]);
  await expect
    .poll(async () => {
      await pass(1_000);
      return givenUp.map(({ key }) => key);
    })
    .toEqual(['later', 'never']);
  bad = () => null;
});

const hasKey = (payload: unknown, key: string) => (payload as { key: string }).key === key;
