import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type FeedPlace, readCursor } from '../src/feed-cursor.ts';
import { eventName, type FeedEvent } from '../src/index.ts';
import {
  createFeedReader,
  type FeedReader,
  feedFaults,
  feedRows,
  type ReadFeed,
  settledUpTo,
} from '../testing/feed-reader.ts';
import { createDie, SEED } from '../testing/random.ts';
import { type Scene, withScene } from '../testing/scene.ts';
import { type TestDatabase, testDatabase } from '../testing/test-database.ts';

let database: TestDatabase;
/** Broken on purpose: each event carries the number of its own transaction. */
let ownNumbers: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
  ownNumbers = await testDatabase();
  await ownNumbers.db.query({
    text: 'alter table muster.events alter column xid set default pg_current_xact_id()',
  });
});
afterAll(async () => {
  await database.drop();
  await ownNumbers.drop();
});

type Feed = (scene: Scene, limit: number) => ReadFeed;

const engineFeed: Feed = (scene, limit) => (cursor) =>
  scene.engine.feed.read(scene.db, { cursor, tenantId: scene.tenantId, limit });

/** The naive way: everything after the number that was read last. */
const byNumber: Feed =
  (scene, limit) =>
  async (after = '0') => {
    const { rows } = await scene.db.query({
      text: `select event_id, action_id, type from muster.history where tenant_id = $1 and event_id > $2 order by event_id limit $3`,
      values: [scene.tenantId, after, limit],
    });
    const events = rows.map((row) => shownEvent(row));
    return { events, cursor: events.at(-1)?.eventId ?? after, more: events.length === limit };
  };

function shownEvent(row: { event_id: string; action_id: string; type: number }): FeedEvent {
  return { eventId: row.event_id, actionId: row.action_id, type: eventName(row.type) } as FeedEvent;
}

async function everything(scene: Scene): Promise<FeedEvent[]> {
  const { rows } = await scene.db.query({
    text: `select event_id, action_id, type from muster.history where tenant_id = $1 order by event_id`,
    values: [scene.tenantId],
  });
  return rows.map((row) => shownEvent(row));
}

async function begun(scene: Scene) {
  const session = await scene.session();
  await session.client.query('begin');
  const { rows } = await session.client.query('select pg_current_xact_id()::text as xid');
  return { ...session, xid: rows[0].xid as string };
}

/** A number that was taken earlier is committed later. */
async function slowEnqueue(scene: Scene, feed: Feed) {
  const laneId = await scene.lane();
  const reader = createFeedReader(feed(scene, 10));
  const slow = await begun(scene);
  await scene.enqueue(laneId, {}, slow.db);
  await scene.enqueue(laneId);
  await reader.poll();
  await slow.client.query('commit');
  await settledUpTo(scene.db);
  await reader.poll();
  return feedFaults(reader.shown, await everything(scene));
}

/** An old transaction ends what a newer one has created, while one of an age between them is still open. */
async function oldCancels(scene: Scene, feed: Feed) {
  const laneId = await scene.lane();
  const reader = createFeedReader(feed(scene, 10));
  const old = await begun(scene);
  const between = await begun(scene);
  const id = await scene.enqueue(laneId);
  await scene.engine.cancel(old.db, { tenantId: scene.tenantId, actionId: id });
  await old.client.query('commit');
  await settledUpTo(scene.db, between.xid);
  await reader.poll();
  await between.client.query('commit');
  await settledUpTo(scene.db);
  await reader.poll();
  return feedFaults(reader.shown, await everything(scene));
}

