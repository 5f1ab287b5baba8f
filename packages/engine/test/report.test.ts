import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type TestEngine, testEngine } from '../testing/index.ts';

let t: TestEngine;
beforeAll(async () => {
  t = await testEngine();
});
afterAll(() => t.close());

const next = { channel: 'any', worker: 'worker', leaseMs: 60_000 };
async function running(more: Parameters<TestEngine['enqueue']>[1] = {}) {
  const lane = await t.lane();
  const id = await t.enqueue(lane.laneId, more);
  await t.claim(lane.laneId);
  return { ...lane, id };
}

test('G2 G15: a success ends the action with one complete ending', async () => {
  const { id } = await running();
  t.clock.advance(500);
  expect(await t.report(id, 1, 'succeeded', { result: { n: 1 }, worker: 'w2' })).toMatchObject({
    accepted: true,
    state: 'succeeded',
    reason: null,
    repeated: false,
  });
  expect(await t.engine.get(t.db, 1, id)).toMatchObject({
    state: 'succeeded',
    attempt: 1,
    reason: 'SUCCEEDED',
    result: { n: 1 },
    endedAt: t.clock(),
    waitingFor: null,
    leaseUntil: null,
    worker: null,
  });
  expect((await t.engine.events(t.db, 1, id)).at(-1)).toEqual({
    type: 'SUCCEEDED',
    attempt: 1,
    at: t.clock(),
    worker: 'w2',
    reason: null,
  });
});

test('G15: a success is found wherever the caller thinks that it was handed out', async () => {
  const { laneId, id } = await running();
  const another = await running();
  const wrong = { leasedIn: another.laneId, next };
  expect(await t.report(id, 2, 'succeeded', wrong)).toMatchObject({
    accepted: false,
    reason: 'LATE',
    laneId,
  });
  const following = await t.enqueue(laneId);
  const answer = { accepted: true, settled: true, laneId, next: { id: following, laneId } };
  expect(await t.report(id, 1, 'succeeded', wrong)).toMatchObject(answer);
  expect(await t.report(id, 1, 'succeeded', wrong)).toMatchObject({ accepted: true, repeated: true, laneId });
  expect(await t.report(following, 1, 'succeeded', { leasedIn: laneId })).toMatchObject({ accepted: true });
  // two reports were sent together, and only one hint is right
  const more = await running();
  const both = [another, more].map((one) => ({
    ...{ tenantId: 1, actionId: one.id, attempt: 1, status: 'succeeded' as const },
    leasedIn: another.laneId,
  }));
  expect(await t.engine.reportMany(t.db, both)).toMatchObject([
    { accepted: true, laneId: another.laneId },
    { accepted: true, laneId: more.laneId },
  ]);
});

test('G15: a success may give a reason', async () => {
  const { id } = await running();
  await expect(t.report(id, 1, 'succeeded', { reason: 'no word' })).rejects.toMatchObject({
    code: 'MUSTER_BAD_VALUE',
  });
  expect(await t.report(id, 1, 'succeeded', { reason: 'BY_BELL' })).toMatchObject({ state: 'succeeded' });
  expect(await t.engine.get(t.db, 1, id)).toMatchObject({
    state: 'succeeded',
    reason: 'BY_BELL',
    error: null,
  });
  expect((await t.engine.events(t.db, 1, id)).at(-1)).toMatchObject({ type: 'SUCCEEDED', reason: 'BY_BELL' });
});

test('G4 G5: a failure waits and is tried again; after the last try it is a dead letter', async () => {
  const { laneId, id } = await running({ maxAttempts: 3 });
  for (const [attempt, base] of [
    [1, 2_000],
    [2, 4_000],
  ] as const) {
    expect(await t.report(id, attempt, 'failed', { error: `no ${attempt}` })).toMatchObject({
      accepted: true,
      state: 'pending',
    });
    const waits = (await t.engine.get(t.db, 1, id))?.waitingFor;
    expect(waits).toMatchObject({ code: 'RETRY' });
    const ms = (waits?.until?.getTime() ?? 0) - t.clock().getTime();
    expect(ms).toBeGreaterThanOrEqual(base * 0.8 - 1);
    expect(ms).toBeLessThanOrEqual(base * 1.2 + 1);
    expect(await t.claim(laneId)).toBeNull();
    await t.pass(ms + 1);
    expect(await t.claim(laneId)).toMatchObject({ id, attempt: attempt + 1 });
  }
  expect(await t.report(id, 3, 'failed', { error: 'no 3' })).toMatchObject({
    accepted: true,
    state: 'failed',
  });
  expect(await t.engine.get(t.db, 1, id)).toMatchObject({ reason: 'FAILED', error: 'no 3', attempt: 3 });
  expect(await t.eventTypes(id)).toEqual([
    ...['CREATED', 'SENT', 'FAILED', 'RETRY_SCHEDULED', 'SENT', 'FAILED', 'RETRY_SCHEDULED'],
    ...['SENT', 'FAILED', 'FAILED_FINAL'],
  ]);
});

