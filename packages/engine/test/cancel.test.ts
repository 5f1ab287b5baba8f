import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ReportRequest } from '../src/index.ts';
import { type TestEngine, testEngine } from '../testing/index.ts';

let t: TestEngine;
beforeAll(async () => {
  t = await testEngine();
});
afterAll(() => t.close());

const cancel = (actionId: string, reason?: string) =>
  t.engine.cancel(t.db, { tenantId: 1, actionId, reason });
async function running(more: Parameters<TestEngine['enqueue']>[1] = {}) {
  const { laneId } = await t.lane();
  const id = await t.enqueue(laneId, more);
  await t.claim(laneId, 'w', 10_000);
  return { laneId, id };
}

describe('an action that is not running', () => {
  test('G20: a pending action ends at once, with the reason in its history', async () => {
    const { laneId } = await t.lane();
    const id = await t.enqueue(laneId);
    expect(await cancel(id, 'wrong one')).toEqual({ outcome: 'cancelled', state: 'cancelled' });
    expect(await t.engine.events(t.db, 1, id)).toMatchObject([
      { type: 'CREATED' },
      { type: 'CANCELLED', attempt: 0, reason: 'wrong one' },
    ]);
    expect(await t.engine.get(t.db, 1, id)).toMatchObject({ state: 'cancelled', reason: 'CANCELLED' });
    expect(await t.claim(laneId)).toBeNull();
  });

  test.each<[string, Parameters<TestEngine['enqueue']>[1], boolean]>([
    ['is not yet due', { notBefore: new Date('2027-01-01') }, false],
    ['waits for its retry', {}, true],
    ['holds the lane until its retry', { headOfLine: 'hold' }, true],
  ])('G20: an action that %s ends at once', async (_name, more, failed) => {
    const { laneId } = await t.lane();
    const id = await t.enqueue(laneId, more);
    if (failed) {
      await t.claim(laneId);
      await t.report(id, 1, 'failed');
    }
    expect(await cancel(id)).toMatchObject({ outcome: 'cancelled' });
    await t.pass(3_600_000);
    expect(await t.claim(laneId)).toBeNull();
    expect(await t.state(id)).toBe('cancelled');
  });

  test('G2 G20: an ended action stays as it ended', async () => {
    const { id } = await running();
    await t.report(id, 1);
    expect(await cancel(id)).toEqual({ outcome: 'finished', state: 'succeeded' });
    expect(await t.eventTypes(id)).toEqual(['CREATED', 'SENT', 'SUCCEEDED']);
  });

  test('G20: with cancels and claims at once, no action is both cancelled and handed out', async () => {
    const lanes = await Promise.all(Array.from({ length: 80 }, () => t.lane()));
    const ids = await Promise.all(lanes.map(({ laneId }) => t.enqueue(laneId)));
    const [cancelled, claimed] = await Promise.all([
      Promise.all(ids.map((id) => cancel(id))),
      Promise.all(lanes.map(({ laneId }) => t.claim(laneId))),
    ]);
    for (const [n, answer] of cancelled.entries())
      expect([answer.outcome, claimed[n] === null]).toEqual(
        answer.outcome === 'cancelled' ? ['cancelled', true] : ['requested', false],
      );
  });
});

