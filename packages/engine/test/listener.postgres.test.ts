import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { type Database, openPostgres } from '../src/index.ts';
import { testDatabase } from '../testing/index.ts';

let database: Awaited<ReturnType<typeof testDatabase>>;
let admin: pg.Client;
let db: Database;
const faults: string[] = [];
const role = `muster_listener_${randomBytes(6).toString('hex')}`;
beforeAll(async () => {
  database = await testDatabase({ migrated: false });
  const url = new URL(database.url as string);
  admin = new pg.Client({ connectionString: url.href });
  await admin.connect();
  await admin.query(`create role ${role} login password 'muster'`);
  url.username = role;
  url.password = 'muster';
  db = openPostgres({ url: url.href, onError: (error) => void faults.push(error.message) });
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});
afterAll(async () => {
  await db.close();
  await admin.query(`drop role ${role}`);
  await admin.end();
  await database.drop();
});

/** Without this login no new session can be opened, as during an outage. */
const login = (may: boolean) => admin.query(`alter role ${role} ${may ? 'login' : 'nologin'}`);
const sessions = async (): Promise<number[]> =>
  (
    await admin.query(
      `select pid from pg_stat_activity where application_name = 'muster listener' and usename = $1`,
      [role],
    )
  ).rows.map((row) => row.pid);

// Found after an outage of 7.6 s: each failed reconnect left a timer behind, and each timer opened a session.
test('G39: there is one listening session, for all channels, however often it was replaced', async () => {
  const connect = vi.spyOn(pg.Client.prototype, 'connect');
  // suites share a process: a session of another suite that looks for its database is not counted
  const connects = () => connect.mock.contexts.filter((client) => (client as pg.Client).user === role).length;
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const heard: string[] = [];
  let again = 0;
  const onReconnect = () => {
    again += 1;
  };
  const listening = [
    await db.listen('one', (word) => heard.push(word), onReconnect),
    await db.listen('two', (word) => heard.push(word), onReconnect),
  ];
  const reconnect = () => Promise.all(listening.map((one) => one.reconnect()));
  expect(await sessions()).toHaveLength(1);
  await login(false);
  for (const pid of await sessions()) await admin.query('select pg_terminate_backend($1, 10000)', [pid]);
  for (let n = 0; n < 3; n += 1) {
    await listening[0]?.reconnect();
    await vi.advanceTimersByTimeAsync(6_000);
    await reconnect();
  }
  expect(again).toBe(0);
  await login(true);
  await reconnect();
  expect(again).toBe(2);
  // a leftover timer would open another one, within this call
  const opened = connects();
  // a session that breaks by itself is a different case, and says why
  faults.length = 0;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(faults).toEqual([]);
  expect(connects()).toBe(opened);
  expect(await sessions()).toHaveLength(1);
  await admin.query(`select pg_notify('two', 'a'), pg_notify('one', 'b')`);
  await expect.poll(() => heard).toEqual(['a', 'b']);
  await Promise.all(listening.map((one) => one.close()));
  await vi.advanceTimersByTimeAsync(60_000);
  expect(connects()).toBe(opened);
  await expect.poll(sessions).toEqual([]);
});
