import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { findPostgres } from '../../../testing/postgres-binaries.mjs';
import { type Cluster, startCluster } from '../../../testing/postgres-cluster.mjs';
import {
  createEngine,
  createMigrate,
  type Database,
  ENGINE_LINE,
  type Engine,
  openPostgres,
  raiseIncarnation,
} from '../src/index.ts';
import { createFeedReader, feedFaults, settledUpTo } from '../testing/feed-reader.ts';
import { createSessions } from '../testing/sessions.ts';

/** Servers of their own: they are dumped, copied, restored, lost and replaced, by the real programs. */
const bin = findPostgres()?.bin as string;
const folder = mkdtempSync(path.join(tmpdir(), 'muster-restore-'));
let first: Cluster;
let other: Cluster;
beforeAll(async () => {
  [first, other] = await Promise.all([startCluster(), startCluster()]);
});
afterAll(async () => {
  await Promise.all([first.stop(), other.stop()]);
  rmSync(folder, { recursive: true });
});

function run(program: string, ...args: string[]): void {
  const { status, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${path.basename(program)} ended with ${status}: ${stderr}`);
}

/** A node's life on a server: opened for a while, and closed before the server stops. */
async function on<T>(
  cluster: Cluster,
  live: (life: { db: Database; engine: Engine; nodes: Engine[] }) => Promise<T>,
) {
  const db = openPostgres({ url: cluster.url, onError: () => {} });
  const nodes = [1, 2, 3].map(() => createEngine(db));
  try {
    return await live({ db, nodes, engine: nodes[0] as Engine });
  } finally {
    await Promise.all(nodes.map((node) => node.stop()));
    await db.close();
  }
}

/** Uses up numbers, like a server that has run for long. */
const grow = (db: Database) =>
  db.query({
    text: 'do $$ begin for i in 1..1000 loop perform pg_current_xact_id(); commit; end loop; end $$',
  });

async function enqueue(db: Database, engine: Engine, count = 3): Promise<string> {
  const laneId = await engine.ensureLane(db, 1, 'test', 'lane');
  for (let n = 0; n < count; n += 1) await engine.enqueue(db, { tenantId: 1, laneId, kind: 'test' });
  // one is done, and its ending carries the hand-out of the next: numbers are in more than one table
  const by = { channel: 'any', worker: 'w', leaseMs: 3_600_000 };
  const got = await engine.claim(db, { tenantId: 1, laneId, ...by });
  if (got)
    await engine.report(db, {
      tenantId: 1,
      actionId: got.id,
      attempt: got.attempt,
      status: 'succeeded',
      next: by,
    });
  return laneId;
}

const everything = async (db: Database): Promise<{ eventId: string }[]> =>
  (await db.query({ text: `select event_id as "eventId" from muster.history order by event_id` })).rows;

/** Reads everything settled, in small pages; returns the cursor after it. */
async function readAll(db: Database, engine: Engine, start?: string) {
  await settledUpTo(db);
  let last = start;
  const reader = createFeedReader(async (cursor) => {
    const page = await engine.feed.read(db, { cursor, limit: 2 });
    last = page.cursor;
    return page;
  }, start);
  await reader.poll();
  return { shown: reader.shown, cursor: last as string };
}

/** From the start: what is there and what comes, each event once. */
async function expectWholeFeed(db: Database, engine: Engine): Promise<void> {
  const before = await readAll(db, engine);
  expect(feedFaults(before.shown, await everything(db))).toEqual([]);
  const laneId = await enqueue(db, engine);
  await engine.claim(db, { tenantId: 1, laneId, channel: 'any', worker: 'w', leaseMs: 1_000 });
  const after = await readAll(db, engine, before.cursor);
  expect(feedFaults([...before.shown, ...after.shown], await everything(db))).toEqual([]);
}

const refused = (words: string) => ({
  code: 'MUSTER_OTHER_INCARNATION',
  message: expect.stringContaining(words),
});

beforeEach(() =>
  on(first, async ({ db, engine }) => {
    await createMigrate(db, { schema: 'muster', lines: [ENGINE_LINE] }).up();
    expect(await engine.start()).toEqual({ restored: false });
    await grow(db);
    await enqueue(db, engine);
  }),
);

test('G70: the first start notices a dump in a new server, once, and old cursors are refused', async () => {
  const dump = path.join(folder, 'dump');
  const cursor = await on(first, async ({ db, engine }) => {
    const laneId = await enqueue(db, engine);
    await engine.raiseGeneration(db, { tenantId: 1, laneId });
    await db.query({ text: `update muster.stale_lanes set safe_from = pg_current_xact_id()` });
    return (await readAll(db, engine)).cursor;
  });
  run(path.join(bin, 'pg_dump'), '--format=custom', `--file=${dump}`, `--dbname=${first.url}`);
  run(path.join(bin, 'pg_restore'), `--dbname=${other.url}`, dump);

  await on(other, async ({ db, engine, nodes }) => {
    const sessions = createSessions(other.url);
    onTestFinished(() => sessions.end());
    const open = await sessions.open();
    await open.query('begin; select pg_current_xact_id()');
    await expect(engine.feed.read(db, { cursor })).rejects.toMatchObject(refused('ahead of the database'));

    // all three have noticed it before the first one has corrected it
    const gate = await sessions.open();
    await gate.query('begin; select 1 from muster.incarnations for update');
    const starting = Promise.all(nodes.map((node) => node.start()));
    for (let waiting = 0; waiting < 3; )
      waiting = (
        await db.query({
          text: `select count(*)::int as n from pg_stat_activity where wait_event_type = 'Lock'`,
        })
      ).rows[0].n;
    await gate.query('commit');
    const started = await starting;
    expect(started.filter(({ restored }) => restored)).toHaveLength(1);
    expect(await engine.start()).toEqual({ restored: false });
    await expect(engine.feed.read(db, { cursor })).rejects.toMatchObject(refused('was restored'));
    await Promise.all(nodes.map((node) => node.stop()));

    // A lane whose generation was raised stays on its list as long as a transaction may have seen the old one, and no
    // longer.
    const stale = async () => {
      await nodes[0]?.runDuty('end-stale');
      return (await db.query({ text: 'select * from muster.stale_lanes' })).rows.length;
    };
    expect([await stale(), await stale()]).toEqual([1, 1]);
    await open.query('rollback');
    while ((await stale()) > 0);

    const again = createEngine(db);
    await expectWholeFeed(db, again);
    await grow(db); // now the old cursor is no longer ahead, but still of another life
    await expect(again.feed.read(db, { cursor })).rejects.toMatchObject(refused('was restored'));
  });
});

test('G70: a dump in a server whose numbers are ahead is noticed too', async () => {
  const dump = path.join(folder, 'dump-2');
  const cursor = await on(first, async ({ db, engine }) => (await readAll(db, engine)).cursor);
  run(path.join(bin, 'pg_dump'), '--format=custom', `--file=${dump}`, `--dbname=${first.url}`);
  await on(other, async ({ db }) => {
    for (let n = 0; n < 6; n += 1) await grow(db);
    await db.query({ text: 'drop schema muster cascade' });
  });
  run(path.join(bin, 'pg_restore'), `--dbname=${other.url}`, dump);
  await on(other, async ({ db, engine }) => {
    expect(await engine.start()).toEqual({ restored: true });
    await expect(engine.feed.read(db, { cursor })).rejects.toMatchObject(refused('was restored'));
    await expectWholeFeed(db, engine);
  });
});

test('G70: a restored file backup looks unchanged: cursors ahead are refused, and after muster restored all old ones', async () => {
  const backup = path.join(folder, 'files');
  await first.down('fast');
  run('cp', '-a', first.dataDir, backup);
  await first.up();
  const [behind, ahead] = await on(first, async ({ db, engine }) => {
    const before = await readAll(db, engine);
    await enqueue(db, engine);
    return [before.cursor, (await readAll(db, engine, before.cursor)).cursor];
  });
  await first.down('fast');
  rmSync(first.dataDir, { recursive: true });
  run('cp', '-a', backup, first.dataDir);
  await first.up();
  await on(first, async ({ db, engine }) => {
    expect(await engine.start()).toEqual({ restored: false });
    await expect(engine.feed.read(db, { cursor: ahead })).rejects.toMatchObject(refused('"muster restored"'));
    expect(await raiseIncarnation(db, 'muster')).toEqual({ renumbered: false });
    await grow(db); // past the cursor, which would have skipped what came meanwhile
    for (const cursor of [behind, ahead])
      await expect(engine.feed.read(db, { cursor })).rejects.toMatchObject(refused('was restored'));
    await expectWholeFeed(db, engine);
    const once = await engine.feed.cursor(db, 'end');
    await raiseIncarnation(db, 'muster');
    await expect(engine.feed.read(db, { cursor: once })).rejects.toMatchObject(refused('was restored'));
  });
});

test('G70: a standby that takes over keeps cursors', async () => {
  const cursor = await on(first, async ({ db, engine }) => (await readAll(db, engine)).cursor);
  const { uid, gid } = statSync(first.dataDir);
  await other.down('fast');
  rmSync(other.dataDir, { recursive: true });
  run(
    path.join(bin, 'pg_basebackup'),
    ...[
      `--pgdata=${other.dataDir}`,
      `--dbname=${first.url}`,
      '--write-recovery-conf',
      '--checkpoint=fast',
      '--no-sync',
    ],
  );
  run('chown', '-R', `${uid}:${gid}`, other.dataDir);
  await other.up();
  const written = await on(first, async ({ db, engine }) => {
    await enqueue(db, engine);
    return (await db.query({ text: 'select pg_current_wal_flush_lsn()::text as lsn' })).rows[0].lsn;
  });
  // both have the password of the first now
  const url = new URL(first.url);
  url.port = String(other.port);
  await on({ ...other, url: url.href }, async ({ db, engine }) => {
    for (let isThere = false; !isThere; )
      isThere = (
        await db.query({ text: 'select pg_last_wal_replay_lsn() >= $1::pg_lsn as there', values: [written] })
      ).rows[0].there;
    await first.down('immediate');
    await db.query({ text: 'select pg_promote(wait => false)' });
    for (let isOver = false; !isOver; )
      isOver = !(await db.query({ text: 'select pg_is_in_recovery() as goes_on' })).rows[0].goes_on;
    expect(await engine.start()).toEqual({ restored: false });
    const { shown } = await readAll(db, engine, cursor);
    expect(shown.map((event) => event.eventId)).toEqual(
      (await everything(db)).slice(-6).map((event) => event.eventId),
    );
    await expectWholeFeed(db, engine);
  });
});
