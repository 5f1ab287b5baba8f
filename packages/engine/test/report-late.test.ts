import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ReportRequest } from '../src/index.ts';
import { type TestEngine, testEngine } from '../testing/index.ts';

let t: TestEngine;
beforeAll(async () => {
  t = await testEngine();
});
afterAll(() => t.close());

const next = { channel: 'any', worker: 'worker', leaseMs: 60_000 };
const LEASE = 10_000;
async function running(more: Parameters<TestEngine['enqueue']>[1] = {}) {
  const lane = await t.lane();
  const id = await t.enqueue(lane.laneId, more);
  await t.claim(lane.laneId, 'worker', LEASE);
  return { ...lane, id };
}
const release = (id: string, attempt: number) =>
  t.engine.release(t.db, { tenantId: 1, actionId: id, attempt });
const cancel = (id: string) => t.engine.cancel(t.db, { tenantId: 1, actionId: id });
const redrive = (id: string) => t.engine.redrive(t.db, { tenantId: 1, actionId: id });
const late = { accepted: false, reason: 'LATE' };

describe('a late success', () => {
  test('G18: after the lease ended it is accepted, and the action never runs again', async () => {
    const { laneId, id } = await running({ kind: 'WIPE' });
    const second = await t.enqueue(laneId);
    await t.pass(LEASE);
    expect(await t.report(id, 1, 'succeeded', { result: 'done', next })).toMatchObject({
      accepted: true,
      state: 'succeeded',
      next: { id: second },
    });
    expect(await t.eventTypes(id)).toEqual(['CREATED', 'SENT', 'TIMEOUT', 'RETRY_SCHEDULED', 'SUCCEEDED']);
    expect(await t.engine.get(t.db, 1, id)).toMatchObject({ state: 'succeeded', result: 'done', attempt: 1 });
    await t.pass(600_000);
    expect(await t.state(id)).toBe('succeeded');
  });

  test('G18: is accepted when the retry has become due but was not handed out', async () => {
    const { id } = await running();
    await t.pass(LEASE);
    await t.pass(60_000);
    expect(await t.report(id, 1)).toMatchObject({ accepted: true, state: 'succeeded' });
  });

  test('G17 G18: is LATE once the action was handed out again', async () => {
    const { laneId, id } = await running();
    await t.pass(LEASE);
    await t.pass(60_000);
    await t.claim(laneId, 'other');
    expect(await t.report(id, 1)).toMatchObject({ ...late, state: 'claimed' });
    expect(await t.report(id, 2)).toMatchObject({ accepted: true, state: 'succeeded' });
    expect(await t.report(id, 1)).toMatchObject({ ...late, state: 'succeeded' });
  });

  test('G17 G18: is LATE when the action was handed out again and is pending once more', async () => {
    const { laneId, id } = await running();
    await t.pass(LEASE);
    await t.pass(60_000);
    await t.claim(laneId, 'other', LEASE);
    await t.pass(LEASE);
    expect(await t.report(id, 1)).toMatchObject({ ...late, state: 'pending' });
    expect(await t.report(id, 2)).toMatchObject({ accepted: true, state: 'succeeded' });
  });

  test('G2 G18: takes back a failure that came only from TIMEOUT', async () => {
    const { id } = await running({ maxAttempts: 1 });
    await t.pass(LEASE);
    expect(await t.engine.get(t.db, 1, id)).toMatchObject({ state: 'failed', reason: 'TIMEOUT' });
    expect(await t.report(id, 1, 'succeeded', { result: 7 })).toMatchObject({
      accepted: true,
      state: 'succeeded',
    });
    expect(await t.engine.get(t.db, 1, id)).toMatchObject({
      state: 'succeeded',
      reason: 'SUCCEEDED',
      result: 7,
    });
    expect(await t.eventTypes(id)).toEqual(['CREATED', 'SENT', 'TIMEOUT', 'FAILED_FINAL', 'SUCCEEDED']);
    expect(await redrive(id)).toMatchObject({ outcome: 'refused', state: 'succeeded' });
  });

  test('G18: takes back the failure of an action whose lease end means failure', async () => {
    const { id } = await running({ onLeaseEnd: 'fail' });
    await t.pass(LEASE);
    expect(await t.report(id, 1)).toMatchObject({ accepted: true, state: 'succeeded' });
  });

  test.each<[string, (id: string, laneId: string) => Promise<unknown>, string]>([
    ['it was reported as failed', (id) => t.report(id, 1, 'failed'), 'failed'],
    ['its deadline was over', () => t.pass(20_000), 'failed'],
    ['it was cancelled', (id) => cancel(id).then(() => t.report(id, 1, 'failed')), 'cancelled'],
  ])('G17 G18: is LATE when %s', async (name, happens, state) => {
    const { laneId, id } = await running({
      maxAttempts: 1,
      ...(name.includes('deadline') ? { deadline: new Date(t.clock().getTime() + 5_000) } : {}),
    });
    await happens(id, laneId);
    expect(await t.state(id)).toBe(state);
    expect(await t.report(id, 1)).toMatchObject({ ...late, state });
    expect(await t.state(id)).toBe(state);
  });

  test('G17 G18: for a timed-out action that was redriven and handed out again it is LATE', async () => {
    const { laneId, id } = await running({ maxAttempts: 1 });
    await t.pass(LEASE);
    await redrive(id);
    await t.claim(laneId, 'other');
    expect(await t.report(id, 1)).toMatchObject({ ...late, state: 'claimed' });
    expect(await t.report(id, 2)).toMatchObject({ accepted: true });
  });

  test('G18: is accepted after a release if the action has not been handed out since', async () => {
    const { id } = await running();
    await release(id, 1);
    expect(await t.report(id, 1)).toMatchObject({ accepted: true, state: 'succeeded' });
  });

  test('G11 G18: while the lane runs another action it changes nothing there', async () => {
    const { laneId, id } = await running();
    const second = await t.enqueue(laneId);
    await t.pass(LEASE);
    expect(await t.claim(laneId, 'worker')).toMatchObject({ id: second });
    expect(await t.report(id, 1)).toMatchObject({ accepted: true, state: 'succeeded' });
    expect(await t.state(second)).toBe('claimed');
    expect(await t.report(second, 1)).toMatchObject({ accepted: true });
  });
});

