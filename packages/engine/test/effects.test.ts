import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Queryable, Transition } from '../src/index.ts';
import { type TestEngine, testEngine } from '../testing/index.ts';

let t: TestEngine;
const told: Transition[][] = [];
let bad = new Set<string>();
/** A door's own table, written by its effect. */
async function effect(client: Queryable, transitions: readonly Transition[]): Promise<void> {
  told.push([...transitions]);
  for (const transition of transitions) {
    await client.query({
      text: 'insert into milestones (action_id, state) values ($1, $2)',
      values: [transition.actionId, transition.state],
    });
    if (bad.has(transition.actionId)) throw new Error('the door cannot do that');
  }
}
beforeAll(async () => {
  t = await testEngine({ onError: () => {} });
  await t.db.query({ text: 'create table milestones (action_id bigint not null, state text not null)' });
  t.engine.onTransitions('door', effect);
});
beforeEach(() => {
  told.length = 0;
  bad = new Set();
});
afterAll(() => t.close());

const milestones = async (id: string) =>
  (await t.db.query({ text: 'select state from milestones where action_id = $1', values: [id] })).rows.map(
    (row) => row.state,
  );
const claim = (laneId: string, leaseMs = 10_000) =>
  t.engine.claim(t.db, { tenantId: 1, laneId, channel: 'door', worker: 'w', leaseMs });
async function running(more: Parameters<TestEngine['enqueue']>[1] = {}) {
  const lane = await t.lane();
  const id = await t.enqueue(lane.laneId, { channel: 'door', ...more });
  await claim(lane.laneId);
  told.length = 0;
  return { ...lane, id };
}

test('G50: an effect gets all transitions of a statement of its channel, in the same transaction', async () => {
  const { laneId } = await t.lane();
  await t.enqueue(laneId, { channel: 'other' });
  expect(told).toEqual([]);
  const id = await t.enqueue(laneId, { channel: 'door' });
  await claim(laneId);
  await t.report(id, 1, 'failed', { error: 'no' });
  expect(told.flat()).toMatchObject([
    { actionId: id, laneId, tenantId: 1, events: ['CREATED'], state: 'pending', attempt: 0 },
    { actionId: id, events: ['SENT'], state: 'claimed', attempt: 1 },
    { actionId: id, events: ['FAILED', 'RETRY_SCHEDULED'], state: 'pending', attempt: 1, reason: 'no' },
  ]);
  expect(await milestones(id)).toEqual(['pending', 'claimed', 'pending']);
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
])(
  'G42 G50: the effect of a %s is told the events that were written',
  async (_name, happens, events, state) => {
    const one = await running();
    await happens(one);
    const own = told.flat().filter((transition) => transition.actionId === one.id);
    expect(own).toMatchObject([{ events, state, attempt: 1 }]);
    expect((await t.eventTypes(one.id)).slice(2)).toEqual(events);
    expect((await milestones(one.id)).at(-1)).toBe(state);
  },
);

test.each<[string, object, string[], string]>([
  ['deliver-by', { deliverBy: new Date('2026-06-01') }, ['EXPIRED'], 'expired'],
  ['deadline', { deadline: new Date('2026-06-01') }, ['FAILED_FINAL'], 'failed'],
])('G50: housekeeping tells of a %s that is over', async (_name, more, events, state) => {
  const { laneId } = await t.lane();
  const id = await t.enqueue(laneId, { channel: 'door', ...more });
  t.clock.advanceTo(new Date(Math.max(t.clock().getTime(), Date.parse('2026-06-01'))));
  told.length = 0;
  await t.pass(0);
  expect(told.flat()).toMatchObject([{ actionId: id, events, state, attempt: 0 }]);
  t.clock.advanceTo(new Date('2026-03-01T12:00:00Z'));
});

describe('an effect that throws', () => {
  test('G50: undoes the transition and fails the call with its own error', async () => {
    const { id } = await running();
    bad.add(id);
    await expect(t.report(id, 1)).rejects.toThrow('the door cannot do that');
    expect(await t.state(id)).toBe('claimed');
    expect(await milestones(id)).toEqual(['pending', 'claimed']);
    bad.delete(id);
    expect(await t.report(id, 1)).toMatchObject({ accepted: true });
  });

  test('G36 G50: among many gathered calls it fails only the bad one', async () => {
    const all = await Promise.all(Array.from({ length: 20 }, () => running()));
    const worst = all[7]?.id as string;
    bad.add(worst);
    const results = await Promise.allSettled(all.map(({ id }) => t.report(id, 1)));
    expect(results.map((result) => result.status)).toEqual(
      all.map(({ id }) => (id === worst ? 'rejected' : 'fulfilled')),
    );
    expect(await t.state(worst)).toBe('claimed');
    for (const { id } of all.filter((one) => one.id !== worst)) expect(await t.state(id)).toBe('succeeded');
  });

  test('G40 G50: in housekeeping it keeps only its own lease from ending', async () => {
    const all = await Promise.all(Array.from({ length: 12 }, () => running({ maxAttempts: 1 })));
    const worst = [all[3]?.id as string, all[8]?.id as string];
    for (const id of worst) bad.add(id);
    await t.pass(10_000).catch(() => {});
    for (const { id } of all) expect(await t.state(id)).toBe(worst.includes(id) ? 'claimed' : 'failed');
    bad.clear();
    await t.pass(1_000);
    for (const id of worst) expect(await t.state(id)).toBe('failed');
    for (const { id } of all) expect(await milestones(id)).toEqual(['pending', 'claimed', 'failed']);
  });

  test('G40 G50: in housekeeping it keeps only its own action from expiring', async () => {
    const lanes = await Promise.all(Array.from({ length: 6 }, () => t.lane()));
    const ids: string[] = [];
    for (const { laneId } of lanes)
      ids.push(
        await t.enqueue(laneId, { channel: 'door', deliverBy: new Date(t.clock().getTime() + 1_000) }),
      );
    bad.add(ids[2] as string);
    await t.pass(1_000).catch(() => {});
    for (const id of ids) expect(await t.state(id)).toBe(bad.has(id) ? 'pending' : 'expired');
    bad.clear();
    await t.pass(1_000);
  });
});

test('G48 G50: in a transaction of the caller the effect is rolled back with it', async () => {
  const { id } = await running();
  await expect(
    t.db.transaction(async (tx) => {
      await t.engine.report(tx, { tenantId: 1, actionId: id, attempt: 1, status: 'succeeded' });
      throw new Error('the caller changed his mind');
    }),
  ).rejects.toThrow('changed his mind');
  expect(await milestones(id)).toEqual(['pending', 'claimed']);
  expect(await t.state(id)).toBe('claimed');
});

test('G50: an effect may use the engine in the same transaction', async () => {
  t.engine.onTransitions('chain', async (client, transitions) => {
    for (const { laneId, state } of transitions)
      if (state === 'succeeded') await t.engine.enqueue(client, { tenantId: 1, laneId, kind: 'follow-up' });
  });
  const { laneId } = await t.lane();
  const id = await t.enqueue(laneId, { channel: 'chain' });
  await t.engine.claim(t.db, { tenantId: 1, laneId, channel: 'chain', worker: 'w', leaseMs: 1_000 });
  await t.report(id, 1);
  expect(await t.claim(laneId)).toMatchObject({ kind: 'follow-up' });
});

test('a channel has one effect', () => {
  expect(() => t.engine.onTransitions('door', effect)).toThrow('has an effect already');
});
