import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { ClaimedAction, NewAction } from '../src/index.ts';
import { type Contacts, keepContacts, type TestEngine, testEngine } from '../testing/index.ts';

/** Lanes that are served on two channels: the road, which asks all the time, and the river, which was recently seen. */
let t: TestEngine;
let contacts: Contacts;
let lane: { tenantId: number; laneId: string };
let runnerId: string;
beforeAll(async () => {
  t = await testEngine();
  contacts = await keepContacts(t.db);
});
afterAll(() => t.close());

const later = (ms: number) => new Date(t.clock().getTime() + ms);
const ROAD = { channel: 'road', worker: 'w', leaseMs: 60_000 };
const put = (channel: string, more: Partial<NewAction> = {}) => t.enqueue(lane.laneId, { channel, ...more });
const urgent = (more: Partial<NewAction> = {}) => put('river', { priority: 'urgent', ...more });
const claim = (by = ROAD) => t.engine.claim(t.db, { ...lane, ...by });
const onRunner = () => ({ tenantId: 1, runnerId, worker: 'w', leaseMs: 60_000 });

beforeEach(async () => {
  lane = await t.lane();
  runnerId = await t.engine.createRunner(t.db, 1, 5);
  await t.engine.assignRunner(t.db, lane, runnerId);
  await contacts.heard(lane, 'river', later(900_000));
});

const ids = (actions: readonly (ClaimedAction | null)[]) => actions.map((action) => action?.id ?? null);
const PATHS: Record<string, (normal: string) => Promise<(string | null)[]>> = {
  'an addressed claim': async () => ids([await claim()]).filter((id) => id !== null),
  'a claim of a runner': async () => ids(await t.engine.claimSlots(t.db, { ...onRunner(), ...ROAD, max: 5 })),
  'a claim by name': async (normal) =>
    ids((await t.engine.claimNamedMany(t.db, [{ ...onRunner(), actionIds: [normal] }]))[0] ?? []),
  'a claim by name in plain SQL': async (normal) => {
    const { rows } = await t.db.query({
      text: `select action_id from muster.claim_named_actions($1, array[1], array[$2::bigint], array['w'], array[1000], array[1], array[1], array[$3::bigint])`,
      values: [t.clock(), runnerId, normal],
    });
    return rows.map((row) => row.action_id);
  },
  'what lane_front tells': async () => {
    const { rows } = await t.db.query({
      text: `select hands_out from muster.lane_front($1, 1, $2, 'road')`,
      values: [t.clock(), lane.laneId],
      tenantId: 1,
    });
    return rows.map((row) => row.hands_out).filter((id) => id !== null);
  },
};

test.each(Object.entries(PATHS))(
  'G10: %s gives way to an urgent action on another channel',
  async (_, ask) => {
    const normal = await put('road');
    const first = await urgent();
    expect(await ask(normal)).toEqual([]);
    await t.engine.cancel(t.db, { tenantId: 1, actionId: first });
    expect(await ask(normal)).toEqual([normal]);
  },
);

test('G10: the next action of a report gives way, too', async () => {
  const [first, second] = [await put('road'), await put('road')];
  await claim();
  const waits = await urgent();
  expect((await t.report(first, 1, 'succeeded', { next: ROAD })).next).toBeNull();
  expect((await claim({ ...ROAD, channel: 'river' }))?.id).toBe(waits);
  const then = await t.report(waits, 1, 'succeeded', { next: ROAD });
  expect(then.next?.id).toBe(second);
});

test('G10 G32: an action to be created gives way, unless it is urgent itself', async () => {
  const first = await urgent();
  const make = async (more: Partial<NewAction> = {}) =>
    ids(
      (
        await t.engine.enqueueAndClaimMany(t.db, [
          { ...onRunner(), actions: [{ laneId: lane.laneId, kind: 'x', channel: 'road', ...more }] },
        ])
      )[0] ?? [],
    );
  expect(await make()).toEqual([null]);
  const [made] = await make({ priority: 'urgent' });
  expect(made).not.toBeNull();
  await t.report(made as string, 1);
  expect((await claim({ ...ROAD, channel: 'river' }))?.id).toBe(first);
});

