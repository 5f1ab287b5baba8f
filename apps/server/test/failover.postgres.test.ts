import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Cluster, startCluster } from '../../../testing/postgres-cluster.mjs';
import { isFollowed, PAIR_SETTINGS, sql } from '../../../testing/postgres-standby.mjs';
import { inspect } from '../src/commands/inspect.ts';
import { readConfig } from '../src/config.ts';
import { type Server, startServer } from '../src/main.ts';
import { followDocs, serviceOf } from '../testing/docs-commands.ts';

/** "Failover" of docs/operations.md, with its commands, under a node that stays up. */
const OPERATOR = 'operator-token-of-this-test-0123456789';
const folder = mkdtempSync(path.join(tmpdir(), 'muster-failover-docs-'));
let first: Cluster;
let second: Cluster;
let server: Server;
beforeAll(async () => {
  first = await startCluster({ settings: PAIR_SETTINGS });
  second = await startCluster({ password: first.password, settings: PAIR_SETTINGS });
  await second.down('fast');
  for (const name of readdirSync(second.dataDir))
    rmSync(path.join(second.dataDir, name), { recursive: true });
});
afterAll(async () => {
  await server?.stop();
  await Promise.all([first?.stop(), second?.stop()]);
  rmSync(folder, { recursive: true, force: true });
});

const on = (cluster: Cluster, title: string, environment: Record<string, string>) =>
  followDocs(title, { cluster, environment, replaced: {}, systemctl: serviceOf(cluster) });

const ask = (way: string, body?: object) =>
  fetch(server.url + way, {
    method: body ? 'POST' : 'GET',
    headers: { authorization: `Bearer ${OPERATOR}`, ...(body ? { 'content-type': 'application/json' } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
const enqueue = async (key: string) =>
  (await ask('/api/lanes/x/actions', { kind: key }).catch(() => ({ status: 0 }))).status;

test('G54 G70: with the commands of the docs a standby is made and promoted, and the old primary follows it; the node finds the new one', async () => {
  await on(second, 'make a standby', { PRIMARY: first.url, STANDBY: second.url });
  await isFollowed(first);
  server = await startServer(
    readConfig({
      PORT: '0',
      DATABASE_URL: `postgres://postgres:${first.password}@127.0.0.1:${first.port},127.0.0.1:${second.port}/postgres?target_session_attrs=read-write`,
      MUSTER_OPERATOR_TOKEN: OPERATOR,
      MUSTER_DATA_DIR: folder,
      MUSTER_LOG_LEVEL: 'silent',
    }),
  );
  expect(await enqueue('before')).toBe(201);
  const { feed, db } = server.engine;
  const cursor = await feed.cursor(db, 'start');

  await first.kill();
  // the standby is there, and accepts nothing
  await expect.poll(async () => (await ask('/readyz')).status).toBe(503);
  await on(second, 'promote the standby', { STANDBY: second.url });
  await on(first, 'the old primary becomes the standby', { PRIMARY: second.url });
  await isFollowed(second);

  await expect.poll(async () => (await ask('/readyz')).status).toBe(200);
  await expect.poll(() => enqueue('after')).toBe(201);
  const { body } = await ask('/api/actions').then(async (answer) => ({ body: await answer.json() }));
  const kinds = (body as { actions: { kind: string }[] }).actions.map(({ kind }) => kind);
  expect(kinds).toEqual(expect.arrayContaining(['before', 'after']));
  await expect.poll(async () => (await feed.read(db, { cursor })).events.length).toBeGreaterThan(1);

  const durability = async () => {
    const said: string[] = [];
    const out = { say: (line: string) => void said.push(line), note: () => {}, data: async () => {} };
    await inspect.run({ config: readConfig({}), db }, {}, out);
    return said.find((line) => /durably|synchronous_commit/.test(line));
  };
  expect(await durability()).not.toContain('is local');
  await sql(second, `alter system set synchronous_commit = 'local'`);
  await sql(second, 'select pg_reload_conf()');
  await expect.poll(durability).toMatch(/^wrong: synchronous_commit is local/);
});