test('G5: a wait never exceeds the maximum, however many tries there were', async () => {
  const { laneId, id } = await running({ maxAttempts: 40, backoffMs: 1_000, backoffMaxMs: 8_000 });
  const waits: number[] = [];
  for (let attempt = 1; attempt <= 36; attempt += 1) {
    await t.report(id, attempt, 'failed');
    const until = (await t.engine.get(t.db, 1, id))?.waitingFor?.until as Date;
    waits.push(until.getTime() - t.clock().getTime());
    await t.pass(9_000);
    expect(await t.claim(laneId)).toMatchObject({ attempt: attempt + 1 });
  }
  expect(Math.max(...waits)).toBeLessThanOrEqual(8_000);
  expect(Math.min(...waits.slice(3))).toBeGreaterThanOrEqual(6_399);
  expect(new Set(waits.slice(3)).size).toBeGreaterThan(5);
});

test('G5: without a wait the action is pending at once', async () => {
  const { laneId, id } = await running({ backoffMs: 0 });
  await t.report(id, 1, 'failed');
  expect(await t.claim(laneId)).toMatchObject({ id, attempt: 2 });
});

test.each(['notNow', 'release'] as const)(
  'G3 G4: every tenth %s in a row counts as a failure, the others do not',
  async (how) => {
    const { laneId, id } = await running({ maxAttempts: 2 });
    for (let attempt = 1; attempt <= 20; attempt += 1) {
      const answer =
        how === 'notNow'
          ? await t.report(id, attempt, 'notNow', { retryAfterMs: 0 })
          : await t.engine.release(t.db, { tenantId: 1, actionId: id, attempt });
      expect(answer).toMatchObject({ accepted: true, state: attempt === 20 ? 'failed' : 'pending' });
      if (attempt === 20) break;
      expect((await t.engine.get(t.db, 1, id))?.failures).toBe(attempt < 10 ? 0 : 1);
      await t.pass(600_000);
      expect(await t.claim(laneId)).toMatchObject({ id, attempt: attempt + 1 });
    }
    expect(await t.state(id)).toBe('failed');
  },
);

test('G4: an action that never reached a worker is given back, and counts neither as a failure nor towards the tenth', async () => {
  const { laneId, id } = await running({ maxAttempts: 1 });
  for (let attempt = 1; attempt <= 21; attempt += 1) {
    // nine that count: the next of their kind would be the tenth
    const status = attempt <= 9 ? 'notNow' : 'unreached';
    expect(await t.report(id, attempt, status, { retryAfterMs: 0 })).toMatchObject({ state: 'pending' });
    expect(await t.claim(laneId)).toMatchObject({ id, attempt: attempt + 1 });
  }
  expect((await t.engine.events(t.db, 1, id)).slice(-3)).toMatchObject([
    { type: 'SENT', attempt: 21 },
    { type: 'RELEASED', attempt: 21 },
    { type: 'SENT', attempt: 22 },
  ]);
  expect(await t.report(id, 22, 'notNow')).toMatchObject({ state: 'failed' });
});

test('G4: a failure in between starts the count of ten again', async () => {
  const { laneId, id } = await running({ maxAttempts: 3 });
  let attempt = 1;
  const deferNineTimes = async () => {
    for (let n = 0; n < 9; n += 1) {
      await t.report(id, attempt, 'notNow', { retryAfterMs: 0 });
      attempt = (await t.claim(laneId))?.attempt as number;
    }
  };
  await deferNineTimes();
  await t.report(id, attempt, 'failed');
  await t.pass(10_000);
  attempt = (await t.claim(laneId))?.attempt as number;
  await deferNineTimes();
  expect((await t.engine.get(t.db, 1, id))?.failures).toBe(1);
});

