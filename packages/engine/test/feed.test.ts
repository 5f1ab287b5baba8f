import { afterAll, beforeAll, expect, test } from 'vitest';
import { createFeedReader, feedFaults, settledUpTo } from '../testing/feed-reader.ts';
import { type TestEngine, testEngine } from '../testing/index.ts';
import { createDie, SEED } from '../testing/random.ts';

let t: TestEngine;
beforeAll(async () => {
  t = await testEngine();
  await t.enqueue((await t.lane()).laneId); // the first write makes the days of the history
});
afterAll(() => t.close());

const tenants = [1, 2];
const readerOf = (start: string, limit: number, tenantId?: number) =>
  createFeedReader(
    (cursor) => t.engine.feed.read(t.db, { cursor, limit, ...(tenantId === undefined ? {} : { tenantId }) }),
    start,
  );

async function everything(tenantId?: number): Promise<{ eventId: string }[]> {
  const { rows } = await t.db.query({
    text: 'select event_id as "eventId" from muster.events where $1::int is null or tenant_id = $1 order by event_id',
    values: [tenantId ?? null],
  });
  return rows;
}

test('G43: whoever reads from the start, by pages of any size, of one tenant or of all, sees everything once', async () => {
  const die = createDie(SEED);
  const lanes = await Promise.all(
    tenants.map((tenantId) => t.engine.ensureLane(t.db, tenantId, 'feed', 'lane')),
  );
  const readers = [1, 2, 3, 7].map((limit) => readerOf('0.0.0', limit));
  const ofTenants = tenants.map((tenantId) => ({ tenantId, reader: readerOf('0.0.0', 2, tenantId) }));
  const enqueue = (client: Parameters<typeof t.engine.enqueue>[0], n: number) =>
    t.engine.enqueue(client, { tenantId: tenants[n] as number, laneId: lanes[n] as string, kind: 'test' });
  for (let step = 0; step < 60; step += 1) {
    const n = die.below(2);
    const what = die.below(5);
    if (what === 0) await Promise.all([enqueue(t.db, 0), enqueue(t.db, 1), enqueue(t.db, 0)]);
    else if (what === 1)
      await t.db.transaction(async (tx) => {
        const { id } = await enqueue(tx, n);
        await t.engine.cancel(tx, { tenantId: tenants[n] as number, actionId: id });
      });
    else if (what === 2)
      await t.db
        .transaction(async (tx) => {
          await enqueue(tx, n);
          throw new Error('rolled back');
        })
        .catch(() => {});
    else if (what === 3) {
      const by = { channel: 'any', worker: 'w', leaseMs: 1_000 };
      const got = await t.engine.claim(t.db, {
        tenantId: tenants[n] as number,
        laneId: lanes[n] as string,
        ...by,
      });
      if (got) await t.engine.report(t.db, { ...got, actionId: got.id, status: 'succeeded' });
    } else await die.of([...readers, ...ofTenants.map(({ reader }) => reader)]).poll();
  }
  await settledUpTo(t.db);
  for (const reader of readers) {
    await reader.poll();
    expect(feedFaults(reader.shown, await everything()), `MUSTER_TEST_SEED=${SEED}`).toEqual([]);
  }
  for (const { tenantId, reader } of ofTenants) {
    await reader.poll();
    expect(feedFaults(reader.shown, await everything(tenantId)), `MUSTER_TEST_SEED=${SEED}`).toEqual([]);
  }
});

test('G43: whoever starts at the end sees exactly what comes after', async () => {
  const { laneId } = await t.lane();
  await t.enqueue(laneId);
  await settledUpTo(t.db);
  const before = (await everything()).length;
  const reader = readerOf(await t.engine.feed.cursor(t.db, 'end'), 1);
  await reader.poll();
  expect(reader.shown).toEqual([]);
  await t.enqueue(laneId);
  await t.claim(laneId);
  await settledUpTo(t.db);
  await reader.poll();
  expect(feedFaults(reader.shown, (await everything()).slice(before))).toEqual([]);
});

test('a page that ends with its window hides nothing, one that forgets its window is found out', async () => {
  const { laneId } = await t.lane();
  for (let n = 0; n < 4; n += 1) await t.enqueue(laneId);
  const exact = (await everything()).length;
  const reader = readerOf('0.0.0', exact);
  await settledUpTo(t.db);
  await reader.poll();
  await t.enqueue(laneId);
  await settledUpTo(t.db);
  await reader.poll();
  expect(feedFaults(reader.shown, await everything())).toEqual([]);
  const forgetful = createFeedReader(async (cursor) => {
    const page = await t.engine.feed.read(t.db, { cursor, limit: 2 });
    return { ...page, cursor: page.more ? `${page.cursor.split('.')[1]}.0.0` : page.cursor };
  }, '0.0.0');
  await forgetful.poll();
  expect(feedFaults(forgetful.shown, await everything())).toContain('skipped');
});
