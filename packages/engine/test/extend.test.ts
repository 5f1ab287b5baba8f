import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestEngine, testEngine } from '../testing/index.ts';

let t: TestEngine;
beforeAll(async () => {
  t = await testEngine();
});
afterAll(() => t.close());

const at = (ms: number) => new Date(t.clock().getTime() + ms);
async function running(more: Parameters<TestEngine['enqueue']>[1] = {}, leaseMs = 10_000) {
  const { laneId } = await t.lane();
  const id = await t.enqueue(laneId, more);
  await t.claim(laneId, 'w', leaseMs);
  return { laneId, id };
}
const extend = (
  id: string,
  leaseMs: number,
  more: { attempt?: number; mostMs?: number; channel?: string } = {},
) => t.engine.extend(t.db, { tenantId: 1, actionId: id, attempt: 1, leaseMs, ...more });

test('G33: a lease is extended from now, and the history shows it', async () => {
  const { id } = await running();
  t.clock.advance(6_000);
  expect(await extend(id, 10_000)).toEqual({
    extended: true,
    leaseUntil: at(10_000),
    cancelRequested: false,
  });
  expect((await t.engine.events(t.db, 1, id)).at(-1)).toMatchObject({
    type: 'EXTENDED',
    attempt: 1,
    worker: 'w',
  });
  await t.pass(9_999);
  expect(await t.state(id)).toBe('claimed');
  await t.pass(1);
  expect(await t.state(id)).toBe('pending');
});

test('G33: a lease is never made shorter', async () => {
  const { id } = await running();
  const until = at(10_000);
  expect(await extend(id, 1_000)).toMatchObject({ extended: true, leaseUntil: until });
});

test('G8 G33: never past the deadline, nor past the longest lease', async () => {
  const deadline = at(15_000);
  const { id } = await running({ deadline });
  expect(await extend(id, 60_000)).toMatchObject({ leaseUntil: deadline });
  const other = await running();
  expect(await extend(other.id, 60_000, { mostMs: 20_000 })).toMatchObject({ leaseUntil: at(20_000) });
  t.clock.advance(5_000);
  expect(await extend(other.id, 60_000, { mostMs: 20_000 })).toMatchObject({ leaseUntil: at(15_000) });
});

test('G7 G33: an expired lease is extended as long as housekeeping has not ended it', async () => {
  const { id } = await running();
  t.clock.advance(60_000);
  expect(await extend(id, 5_000)).toMatchObject({ extended: true, leaseUntil: at(5_000) });
  await t.pass(0);
  expect(await t.state(id)).toBe('claimed');
});

test.each<[string, (id: string) => Promise<unknown>, number]>([
  ['has ended', (id) => t.report(id, 1), 1],
  ['was given back', (id) => t.engine.release(t.db, { tenantId: 1, actionId: id, attempt: 1 }), 1],
  ['timed out', () => t.pass(10_000), 1],
  ['was never handed out', async () => {}, 2],
])('G33: an attempt that %s is not extended', async (_name, happens, attempt) => {
  const { id } = await running();
  await happens(id);
  const events = await t.eventTypes(id);
  expect(await extend(id, 5_000, { attempt })).toEqual({
    extended: false,
    leaseUntil: null,
    cancelRequested: false,
  });
  expect(await t.eventTypes(id)).toEqual(events);
});

test('G21 G33: the worker learns of a requested cancel', async () => {
  const { id } = await running();
  await t.engine.cancel(t.db, { tenantId: 1, actionId: id });
  expect(await extend(id, 5_000)).toMatchObject({ extended: true, cancelRequested: true });
});

test('G12: an action of another channel cannot be found', async () => {
  const lane = await t.lane();
  const id = await t.enqueue(lane.laneId, { channel: 'mine' });
  await t.engine.claim(t.db, { ...lane, channel: 'mine', worker: 'w', leaseMs: 1_000 });
  expect(await extend(id, 5_000, { channel: 'other' })).toMatchObject({ extended: false });
  expect(await extend(id, 5_000, { channel: 'mine' })).toMatchObject({ extended: true });
});

test('G7 G33: an action may have a lease length of its own, however it is claimed', async () => {
  const runnerId = await t.engine.createRunner(t.db, 1, null);
  const own = { leaseMs: 1_234, channel: 'c' };
  const by = { tenantId: 1, channel: 'c', worker: 'w', leaseMs: 60_000 };
  const lane = async () => {
    const { laneId } = await t.lane();
    await t.engine.assignRunner(t.db, { tenantId: 1, laneId }, runnerId);
    return laneId;
  };
  const lasts = (action: { leasedAt: Date; leaseUntil: Date } | null | undefined) =>
    action && action.leaseUntil.getTime() - action.leasedAt.getTime();
  const a = await lane();
  const first = await t.enqueue(a, own);
  await t.enqueue(a, own);
  await t.enqueue(a, { channel: 'c' });
  const claimed = await t.engine.claim(t.db, { ...by, laneId: a });
  expect(lasts(claimed)).toBe(1_234);
  const report = { tenantId: 1, status: 'succeeded', next: by } as const;
  const second = await t.engine.report(t.db, { ...report, actionId: first, attempt: 1 });
  expect(lasts(second.next)).toBe(1_234);
  const third = await t.engine.report(t.db, { ...report, actionId: second.next?.id ?? '', attempt: 1 });
  expect(lasts(third.next)).toBe(60_000);
  const b = await lane();
  await t.enqueue(b, own);
  expect((await t.engine.claimSlots(t.db, { ...by, runnerId, max: 9 })).map(lasts)).toEqual([1_234]);
  const c = await lane();
  const named = await t.enqueue(c, own);
  const wish = { ...by, runnerId, actionIds: [named] };
  expect((await t.engine.claimNamedMany(t.db, [wish])).flat().map(lasts)).toEqual([1_234]);
  const d = await lane();
  const actions = [{ laneId: d, kind: 'k', ...own }];
  const made = (await t.engine.enqueueAndClaimMany(t.db, [{ ...by, runnerId, actions }])).flat();
  expect(made.map(lasts)).toEqual([1_234]);
  const extended = await t.engine.extend(t.db, { ...by, actionId: named, attempt: 1 });
  expect(extended.leaseUntil).toEqual(new Date(t.clock().getTime() + 1_234));
});
