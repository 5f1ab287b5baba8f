import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type TestEngine, testEngine } from '../testing/index.ts';

let t: TestEngine;
beforeAll(async () => {
  t = await testEngine();
});
afterAll(() => t.close());

const HOUR = 3_600_000;
const makeDue = (actionId: string, reason?: string) =>
  t.engine.makeDue(t.db, { tenantId: 1, actionId, reason });
const later = () => new Date(t.clock().getTime() + HOUR);
const reasonOf = async (id: string) => (await t.engine.get(t.db, 1, id))?.waitingFor?.code;

test('G14: an action that waits for its time is handed out at once, at its own place, and the history shows it', async () => {
  const { laneId } = await t.lane();
  const id = await t.enqueue(laneId, { notBefore: later() });
  const behind = await t.enqueue(laneId);
  expect(await reasonOf(id)).toBe('NOT_BEFORE');
  expect(await makeDue(id, 'hurry')).toEqual({ outcome: 'due', state: 'pending' });
  expect((await t.engine.events(t.db, 1, id)).at(-1)).toMatchObject({
    type: 'MADE_DUE',
    reason: 'hurry',
    attempt: 0,
  });
  expect(await reasonOf(id)).toBe('NEXT_CONTACT');
  expect(await reasonOf(behind)).toBe('BEHIND');
  expect(await t.claim(laneId)).toMatchObject({ id, attempt: 1 });
});

describe.each(['skip', 'hold'] as const)('a retry under %s', (headOfLine) => {
  test('G13 G14: a waiting retry is tried at once, before later actions', async () => {
    const { laneId } = await t.lane();
    const id = await t.enqueue(laneId, { headOfLine, backoffMs: HOUR });
    await t.enqueue(laneId);
    await t.claim(laneId);
    await t.report(id, 1, 'failed');
    expect(await reasonOf(id)).toBe('RETRY');
    expect(await makeDue(id)).toEqual({ outcome: 'due', state: 'pending' });
    expect(await t.claim(laneId)).toMatchObject({ id, attempt: 2 });
    // the failure still counts
    expect(await t.engine.get(t.db, 1, id)).toMatchObject({ failures: 1 });
  });
});

test('G14: an action that a worker put off by "not now" is handed out at once', async () => {
  const { laneId } = await t.lane();
  const id = await t.enqueue(laneId);
  await t.claim(laneId);
  await t.engine.report(t.db, {
    ...{ tenantId: 1, actionId: id, attempt: 1 },
    ...{ status: 'notNow', retryAfterMs: HOUR },
  });
  expect(await t.claim(laneId)).toBeNull();
  await makeDue(id);
  expect(await t.claim(laneId)).toMatchObject({ id, attempt: 2 });
});

test.each<[string, (id: string, laneId: string) => Promise<unknown>, string]>([
  ['waits for no time', async () => {}, 'pending'],
  ['was made due', (id) => makeDue(id), 'pending'],
  ['runs', (_id, laneId) => t.claim(laneId), 'claimed'],
  ['was cancelled', (id) => t.engine.cancel(t.db, { tenantId: 1, actionId: id }), 'cancelled'],
])('G14: an action that %s is not made due', async (_name, happens, state) => {
  const { laneId } = await t.lane();
  const id = await t.enqueue(laneId);
  await happens(id, laneId);
  const events = await t.eventTypes(id);
  expect(await makeDue(id)).toEqual({ outcome: 'refused', state });
  expect(await t.eventTypes(id)).toEqual(events);
});

test('G14 G35: of many calls at once one makes it due', async () => {
  const { laneId } = await t.lane();
  const id = await t.enqueue(laneId, { notBefore: later() });
  const answers = await Promise.all(Array.from({ length: 20 }, () => makeDue(id)));
  expect(answers.filter(({ outcome }) => outcome === 'due')).toHaveLength(1);
  expect((await t.eventTypes(id)).filter((type) => type === 'MADE_DUE')).toHaveLength(1);
});

test('G14 G22: by filter every matching action that waits for a time is made due, and nothing else', async () => {
  const { laneId } = await t.lane();
  const ids = [
    await t.enqueue(laneId, { kind: 'bulk', notBefore: later() }),
    await t.enqueue(laneId, { kind: 'bulk', notBefore: later() }),
  ];
  const ready = await t.enqueue(laneId, { kind: 'bulk' });
  const other = await t.enqueue(laneId, { kind: 'other', notBefore: later() });
  const filter = { tenantId: 1, laneId, kind: 'bulk' };
  expect(await t.engine.makeDueMatching(t.db, { ...filter, state: 'failed' })).toEqual({ due: 0 });
  const seen: string[] = [];
  const allowOne = async (_tx: unknown, found: readonly string[]) => {
    seen.push(...found);
    return found.slice(0, 1);
  };
  expect(await t.engine.makeDueMatching(t.db, filter, 'now', allowOne)).toEqual({ due: 1 });
  expect(seen).toEqual(ids);
  expect(await t.engine.makeDueMatching(t.db, filter, 'now')).toEqual({ due: 1 });
  for (const id of ids) expect(await t.eventTypes(id)).toContain('MADE_DUE');
  expect(await t.eventTypes(ready)).toEqual(['CREATED']);
  expect(await reasonOf(other)).toBe('NOT_BEFORE');
});

test('G14 G31: an action of a pool that waits for its time goes to the next worker', async () => {
  const poolId = await t.engine.ensurePool(t.db, 1, 'pool', 'due');
  const { laneId } = await t.lane();
  await t.engine.joinPool(t.db, { tenantId: 1, laneId }, poolId);
  const id = await t.enqueue(poolId, { notBefore: later(), channel: 'work' });
  await makeDue(id);
  const by = { tenantId: 1, poolId, laneId, channel: 'work', worker: 'w', leaseMs: 1_000 };
  expect(await t.engine.claimFromPool(t.db, by)).toMatchObject({ kind: 'claimed', action: { id } });
});

test('G51: another tenant cannot make it due', async () => {
  const { laneId } = await t.lane();
  const id = await t.enqueue(laneId, { notBefore: later() });
  expect(await t.engine.makeDue(t.db, { tenantId: 2, actionId: id })).toMatchObject({ outcome: 'unknown' });
  expect(await t.engine.makeDueMatching(t.db, { tenantId: 2 })).toEqual({ due: 0 });
});