describe('any other late report', () => {
  test('G17: a late failure changes nothing and is recorded once, with its worker', async () => {
    const { id } = await running();
    await t.pass(LEASE);
    for (let n = 0; n < 3; n += 1)
      expect(await t.report(id, 1, 'failed', { worker: 'w9' })).toMatchObject({ ...late, state: 'pending' });
    expect(await t.eventTypes(id)).toEqual(['CREATED', 'SENT', 'TIMEOUT', 'RETRY_SCHEDULED', 'LATE']);
    expect((await t.engine.events(t.db, 1, id)).at(-1)).toMatchObject({
      attempt: 1,
      worker: 'w9',
      reason: 'FAILED',
    });
    expect((await t.engine.get(t.db, 1, id))?.failures).toBe(1);
  });

  test('G17: an attempt that was never handed out is LATE, before and after the running one', async () => {
    const { id } = await running();
    expect(await t.report(id, 2)).toMatchObject({ ...late, state: 'claimed' });
    expect(await t.report(id, 2_000_000_000, 'failed')).toMatchObject({ ...late, state: 'claimed' });
    expect(await t.report(id, 1)).toMatchObject({ accepted: true, state: 'succeeded' });
    expect(await t.report(id, 2)).toMatchObject({ ...late, state: 'succeeded' });
  });

  test('G17: a report for an action that was never handed out is LATE', async () => {
    const { laneId } = await t.lane();
    const id = await t.enqueue(laneId);
    expect(await t.report(id, 1)).toMatchObject({ ...late, state: 'pending' });
    expect((await t.claim(laneId))?.attempt).toBe(1);
    expect(await t.report(id, 1)).toMatchObject({ accepted: true });
  });

  test.each<ReportRequest['status']>(['failed', 'notNow'])(
    'G19: a late %s brings the next action, never the same one',
    async (status) => {
      const { laneId, id } = await running();
      const second = await t.enqueue(laneId);
      await t.pass(LEASE);
      await t.pass(60_000);
      const answer = await t.report(id, 1, status, { next });
      expect(answer).toMatchObject({ ...late, next: { id: second } });
      expect(await t.report(second, 1, 'succeeded', { next })).toMatchObject({ next: { id, attempt: 2 } });
    },
  );

  test('G13 G19: a late report does not pass an action that holds the lane', async () => {
    const { laneId, id } = await running({ headOfLine: 'hold' });
    await t.enqueue(laneId);
    await t.pass(LEASE);
    expect(await t.report(id, 1, 'failed', { next })).toMatchObject({ ...late, next: null });
    await t.pass(60_000);
    expect(await t.report(id, 1, 'failed', { next })).toMatchObject({ ...late, next: null });
    expect(await t.claim(laneId)).toMatchObject({ id, attempt: 2 });
  });

  test('G19: a late report of the only action brings nothing', async () => {
    const { id } = await running();
    await t.pass(LEASE);
    await t.pass(60_000);
    expect(await t.report(id, 1, 'failed', { next })).toMatchObject({ ...late, next: null });
    expect(await t.state(id)).toBe('pending');
  });

  test('G19: a late report does not redeliver the running attempt', async () => {
    const { laneId, id } = await running();
    await t.pass(LEASE);
    await t.pass(60_000);
    await t.claim(laneId, 'worker');
    expect(await t.report(id, 1, 'succeeded', { next })).toMatchObject({ ...late, next: null });
  });
});

