import { afterAll, beforeAll, expect, test } from 'vitest';
import { readCursor, writeCursor } from '../src/feed-cursor.ts';
import { createFeedReader, feedFaults, settledUpTo } from '../testing/feed-reader.ts';
import { type TestEngine, testEngine } from '../testing/index.ts';
import { createDie, SEED } from '../testing/random.ts';

let t: TestEngine;
beforeAll(async () => {
  t = await testEngine();
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
    text: `select event_id as "eventId" from muster.history where $1::int is null or tenant_id = $1 order by event_id`,
    values: [tenantId ?? null],
  });
  return rows;
}

test('G43: the start lies before everything, whatever has ended, and the end after it', async () => {
  const { laneId } = await t.lane();
  await t.enqueue(laneId);
  const claimed = await t.engine.claim(t.db, {
    ...{ tenantId: 1, laneId, channel: 'any', worker: 'w', leaseMs: 1_000 },
  });
  const { id: actionId, attempt } = claimed as { id: string; attempt: number };
  await t.engine.report(t.db, { tenantId: 1, actionId, attempt, status: 'succeeded' });
  await settledUpTo(t.db);
  const [start, end] = [await t.engine.feed.cursor(t.db, 'start'), await t.engine.feed.cursor(t.db, 'end')];
  expect(readCursor(start)).toMatchObject({ xid: '0', eventId: '0' });
  expect(t.engine.feed.isBefore(start, end)).toBe(true);
  expect(t.engine.feed.isBefore(end, start)).toBe(false);
  expect((await t.engine.feed.read(t.db, { cursor: end })).events).toEqual([]);
});

