import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { EVENT_TYPES } from '../src/index.ts';
import {
  runnerLoad,
  type TellingEffect,
  type TestEngine,
  tellingEffect,
  testEngine,
} from '../testing/index.ts';

let t: TestEngine;
let door: TellingEffect;
beforeAll(async () => {
  t = await testEngine({ onError: () => {} });
  door = await tellingEffect(t.engine, 'door', 'door');
});
beforeEach(async () => {
  await door.forget();
  await door.accept();
});
afterAll(() => t.close());

const states = async (id: string) =>
  (await door.told()).filter(({ actionId }) => actionId === id).map(({ state }) => state);
const REFUSED = 'division by zero';
const claim = (laneId: string, leaseMs = 10_000) =>
  t.engine.claim(t.db, { tenantId: 1, laneId, channel: 'door', worker: 'w', leaseMs });
async function running(more: Parameters<TestEngine['enqueue']>[1] = {}) {
  const lane = await t.lane();
  const id = await t.enqueue(lane.laneId, { channel: 'door', ...more });
  await claim(lane.laneId);
  return { ...lane, id };
}

test('G50: an effect gets all transitions of its channel in a statement, in the same transaction', async () => {
  const { laneId } = await t.lane();
  await t.enqueue(laneId, { channel: 'other' });
  expect(await door.told()).toEqual([]);
  const id = await t.enqueue(laneId, { channel: 'door' });
  await claim(laneId);
  await t.report(id, 1, 'failed', { error: 'no' });
  expect(await door.told()).toMatchObject([
    { actionId: id, laneId, tenantId: 1, events: ['CREATED'], state: 'pending', attempt: 0 },
    { actionId: id, events: ['SENT'], state: 'claimed', attempt: 1 },
    { actionId: id, events: ['FAILED', 'RETRY_SCHEDULED'], state: 'pending', attempt: 1, reason: 'no' },
  ]);
  // there a row tells the transaction of its server
  if (t.db.isDistributed) return;
  const { rows } = await t.db.query({
    text: 'select distinct t.xmin::text = e.xmin::text as same from told_door t join muster.events e on e.action_id = t.action_id and e.type = t.events[1]',
  });
  expect(rows).toEqual([{ same: true }]);
});

test.each<[string, (one: { id: string; laneId: string }) => Promise<unknown>, string[], string]>([
  ['success', ({ id }) => t.report(id, 1), ['SUCCEEDED'], 'succeeded'],
  ['NotNow', ({ id }) => t.report(id, 1, 'notNow'), ['NOT_NOW', 'RETRY_SCHEDULED'], 'pending'],
  [
    'release',
    ({ id }) => t.engine.release(t.db, { tenantId: 1, actionId: id, attempt: 1 }),
    ['RELEASED'],
    'pending',
  ],
  ['redelivery', ({ laneId }) => claim(laneId), ['REDELIVERED'], 'claimed'],
  [
    'requested cancel',
    ({ id }) => t.engine.cancel(t.db, { tenantId: 1, actionId: id }),
    ['CANCEL_REQUESTED'],
    'claimed',
  ],
  [
    'raised generation',
    ({ laneId }) => t.engine.raiseGeneration(t.db, { tenantId: 1, laneId }),
    ['CANCELLED'],
    'cancelled',
  ],
  ['lease end', () => t.pass(10_000), ['TIMEOUT', 'RETRY_SCHEDULED'], 'pending'],
])('G42 G50: the effect of a %s gets the events that were written', async (_name, happens, events, state) => {
  const one = await running();
  await happens(one);
  const own = (await door.told()).filter((transition) => transition.actionId === one.id).slice(2);
  expect(own).toMatchObject([{ events, state, attempt: 1 }]);
  expect((await t.eventTypes(one.id)).slice(2)).toEqual(events);
});

test.each<[string, object, string[], string]>([
  ['deliver-by', { deliverBy: new Date('2026-06-01') }, ['EXPIRED'], 'expired'],
  ['deadline', { deadline: new Date('2026-06-01') }, ['FAILED_FINAL'], 'failed'],
])('G50: housekeeping reports an expired %s', async (_name, more, events, state) => {
  const { laneId } = await t.lane();
  const id = await t.enqueue(laneId, { channel: 'door', ...more });
  t.clock.advanceTo(new Date(Math.max(t.clock().getTime(), Date.parse('2026-06-01'))));
  await door.forget();
  await t.pass(0);
  expect(await door.told()).toMatchObject([{ actionId: id, events, state, attempt: 0 }]);
  t.clock.advanceTo(new Date('2026-03-01T12:00:00Z'));
});

