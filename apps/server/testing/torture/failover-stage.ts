import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { createEngine, openPostgres } from '@muster/engine';
import { type Cluster, startCluster } from '../../../../testing/postgres-cluster.mjs';
import {
  follow,
  isFollowed,
  PAIR_SETTINGS,
  promote,
  startStandby,
  stopReceiving,
} from '../../../../testing/postgres-standby.mjs';
import type { ReadFeed } from './feed-reader.ts';
import { createServerProcess, type ServerNode } from './server-process.ts';
import { type Act, connectionActs, killAndStart, type Stage } from './stage.ts';

/**
 * Two nodes on a primary with a standby. The primary is killed, the standby promoted, and the old primary becomes the standby of the
 * new one. No commit is answered without the standby, so nothing acknowledged may be lost.
 *
 * With `asynchronous` the installation is broken on purpose: the standby has stopped receiving before the primary dies.
 */
export async function failoverStage(
  folder: string,
  { asynchronous = false }: { asynchronous?: boolean } = {},
): Promise<Stage> {
  const started = await startCluster({
    settings: { ...PAIR_SETTINGS, synchronous_standby_names: asynchronous ? '' : '*' },
  });
  let [primary, standby] = [started, await startStandby(started)];
  const pair = [primary, standby];
  const hosts = pair.map(({ port }) => ({ host: '127.0.0.1', port }));
  let crashes = 0;

  async function isComplete(): Promise<void> {
    if (!asynchronous) await isFollowed(primary);
  }

  async function failOver(way: 'copy' | 'rewind'): Promise<void> {
    const [old, next] = [primary, standby];
    await old.kill();
    crashes += 1;
    await promote(next);
    [primary, standby] = [next, old];
    await follow(old, next, way);
    await isComplete();
  }

  await isComplete();
  const token = randomBytes(24).toString('hex');
  const names = hosts.map(({ host, port }) => `${host}:${port}`).join(',');
  const nodes: ServerNode[] = [];
  for (const name of ['node-1', 'node-2']) {
    const node = await createServerProcess({
      env: {
        DATABASE_URL: `postgres://postgres:${primary.password}@${names}/postgres?target_session_attrs=read-write`,
        MUSTER_DATA_DIR: path.join(folder, `${name}-data`),
        MUSTER_OPERATOR_TOKEN: token,
      },
      folder,
      name,
    });
    await node.start(); // one after the other: the first one makes the tables
    nodes.push(node);
  }
  const open = () => openPostgres({ url: started.url, hosts, connections: 2 });
  const reading = open();
  const { feed } = createEngine(reading);
  const read: ReadFeed = (cursor, limit) => feed.read(reading, { cursor, limit });
  /** Its cursor may be ahead of what is left: it starts over, as a reader would that is told so. */
  const readAgain: ReadFeed = (cursor, limit) =>
    read(cursor, limit).catch((error) => {
      if (error.code === 'MUSTER_OTHER_INCARNATION') return read(undefined, limit);
      throw error;
    });

  const sound: Record<string, Act> = {
    ...connectionActs(nodes),
    'kill both nodes': async (on) => {
      await Promise.all(nodes.map((node) => killAndStart(node, on)));
    },
    'kill the primary, and copy it anew': () => failOver('copy'),
    'kill the primary, and rewind it': () => failOver('rewind'),
    'kill the primary and a node': async (on) => {
      await Promise.all([failOver('copy'), killAndStart(on.random.pick(nodes), on)]);
    },
    'kill the standby': async () => {
      await standby.kill();
      crashes += 1;
      await standby.up();
      await isComplete();
    },
  };
  const broken: Record<string, Act> = {
    'kill the primary ahead of its standby': async ({ later }) => {
      await stopReceiving(standby);
      await later(60);
      await failOver('copy');
    },
  };
  return {
    nodes,
    doors: nodes.map(({ proxy }) => proxy),
    token,
    acts: asynchronous ? broken : sound,
    crashes: () => crashes,
    readFeed: asynchronous ? readAgain : read,
    get applicationUrl() {
      return primary.url;
    },
    open: async () => open(),
    async close() {
      await Promise.all(nodes.map((node) => node.kill()));
      await Promise.all([...nodes.map((node) => node.proxy.close()), reading.close()]);
      await Promise.all(pair.map((cluster: Cluster) => cluster.stop()));
    },
  };
}
