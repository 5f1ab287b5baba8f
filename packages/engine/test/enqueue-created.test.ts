import { afterAll, beforeAll, expect, test } from 'vitest';
import type { NewAction } from '../src/index.ts';
import { type Contacts, keepContacts, type TestEngine, testEngine } from '../testing/index.ts';

let t: TestEngine;
let contacts: Contacts;
beforeAll(async () => {
  t = await testEngine();
  contacts = await keepContacts(t.db);
});
afterAll(() => t.close());

type Lane = { tenantId: number; laneId: string };
const soon = () => new Date(t.clock().getTime() + 60_000);
const put = (lane: Lane, more: Partial<NewAction> = {}) =>
  t.engine.enqueue(t.db, { ...lane, kind: 'x', channel: 'c', ...more }, { created: true });
const claim = (lane: Lane) => t.engine.claim(t.db, { ...lane, channel: 'c', worker: 'w', leaseMs: 60_000 });

test.each<[string, (lane: Lane) => Promise<unknown>, Partial<NewAction>, string]>([
  ['an empty lane', async () => {}, {}, 'NEXT_CONTACT'],
  ['all options', async () => {}, { ...everything(), tags: ['a', 'b'] }, 'NOT_BEFORE'],
  ['a paused lane', (lane) => t.engine.pauseLane(t.db, lane), {}, 'LANE_PAUSED'],
  ['a blocked lane', (lane) => t.engine.blockLane(t.db, lane, 'broken'), {}, 'LANE_BLOCKED'],
  [
    'a paused tag',
    () => t.engine.pause(t.db, { tenantId: 1, tag: 'off' }),
    { tags: ['on', 'off'] },
    'TAG_PAUSED',
  ],
  ['another that waits', (lane) => put(lane), {}, 'BEHIND'],
  [
    'another that runs',
    async (lane) => [await put(lane), await claim(lane)],
    { priority: 'urgent' },
    'BEHIND',
  ],
  ['one of less haste', (lane) => put(lane), { priority: 'urgent' }, 'NEXT_CONTACT'],
  ['one of another way', (lane) => put(lane, { channel: 'other' }), {}, 'NEXT_CONTACT'],
  [
    'an urgent one of another way, whose worker was heard of',
    async (lane) => [
      await put(lane, { channel: 'other', priority: 'urgent' }),
      await contacts.heard(lane, 'other', soon()),
    ],
    {},
    'BEHIND_URGENT',
  ],
  ['one that is not due', (lane) => put(lane, { notBefore: soon() }), {}, 'NEXT_CONTACT'],
  [
    'one that it replaces',
    (lane) => put(lane, { supersede: { key: 'k', mode: 'replace' } }),
    { supersede: { key: 'k', mode: 'replace' } },
    'NEXT_CONTACT',
  ],
  [
    'a runner whose slots are taken',
    async (lane) => {
      const runnerId = await t.engine.createRunner(t.db, 1, 1);
      const taken = await t.lane();
      await t.engine.assignRunner(t.db, lane, runnerId);
      await t.engine.assignRunner(t.db, taken, runnerId);
      await put(taken);
      await t.engine.claimSlots(t.db, {
        tenantId: 1,
        runnerId,
        channel: 'c',
        worker: 'w',
        leaseMs: 60_000,
        max: 1,
      });
    },
    {},
    'NO_FREE_SLOT',
  ],
])('G1: enqueue with created returns what a look-up would show: %s', async (_name, before, more, code) => {
  const lane = await t.lane();
  await before(lane);
  const { id, created } = await put(lane, more);
  const {
    space: _space,
    laneName: _laneName,
    ...view
  } = (await t.engine.get(t.db, 1, id)) as NonNullable<Awaited<ReturnType<typeof t.engine.get>>>;
  expect(created).toEqual(view);
  expect(created?.waitingFor?.code).toBe(code);
});

function everything(): Partial<NewAction> {
  const at = (day: number) => new Date(Date.UTC(2030, 0, day));
  return {
    ...{ priority: 'urgent', notBefore: at(1), deliverBy: at(2), deadline: at(3), maxAttempts: 7 },
    ...{
      headOfLine: 'hold',
      createdBy: 'me',
      payload: { b: [1, { c: null }], a: 'é' },
      idempotencyKey: 'once',
    },
  };
}

test('G1: several of one statement stand behind each other', async () => {
  const lane = await t.lane();
  const made = await t.engine.enqueueMany(
    t.db,
    (['normal', 'urgent', 'normal', 'urgent'] as const).map((priority) => ({ ...lane, kind: 'x', priority })),
    { created: true },
  );
  const ids = made.map((one) => ('id' in one ? one.id : ''));
  expect(made.map((one) => ('id' in one ? (one.created?.waitingFor?.actionId ?? null) : one))).toEqual([
    ...[null, null, ids[0], ids[1]],
  ]);
});

test('G1: it returns the action as created, whatever has become of it since, and nothing that existed before', async () => {
  const lane = await t.lane();
  const waiting = t.engine.claim(t.db, {
    ...lane,
    channel: 'c',
    worker: 'w',
    leaseMs: 60_000,
    waitMs: 60_000,
  });
  await expect.poll(() => t.engine.parkedWaiters).toBe(1);
  const made = await put(lane, { idempotencyKey: 'again' });
  expect(await waiting).toMatchObject({ id: made.id });
  expect(made.created).toMatchObject({ state: 'pending', attempt: 0, waitingFor: { code: 'NEXT_CONTACT' } });
  expect(await put(lane, { idempotencyKey: 'again' })).toEqual({
    id: made.id,
    outcome: 'present',
  });
});

test('a door says why it waits, where nothing of the engine comes before', async () => {
  t.engine.giveReasons('door', async (_client, waiting) => {
    return new Map(waiting.map(({ id }) => [id, { place: 'offline', code: 'AWAY', text: 'Away.' }]));
  });
  const lane = await t.lane();
  const explained = async () => {
    const { created } = await put(lane, { channel: 'door' });
    if (!created) throw new Error('not created');
    return (await t.engine.explain(t.db, created)).waitingFor;
  };
  expect(await explained()).toEqual({ code: 'AWAY', text: 'Away.' });
  expect(await explained()).toMatchObject({ code: 'BEHIND' });
  await t.engine.pauseLane(t.db, lane);
  expect(await explained()).toMatchObject({ code: 'LANE_PAUSED' });
});
