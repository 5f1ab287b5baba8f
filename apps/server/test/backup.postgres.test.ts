import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Cluster, startCluster } from '../../../testing/postgres-cluster.mjs';
import { sql } from '../../../testing/postgres-standby.mjs';
import { readConfig } from '../src/config.ts';
import { type Server, startServer } from '../src/main.ts';
import { followDocs, type Service, serviceOf } from '../testing/docs-commands.ts';
import { MUSTER } from '../testing/programs.ts';

/** "Back to an earlier moment" of docs/operations.md, with its commands, on a server of its own. */
const OPERATOR = 'operator-token-of-this-test-0123456789';
const folder = mkdtempSync(path.join(tmpdir(), 'muster-backup-'));
let cluster: Cluster;
let server: Server;
beforeAll(async () => {
  cluster = await startCluster();
  service = serviceOf(cluster);
  const { uid, gid } = statSync(cluster.dataDir);
  chownSync(folder, uid, gid);
  await start();
});
afterAll(async () => {
  await server?.stop();
  await cluster?.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function start(): Promise<void> {
  server = await startServer(
    readConfig({
      PORT: '0',
      DATABASE_URL: cluster.url,
      MUSTER_OPERATOR_TOKEN: OPERATOR,
      MUSTER_DATA_DIR: path.join(folder, 'data'),
      MUSTER_LOG_LEVEL: 'silent',
    }),
  );
}

let service: Service;
const follow = (title: string, replaced: Record<string, string> = {}) =>
  followDocs(title, {
    cluster,
    replaced: { '/backup': path.join(folder, 'backup'), ...replaced },
    systemctl: service,
    muster: (args) => muster(...args),
  });

/** The steps of "To go back", after those that name the copy and the moment. */
async function goBack(replaced: Record<string, string>): Promise<void> {
  await server.stop();
  const [newest = ''] = copies().slice(-1);
  await follow('go back', { '2026-11-19T000000Z': newest, ...replaced });
  expect(await follow('wait for the end')).toContain('recovered');
}

async function goOn(): Promise<void> {
  await follow('forget the moment');
  await follow('begin a new life');
  await start();
  rmSync(`${cluster.dataDir}.lost`, { recursive: true });
}

const copies = () => readdirSync(path.join(folder, 'backup/base')).sort();

const clock = async () =>
  ((await sql(cluster, 'select clock_timestamp()::text as now')) as [{ now: string }])[0].now;

async function muster(...args: string[]): Promise<void> {
  const child = spawn(process.execPath, [...MUSTER, ...args], {
    env: { PATH: process.env.PATH, DATABASE_URL: cluster.url, MUSTER_DATA_DIR: path.join(folder, 'data') },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.on('data', (chunk) => {
    said += chunk;
  });
  const [status] = await once(child, 'close');
  if (status !== 0) throw new Error(`muster ${args.join(' ')} ended with ${status}: ${said}`);
}

// biome-ignore lint/suspicious/noExplicitAny: tests look at whatever came
async function ask(way: string, body?: object): Promise<{ status: number; body: any }> {
  const answer = await fetch(server.url + way, {
    method: body ? 'POST' : 'GET',
    headers: { authorization: `Bearer ${OPERATOR}`, ...(body ? { 'content-type': 'application/json' } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  return { status: answer.status, body: await answer.json() };
}

const enqueue = async (lane: string): Promise<string> =>
  (await ask(`/api/lanes/${lane}/actions`, { kind: 'x' })).body.id;
const claim = async (lane: string) =>
  (await ask(`/api/lanes/${lane}/claim`, { worker: 'w' })).body.actions[0] as { id: string; attempt: number };
const report = (id: string, attempt: number) =>
  ask(`/api/actions/${id}/report`, { attempt, status: 'succeeded' });

test('G70 G17: back to an earlier moment with the commands of the docs: reports of lost attempts are LATE, lost numbers are not used again, cursors are refused', async () => {
  await follow('keep the log');
  const kept = await enqueue('kept');
  await follow('copy the files');

  const running = await enqueue('running');
  expect(await claim('running')).toMatchObject({ id: running, attempt: 1 });
  const waiting = await enqueue('waiting');
  const behind = await server.engine.feed.cursor(server.engine.db, 'end');
  const now = await clock();
  // all of this will not have happened
  expect(await claim('waiting')).toMatchObject({ id: waiting, attempt: 1 });
  expect((await report(running, 1)).body).toMatchObject({ accepted: true });
  const lost = await enqueue('lost');
  expect(await claim('lost')).toMatchObject({ id: lost, attempt: 1 });
  const ahead = await server.engine.feed.cursor(server.engine.db, 'end');

  await goBack({ '2026-11-19 12:00:00+00': now });
  await goOn();

  const { db, feed } = server.engine;
  for (const cursor of [behind, ahead])
    await expect(feed.read(db, { cursor })).rejects.toMatchObject({
      code: 'MUSTER_OTHER_INCARNATION',
      message: 'The database was restored after this cursor was issued. Read the event feed from the start.',
    });
  expect((await feed.read(db)).events.length).toBeGreaterThan(0);

  // handed out after the moment
  expect(await report(waiting, 1)).toMatchObject({ status: 200, body: { accepted: false } });
  const { events } = (await ask(`/api/actions/${waiting}`)).body;
  expect(events.at(-1)).toMatchObject({ type: 'LATE', attempt: 1 });
  expect((await report(lost, 1)).status).toBe(404);
  const next = await enqueue('lost');
  expect(BigInt(next)).toBeGreaterThan(BigInt(lost) + 1_000n);

  // handed out before it
  expect((await report(running, 1)).body).toMatchObject({ accepted: true });
  expect(await claim('kept')).toMatchObject({ id: kept, attempt: 1 });
  expect((await report(kept, 1)).body).toMatchObject({ accepted: true });
  await muster('check');
});

const settings = async (...names: string[]) =>
  (
    await sql(cluster, `select name, setting from pg_settings where name = any('{${names}}') order by name`)
  ).map(({ setting }) => setting);

test('G70: to the latest moment, also after a moment that the log does not reach; the copy waits for no standby', async () => {
  await sql(cluster, `alter system set synchronous_standby_names = '*'`);
  await follow('copy the files');
  expect(copies()).toHaveLength(2);
  await sql(cluster, 'alter system reset synchronous_standby_names');
  const last = await enqueue('last');
  const never = { '2026-11-19 12:00:00+00': '2999-01-01 00:00:00+00' };
  // the server ends, while it starts or soon after
  await expect(goBack(never)).rejects.toThrow('recovery ended before configured recovery target was reached');
  await follow('go to the latest moment instead');
  expect(await follow('wait for the end')).toContain('recovered');
  await goOn();
  expect((await ask(`/api/actions/${last}`)).body).toMatchObject({ kind: 'x' });
  expect(await settings('recovery_target_time', 'restore_command', 'synchronous_standby_names')).toEqual([
    '',
    '',
    '',
  ]);

  const later = await enqueue('later');
  await goBack({ "recovery_target_time = '$MOMENT'\n": '' });
  await goOn();
  expect((await ask(`/api/actions/${later}`)).body).toMatchObject({ kind: 'x' });
  await muster('check');
});
