import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { createEngine, type Database, type Query } from '../src/index.ts';
import { TENANT, type TestEngine, testEngine } from '../testing/index.ts';

let t: TestEngine;
beforeAll(async () => {
  t = await testEngine();
});
afterAll(() => t.close());
afterEach(() => {
  vi.useRealTimers();
});

/** A database whose answer to a claim arrives only when the test says so, long after the statement. */
function slow(db: Database) {
  const answered: (() => void)[] = [];
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const gathered: Database['gathered'] = {
    ...db.gathered,
    async query(query: Query) {
      const result = await db.gathered.query(query);
      if (query.name === 'muster_claim') {
        for (const tell of answered) tell();
        await opened;
      }
      return result;
    },
  };
  return {
    db: { ...db, gathered },
    done: new Promise<void>((resolve) => void answered.push(resolve)),
    open: () => open(),
  };
}

async function claimLate(laneId: string, worker: string) {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  const late = slow(t.db);
  const engine = createEngine(late.db, { clock: t.clock });
  const claim = engine
    .claim(late.db, { tenantId: TENANT, laneId, channel: 'any', worker, leaseMs: 60_000 })
    .then(String, (error) => error.code);
  await late.done;
  await vi.advanceTimersByTimeAsync(t.db.deadlineMs);
  const heard = await claim;
  vi.useRealTimers();
  late.open();
  return { engine, heard };
}

test('G64: a claim whose caller was told that there is no answer is given back', async () => {
  const { laneId } = await t.lane();
  const id = await t.enqueue(laneId);
  const { engine, heard } = await claimLate(laneId, 'gone');
  expect(heard).toBe('MUSTER_NO_ANSWER');
  await expect.poll(() => t.eventTypes(id)).toEqual(['CREATED', 'SENT', 'RELEASED']);
  await engine.stop();
  expect(await t.state(id)).toBe('pending');
});

test('G64: unless it was handed out again: its worker may have it', async () => {
  const { laneId } = await t.lane();
  const id = await t.enqueue(laneId);
  expect((await t.claim(laneId, 'at work'))?.id).toBe(id);
  const { engine, heard } = await claimLate(laneId, 'at work');
  expect(heard).toBe('MUSTER_NO_ANSWER');
  // one more claim of this lane waits for that answer, and the stop waits for all that follows from it
  const request = { tenantId: TENANT, laneId, channel: 'any', worker: 'another', leaseMs: 60_000 };
  expect(await engine.claim(engine.db, request)).toBeNull();
  await engine.stop();
  expect(await t.eventTypes(id)).toEqual(['CREATED', 'SENT', 'REDELIVERED']);
  expect(await t.state(id)).toBe('claimed');
});
