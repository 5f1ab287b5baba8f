import { setMaxListeners } from 'node:events';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type TestEngine, testEngine } from '../testing/index.ts';
import { WAKE_UP_ACTS } from '../testing/wake-up-acts.ts';

/** Long enough that a test only waits for it if a wake-up is missing. */
const WAIT_MS = 20_000;
let t: TestEngine;
let looked: (() => void) | undefined;
let statements = 0;
/** Claims that reached the database. */
let looks = 0;
beforeAll(async () => {
  t = await testEngine({
    observer: {
      batch(operation, size) {
        statements += 1;
        if (!operation.startsWith('claim')) return;
        looks += size;
        looked?.();
      },
    },
  });
  await t.engine.start();
  // plain SQL uses the database's own clock
  await t.db.query({ text: 'select muster.ensure_event_days(current_date - 1, current_date + 1)' });
});
afterAll(() => t.close());

/** Resolves when the claim that `begin` starts has looked, found nothing and is parked. */
async function parked<T>(begin: () => Promise<T>): Promise<{ claim: Promise<T> }> {
  const first = new Promise<void>((resolve) => {
    looked = resolve;
  });
  const claim = begin();
  await first;
  looked = undefined;
  return { claim };
}
const claimLane = (laneId: string, more: object = {}) =>
  t.engine.claim(t.db, {
    ...{ tenantId: 1, laneId, channel: 'any', worker: 'waits', leaseMs: 60_000, waitMs: WAIT_MS },
    ...more,
  });
const claimSlots = (runnerId: string) =>
  t.engine.claimSlots(t.db, {
    ...{ tenantId: 1, runnerId, channel: 'any', worker: 'pc', leaseMs: 60_000, max: 9, waitMs: WAIT_MS },
  });

test('G38: a parked claim gets a new action', async () => {
  const { laneId } = await t.lane();
  const { claim } = await parked(() => claimLane(laneId));
  const id = await t.enqueue(laneId);
  expect(await claim).toMatchObject({ id, attempt: 1 });
});

describe.each(WAKE_UP_ACTS)('$name', ({ prepare, act }) => {
  test('G38: wakes a claim of the lane', async () => {
    const lane = await t.lane();
    const id = await prepare(t, lane);
    const { claim } = await parked(() => claimLane(lane.laneId));
    await act(t, lane, id);
    expect((await claim)?.laneId).toBe(lane.laneId);
  });

  test('G38: wakes a claim of the runner', async () => {
    const lane = await t.lane();
    const runnerId = await t.engine.createRunner(t.db, 1, null);
    await t.engine.assignRunner(t.db, lane, runnerId);
    const id = await prepare(t, lane);
    const { claim } = await parked(() => claimSlots(runnerId));
    await act(t, lane, id);
    expect((await claim).map((action) => action.laneId)).toEqual([lane.laneId]);
  });
});

describe('a runner', () => {
  async function full(slots: number) {
    const runnerId = await t.engine.createRunner(t.db, 1, slots);
    const lanes = [await t.lane(), await t.lane()];
    for (const lane of lanes) {
      await t.engine.assignRunner(t.db, lane, runnerId);
      await t.enqueue(lane.laneId);
    }
    return { runnerId, lanes };
  }

  test('G31 G38: is woken by more slots', async () => {
    const { runnerId } = await full(1);
    await claimSlots(runnerId);
    const { claim } = await parked(() => claimSlots(runnerId));
    await t.engine.setSlots(t.db, 1, runnerId, 2);
    expect(await claim).toHaveLength(1);
  });

  test('G31 G38: is woken by a freed slot in any lane', async () => {
    const { runnerId } = await full(1);
    const [first] = await claimSlots(runnerId);
    const { claim } = await parked(() => claimSlots(runnerId));
    await t.report(first?.id as string, 1);
    expect(await claim).toHaveLength(1);
  });

  test('G31 G38: is woken by a slot that becomes free in a lane moved away', async () => {
    const { runnerId, lanes } = await full(1);
    const other = await t.engine.createRunner(t.db, 1, 1);
    const [first] = await claimSlots(runnerId);
    const lane = lanes.find(({ laneId }) => laneId === first?.laneId) as { tenantId: number; laneId: string };
    await t.engine.assignRunner(t.db, lane, other);
    const { claim } = await parked(() => claimSlots(runnerId));
    await t.report(first?.id as string, 1);
    expect(await claim).toHaveLength(1);
  });

  test('G38: is woken by a lane that was given to it', async () => {
    const runnerId = await t.engine.createRunner(t.db, 1, 5);
    const lane = await t.lane();
    const id = await t.enqueue(lane.laneId);
    const { claim } = await parked(() => claimSlots(runnerId));
    await t.engine.assignRunner(t.db, lane, runnerId);
    expect((await claim).map((action) => action.id)).toEqual([id]);
  });
});