describe('a failing effect', () => {
  test('G50: undoes the transition and fails the call with its own error', async () => {
    const { id } = await running();
    await door.refuse('action', id);
    await expect(t.report(id, 1)).rejects.toThrow(REFUSED);
    expect(await t.state(id)).toBe('claimed');
    expect(await states(id)).toEqual(['pending', 'claimed']);
    await door.accept(id);
    expect(await t.report(id, 1)).toMatchObject({ accepted: true });
  });

  test('G36 G50: among many gathered calls it fails only the bad one', async () => {
    const all = await Promise.all(Array.from({ length: 20 }, () => running()));
    const worst = all[7]?.id as string;
    await door.refuse('action', worst);
    const results = await Promise.allSettled(all.map(({ id }) => t.report(id, 1)));
    expect(results.map((result) => result.status)).toEqual(
      all.map(({ id }) => (id === worst ? 'rejected' : 'fulfilled')),
    );
    expect(await t.state(worst)).toBe('claimed');
    for (const { id } of all.filter((one) => one.id !== worst)) expect(await t.state(id)).toBe('succeeded');
  });

  test('G40 G50: in housekeeping it only keeps its own lease from ending', async () => {
    const all = await Promise.all(Array.from({ length: 12 }, () => running({ maxAttempts: 1 })));
    const worst = [all[3]?.id as string, all[8]?.id as string];
    await door.refuse('action', ...worst);
    await t.pass(10_000).catch(() => {});
    for (const { id } of all) expect(await t.state(id)).toBe(worst.includes(id) ? 'claimed' : 'failed');
    await door.accept();
    await t.pass(1_000);
    for (const id of worst) expect(await t.state(id)).toBe('failed');
    for (const { id } of all) expect(await states(id)).toEqual(['pending', 'claimed', 'failed']);
  });

  test('G40 G50: in housekeeping it only keeps its own action from expiring', async () => {
    const lanes = await Promise.all(Array.from({ length: 6 }, () => t.lane()));
    const ids: string[] = [];
    for (const { laneId } of lanes)
      ids.push(
        await t.enqueue(laneId, { channel: 'door', deliverBy: new Date(t.clock().getTime() + 1_000) }),
      );
    const worst = ids[2] as string;
    await door.refuse('action', worst);
    await t.pass(1_000).catch(() => {});
    for (const id of ids) expect(await t.state(id)).toBe(id === worst ? 'pending' : 'expired');
    await door.accept();
    await t.pass(1_000);
  });
});

test('G48 G50: in a transaction of the caller the effect is rolled back with it', async () => {
  const { id } = await running();
  await expect(
    t.db.transaction(async (tx) => {
      await t.engine.report(tx, { tenantId: 1, actionId: id, attempt: 1, status: 'succeeded' });
      throw new Error('the caller rolls back');
    }),
  ).rejects.toThrow('the caller rolls back');
  expect(await states(id)).toEqual(['pending', 'claimed']);
  expect(await t.state(id)).toBe('claimed');
});

test('G50: facts of an effect come with the hand-out, and are published after the commit', async () => {
  const told: unknown[] = [];
  t.engine.addEffect({
    name: 'knowing',
    channels: ['knowing'],
    sql: (own) => ({
      steps: `${own('i')} as materialized (select * from ${own('tr')})`,
      facts: `select i.action_id, jsonb_build_object('state', i.state, 'events', i.events) as facts from ${own('i')} i`,
    }),
    afterCommit: (facts) => void told.push(...facts),
  });
  const { laneId } = await t.lane();
  const ids: string[] = [];
  for (const channel of ['knowing', 'other', 'knowing']) ids.push(await t.enqueue(laneId, { channel }));
  const facts = (...events: (keyof typeof EVENT_TYPES)[]) => ({
    state: 'claimed',
    events: events.map((event) => EVENT_TYPES[event]),
  });
  const knowing = { tenantId: 1, laneId, channel: 'knowing', worker: 'w', leaseMs: 1_000 };
  expect(await t.engine.claim(t.db, knowing)).toMatchObject({ id: ids[0], facts: facts('SENT') });
  expect(await t.engine.claim(t.db, knowing)).toMatchObject({
    redelivered: true,
    facts: facts('REDELIVERED'),
  });
  const next = { ...knowing, channel: 'other' };
  const { next: second } = await t.report(ids[0] as string, 1, 'succeeded', { next });
  expect(second).toMatchObject({ id: ids[1] });
  expect(second?.facts).toBeUndefined();
  expect(await t.report(ids[1] as string, 1, 'succeeded', { next: knowing })).toMatchObject({
    next: { id: ids[2], facts: facts('SENT') },
  });
  expect(told).toHaveLength(6);
  await t.db
    .transaction(async (tx) => {
      await t.engine.report(tx, { tenantId: 1, actionId: ids[2] as string, attempt: 1, status: 'succeeded' });
      throw new Error('the caller rolls back');
    })
    .catch(() => {});
  expect(told).toHaveLength(6);
});