describe('the same report again', () => {
  const later: Record<string, (id: string, laneId: string) => Promise<unknown>> = {
    'nothing else happened': async () => {},
    'the retry was handed out': async (_id, laneId) => {
      await t.pass(600_000);
      await t.claim(laneId, 'other');
    },
    'it was cancelled': (id) => cancel(id),
    'it was moved': (id) => t.engine.moveToFront(t.db, { tenantId: 1, actionId: id }),
    'it was made due': (id) => t.engine.makeDue(t.db, { tenantId: 1, actionId: id }),
    'its deadline was over': () => t.pass(7_200_000),
    'a later attempt succeeded': async (id, laneId) => {
      await t.pass(600_000);
      await t.claim(laneId, 'other');
      await t.report(id, 2);
    },
  };
  test.each(
    (['failed', 'notNow', 'release'] as const).flatMap((how) =>
      Object.keys(later).map((then) => ({ how, then })),
    ),
  )('G16: $how is answered the same way when $then', async ({ how, then }) => {
    const { laneId, id } = await running({
      deadline: new Date(t.clock().getTime() + 3_600_000),
      maxAttempts: 9,
    });
    const report = () => (how === 'release' ? release(id, 1) : t.report(id, 1, how));
    const first = await report();
    expect(first).toMatchObject({ accepted: true, repeated: false, state: 'pending' });
    await later[then]?.(id, laneId);
    const before = await t.engine.get(t.db, 1, id);
    const events = await t.eventTypes(id);
    expect(await report()).toEqual({ ...first, repeated: true, settled: false });
    expect(await t.engine.get(t.db, 1, id)).toEqual(before);
    expect(await t.eventTypes(id)).toEqual(events);
  });

  test.each<[string, ReportRequest['status'], boolean, string]>([
    ['a success', 'succeeded', false, 'succeeded'],
    ['a success under a requested cancel', 'succeeded', true, 'succeeded'],
    ['the last failure', 'failed', false, 'failed'],
    ['a failure under a requested cancel', 'failed', true, 'cancelled'],
    ['a NotNow under a requested cancel', 'notNow', true, 'cancelled'],
  ])('G16: %s is answered the same way, also after a redrive', async (_name, status, cancelled, state) => {
    const { id } = await running({ maxAttempts: 1 });
    if (cancelled) await cancel(id);
    const first = await t.report(id, 1, status);
    expect(first).toMatchObject({ accepted: true, state });
    expect(await t.report(id, 1, status)).toEqual({ ...first, repeated: true, settled: false });
    await redrive(id);
    expect(await t.report(id, 1, status)).toEqual({ ...first, repeated: true, settled: false });
  });

  test('G16: a late success that was accepted is accepted again', async () => {
    const { id } = await running();
    await t.pass(LEASE);
    const first = await t.report(id, 1);
    expect(await t.report(id, 1)).toEqual({ ...first, repeated: true });
    expect((await t.eventTypes(id)).filter((type) => type === 'SUCCEEDED')).toHaveLength(1);
  });

  test('G16 G35: a hundred times at once it is accepted once and otherwise answered as a repetition', async () => {
    const { id } = await running();
    const answers = await Promise.all(Array.from({ length: 100 }, () => t.report(id, 1)));
    expect(answers.every((answer) => answer.accepted && answer.state === 'succeeded')).toBe(true);
    expect(answers.filter((answer) => !answer.repeated)).toHaveLength(1);
    expect(await t.eventTypes(id)).toEqual(['CREATED', 'SENT', 'SUCCEEDED']);
  });
});

test('G29: a report of an attempt that a raised generation has revoked is LATE', async () => {
  const one = await running();
  await t.engine.raiseGeneration(t.db, one);
  expect(await t.report(one.id, 1)).toMatchObject({ ...late, state: 'cancelled' });
});