test('a NotNow is tried again at the worker’s time, or after the usual wait', async () => {
  const { laneId, id } = await running();
  await t.report(id, 1, 'notNow', { retryAfterMs: 30_000 });
  expect((await t.engine.get(t.db, 1, id))?.waitingFor).toMatchObject({
    code: 'NOT_NOW',
    until: new Date(t.clock().getTime() + 30_000),
  });
  await t.pass(29_999);
  expect(await t.claim(laneId)).toBeNull();
  await t.pass(1);
  expect(await t.claim(laneId)).toMatchObject({ id, attempt: 2 });
  await t.report(id, 2, 'notNow');
  expect(await t.claim(laneId)).toBeNull();
  expect(await t.eventTypes(id)).toEqual([
    ...['CREATED', 'SENT', 'NOT_NOW', 'RETRY_SCHEDULED'],
    ...['SENT', 'NOT_NOW', 'RETRY_SCHEDULED'],
  ]);
});

describe('head of line', () => {
  test('G13: under skip the lane goes on while a retry waits, and the retry keeps its old place', async () => {
    const { laneId, id } = await running({ headOfLine: 'skip' });
    const second = await t.enqueue(laneId);
    const third = await t.enqueue(laneId);
    expect(await t.report(id, 1, 'failed', { next })).toMatchObject({ next: { id: second } });
    await t.pass(5_000);
    expect(await t.report(second, 1, 'succeeded', { next })).toMatchObject({ next: { id, attempt: 2 } });
    expect(await t.report(id, 2, 'succeeded', { next })).toMatchObject({ next: { id: third } });
  });

  test('G13: under hold nothing of its class passes, but urgent actions do', async () => {
    const { laneId, id } = await running({ headOfLine: 'hold' });
    const second = await t.enqueue(laneId);
    expect(await t.report(id, 1, 'failed', { next })).toMatchObject({ accepted: true, next: null });
    expect(await t.claim(laneId)).toBeNull();
    const urgent = await t.enqueue(laneId, { priority: 'urgent' });
    expect(await t.claim(laneId)).toMatchObject({ id: urgent });
    await t.report(urgent, 1);
    await t.pass(5_000);
    expect(await t.claim(laneId)).toMatchObject({ id, attempt: 2 });
    expect(await t.report(id, 2, 'succeeded', { next })).toMatchObject({ next: { id: second } });
  });

  test('G13: under hold a NotNow with no wait lets nothing pass either', async () => {
    const { laneId, id } = await running({ headOfLine: 'hold' });
    await t.enqueue(laneId);
    expect(await t.report(id, 1, 'notNow', { retryAfterMs: 0, next })).toMatchObject({ next: null });
    expect(await t.claim(laneId)).toMatchObject({ id, attempt: 2 });
  });

  test('G12 G13: an action that holds the lane holds only its own channel', async () => {
    const lane = await t.lane();
    const id = await t.enqueue(lane.laneId, { channel: 'a', headOfLine: 'hold' });
    const other = await t.enqueue(lane.laneId, { channel: 'b' });
    const by = (channel: string) => t.engine.claim(t.db, { ...lane, channel, worker: 'w', leaseMs: 1_000 });
    await by('a');
    await t.report(id, 1, 'failed');
    expect(await by('a')).toBeNull();
    expect(await by('b')).toMatchObject({ id: other });
  });

  test('G13: a cancelled, expired or tag-paused action does not hold the lane', async () => {
    const { laneId, id } = await running({ headOfLine: 'hold', tags: ['held'] });
    const second = await t.enqueue(laneId);
    await t.report(id, 1, 'failed');
    await t.engine.pause(t.db, { tenantId: 1, tag: 'held' });
    expect(await t.claim(laneId)).toMatchObject({ id: second });
    await t.report(second, 1, 'failed');
    await t.engine.resume(t.db, { tenantId: 1, tag: 'held' });
    const third = await t.enqueue(laneId);
    expect(await t.claim(laneId)).toBeNull();
    await t.engine.cancel(t.db, { tenantId: 1, actionId: id });
    expect(await t.claim(laneId)).toMatchObject({ id: third });
  });
});

