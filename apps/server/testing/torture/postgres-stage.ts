import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { createEngine, openPostgres } from '@muster/engine';
import pg from 'pg';
import { type Cluster, startCluster } from '../../../../testing/postgres-cluster.mjs';
import type { Random } from './random.ts';
import { createServerProcess, type ServerNode } from './server-process.ts';
import { type Act, connectionActs, killAndStart, type Stage } from './stage.ts';
import { TcpProxy } from './tcp-proxy.ts';

/** Two nodes on one PostgreSQL server of their own, each behind a proxy, and so is the database. */
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
    token,
    acts: {
      ...connectionActs(nodes),
      ...databaseActs(cluster, line, () => {
        crashes += 1;
      }),
      ...killing(nodes),
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

function databaseActs(cluster: Cluster, line: TcpProxy, onCrash: () => void): Record<string, Act> {
  const terminate = async (random: Random, all: boolean) => {
    const client = new pg.Client({ connectionString: cluster.url });
    await client.connect();
    const { rows } = await client.query(
      `select pid from pg_stat_activity where application_name like 'muster%' and pid <> pg_backend_pid() order by pid`,
    );
    const chosen = all || rows.length === 0 ? rows : [random.pick(rows)];
    await client.query('select pg_terminate_backend(pid) from unnest($1::int[]) pid', [
      chosen.map((row: { pid: number }) => row.pid),
    ]);
    await client.end();
    for (const _ of chosen) onCrash();
  };
  const restart = async (mode: 'fast' | 'immediate') => {
    await cluster.restart(mode);
    onCrash();
  };
  return {
    'terminate a backend': ({ random }) => terminate(random, false),
    'terminate all backends': ({ random }) => terminate(random, true),
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
