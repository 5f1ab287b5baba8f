import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Cluster, startCluster } from '../../../testing/postgres-cluster.mjs';
import { isFollowed, sql } from '../../../testing/postgres-standby.mjs';
import { inspect } from '../src/commands/inspect.ts';
import { readConfig } from '../src/config.ts';
import { type Server, startServer } from '../src/main.ts';
import { followDocs, type Service, serviceOf } from '../testing/docs-commands.ts';
import { MUSTER } from '../testing/programs.ts';

/** "Failover" of docs/operations.md, with its commands, under a node that stays up. */
const OPERATOR = 'operator-token-of-this-test-0123456789';
/** What the page leaves to the configuration files of both servers; a killed server leaves no shared memory behind. */
const SETTINGS = { dynamic_shared_memory_type: 'mmap', max_connections: 100, shared_buffers: '64MB' };
const WAITS = 'Changes wait for a synchronous standby, and none is connected.';
const folder = mkdtempSync(path.join(tmpdir(), 'muster-failover-docs-'));
let first: Cluster;
let second: Cluster;
let services: Map<Cluster, Service>;
let server: Server;
const lines: string[] = [];
beforeAll(async () => {
  first = await startCluster({ settings: SETTINGS });
  second = await startCluster({ password: first.password, settings: SETTINGS });
  services = new Map([first, second].map((cluster) => [cluster, serviceOf(cluster)]));
});
afterAll(async () => {
  await server?.stop();
  await Promise.all([first?.stop(), second?.stop()]);
  rmSync(folder, { recursive: true, force: true });
});

/** `primary` is what the operator has set as the other server. */
const on = (cluster: Cluster, title: string, primary = '', isPasted = false) =>
  followDocs(
    title,
    {
      cluster,
      environment: { PRIMARY: primary },
      systemctl: services.get(cluster) as Service,
      muster: async (args) => {
        const child = muster(...args);
        let said = '';
        child.stderr?.on('data', (chunk) => {
          said += chunk;
        });
        const [status] = await once(child, 'close');
        if (status !== 0) throw new Error(said);
      },
    },
    { isPasted },
  );

const pair = () =>
  `postgres://node:node@127.0.0.1:${first.port},127.0.0.1:${second.port}/postgres?target_session_attrs=read-write`;