describe('with the next claim', () => {
  test('G32: one call ends the attempt and brings the next action, in order', async () => {
    const { laneId, id } = await running();
    const second = await t.enqueue(laneId);
    const urgent = await t.enqueue(laneId, { priority: 'urgent' });
    expect(await t.report(id, 1, 'succeeded', { next })).toMatchObject({
      accepted: true,
      next: { id: urgent, attempt: 1, worker: 'worker', leaseUntil: new Date(t.clock().getTime() + 60_000) },
    });
    expect(await t.report(urgent, 1, 'succeeded', { next })).toMatchObject({ next: { id: second } });
    expect(await t.report(second, 1, 'succeeded', { next })).toMatchObject({ accepted: true, next: null });
  });

  test('G23 G24 G32: a paused or blocked lane brings nothing with the report', async () => {
    const one = await running();
    await t.enqueue(one.laneId);
    await t.engine.pauseLane(t.db, one);
    expect(await t.report(one.id, 1, 'succeeded', { next })).toMatchObject({ accepted: true, next: null });
    const other = await running();
    await t.enqueue(other.laneId);
    await t.engine.blockLane(t.db, other, 'x');
    expect(await t.report(other.id, 1, 'succeeded', { next })).toMatchObject({ accepted: true, next: null });
  });

  test('G8 G32: the lease of the next action never reaches past its deadline', async () => {
    const { laneId, id } = await running();
    const deadline = new Date(t.clock().getTime() + 1_234);
    await t.enqueue(laneId, { deadline });
    expect((await t.report(id, 1, 'succeeded', { next })).next?.leaseUntil).toEqual(deadline);
  });

  test('G16 G30: a repeated request gets the same next action again', async () => {
    const { laneId, id } = await running();
    const second = await t.enqueue(laneId);
    await t.report(id, 1, 'succeeded', { next });
    expect(await t.report(id, 1, 'succeeded', { next })).toMatchObject({
      accepted: true,
      repeated: true,
      state: 'succeeded',
      next: { id: second, attempt: 1, redelivered: true },
    });
  });
});

test('G7: a report is accepted until housekeeping has ended the lease, whatever the clock says', async () => {
  const { id } = await running();
  t.clock.advance(86_400_000);
  expect(await t.report(id, 1)).toMatchObject({ accepted: true, state: 'succeeded' });
});

test('G12: a report for an action of another channel is answered as if the action were unknown', async () => {
  const lane = await t.lane();
  const id = await t.enqueue(lane.laneId, { channel: 'mine' });
  await t.engine.claim(t.db, { ...lane, channel: 'mine', worker: 'w', leaseMs: 1_000 });
  expect(await t.report(id, 1, 'succeeded', { channel: 'other' })).toMatchObject({
    accepted: false,
    reason: 'UNKNOWN_ACTION',
    state: null,
  });
  expect(await t.state(id)).toBe('claimed');
  expect(await t.report(id, 1, 'succeeded', { channel: 'mine' })).toMatchObject({ accepted: true });
});

test('G51: another tenant cannot report, extend, release or acknowledge', async () => {
  const { id } = await running();
  const ref = { tenantId: 2, actionId: id, attempt: 1 };
  expect(await t.engine.report(t.db, { ...ref, status: 'failed' })).toMatchObject({
    reason: 'UNKNOWN_ACTION',
  });
  expect(await t.engine.release(t.db, ref)).toMatchObject({ reason: 'UNKNOWN_ACTION' });
  expect(await t.engine.extend(t.db, { ...ref, leaseMs: 9 })).toMatchObject({ extended: false });
  expect(await t.engine.acknowledge(t.db, ref)).toBe(false);
  expect(await t.eventTypes(id)).toEqual(['CREATED', 'SENT']);
});

test('G35: a hundred reports at once are each answered for their own action', async () => {
  const all = await Promise.all(Array.from({ length: 100 }, () => running({ maxAttempts: 1 })));
  const answers = await Promise.all(
    all.map(({ id }, n) => t.report(id, 1, n % 2 ? 'failed' : 'succeeded', { result: n, error: `e${n}` })),
  );
  expect(answers.map((answer) => answer.state)).toEqual(all.map((_, n) => (n % 2 ? 'failed' : 'succeeded')));
  for (const n of [0, 1, 98, 99])
    expect(await t.engine.get(t.db, 1, all[n]?.id as string)).toMatchObject({ result: n, error: `e${n}` });
});

test('G15: of fifty different reports of one attempt at once exactly one ends it', async () => {
  const { id } = await running();
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, n) => t.report(id, 1, n % 2 ? 'failed' : 'succeeded')),
  );
  const state = answers[0]?.state;
  expect(answers.filter((answer) => answer.accepted && !answer.repeated)).toHaveLength(1);
  expect((await t.eventTypes(id)).filter((type) => ['SUCCEEDED', 'FAILED'].includes(type))).toHaveLength(1);
  expect(state).toBe('succeeded');
});