describe('G43: the feed', () => {
  test.each([
    { name: 'a slow transaction commits later', play: slowEnqueue },
    { name: 'an old transaction ends what a newer one created', play: oldCancels },
  ])('shows everything once and CREATED first when $name', async ({ play }) => {
    const { result } = await withScene(database, {}, (scene) => play(scene, engineFeed));
    expect(result).toEqual([]);
  });

  test('reading by event number is found out', async () => {
    const { result } = await withScene(database, {}, (scene) => slowEnqueue(scene, byNumber));
    expect(result).toContain('skipped');
  });

  test('a feed whose events carry the number of their own transaction is found out', async () => {
    const { result } = await withScene(ownNumbers, {}, (scene) => oldCancels(scene, engineFeed));
    expect(result).toEqual(['created-late', 'out-of-order']);
  });

  test('an event of a long transaction does not wait for the next one', async () => {
    const { result } = await withScene(database, {}, async (scene) => {
      const laneId = await scene.lane();
      const old = await begun(scene);
      const id = await scene.enqueue(laneId);
      await scene.engine.cancel(old.db, { tenantId: scene.tenantId, actionId: id });
      await old.client.query('commit');
      const reader = createFeedReader(engineFeed(scene, 10));
      await settledUpTo(scene.db);
      await reader.poll();
      return reader.shown.map((event) => event.type);
    });
    expect(result).toEqual(['CREATED', 'CANCELLED']);
  });

  test('rolled-back events are never shown and hold nothing up', async () => {
    const { result } = await withScene(database, {}, async (scene) => {
      const laneId = await scene.lane();
      const reader = createFeedReader(engineFeed(scene, 1));
      const slow = await begun(scene);
      await scene.enqueue(laneId, {}, slow.db);
      await slow.client.query('rollback');
      scene.log.enqueued.length = 0;
      const id = await scene.enqueue(laneId);
      await settledUpTo(scene.db);
      await reader.poll();
      return [id, reader.shown.map((event) => event.actionId)];
    });
    expect(result[1]).toEqual([result[0]]);
  });

  test.each([1, 2, 3, 4])(
    'under many open transactions, several readers, small pages (game %i)',
    async (game) => {
      const { result } = await withScene(database, {}, (scene) => randomGame(scene, SEED + game, engineFeed));
      expect(result, `MUSTER_TEST_SEED=${SEED}`).toEqual([[], [], [], [], []]);
    },
  );

  test('in such a game a feed by event number, or by own transaction numbers, is found out', async () => {
    const byNumbers = await withScene(database, {}, (scene) => randomGame(scene, 7, byNumber));
    expect(byNumbers.result.flat()).toContain('skipped');
    const ofOwn = await withScene(ownNumbers, {}, (scene) => randomGame(scene, 7, engineFeed));
    expect(ofOwn.result.flat()).toContain('created-late');
  });
});

const STEPS = 250;
const SESSIONS = 5;
const LANES = 12;

interface Lease {
  readonly actionId: string;
  readonly attempt: number;
}

