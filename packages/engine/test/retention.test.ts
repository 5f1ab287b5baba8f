import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { settledUpTo } from '../testing/feed-reader.ts';
import { brokenInvariants, type TestEngine, testEngine } from '../testing/index.ts';

/** prune and keep-days: what is deleted, and what never is. */
const DAY = 86_400_000;
let t: TestEngine;
beforeAll(async () => {
  t = await testEngine({ retentionDays: 14 });
});
beforeEach(() => t.engine.runDuty('keep-days'));
afterAll(() => t.close());

const partitions = async (): Promise<string[]> =>
  (
    await t.db.query({
      text: `select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where i.inhparent = 'muster.events'::regclass order by 1`,
    })
  ).rows.map((row) => row.relname);
const dayOf = (ms = 0) =>
  `events_${new Date(t.clock().getTime() + ms).toISOString().slice(0, 10).replaceAll('-', '')}`;
const pass = async (days: number) => {
  for (let n = 0; n < days; n += 1) {
    t.clock.advance(DAY);
    await t.engine.runDuty('prune');
    await t.engine.runDuty('keep-days');
  }
};

test('G41: the days of the history are made a week ahead, and there is no default partition', async () => {
  const names = await partitions();
  for (let n = -1; n <= 7; n += 1) expect(names).toContain(dayOf(n * DAY));
  expect(names).not.toContain('events_default');
  expect(names).toContain('events_past');
});

test('G41: a finished action is deleted after its days: action, ending, key, tags, and then its events', async () => {
  const { laneId } = await t.lane();
  const id = await t.enqueue(laneId, { idempotencyKey: 'gone', tags: ['a', 'b'] });
  await t.claim(laneId);
  await t.report(id, 1);
  await pass(14);
  expect(await t.state(id)).toBe('succeeded');
  expect(await t.eventTypes(id)).toEqual(['CREATED', 'SENT', 'SUCCEEDED']);
  await pass(2);
  expect(await t.state(id)).toBe('unknown');
  for (const table of ['actions', 'endings', 'idempotency_keys', 'action_tags'])
    expect(
      (await t.db.query({ text: `select 1 from muster.${table} where action_id = $1`, values: [id] })).rows,
    ).toEqual([]);
  await pass(2);
  expect(await t.eventTypes(id)).toEqual([]);
  expect(await brokenInvariants(t.db)).toEqual([]);
});

test('G41: an unfinished action keeps all of its history, however old', async () => {
  const { laneId } = await t.lane();
  const id = await t.enqueue(laneId, { maxAttempts: 9, idempotencyKey: 'stays' });
  await t.claim(laneId);
  await t.report(id, 1, 'failed');
  const events = await t.engine.events(t.db, 1, id);
  await pass(40);
  expect(await t.engine.events(t.db, 1, id)).toEqual(events);
  expect(await t.report(id, 1, 'failed')).toMatchObject({ accepted: true, repeated: true });
  await t.pass(0);
  expect(await t.claim(laneId)).toMatchObject({ id, attempt: 2 });
  await t.report(id, 2);
  await pass(13);
  expect((await t.engine.events(t.db, 1, id)).slice(0, 4)).toEqual(events);
  await pass(4);
  expect(await t.eventTypes(id)).toEqual([]);
});

test.each(['runs', 'has ended since', 'is tried again'])(
  'G41 G43: a slow reader finds the SENT that a pruned ending carried, of an action that %s',
  async (how) => {
    const { laneId } = await t.lane();
    const next = { channel: 'any', worker: 'worker', leaseMs: 24 * DAY };
    const from = await t.engine.feed.cursor(t.db, 'end');
    const first = await t.enqueue(laneId);
    const second = await t.enqueue(laneId, { maxAttempts: 9 });
    await t.claim(laneId);
    await t.report(first, 1, 'succeeded', { next });
    await settledUpTo(t.db);
    const ofSecond = async () =>
      (await t.engine.feed.read(t.db, { cursor: from })).events.filter((event) => event.actionId === second);
    const [created, sent] = await ofSecond();
    await pass(10);
    if (how === 'has ended since') await t.report(second, 1);
    if (how === 'is tried again') await t.report(second, 1, 'failed');
    const history = await t.engine.events(t.db, 1, second);
    await pass(10);
    expect(await t.state(first)).toBe('unknown');
    await settledUpTo(t.db);
    expect((await ofSecond()).slice(0, 2)).toEqual([created, sent]);
    expect((await ofSecond()).map((event) => event.type)).toEqual(history.map((event) => event.type));
    expect(await t.engine.events(t.db, 1, second)).toEqual(history);
    if (how !== 'has ended since') await t.engine.cancel(t.db, { tenantId: 1, actionId: second });
    if (how === 'runs') await t.report(second, 1, 'failed');
    await pass(18);
    expect(await ofSecond()).toEqual([]);
  },
);

