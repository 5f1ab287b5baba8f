import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { createEngine, openPostgres } from '@muster/engine';
import pg from 'pg';
import { type Cluster, startCluster } from '../../../../testing/postgres-cluster.mjs';
import { flood } from './flood.ts';
import type { Random } from './random.ts';
import { createServerProcess, type ServerNode } from './server-process.ts';
import { type Act, connectionActs, killAndStart, type Stage } from './stage.ts';
import { TcpProxy } from './tcp-proxy.ts';
import { revokeWhileWaiting, wakesUp } from './wake-acts.ts';

/** Two nodes on their own PostgreSQL server, each behind a proxy, and so is the database. */
export async function postgresStage(folder: string): Promise<Stage> {
  const cluster = await startCluster({ settings: { max_connections: 100, shared_buffers: '64MB' } });
  const line = await TcpProxy.start();
  line.aimAt(cluster.port);
  const url = new URL(cluster.url);
  url.port = String(line.port);
  let crashes = 0;
  const token = randomBytes(24).toString('hex');
  const nodes: ServerNode[] = [];
  for (const name of ['node-1', 'node-2']) {
    const node = await createServerProcess({
      env: {
        DATABASE_URL: url.href,
        MUSTER_DATA_DIR: path.join(folder, `${name}-data`),
        MUSTER_OPERATOR_TOKEN: token,
      },
      folder,
      name,
    });
    await node.start(); // one after the other: the first one makes the tables
    nodes.push(node);
  }
  const reading = openPostgres({ url: cluster.url, connections: 2 });
  const { feed } = createEngine(reading);
  return {
    nodes,
    doors: nodes.map(({ proxy }) => proxy),
    token,
    acts: {
      ...connectionActs(nodes),
      ...databaseActs(cluster, line, () => {
        crashes += 1;
      }),
      ...killing(nodes),
      ...wakeActs(cluster, line),
    },
    slowActs: {
      'stop a node for 20 s': wakesUp({
        async during(enqueue, { random }) {
          const node = nodes[1] as ServerNode;
          node.freeze();
          const before = random.int(16_000, 19_000); // longer than the other one believes it alive
          await pause(before);
          await enqueue();
          await pause(20_000 - before);
          node.thaw();
        },
      }),
      'freeze the database for 20 s under a flood': flood({
        freeze: () => cluster.freeze(),
        thaw: () => cluster.thaw(),
        ms: 20_000,
      }),
    },
    crashes: () => crashes,
    readFeed: (cursor, limit) => feed.read(reading, { cursor, limit }),
    applicationUrl: cluster.url,
    open: async () => openPostgres({ url: cluster.url, connections: 2 }),
    async close() {
      await Promise.all(nodes.map((node) => node.kill()));
      await Promise.all([...nodes.map((node) => node.proxy.close()), line.close(), reading.close()]);
      await cluster.stop();
    },
  };
}

function killing(nodes: readonly ServerNode[]): Record<string, Act> {
  const [first, second] = nodes as [ServerNode, ServerNode];
  return {
    'kill the first node': (on) => killAndStart(first, on),
    'kill the second node': (on) => killAndStart(second, on),
    'kill both nodes': async (on) => {
      await Promise.all([killAndStart(first, on), killAndStart(second, on)]);
    },
    'kill a node while it starts': async (on) => {
      const node = on.random.pick(nodes);
      await node.kill();
      await node.startAndKill(on.random.int(0, 1_000));
      await node.start();
    },
    'kill one node after the other': async (on) => {
      await killAndStart(first, on);
      await killAndStart(second, on);
    },
  };
}

/** A claim waits at the second node; the action for it is queued at the first one during the disturbance. */
function wakeActs(cluster: Cluster, line: TcpProxy): Record<string, Act> {
  return {
    'cut the listeners': wakesUp({
      async during(enqueue) {
        await terminate(cluster, `application_name = 'muster listener'`);
        await enqueue();
      },
    }),
    'lose answers of the database': wakesUp({
      sameNode: true,
      async during(enqueue, { later }) {
        line.mute();
        const enqueued = enqueue();
        await later(5);
        line.release();
        await enqueued;
      },
    }),
    'revoke a token while it waits': revokeWhileWaiting,
  };
}

async function terminate(
  cluster: Cluster,
  which: string,
  choose: (pids: number[]) => number[] = (pids) => pids,
): Promise<number> {
  const client = new pg.Client({ connectionString: cluster.url });
  await client.connect();
  const { rows } = await client.query(
    `select pid from pg_stat_activity where ${which} and pid <> pg_backend_pid() order by pid`,
  );
  const chosen = choose(rows.map((row: { pid: number }) => row.pid));
  await client.query('select pg_terminate_backend(pid) from unnest($1::int[]) pid', [chosen]);
  await client.end();
  return chosen.length;
}

function databaseActs(cluster: Cluster, line: TcpProxy, onCrash: () => void): Record<string, Act> {
  const end = async (random: Random, all: boolean) => {
    const ended = await terminate(cluster, `application_name like 'muster%'`, (pids) =>
      all || pids.length === 0 ? pids : [random.pick(pids)],
    );
    for (let n = 0; n < ended; n += 1) onCrash();
  };
  const restart = async (mode: 'fast' | 'immediate') => {
    await cluster.restart(mode);
    onCrash();
  };
  return {
    'terminate a backend': ({ random }) => end(random, false),
    'terminate all backends': ({ random }) => end(random, true),
    'restart PostgreSQL': () => restart('fast'),
    'crash PostgreSQL': () => restart('immediate'),
    'cut the database': async () => line.cut(),
    'cut the database half-way': async ({ random }) => line.cutHalfWay(random.int(1, 2_000)),
    'hold the database half-open': async ({ random, later }) => {
      line.hold();
      await later(random.int(5, 20));
      line.release();
    },
  };
}
