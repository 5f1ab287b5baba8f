import { afterAll, beforeAll, expect, test } from 'vitest';
import { readCursor, writeCursor } from '../src/feed-cursor.ts';
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
const readerOf = (start: string | undefined, limit: number, tenantId?: number) =>
  createFeedReader(
    (cursor) =>
      t.engine.feed.read(t.db, {
        cursor,
        ...(tenantId === undefined ? {} : { tenantId }),
        limit,
      }),
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
  const readers = [1, 2, 3, 7].map((limit) => readerOf(undefined, limit));
  const ofTenants = tenants.map((tenantId) => ({ tenantId, reader: readerOf(undefined, 2, tenantId) }));
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

test('a page that ends inside of a transaction hides nothing, a cursor that forgets where is found out', async () => {
  const { laneId } = await t.lane();
  await t.db.transaction(async (tx) => {
    for (let n = 0; n < 4; n += 1) await t.engine.enqueue(tx, { tenantId: 1, laneId, kind: 'test' });
  });
  await settledUpTo(t.db);
  const exact = (await everything()).length;
  const reader = readerOf(undefined, exact);
  await reader.poll();
  await t.enqueue(laneId);
  await settledUpTo(t.db);
  await reader.poll();
  expect(feedFaults(reader.shown, await everything())).toEqual([]);
  const forgetful = createFeedReader(async (cursor) => {
    const page = await t.engine.feed.read(t.db, { cursor, limit: 2 });
    return { ...page, cursor: writeCursor({ ...readCursor(page.cursor), eventId: '9223372036854775807' }) };
  });
  await forgetful.poll();
  expect(feedFaults(forgetful.shown, await everything())).toContain('skipped');
});

const A_LIFE = '4b6bbf11-4f3b-4bb5-b46f-3d9e1cb5a0a1';
const encoded = (text: string) => Buffer.from(text).toString('base64url');

test.each([
  '',
  '0.0.0',
  'nonsense',
  encoded('1/1/2/3'),
  encoded(`2/${A_LIFE}/1/1`),
  encoded(`1/${A_LIFE}/1`),
  encoded(`1/${A_LIFE}/01/1`),
  encoded(`1/${A_LIFE}/18446744073709551616/1`),
  encoded(`1/${A_LIFE}/1/9223372036854775808`),
  `${encoded(`1/${A_LIFE}/1/1`)}=`,
  ` ${encoded(`1/${A_LIFE}/1/1`)}`,
])('a cursor that the feed has not written is refused (%j)', async (cursor) => {
  await expect(t.engine.feed.read(t.db, { cursor })).rejects.toMatchObject({ code: 'MUSTER_BAD_VALUE' });
});
