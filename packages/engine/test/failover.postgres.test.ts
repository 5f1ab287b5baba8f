import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Cluster, startCluster } from '../../../testing/postgres-cluster.mjs';
import {
  follow,
  isFollowed,
  PAIR_SETTINGS,
  promote,
  sql,
  startStandby,
} from '../../../testing/postgres-standby.mjs';
import { type Database, openPostgres } from '../src/index.ts';

/** A primary and its synchronous standby, and a driver that knows both. */
let first: Cluster;
let second: Cluster;
beforeAll(async () => {
  first = await startCluster({ settings: { ...PAIR_SETTINGS, synchronous_standby_names: '*' } });
  second = await startStandby(first);
  await isFollowed(first);
  await sql(first, 'create table notes (note text)');
});
afterAll(async () => {
  await Promise.all([first?.stop(), second?.stop()]);
});

// the standby is named first: it must be passed over
const pair = () => ({
  url: first.url,
  hosts: [second, first].map(({ port }) => ({ host: '127.0.0.1', port })),
});

async function on<T>(use: (db: Database, errors: string[]) => Promise<T>): Promise<T> {
  const errors: string[] = [];
  const db = openPostgres({ ...pair(), onError: (error) => void errors.push(error.message) });
  try {
    return await use(db, errors);
  } finally {
    await db.close();
  }
}

const write = (db: Database) => db.query({ text: `insert into notes values ('x')` });
const port = async (db: Database) => (await db.query({ text: 'show port' })).rows[0].port as string;

test('statement_timeout does not end the wait for a standby; a commit whose wait is cancelled counts as one without an answer', () =>
  on(async (db) => {
    // our own sessions hear of it all the same
    await sql(first, "alter role all set client_min_messages = 'error'");
    second.freeze();
    try {
      const plain = new pg.Client({ connectionString: first.url });
      await plain.connect();
      await plain.query('set statement_timeout = 50');
      const pid = async (text: string) => {
        for (;;) {
          const rows = await sql(
            first,
            `select pid from pg_stat_activity where wait_event = 'SyncRep' and query like '%${text}%'
               and clock_timestamp() > query_start + interval '500 ms'`,
          );
          if (rows[0]) return rows[0].pid as number;
        }
      };
      const cancel = async (text: string) => sql(first, `select pg_cancel_backend(${await pid(text)})`);
      // as one message, with parameters, and as the commit of a transaction: ten times its limit, and still waiting
      const simple = plain.query(`insert into notes values ('simple')`);
      await cancel('simple');
      expect((await simple).rowCount).toBe(1); // this is the trap: the standby has nothing of it
      const extended = plain.query(`insert into notes values ($1) /* extended */`, ['x']);
      await cancel('extended');
      expect((await extended).rowCount).toBe(1);
      await plain.query('begin');
      await plain.query(`insert into notes values ('block')`);
      const commit = plain.query('commit /* block */');
      await cancel('block');
      expect((await commit).command).toBe('COMMIT');
      await plain.end();

      let inDoubt = 0;
      const ours = [
        db.query({ text: `insert into notes values ('ours')` }),
        db.transaction(async (tx) => {
          tx.ifInDoubt(() => {
            inDoubt += 1;
          });
          await tx.query({ text: `insert into notes values ('tx')` });
        }),
      ].map((one) => one.then(String, (error: Error) => error.message));
      await cancel('ours');
      await cancel('commit');
      expect(await Promise.all(ours)).toEqual(Array(2).fill(expect.stringContaining('has not confirmed')));
      expect(inDoubt).toBe(1);
    } finally {
      second.thaw();
    }
    await write(db);
  }));

test('a standby that is named first is passed over, for the listener too', () =>
  on(async (db) => {
    const heard: string[] = [];
    const listening = await db.listen('words', (word) => void heard.push(word));
    await write(db);
    expect(await port(db)).toBe(String(first.port));
    await db.query({ text: `select pg_notify('words', 'a')` });
    await expect.poll(() => heard).toEqual(['a']);
    await listening.close();
  }));

test('a server that becomes read-only is left: its idle connections are closed, and the error names each host with its reason', () =>
  on(async (db, errors) => {
    await Promise.all([1, 2, 3].map(() => db.query({ text: 'select pg_sleep(0.01)' })));
    await sql(first, 'alter system set default_transaction_read_only = on');
    await sql(first, 'select pg_reload_conf()');
    try {
      // sessions learn of it one after the other
      await expect.poll(() => write(db).then(String, (error) => error.code)).toBe('25006');
      expect(errors).toContain('The server has become read-only: its idle connections are closed.');
      expect(db.loads().requests).toMatchObject({ busy: 0, idle: 0 });
      await expect(write(db)).rejects.toMatchObject({
        code: 'MUSTER_NO_WRITABLE_HOST',
        message: `No host of the database accepts writes: 127.0.0.1:${first.port} is read-only; 127.0.0.1:${second.port} is read-only.`,
      });
    } finally {
      await sql(first, 'alter system reset default_transaction_read_only');
      await sql(first, 'select pg_reload_conf()');
    }
    await expect
      .poll(() =>
        write(db).then(
          () => 'written',
          (error) => error.code,
        ),
      )
      .toBe('written');
  }));

test('a wrong password is reported as such, and not as a host that is away', async () => {
  const db = openPostgres({ ...pair(), url: first.url.replace(first.password, 'wrong') });
  await expect(write(db)).rejects.toMatchObject({ code: '28P01' });
  await db.close();
});

test('when the primary is killed and the standby promoted, the same pools and listener go on, and back again', () =>
  on(async (db) => {
    let again = 0;
    const heard: string[] = [];
    const listening = await db.listen(
      'words',
      (word) => void heard.push(word),
      () => {
        again += 1;
      },
    );
    await write(db);
    for (const [old, next, way] of [
      [first, second, 'copy'],
      [second, first, 'rewind'],
    ] as const) {
      const before = again;
      heard.length = 0;
      await old.kill();
      await expect(write(db)).rejects.toThrow();
      await promote(next);
      await follow(old, next, way);
      await isFollowed(next);
      await expect
        .poll(() =>
          write(db).then(
            () => 'written',
            (error) => error.message,
          ),
        )
        .toBe('written');
      expect(await port(db)).toBe(String(next.port));
      expect(db.host()).toBe(`127.0.0.1:${next.port}`);
      await expect.poll(() => again).toBeGreaterThan(before);
      await db.query({ text: `select pg_notify('words', 'b')` });
      await expect.poll(() => heard).toEqual(['b']);
    }
    await listening.close();
  }));