describe('a running action', () => {
  test('G21: it stays claimed and keeps its lane; repeating the cancel changes nothing', async () => {
    const { laneId, id } = await running();
    await t.enqueue(laneId);
    expect(await cancel(id, 'stop')).toEqual({ outcome: 'requested', state: 'claimed' });
    expect(await cancel(id)).toEqual({ outcome: 'requested', state: 'claimed' });
    expect(await t.engine.events(t.db, 1, id)).toMatchObject([
      { type: 'CREATED' },
      { type: 'SENT' },
      { type: 'CANCEL_REQUESTED', attempt: 1, reason: 'stop' },
    ]);
    expect(await t.engine.get(t.db, 1, id)).toMatchObject({
      state: 'claimed',
      cancelRequested: true,
      waitingFor: { code: 'CANCEL_REQUESTED' },
    });
    expect(await t.claim(laneId, 'other')).toBeNull();
  });

  test.each<[ReportRequest['status'], string, string[]]>([
    ['succeeded', 'succeeded', ['SUCCEEDED']],
    ['failed', 'cancelled', ['FAILED', 'CANCELLED']],
    ['notNow', 'cancelled', ['NOT_NOW', 'CANCELLED']],
  ])('G21: a report of %s makes it %s', async (status, state, events) => {
    const { laneId, id } = await running();
    const second = await t.enqueue(laneId);
    await cancel(id);
    expect(
      await t.report(id, 1, status, { next: { channel: 'any', worker: 'w', leaseMs: 1_000 } }),
    ).toMatchObject({
      accepted: true,
      state,
      next: { id: second, cancelRequested: false },
    });
    expect(await t.eventTypes(id)).toEqual(['CREATED', 'SENT', 'CANCEL_REQUESTED', ...events]);
  });

  test.each(['retry', 'fail', 'succeed'] as const)(
    'G21: the end of its lease cancels it and never retries it, even if the lease end would mean %s',
    async (onLeaseEnd) => {
      const { laneId, id } = await running({ onLeaseEnd });
      await cancel(id);
      await t.pass(10_000);
      expect(await t.engine.get(t.db, 1, id)).toMatchObject({ state: 'cancelled', reason: 'CANCELLED' });
      expect(await t.eventTypes(id)).toEqual(['CREATED', 'SENT', 'CANCEL_REQUESTED', 'TIMEOUT', 'CANCELLED']);
      await t.pass(3_600_000);
      expect(await t.claim(laneId)).toBeNull();
    },
  );

  test('G21: the request is bound to the attempt: the next action of the lane is not touched', async () => {
    const { laneId, id } = await running();
    const second = await t.enqueue(laneId);
    await cancel(id);
    await t.report(id, 1, 'failed');
    expect(await t.claim(laneId)).toMatchObject({ id: second, cancelRequested: false });
    expect(await t.report(second, 1, 'failed')).toMatchObject({ state: 'pending' });
  });
});

describe('by filter', () => {
  test('G22: exactly the matching actions end; running ones are asked to', async () => {
    const { laneId } = await t.lane();
    const other = await t.lane();
    const runs = await t.enqueue(laneId, { tags: ['x'] });
    await t.claim(laneId);
    const waits = await t.enqueue(laneId, { tags: ['x', 'y'] });
    const untagged = await t.enqueue(laneId);
    const elsewhere = await t.enqueue(other.laneId, { tags: ['y'] });
    expect(await t.engine.cancelMatching(t.db, { tenantId: 1, laneId, tag: 'x' }, 'all x')).toEqual({
      cancelled: 1,
      requested: 1,
    });
    expect(await Promise.all([runs, waits, untagged, elsewhere].map((id) => t.state(id)))).toEqual([
      'claimed',
      'cancelled',
      'pending',
      'pending',
    ]);
    expect((await t.engine.events(t.db, 1, waits)).at(-1)?.reason).toBe('all x');
  });

  test('G22: a filter by state means that state; ended actions are never touched', async () => {
    const { laneId } = await t.lane();
    const runs = await t.enqueue(laneId, { maxAttempts: 1 });
    const waits = await t.enqueue(laneId);
    await t.claim(laneId);
    for (const state of ['succeeded', 'failed', 'cancelled', 'expired'] as const)
      expect(await t.engine.cancelMatching(t.db, { tenantId: 1, laneId, state })).toEqual({
        cancelled: 0,
        requested: 0,
      });
    expect(await t.engine.redriveMatching(t.db, { tenantId: 1, laneId, state: 'pending' })).toEqual({
      redriven: 0,
    });
    expect(await t.engine.cancelMatching(t.db, { tenantId: 1, laneId, state: 'claimed' })).toEqual({
      cancelled: 0,
      requested: 1,
    });
    expect(await t.engine.cancelMatching(t.db, { tenantId: 1, laneId, state: 'pending' })).toEqual({
      cancelled: 1,
      requested: 0,
    });
    await t.report(runs, 1, 'failed');
    expect(await t.state(runs)).toBe('cancelled');
    expect(await t.state(waits)).toBe('cancelled');
  });

  test('G22: more than one chunk of actions in one lane', async () => {
    const { laneId } = await t.lane();
    await t.engine.enqueueMany(
      t.db,
      Array.from({ length: 900 }, () => ({ tenantId: 1, laneId, kind: 'x' })),
    );
    expect(await t.engine.cancelMatching(t.db, { tenantId: 1, laneId })).toEqual({
      cancelled: 900,
      requested: 0,
    });
  });

  test('G51: actions of another tenant are never touched', async () => {
    const { laneId } = await t.lane();
    const id = await t.enqueue(laneId, { tags: ['shared'] });
    expect(await t.engine.cancelMatching(t.db, { tenantId: 2, tag: 'shared' })).toEqual({
      cancelled: 0,
      requested: 0,
    });
    expect(await t.engine.cancel(t.db, { tenantId: 2, actionId: id })).toEqual({
      outcome: 'unknown',
      state: null,
    });
    expect(await t.state(id)).toBe('pending');
  });
});
