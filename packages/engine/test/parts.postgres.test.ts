import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import type { Transition } from '../src/index.ts';
import { type TellingEffect, type TestEngine, tellingEffect, testEngine } from '../testing/index.ts';

/** A gathered report or claim is several statements, each its own transaction: one that fails takes nothing from the others. */
let t: TestEngine;
let door: TellingEffect;
let observed: string[] = [];
let batches: string[] = [];
const afterCommit: string[] = [];
beforeAll(async () => {
  t = await testEngine({
    observer: {
      transitions: (list: readonly Transition[]) =>
        void observed.push(...list.map(({ actionId, events }) => `${actionId} ${events.join(' ')}`)),
      batch: (operation, size) => void batches.push(`${operation} ${size}`),
    },
  });
  door = await tellingEffect(t.engine, 'door', 'door');
  t.engine.addEffect({
    name: 'facts',
    channels: ['door'],
    sql: (own) => ({
      steps: `${own('f')} as (select action_id, jsonb_build_object('id', action_id::text) as facts from ${own('tr')})`,
      facts: `select action_id, facts from ${own('f')}`,
    }),
    afterCommit: (facts) => void afterCommit.push(...facts.map(({ id }) => id as string)),
  });
});
afterAll(() => t.close());
beforeEach(() => door.accept());

const next = { channel: 'door', worker: 'runner', leaseMs: 600_000 };
const claim = (laneId: string, leaseMs = 600_000) =>
  t.engine.claim(t.db, { tenantId: 1, laneId, channel: 'door', worker: 'runner', leaseMs });

/** Failed by TIMEOUT: a success that comes now ends it after all. */
async function timedOut() {
  const { laneId } = await t.lane();
  const id = await t.enqueue(laneId, { channel: 'door', onLeaseEnd: 'fail' });
  await claim(laneId, 1_000);
  await t.pass(2_000);
  return { laneId, id };
}
/** One that runs, and one behind it. */
async function running() {
  const { laneId } = await t.lane();
  const id = await t.enqueue(laneId, { channel: 'door' });
  const behind = await t.enqueue(laneId, { channel: 'door' });
  await claim(laneId);
  return { laneId, id, behind };
}
function forget() {
  observed = [];
  batches = [];
  afterCommit.length = 0;
}

/** Somebody's open transaction has its ending, as a redrive would; `unlock` ends it. */
let unlock: () => Promise<void> = async () => {};
afterEach(() => unlock());
async function lockEnding(id: string) {
  await new Promise<void>((locked) => {
    const over = t.db.transaction(async (tx) => {
      await tx.query({ text: 'select 1 from muster.endings where action_id = $1 for update', values: [id] });
      await new Promise<void>((end) => {
        unlock = () => {
          end();
          return over;
        };
        locked();
      });
    });
  });
}

test('G15 G40: a late report that finds its ending locked takes nothing from those it came with', async () => {
  const late = await timedOut();
  const { laneId, id, behind } = await running();
  await lockEnding(late.id);
  forget();
  const lateAnswer = t.report(late.id, 1);
  const answer = await t.report(id, 1, 'succeeded', { next: { ...next, slotted: true } });
  expect(answer).toMatchObject({ accepted: true, repeated: false, settled: true, laneId });
  expect(answer.next).toMatchObject({ id: behind, attempt: 1, redelivered: false });
  expect(observed).toEqual([`${id} SUCCEEDED`, `${behind} SENT`]);
  expect(afterCommit).toEqual([id, behind]);
  await unlock();
  expect(await lateAnswer).toMatchObject({ accepted: true, state: 'succeeded', repeated: false });
  expect(observed).toContain(`${late.id} SUCCEEDED`);
  expect(afterCommit).toContain(late.id);
  expect(batches[0]).toBe('report 2');
});