test('G43: a reader from the start sees everything once, with pages of any size, of one tenant or of all', async () => {
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
      const done = got && { tenantId: got.tenantId, actionId: got.id, attempt: got.attempt };
      // its ending and the hand-out of the next are one row, whether or not in another transaction
      const { next } = done
        ? await t.engine.report(t.db, { ...done, status: 'succeeded', next: by })
        : { next: null };
      const last = next && { tenantId: next.tenantId, actionId: next.id, attempt: next.attempt };
      if (last)
        await t.db.transaction(async (tx) => {
          await enqueue(tx, n);
          await t.engine.report(tx, { ...last, status: die.of(['succeeded', 'failed', 'notNow'] as const) });
        });
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

test('G43: a reader from the end sees exactly what comes after', async () => {
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

/** One after the other, each handed out with the end of the previous one: their endings are their events. */
async function chain(count: number, laneId: string) {
  const ids: string[] = [];
  for (let n = 0; n < count; n += 1) ids.push(await t.enqueue(laneId));
  let got = await t.claim(laneId);
  for (let n = 1; n < count; n += 1) {
    t.clock.advance(1_000);
    got = (await t.report((got as { id: string }).id, 1, 'succeeded', { next: AGAIN })).next;
  }
  return ids;
}
const AGAIN = { channel: 'any', worker: 'worker', leaseMs: 60_000 };

test('G43: a cursor after any event leads to the next, also between the two events of one ending', async () => {
  const { laneId } = await t.lane();
  const from = await t.engine.feed.cursor(t.db, 'end');
  await chain(4, laneId);
  await settledUpTo(t.db);
  const { events } = await t.engine.feed.read(t.db, { cursor: from, tenantId: 1 });
  expect(events.map((event) => event.type)).toEqual([
    ...['CREATED', 'CREATED', 'CREATED', 'CREATED', 'SENT'],
    ...['SUCCEEDED', 'SENT', 'SUCCEEDED', 'SENT', 'SUCCEEDED', 'SENT'],
  ]);
  for (const [n, { cursor }] of events.entries()) {
    const rest = readerOf(cursor, 1, 1);
    await rest.poll();
    expect(rest.shown).toEqual(events.slice(n + 1));
  }
  const end = await t.engine.feed.cursor(t.db, 'end');
  expect((await t.engine.feed.read(t.db, { cursor: end })).events).toEqual([]);
});

test('G42 G43: SENT is shown while the attempt runs, and is the same event however it ends', async () => {
  const ends: Record<string, (id: string) => Promise<unknown>> = {
    succeeded: (id) => t.report(id, 1),
    'succeeded, says another': (id) => t.report(id, 1, 'succeeded', { worker: 'another', error: 'a word' }),
    failed: (id) => t.report(id, 1, 'failed'),
    notNow: (id) => t.report(id, 1, 'notNow'),
    released: (id) => t.engine.release(t.db, { tenantId: 1, actionId: id, attempt: 1 }),
    'its lease ends': () => t.pass(61_000),
    cancelled: async (id) => {
      await t.engine.cancel(t.db, { tenantId: 1, actionId: id });
      await t.report(id, 1, 'failed');
    },
    'of an old generation': async (id) => {
      const laneId = (await t.engine.get(t.db, 1, id))?.laneId as string;
      await t.engine.raiseGeneration(t.db, { tenantId: 1, laneId });
      await t.pass(0);
    },
  };
  for (const [how, end] of Object.entries(ends)) {
    const { laneId } = await t.lane();
    const from = await t.engine.feed.cursor(t.db, 'end');
    const [, id] = (await chain(2, laneId)) as [string, string];
    const sent = { type: 'SENT', attempt: 1, at: t.clock(), worker: 'worker', reason: null };
    const told = async () => {
      await settledUpTo(t.db);
      const { events } = await t.engine.feed.read(t.db, { cursor: from, tenantId: 1 });
      return events.filter((event) => event.actionId === id);
    };
    const running = await told();
    expect((await t.engine.events(t.db, 1, id)).slice(1), how).toEqual([sent]);
    expect(running[1], how).toMatchObject({ ...sent, laneId });
    t.clock.advance(500);
    await end(id);
    const history = await t.engine.events(t.db, 1, id);
    const after = await told();
    expect(history[1], how).toEqual(sent);
    expect(after.slice(0, 2), how).toEqual(running);
    expect(
      after.map(({ type, attempt, at, worker, reason }) => ({ type, attempt, at, worker, reason })),
      how,
    ).toEqual(history);
    const view = await t.engine.get(t.db, 1, id);
    if (view?.endedAt) expect(view.startedAt, how).toEqual(sent.at);
  }
});

test('G15 G42: a repeated and a late report find the attempt that the ending carries', async () => {
  const { laneId } = await t.lane();
  const [first, second] = (await chain(2, laneId)) as [string, string];
  await t.report(second, 1);
  for (const id of [first, second]) {
    expect(await t.report(id, 1)).toMatchObject({ accepted: true, repeated: true, state: 'succeeded' });
    expect(await t.report(id, 1, 'failed')).toMatchObject({ accepted: false, reason: 'LATE' });
    expect(await t.eventTypes(id)).toEqual(['CREATED', 'SENT', 'SUCCEEDED', 'LATE']);
  }
});

test('a page that ends inside a transaction hides nothing; a cursor that loses its place is found out', async () => {
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
])('a cursor that the feed has not issued is refused (%j)', async (cursor) => {
  await expect(t.engine.feed.read(t.db, { cursor })).rejects.toMatchObject({ code: 'MUSTER_BAD_VALUE' });
});

test('G43: the counts of the feed are those of its events, page by page, and end where reading ends', async () => {
  await settledUpTo(t.db);
  const types = ['CREATED', 'SENT', 'SUCCEEDED', 'CANCELLED'] as const;
  const counted = new Map<string, number>();
  let cursor = await t.engine.feed.cursor(t.db, 'start');
  const add = (key: string, count: number) => counted.set(key, (counted.get(key) ?? 0) + count);
  for (let more = true; more; ) {
    const page = await t.engine.feed.count(t.db, { cursor, types, limit: 7 });
    for (const { tenantId, minute, channel, type, count } of page.counts)
      add(`${tenantId} ${minute.toISOString()} ${channel} ${type}`, count);
    if (page.passed > 0) expect(page.upTo).toBeInstanceOf(Date);
    ({ cursor, more } = page);
  }
  const { events, cursor: end } = await t.engine.feed.read(t.db, { limit: 100_000 });
  const subjects = await t.engine.feed.describe(t.db, events);
  const expected = new Map<string, number>();
  events.forEach(({ at, tenantId, type }, n) => {
    if (!types.some((one) => one === type)) return;
    const minute = new Date(Math.floor(at.getTime() / 60_000) * 60_000).toISOString();
    const key = `${tenantId} ${minute} ${subjects[n]?.channel} ${type}`;
    expected.set(key, (expected.get(key) ?? 0) + 1);
  });
  expect(expected.size).toBeGreaterThan(types.length);
  expect(counted).toEqual(expected);
  expect(readCursor(cursor)).toEqual(readCursor(end));
  expect(await t.engine.feed.count(t.db, { cursor, types, limit: 7 })).toMatchObject({
    ...{ counts: [], passed: 0, upTo: null, more: false, cursor },
  });
});