function muster(...args: string[]): ChildProcess {
  const env = {
    DATABASE_URL: pair(),
    MUSTER_DATA_DIR: folder,
    MUSTER_TOKEN: OPERATOR,
    MUSTER_URL: server.url,
    PATH: process.env.PATH,
  };
  return spawn(process.execPath, [...MUSTER, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
}

const ask = (way: string, body?: object) =>
  fetch(server.url + way, {
    method: body ? 'POST' : 'GET',
    headers: { authorization: `Bearer ${OPERATOR}`, ...(body ? { 'content-type': 'application/json' } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
const enqueue = async (key: string) =>
  (await ask('/api/lanes/x/actions', { kind: key }).catch(() => ({ status: 0 }))).status;
const kinds = async () =>
  ((await (await ask('/api/actions')).json()) as { actions: { kind: string }[] }).actions.map(
    ({ kind }) => kind,
  );

/** What `muster doctor` finds in the database. */
async function findings(): Promise<string[]> {
  const said: string[] = [];
  const out = { say: (line: string) => void said.push(line), note: () => {}, data: async () => {} };
  await inspect.run({ config: readConfig({}), db: server.engine.db }, {}, out);
  return said;
}

/** The operator repeats it until the standby streams. */
const waitForStandby = (primary: Cluster) =>
  expect.poll(() => on(primary, 'let commits wait for the standby').catch(() => '')).toContain('streaming');

test('G54 G70: with the commands of the docs a standby is made and promoted, and the old primary follows it; the node finds the new one', async () => {
  await on(first, 'prepare the primary');
  await expect(on(second, 'make a standby', second.url, true)).rejects.toThrow();
  // it would have deleted itself
  expect(existsSync(path.join(second.dataDir, 'PG_VERSION'))).toBe(true);
  await on(second, 'make a standby', first.url);
  await waitForStandby(first);
  await on(second, 'and after a promotion, too');
  await isFollowed(first);
  // not a superuser: most of what others do is hidden from it
  await sql(first, `create role node login password 'node'`);
  await sql(first, 'grant create on database postgres to node');
  server = await startServer(
    readConfig({
      PORT: '0',
      DATABASE_URL: pair(),
      MUSTER_OPERATOR_TOKEN: OPERATOR,
      MUSTER_DATA_DIR: folder,
      MUSTER_LOG_LEVEL: 'warn',
    }),
    { logStream: { write: (line) => void lines.push(line) } },
  );
  expect(await enqueue('before')).toBe(201);
  await expect.poll(findings).not.toContainEqual(expect.stringContaining('standby'));
  const { feed, db } = server.engine;
  const cursor = await feed.cursor(db, 'start');

  await first.kill();
  // the standby is there, and accepts nothing
  await expect.poll(async () => (await ask('/readyz')).status).toBe(503);
  await on(first, 'fence the old primary');
  await on(second, 'promote the standby');

  // alone, it waits, and everything that waits says so
  await expect.poll(async () => (await ask('/readyz')).status).toBe(200);
  await expect.poll(findings).toContainEqual(expect.stringContaining(`wrong: ${WAITS}`));
  await expect.poll(() => lines.filter((line) => line.includes(WAITS)).length).toBe(1);
  // a standby that takes over keeps cursors; a database that was restored does not
  await expect.poll(async () => (await feed.read(db, { cursor })).events.length).toBeGreaterThan(0);
  const restored = muster('restored');
  const ended = once(restored, 'close');
  const [note] = await once(restored.stderr as NodeJS.ReadableStream, 'data');
  expect(String(note)).toContain(WAITS);
  expect(restored.exitCode).toBe(null);
  // seconds later, so the node has looked again
  expect((await ask('/readyz')).status).toBe(200);
  expect(lines.filter((line) => line.includes(WAITS))).toHaveLength(1);
  await on(second, 'go on without a standby');
  expect(await ended).toEqual([0, null]);
  await expect.poll(() => enqueue('alone')).toBe(201);
  await expect.poll(findings).not.toContainEqual(expect.stringContaining('standby'));

  // the other server is named wrongly: nothing may start
  const wrong = second.url.replace(String(second.port), String(first.port));
  await expect(on(first, 'the old primary becomes the standby', wrong, true)).rejects.toThrow();
  await expect(sql(first, 'select 1')).rejects.toThrow('ECONNREFUSED');
  await expect(services.get(first)?.['start postgresql@15-main']?.()).rejects.toThrow('masked');

  await on(first, 'the old primary becomes the standby', second.url);
  await waitForStandby(second);
  await on(first, 'and after a promotion, too');
  await isFollowed(second);
  expect(await on(second, 'see that it works')).toMatch(/streaming \| sync/);
  await on(second, 'a change is carried out');
  expect(await enqueue('after')).toBe(201);
  expect(await kinds()).toEqual(expect.arrayContaining(['before', 'alone', 'test', 'after']));
  await expect(feed.read(db, { cursor })).rejects.toMatchObject({ code: 'MUSTER_OTHER_INCARNATION' });

  first.freeze();
  const held = enqueue('held');
  await expect
    .poll(findings)
    .toContainEqual(
      expect.stringMatching(/^wrong: Changes wait for a synchronous standby that does not confirm/),
    );
  first.thaw();
  await held;
  await expect.poll(findings).not.toContainEqual(expect.stringContaining('standby'));

  await sql(second, `alter system set synchronous_commit = 'local'`);
  await sql(second, 'select pg_reload_conf()');
  await expect.poll(findings).toContainEqual(expect.stringMatching(/^wrong: synchronous_commit is local/));
});