test('G29 G38: a parked worker of the old generation is answered at once', async () => {
  const lane = await t.lane();
  const { claim } = await parked(() => claimLane(lane.laneId, { generation: 1 }));
  const refused = expect(claim).rejects.toMatchObject({ code: 'MUSTER_WRONG_GENERATION' });
  await t.engine.raiseGeneration(t.db, lane);
  await refused;
});

test('G37: a hundred parked claims cost no statement until one of them has something', async () => {
  const lanes = await Promise.all(Array.from({ length: 100 }, () => t.lane()));
  const stop = new AbortController();
  setMaxListeners(0, stop.signal);
  const before = statements;
  let first = true;
  const { claim } = await parked(() => {
    const all = lanes.map(({ laneId }) => claimLane(laneId, { signal: stop.signal }));
    first = false;
    return Promise.all(all);
  });
  expect(first).toBe(false);
  await expect.poll(() => t.engine.parkedWaiters).toBe(100);
  const looks = statements - before;
  expect(looks).toBeLessThanOrEqual(4);
  await t.enqueue((await t.lane()).laneId);
  expect(statements - before - looks).toBeLessThanOrEqual(looks + 1);
  stop.abort();
  await claim;
  expect(t.engine.parkedWaiters).toBe(0);
});

test('G62: of 300 waiters for one lane one looks when something comes, and the next when it is given back', async () => {
  const { laneId } = await t.lane();
  const elsewhere = await t.lane();
  const stop = new AbortController();
  setMaxListeners(0, stop.signal);
  let answered = 0;
  const claims = Array.from({ length: 300 }, () =>
    claimLane(laneId, { signal: stop.signal }).finally(() => {
      answered += 1;
    }),
  );
  const before = looks;
  while (looks < before + 300) await t.engine.get(t.db, 1, '1'); // each has looked once, one after the other
  const id = await t.enqueue(laneId);
  expect(await claims[0]).toMatchObject({ id });
  // any other woken waiter would look while these do
  for (let n = 0; n < 5; n += 1) await t.claim(elsewhere.laneId);
  expect(looks - before).toBe(300 + 1 + 5);
  await t.engine.release(t.db, { tenantId: 1, actionId: id, attempt: 1 });
  expect(await claims[1]).toMatchObject({ id, attempt: 2 });
  for (let n = 0; n < 5; n += 1) await t.claim(elsewhere.laneId);
  expect(looks - before).toBe(300 + 1 + 5 + 1 + 5);
  expect(answered).toBe(2);
  stop.abort();
  await Promise.all(claims);
});

test('G62: a claim that does not fit this action leaves it to those behind it', async () => {
  const { laneId } = await t.lane();
  const stop = new AbortController();
  setMaxListeners(0, stop.signal);
  const others = Array.from({ length: 20 }, () =>
    claimLane(laneId, { channel: 'push', signal: stop.signal }),
  );
  const { claim } = await parked(() => claimLane(laneId, { channel: 'pull' }));
  const id = await t.enqueue(laneId, { channel: 'pull' });
  expect(await claim).toMatchObject({ id });
  stop.abort();
  await Promise.all(others);
});

test('G48: a rolled back enqueue wakes no claim, a committed one does', async () => {
  const { laneId } = await t.lane();
  const { claim } = await parked(() => claimLane(laneId));
  await t.db
    .transaction(async (tx) => {
      await t.engine.enqueue(tx, { tenantId: 1, laneId, kind: 'x' });
      throw new Error('undo');
    })
    .catch(() => {});
  expect(t.engine.parkedWaiters).toBe(1);
  await t.db.transaction((tx) => t.engine.enqueue(tx, { tenantId: 1, laneId, kind: 'committed' }));
  expect(await claim).toMatchObject({ kind: 'committed' });
});

test('G38 G48: an action from plain SQL wakes after its commit', async () => {
  const { laneId } = await t.lane();
  const { claim } = await parked(() => claimLane(laneId));
  await t.db.query({ text: `select muster.enqueue(1, $1, 'from sql', '{"a": 1}')`, values: [laneId] });
  expect(await claim).toMatchObject({ kind: 'from sql', payload: { a: 1 } });
});

test('waiting calls are answered when the engine stops', async () => {
  const other = await testEngine();
  const { laneId } = await other.lane();
  const claim = other.engine.claim(other.db, {
    ...{ tenantId: 1, laneId, channel: 'any', worker: 'w', leaseMs: 1_000, waitMs: WAIT_MS },
  });
  await other.engine.get(other.db, 1, '1');
  await other.engine.stop();
  expect(await claim).toBeNull();
  await expect(other.claim(laneId)).rejects.toMatchObject({ code: 'MUSTER_STOPPING' });
  await other.close();
});
