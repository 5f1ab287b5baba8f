import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ClaimedAction } from '../src/index.ts';
import { type TestEngine, testEngine } from '../testing/index.ts';

let t: TestEngine;
beforeAll(async () => {
  t = await testEngine();
});
afterAll(() => t.close());

interface Wish {
  readonly runnerId: string;
  readonly laneId: string;
}

/** A runner with a lane of its own. */
async function wish(): Promise<Wish> {
  const { laneId } = await t.lane();
  const runnerId = await t.engine.createRunner(t.db, 1, null);
  await t.engine.assignRunner(t.db, { tenantId: 1, laneId }, runnerId);
  return { runnerId, laneId };
}

let suppliers = 0;
/** Makes an action for each wish on request. */
function supplier(
  more: {
    before?: (wishes: readonly Wish[]) => void;
    mayBeMore?: () => Promise<boolean>;
    empty?: () => boolean;
  } = {},
) {
  suppliers += 1;
  const givenBack: string[] = [];
  const { mayBeMore } = more;
  const claim = t.engine.supplied<Wish, ClaimedAction[]>({
    name: `supplier-${suppliers}`,
    runnerOf: ({ runnerId }) => ({ tenantId: 1, runnerId }),
    async supply(tx, wishes) {
      more.before?.(wishes);
      if (more.empty?.()) return wishes.map(() => []);
      const made = await t.engine.enqueueAndClaimMany(
        tx,
        wishes.map(({ laneId, runnerId }) => ({
          ...{ tenantId: 1, runnerId, worker: 'w', leaseMs: 60_000 },
          actions: [{ laneId, kind: 'x' }],
        })),
      );
      return made.map((actions) => actions.filter((action) => action !== null));
    },
    actionsOf: (actions) => actions,
    ...(mayBeMore ? { mayBeMore } : {}),
    async giveBack(actions) {
      for (const { tenantId, id: actionId, attempt } of actions) {
        givenBack.push(actionId);
        await t.engine.release(t.db, { tenantId, actionId, attempt });
      }
    },
  });
  return { claim, givenBack };
}

test('G35: claims at the same moment are served in one transaction, each runner at most once', async () => {
  await t.enqueue((await t.lane()).laneId); // the day of the history exists now: a run that finds it missing is repeated
  const batches: string[][] = [];
  const { claim } = supplier({
    before: (wishes) => void batches.push(wishes.map(({ runnerId }) => runnerId)),
  });
  const [a, b, c] = [await wish(), await wish(), await wish()];
  const another = { ...a, laneId: (await t.lane()).laneId };
  await t.engine.assignRunner(t.db, { tenantId: 1, laneId: another.laneId }, a.runnerId);
  const got = await Promise.all([a, b, c, another].map((one) => claim(one)));
  expect(got.map((actions) => actions.map(({ laneId }) => laneId))).toEqual(
    [a, b, c, another].map(({ laneId }) => [laneId]),
  );
  expect(Math.max(...batches.map((batch) => batch.length))).toBe(3);
  for (const batch of batches) expect(new Set(batch).size).toBe(batch.length);
});

test('G35: a failure leaves nothing behind, and its callers learn why', async () => {
  const mine = await wish();
  const { claim } = supplier();
  const failing = t.engine.supplied<Wish, ClaimedAction[]>({
    name: 'failing',
    runnerOf: ({ runnerId }) => ({ tenantId: 1, runnerId }),
    async supply(tx) {
      await t.engine.enqueue(tx, { tenantId: 1, laneId: mine.laneId, kind: 'x' });
      throw new Error('not today');
    },
    actionsOf: (actions) => actions,
    giveBack: async () => {},
  });
  await expect(failing(mine)).rejects.toThrow('not today');
  expect(await t.engine.list(t.db, { tenantId: 1, laneId: mine.laneId })).toMatchObject({ actions: [] });
  expect(await claim(mine)).toHaveLength(1);
});

test('where there may be more it is asked once more, and not again', async () => {
  let asked = 0;
  const { claim } = supplier({
    before() {
      asked += 1;
    },
    empty: () => true,
    mayBeMore: async () => true,
  });
  expect(await claim(await wish())).toEqual([]);
  expect(asked).toBe(2);
});

test('G39: an action supplied for a caller that is gone is given back', async () => {
  const gone = new AbortController();
  let looks = 0;
  const { claim, givenBack } = supplier({
    before() {
      looks += 1;
      if (looks === 2) gone.abort();
    },
    empty: () => looks === 1,
  });
  const mine = await wish();
  const waiting = claim(mine, { waitMs: 60_000, signal: gone.signal });
  await expect.poll(() => t.engine.parkedWaiters).toBe(1);
  await t.engine.wake(t.db, [{ tenantId: 1, runnerId: mine.runnerId }]);
  const [action] = await waiting;
  expect(givenBack).toEqual([action?.id]);
  expect(await t.state(action?.id as string)).toBe('pending');
});