describe('G10: nothing gives way to an urgent action of another channel', () => {
  test.each<[string, () => Promise<unknown>]>([
    ['where the worker was never seen', () => contacts.heard(lane, 'river', null).then(() => urgent())],
    [
      'where the worker was not seen recently',
      () => contacts.heard(lane, 'river', later(0)).then(() => urgent()),
    ],
    ['that is a third one, where the worker was seen', () => put('hill', { priority: 'urgent' })],
    ['that is not due', () => urgent({ notBefore: later(60_000) })],
    ['whose deliver-by is over', () => urgent({ deliverBy: later(1) }).then(() => t.clock.advance(2))],
    ['whose deadline is over', () => urgent({ deadline: later(1) }).then(() => t.clock.advance(2))],
    [
      'whose tag is paused',
      async () => {
        await urgent({ tags: ['stopped'] });
        await t.engine.pause(t.db, { tenantId: 1, tag: 'stopped' });
      },
    ],
    [
      'that waits in its place for its next try',
      async () => {
        const id = await urgent({ headOfLine: 'hold', backoffMs: 60_000 });
        await claim({ ...ROAD, channel: 'river' });
        await t.report(id, 1, 'failed');
      },
    ],
  ])('%s', async (_, before) => {
    const normal = await put('road');
    await before();
    expect((await claim())?.id).toBe(normal);
    await t.engine.resume(t.db, { tenantId: 1, tag: 'stopped' });
  });

  test('that is of an older generation', async () => {
    await urgent();
    await t.engine.raiseGeneration(t.db, lane);
    const normal = await put('road');
    expect((await claim())?.id).toBe(normal);
  });

  test('if it is urgent itself', async () => {
    await urgent();
    const id = await put('road', { priority: 'urgent' });
    expect((await claim())?.id).toBe(id);
  });
});

test('G44: a normal action names the urgent one that goes first, and until when', async () => {
  const normal = await put('road');
  const first = await urgent();
  expect((await t.engine.get(t.db, 1, normal))?.waitingFor).toEqual({
    code: 'BEHIND_URGENT',
    text: `Urgent action ${first} goes first: its worker was seen on the channel river.`,
    until: later(900_000),
    actionId: first,
  });
  expect((await t.engine.get(t.db, 1, first))?.waitingFor?.code).toBe('NEXT_CONTACT');
  t.clock.advance(900_000);
  expect((await t.engine.get(t.db, 1, normal))?.waitingFor?.code).toBe('NEXT_CONTACT');
});

describe('G38: a claim that waits for a normal action gets it', () => {
  const parked = () => expect.poll(() => t.engine.parkedWaiters).toBe(1);

  test('when the worker was not seen on the other channel for too long', async () => {
    const normal = await put('road');
    await urgent();
    const waiting = t.engine.claim(t.db, { ...lane, ...ROAD, waitMs: 60_000 });
    await parked();
    await t.pass(899_000);
    expect(t.engine.parkedWaiters).toBe(1);
    await contacts.heard(lane, 'river', later(2_000));
    await t.pass(1_500);
    expect(t.engine.parkedWaiters).toBe(1);
    await t.pass(1_500);
    expect((await waiting)?.id).toBe(normal);
  });

  test('as a runner, too', async () => {
    const normal = await put('road');
    await urgent();
    const waiting = t.engine.claimSlots(t.db, { ...onRunner(), ...ROAD, max: 1, waitMs: 60_000 });
    await parked();
    await t.pass(900_000);
    expect(ids(await waiting)).toEqual([normal]);
  });

  test('when the tag of the urgent action is paused', async () => {
    const normal = await put('road');
    await urgent({ tags: ['stopped'] });
    const waiting = t.engine.claim(t.db, { ...lane, ...ROAD, waitMs: 60_000 });
    await parked();
    await t.engine.pause(t.db, { tenantId: 1, tag: 'stopped' });
    expect((await waiting)?.id).toBe(normal);
    await t.engine.resume(t.db, { tenantId: 1, tag: 'stopped' });
  });

  test('and no claim is woken twice for it', async () => {
    await put('road');
    await urgent();
    t.clock.advance(900_000);
    expect(await t.engine.runDuty('end-precedence')).toBeGreaterThan(0);
    expect(await t.engine.runDuty('end-precedence')).toBe(0);
    t.clock.advance(1_000);
    expect(await t.engine.runDuty('end-precedence')).toBe(0);
  });
});
