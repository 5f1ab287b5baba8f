import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import type { Transition } from '../src/index.ts';
import { type TellingEffect, type TestEngine, tellingEffect, testEngine } from '../testing/index.ts';

/**
 * A gathered report or claim is several statements, each its own transaction: a failing one does not affect the others.
 */
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

/** Failed by TIMEOUT: a success that arrives now still ends it. */
async function timedOut() {
  const { laneId } = await t.lane();
  const id = await t.enqueue(laneId, { channel: 'door', onLeaseEnd: 'fail' });
  await claim(laneId, 1_000);
  await t.pass(2_000);
  return { laneId, id };
}
/** One running action, and one behind it. */
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

/** Another transaction has locked its ending, as a redrive would; `unlock` ends it. */
let unlock: () => Promise<void> = async () => {};
afterEach(() => unlock());
async function lockEnding(id: string) {
  await new Promise<void>((locked) => {
    const over = t.db.transaction(async (tx) => {
      await tx.query({
        text: 'select 1 from muster.endings where tenant_id = 1 and action_id = $1 for update',
        values: [id],
      });
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

test('G15 G40: a late report that finds its ending locked does not affect the others of its batch', async () => {
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

test('G15 G40: a report run again because of a wrong hint fails alone', async () => {
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

test('G15: of many reports the committed ones are answered as such, whatever the others wait for', async () => {
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

test('G15: in a transaction of the caller a failing one fails all, and nothing is announced', async () => {
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
  // on a caller's own client it is unknown whether a transaction is open
  await expect(t.engine.reportMany({ query: (query: never) => t.db.query(query) }, reports)).rejects.toThrow(
    'division by zero',
  );
});

test('G14 G40: a repeated hand-out that fails does not affect claims that get something new', async () => {
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
