import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Cluster, startCluster } from '../../../testing/postgres-cluster.mjs';
import { createEngine, createMigrate, type Database, ENGINE_LINE, openPostgres } from '../src/index.ts';
import { createSessions } from '../testing/sessions.ts';

/** A server of its own, because it crashes; it flushes its WAL only when a commit waits for it. */
let cluster: Cluster;
let db: Database;
beforeAll(async () => {
  cluster = await startCluster({ settings: { wal_writer_delay: '10s', autovacuum: false } });
  db = openPostgres({ url: cluster.url });
  await createMigrate(db, { schema: 'muster', lines: [ENGINE_LINE] }).up();
});
afterAll(async () => {
  await db.close();
  await cluster.stop();
});

// A transaction that was rolled back has used a number, but the WAL need not contain it before a crash: afterwards
// another transaction gets the same number. A cursor that had passed it would never show that transaction's events.
test('G43: after a crash the database reuses transaction numbers, and the feed skips nothing', async () => {
  const engine = createEngine(db);
  const laneId = await engine.ensureLane(db, 1, 'test', 'lane');
  const enqueue = async () => (await engine.enqueue(db, { tenantId: 1, laneId, kind: 'test' })).id;
  const numberOf = async () => {
    const { rows } = await db.query({ text: 'select pg_snapshot_xmax(pg_current_snapshot())::text as next' });
    return BigInt(rows[0].next);
  };
  const first = await enqueue();
  const seen: string[] = [];
  const read = async (from: string) => {
    const page = await engine.feed.read(db, { cursor: from });
    seen.push(...page.events.map((event) => String(event.actionId)));
    return page.cursor;
  };
  let cursor = await engine.feed.cursor(db, 'start');
  let atEnd: string;
  // the WAL writer may write at the wrong moment, and then the crash reuses no number
  let before: bigint;
  do {
    const sessions = createSessions(cluster.url);
    const session = await sessions.open();
    for (let n = 0; n < 50; n += 1) await session.query('begin; select pg_current_xact_id(); rollback');
    cursor = await read(await read(cursor));
    atEnd = await engine.feed.cursor(db, 'end');
    before = await numberOf();
    await sessions.end();
    await cluster.restart('immediate');
    await db.query({ text: 'select 1' }).catch(() => {}); // the earlier connections are gone
  } while ((await numberOf()) >= before);

  const second = await enqueue();
  await read(cursor);
  expect(seen).toEqual([first, second]);
  seen.length = 0;
  await read(atEnd);
  expect(seen).toEqual([second]);
});