/** Sessions begin, enqueue, cancel, claim, report, commit and roll back in a random order; readers look in between. */
async function randomGame(scene: Scene, seed: number, feed: Feed) {
  const { engine, tenantId } = scene;
  const die = createDie(seed);
  const lanes: string[] = [];
  for (let n = 0; n < LANES; n += 1) lanes.push(await scene.lane());
  const known: { id: string; laneId: string }[] = [];
  const leased = new Map<string, Lease | undefined>();
  const by = { channel: 'any', worker: 'w', leaseMs: 3_600_000 };
  const enqueue = async (on: Scene['db']) => {
    const laneId = die.of(lanes);
    return { laneId, id: (await engine.enqueue(on, { tenantId, laneId, kind: 'test' })).id };
  };
  const sessions: (Awaited<ReturnType<Scene['session']>> & {
    open: boolean;
    made: typeof known;
    /** What was leased in the lanes it has changed, before the change. */
    before: Map<string, Lease | undefined>;
    /** The lanes that it has locked until its end. */
    locked: Set<string>;
  })[] = [];
  for (let n = 0; n < SESSIONS; n += 1)
    sessions.push({
      ...(await scene.session()),
      open: false,
      made: [],
      before: new Map(),
      locked: new Set(),
    });
  const all = createFeedReader(
    (cursor) => engine.feed.read(scene.db, { cursor, limit: 3 }),
    await engine.feed.cursor(scene.db, 'end'),
  );
  const readers: FeedReader[] = [1, 2, 7].map((limit) => createFeedReader(feed(scene, limit)));
  let middle: { reader: FeedReader; from: FeedPlace } | undefined;

  const end = async (session: (typeof sessions)[number], how: 'commit' | 'rollback') => {
    await session.client.query(how);
    if (how === 'commit') known.push(...session.made);
    else for (const [laneId, lease] of session.before) leased.set(laneId, lease);
    session.before.clear();
    session.made = [];
    session.locked.clear();
    session.open = false;
  };
  /**
   * The lane's running action succeeds and its next is handed out in one step: SUCCEEDED and SENT then share one
   * ending.
   */
  const work = async (session: (typeof sessions)[number], laneId: string) => {
    if (sessions.some((other) => (other !== session || !other.open) && other.locked.has(laneId))) return;
    const on = session.open ? session.db : scene.db;
    const lease = leased.get(laneId);
    const status = die.below(5) === 0 ? 'unreached' : 'succeeded';
    const next = lease
      ? (await engine.report(on, { tenantId, ...lease, status, next: by })).next
      : await engine.claim(on, { tenantId, laneId, ...by });
    if (session.open) session.locked.add(laneId);
    if (session.open && !session.before.has(laneId)) session.before.set(laneId, lease);
    leased.set(laneId, next ? { actionId: next.id, attempt: next.attempt } : undefined);
  };
  for (let step = 0; step < STEPS; step += 1) {
    const session = die.of(sessions);
    const what = die.below(14);
    if (step === STEPS / 2) {
      const cursor = await engine.feed.cursor(scene.db, 'end');
      middle = { reader: createFeedReader(engineFeed(scene, 2), cursor), from: readCursor(cursor) };
    }
    if (what < 3 && !session.open) {
      await session.client.query('begin');
      await session.client.query('select pg_current_xact_id()');
      session.open = true;
    } else if (what < 5 && session.open) {
      session.made.push(await enqueue(session.db));
    } else if (what === 5 && session.open && known.length > 0) {
      const one = die.of(known);
      if (sessions.some((other) => other !== session && other.locked.has(one.laneId))) continue;
      known.splice(known.indexOf(one), 1);
      session.locked.add(one.laneId);
      await engine.cancel(session.db, { tenantId, actionId: one.id });
    } else if (what === 6 && session.open) await end(session, die.below(4) === 0 ? 'rollback' : 'commit');
    else if (what === 7) known.push(await enqueue(scene.db));
    else if (what > 9) await work(session, die.of(lanes));
    else await die.of([...readers, all, ...(middle ? [middle.reader] : [])]).poll();
  }
  for (const session of sessions) if (session.open) await end(session, 'commit');
  await settledUpTo(scene.db);
  for (const reader of [...readers, all, ...(middle ? [middle.reader] : [])]) await reader.poll();
  const due = await everything(scene);
  const { rows } = await scene.db.query({
    text: `select event_id, action_id, type from ${feedRows()} f where tenant_id = $1 and (xid, event_id) > ($2::xid8, $3::bigint)`,
    values: [tenantId, middle?.from.xid, middle?.from.eventId],
  });
  const ofTenant = all.shown.filter((event) => event.tenantId === tenantId);
  const orders = [...readers.map(({ shown }) => shown), ofTenant].map((shown) =>
    shown.map((event) => event.eventId).join(),
  );
  return [
    new Set(orders).size === 1 ? [] : ['another order for another reader'],
    ...readers.slice(0, 2).map((reader) => feedFaults(reader.shown, due)),
    feedFaults(ofTenant, due),
    feedFaults(
      middle?.reader.shown ?? [],
      rows.map((row) => shownEvent(row)),
    ),
  ];
}