describe('a hand-out that is also a success', () => {
  beforeAll(async () => {
    await t.db.query({ text: 'create table silent (action_id bigint primary key)' });
    if (t.db.isDistributed) await t.db.query({ text: `select create_reference_table('silent')` });
    t.engine.addEffect({
      name: 'silent',
      channels: ['silent'],
      sql: (own) => ({
        steps: `${own('w')} as (insert into told_door (action_id, events, state) select action_id, events, state from ${own('tr')} order by n)`,
      }),
      endsOnDelivery: (row) => `exists (select 1 from silent x where x.action_id = ${row}.action_id)`,
    });
  });
  const silently = async (laneId: string) => {
    const id = await t.enqueue(laneId, { channel: 'silent' });
    await t.db.query({ text: 'insert into silent values ($1)', values: [id] });
    return id;
  };
  const both = ['CREATED', 'SENT', 'SUCCEEDED'];

  test('G50: ends the action at once, and leaves its lane free for the next', async () => {
    const { laneId } = await t.lane();
    const ids = [
      await silently(laneId),
      await silently(laneId),
      await t.enqueue(laneId, { channel: 'silent' }),
    ];
    const ask = { tenantId: 1, laneId, channel: 'silent', worker: 'w', leaseMs: 1_000 };
    expect(await t.engine.claim(t.db, ask)).toMatchObject({ id: ids[0], attempt: 1, redelivered: false });
    expect(await t.eventTypes(ids[0] as string)).toEqual(both);
    expect(await t.engine.claim(t.db, ask)).toMatchObject({ id: ids[1] });
    expect(await t.engine.get(t.db, 1, ids[1] as string)).toMatchObject({
      ...{ state: 'succeeded', reason: 'SUCCEEDED', attempt: 1 },
    });
    expect(await t.engine.claim(t.db, ask)).toMatchObject({ id: ids[2] });
    expect(await t.state(ids[2] as string)).toBe('claimed');
    expect(await states(ids[1] as string)).toEqual(['pending', 'claimed', 'succeeded']);
  });

  test('G50: as the next action of a report too, and waiters for the lane are woken', async () => {
    const { laneId } = await t.lane();
    const first = await t.enqueue(laneId, { channel: 'silent' });
    const second = await silently(laneId);
    const third = await t.enqueue(laneId, { channel: 'silent' });
    const ask = { tenantId: 1, laneId, channel: 'silent', leaseMs: 1_000 };
    await t.engine.claim(t.db, { ...ask, worker: 'w' });
    const waiting = t.engine.claim(t.db, { ...ask, worker: 'waiting', waitMs: 60_000 });
    await expect.poll(() => t.engine.parkedWaiters).toBe(1);
    const said = await t.report(first, 1, 'succeeded', { channel: 'silent', next: { ...ask, worker: 'w' } });
    expect(said.next).toMatchObject({ id: second, attempt: 1 });
    expect(await t.eventTypes(second)).toEqual(both);
    expect(await waiting).toMatchObject({ id: third, worker: 'waiting' });
    expect(await t.report(second, 1)).toMatchObject({ accepted: true, repeated: true });
  });

  test('G39 G50: the next waiter gets the next action', async () => {
    const lane = await t.lane();
    await t.engine.pauseLane(t.db, lane);
    const ids = [await silently(lane.laneId), await t.enqueue(lane.laneId, { channel: 'silent' })];
    const ask = { ...lane, channel: 'silent', leaseMs: 1_000, waitMs: 20_000 };
    const waiting = ['a', 'b'].map((worker) => t.engine.claim(t.db, { ...ask, worker }));
    await expect.poll(() => t.engine.parkedWaiters).toBe(2);
    await t.engine.resumeLane(t.db, lane);
    expect((await Promise.all(waiting)).map((action) => action?.id).sort()).toEqual(ids);
  });

  test('G50: and takes no slot of a runner', async () => {
    const runnerId = await t.engine.createRunner(t.db, 1, 1);
    const lanes = [await t.lane(), await t.lane()];
    for (const { laneId } of lanes) {
      await t.engine.assignRunner(t.db, { tenantId: 1, laneId }, runnerId);
      await silently(laneId);
    }
    const ask = { tenantId: 1, runnerId, channel: 'silent', worker: 'w', leaseMs: 1_000, max: 1 };
    for (const _ of lanes) expect(await t.engine.claimSlots(t.db, ask)).toHaveLength(1);
    expect(await runnerLoad(t.engine, 1, runnerId)).toMatchObject({ running: 0 });
  });
});

test('two effects have two names', async () => {
  await expect(tellingEffect(t.engine, 'silent', 'x')).rejects.toThrow('already taken');
});