test('G15 G40: one whose effect throws fails alone, whichever part it is in', async () => {
  const [bad, good] = [await timedOut(), await timedOut()];
  const { id, behind } = await running();
  const { id: repeated } = await running();
  await t.report(repeated, 1);
  await door.refuse('lane', bad.laneId);
  forget();
  const answers = await Promise.allSettled([
    t.report(bad.id, 1),
    t.report(good.id, 1),
    t.report(repeated, 1),
    t.report(id, 1, 'succeeded', { next }),
  ]);
  expect(answers).toMatchObject([
    { status: 'rejected', reason: { message: 'division by zero' } },
    { status: 'fulfilled', value: { state: 'succeeded', repeated: false } },
    { status: 'fulfilled', value: { state: 'succeeded', repeated: true } },
    { status: 'fulfilled', value: { settled: true, next: { id: behind, redelivered: false } } },
  ]);
  expect(await t.state(bad.id)).toBe('failed');
  expect([...afterCommit].sort()).toEqual([good.id, id, behind].sort());
  expect(batches[0]).toBe('report 4');
});

test('G15 G40: what a wrong hint makes run again fails for itself', async () => {
  const bad = await running();
  const { laneId, id, behind } = await running();
  await door.refuse('lane', bad.laneId);
  forget();
  const [hinted, answer] = await Promise.allSettled([
    t.report(bad.id, 1, 'succeeded', { leasedIn: laneId }),
    t.report(id, 1, 'succeeded', { leasedIn: laneId, next }),
  ]);
  expect(hinted).toMatchObject({ status: 'rejected', reason: { message: 'division by zero' } });
  expect(answer).toMatchObject({ value: { settled: true, next: { id: behind, redelivered: false } } });
  expect(observed).toEqual([`${id} SUCCEEDED`, `${behind} SENT`]);
});

test('G15: of many reports those that were committed are answered as such, whatever the others wait for', async () => {
  const late = await timedOut();
  const { id } = await running();
  await lockEnding(late.id);
  forget();
  const answers = t.engine.reportMany(
    t.db,
    [late.id, id].map((actionId) => ({ tenantId: 1, actionId, attempt: 1, status: 'succeeded' as const })),
  );
  await vi.waitFor(() => expect(observed).toEqual([`${id} SUCCEEDED`])).finally(() => unlock());
  expect(await answers).toMatchObject([
    { state: 'succeeded', repeated: false },
    { state: 'succeeded', repeated: false, settled: true },
  ]);
});

test('G15: in a transaction of the caller one that fails fails all, and nothing is told', async () => {
  const bad = await timedOut();
  const { id } = await running();
  await door.refuse('lane', bad.laneId);
  forget();
  const reports = [bad.id, id].map((actionId) => ({
    ...{ tenantId: 1, actionId, attempt: 1 },
    status: 'succeeded' as const,
  }));
  await expect(t.db.transaction((tx) => t.engine.reportMany(tx, reports))).rejects.toThrow(
    'division by zero',
  );
  expect(await t.state(id)).toBe('claimed');
  expect(observed).toEqual([]);
  // on a client of the caller's own nobody knows whether he has begun one
  await expect(t.engine.reportMany({ query: (query: never) => t.db.query(query) }, reports)).rejects.toThrow(
    'division by zero',
  );
});

test('G14 G40: one that is handed out again and fails takes nothing from those who get something new', async () => {
  const again = await running();
  const { laneId } = await t.lane();
  const id = await t.enqueue(laneId, { channel: 'door' });
  await door.refuse('lane', again.laneId);
  forget();
  const [failed, got] = await Promise.allSettled([claim(again.laneId), claim(laneId)]);
  expect(failed).toMatchObject({ status: 'rejected', reason: { message: 'division by zero' } });
  expect(got).toMatchObject({ value: { id, redelivered: false } });
  expect(observed).toEqual([`${id} SENT`]);
  expect(afterCommit).toEqual([id]);
  expect(batches[0]).toBe('claim 2');
});