test('G41: a SENT that an ending carried, and so was not written on its day, is written when it is needed', async () => {
  const { laneId } = await t.lane();
  const first = await t.enqueue(laneId);
  const second = await t.enqueue(laneId);
  await t.claim(laneId, 'worker', 24 * DAY);
  t.clock.advance(100 * DAY); // this day has no partition, and a success needs none
  const next = { channel: 'any', worker: 'worker', leaseMs: 24 * DAY };
  await t.report(first, 1, 'succeeded', { next });
  expect(await partitions()).not.toContain(dayOf());
  const at = t.clock();
  t.clock.advance(20 * DAY);
  await t.report(second, 1, 'failed');
  expect((await t.engine.events(t.db, 1, second))[1]).toMatchObject({ type: 'SENT', at });
});

test('G41: old days are dropped, so the number of partitions stays the same', async () => {
  await pass(20);
  const before = (await partitions()).length;
  await pass(10);
  expect((await partitions()).length).toBe(before);
});

test('G41: a redriven action is not deleted with its old ending', async () => {
  const { laneId } = await t.lane();
  const id = await t.enqueue(laneId, { maxAttempts: 1 });
  await t.claim(laneId);
  await t.report(id, 1, 'failed');
  await pass(10);
  await t.engine.redrive(t.db, { tenantId: 1, actionId: id });
  await pass(10);
  expect(await t.state(id)).toBe('pending');
  expect((await t.eventTypes(id)).slice(0, 2)).toEqual(['CREATED', 'SENT']);
});

test('G41: a missing day is made by the write that needs it, in every kind of call', async () => {
  const lane = await t.lane();
  const ids = await Promise.all(Array.from({ length: 3 }, () => t.enqueue(lane.laneId)));
  // CREATED is the action itself; what it replaces has an event
  const supersede = { key: 'k', mode: 'replace' as const };
  await t.enqueue(lane.laneId, { supersede });
  const calls: [string, () => Promise<unknown>][] = [
    ['enqueue', () => t.enqueue(lane.laneId, { supersede })],
    ['enqueueMany', () => t.engine.enqueueMany(t.db, [{ ...lane, kind: 'x', supersede }])],
    ['claim', () => t.claim(lane.laneId, 'w', 1_000)],
    ['end-leases', () => t.engine.runDuty('end-leases')],
    ['cancel', () => t.engine.cancel(t.db, { tenantId: 1, actionId: ids[2] as string })],
    ['raiseGeneration', () => t.engine.raiseGeneration(t.db, lane)],
  ];
  for (const [name, call] of calls) {
    t.clock.advance(30 * DAY);
    await expect(call(), name).resolves.toBeDefined();
    expect(await partitions(), name).toContain(dayOf());
  }
});

test('G40 G41: two leaders that make and drop days at once do not disturb each other', async () => {
  t.clock.advance(20 * DAY);
  const results = await Promise.allSettled(Array.from({ length: 4 }, () => t.engine.runDuty('keep-days')));
  expect(results.some((result) => result.status === 'fulfilled')).toBe(true);
  await t.engine.runDuty('keep-days');
  expect(await partitions()).toContain(dayOf(7 * DAY));
});

test('G40: two leaders that prune at once delete and count each action once', async () => {
  const { laneId } = await t.lane();
  for (let n = 0; n < 20; n += 1) {
    const id = await t.enqueue(laneId);
    await t.engine.cancel(t.db, { tenantId: 1, actionId: id });
  }
  t.clock.advance(15 * DAY);
  await Promise.all([t.engine.runDuty('prune'), t.engine.runDuty('prune')]);
  await t.engine.runDuty('prune');
  expect((await t.engine.list(t.db, { tenantId: 1, laneId })).actions).toEqual([]);
  expect(await brokenInvariants(t.db)).toEqual([]);
});
