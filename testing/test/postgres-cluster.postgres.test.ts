import { existsSync } from 'node:fs';
import path from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { holdTransactions } from '../hold-transactions.ts';
import { type Cluster, startCluster } from '../postgres-cluster.mjs';

let cluster: Cluster;

beforeAll(async () => {
  cluster = await startCluster({ settings: { max_connections: 17 } });
});

afterAll(() => cluster.stop());

async function query(sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: cluster.url });
  await client.connect();
  try {
    return (await client.query({ rowMode: 'array', text: sql })).rows.flat();
  } finally {
    await client.end();
  }
}

test('the server has the settings for tests, and a given setting is stronger', async () => {
  expect(
    await query(`select name || '=' || setting from pg_settings where name in
      ('autovacuum', 'fsync', 'listen_addresses', 'max_connections', 'shared_buffers', 'synchronous_commit')
      order by name`),
  ).toEqual([
    'autovacuum=on',
    'fsync=off',
    'listen_addresses=127.0.0.1',
    'max_connections=17',
    'shared_buffers=32768',
    'synchronous_commit=on',
  ]);
});

test('a wrong password is refused, so no other user of the machine can become superuser', async () => {
  const url = new URL(cluster.url);
  url.password = 'wrong';
  const client = new pg.Client({ connectionString: url.href });
  await expect(client.connect()).rejects.toThrow('password authentication failed');
});

test('transactions are held until they are released, and one that broke is told then', async () => {
  const hour = 3_600_000;
  const open = () =>
    query(
      `select pid from pg_stat_activity where application_name = 'muster held' and state = 'idle in transaction'`,
    );
  const release = holdTransactions(cluster.url, hour);
  await expect.poll(open).toHaveLength(1);
  await release();
  await expect.poll(open).toEqual([]);
  const broken = holdTransactions(cluster.url, hour);
  await expect.poll(open).toHaveLength(1);
  await query(
    `select pg_terminate_backend(pid, 10000) from pg_stat_activity where application_name = 'muster held'`,
  );
  await expect(broken()).rejects.toThrow();
  const url = new URL(cluster.url);
  url.password = 'wrong';
  const refused = holdTransactions(url.href, hour);
  for (let n = 0; n < 3; n += 1) await query('select 1'); // it has heard of it by now, or hears of it below
  await expect(refused()).rejects.toThrow('password authentication failed');
});

test.each(['fast', 'immediate'] as const)(
  'committed rows survive a %s restart on the same port',
  async (mode) => {
    await query(`create table survivors_of_${mode} as select 42 as answer`);
    await cluster.restart(mode);
    expect(await query(`select answer from survivors_of_${mode}`)).toEqual([42]);
  },
);

test('an immediate restart is a crash: the server recovers from its log', async () => {
  const before = await query('select pg_postmaster_start_time()');
  await query('create unlogged table forgotten as select 1');
  await cluster.restart('immediate');
  expect(await query('select pg_postmaster_start_time()')).not.toEqual(before);
  expect(await query('select count(*)::int from forgotten')).toEqual([0]);
});

test('a cluster that is down refuses connections until it is up again', async () => {
  await cluster.down('fast');
  await expect(query('select 1')).rejects.toThrow('ECONNREFUSED');
  await cluster.up();
  expect(await query('select 1')).toEqual([1]);
});

test('a server that does not start fails with the end of its log, and leaves nothing behind', async () => {
  await expect(startCluster({ settings: { work_mem: 'plenty' } })).rejects.toThrow(/work_mem/);
});

test('stop ends the server and removes its folder', async () => {
  const second = await startCluster();
  expect(second.port).not.toBe(cluster.port);
  expect(existsSync(second.dataDir)).toBe(true);
  await second.stop();
  expect(existsSync(path.dirname(second.dataDir))).toBe(false);
  const client = new pg.Client({ connectionString: second.url });
  await expect(client.connect()).rejects.toThrow('ECONNREFUSED');
});
