import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { openPostgres } from '@muster/engine';
import { type Sabotage, sabotage } from '@muster/engine/testing';
import { readConfig } from '../../src/config.ts';
import { startServer } from '../../src/main.ts';
import type { ReadFeed } from './feed-reader.ts';
import type { ServerNode } from './server-process.ts';
import { connectionActs, type Stage } from './stage.ts';
import { TcpProxy } from './tcp-proxy.ts';

/** Two nodes that are broken on purpose, in this process: they cannot be killed, but their connections can be cut. */
export async function brokenStage(
  url: string,
  folder: string,
  broken: { by?: Sabotage; readFeed?: (read: Stage['readFeed'], url: string) => ReadFeed },
): Promise<Stage> {
  const token = randomBytes(24).toString('hex');
  const config = (name: string) =>
    readConfig({
      DATABASE_URL: url,
      HOST: '127.0.0.1',
      PORT: '0',
      MUSTER_DATA_DIR: path.join(folder, name),
      MUSTER_OPERATOR_TOKEN: token,
      MUSTER_LOG_LEVEL: 'silent',
    });
  const started = [];
  for (const name of ['node-1', 'node-2']) {
    const db = openPostgres({ url });
    const server = await startServer(config(name), { db: sabotage(db, broken.by ?? {}) });
    const proxy = await TcpProxy.start();
    proxy.aimAt(Number(new URL(server.url).port));
    const stop = async () => {
      await server.stop();
      await db.close();
    };
    started.push({ engine: server.engine, node: inProcess(proxy, stop) });
  }
  const nodes = started.map(({ node }) => node);
  const { engine } = started[0] as (typeof started)[number];
  const reading = openPostgres({ url, connections: 1 });
  const read: ReadFeed = (cursor, limit) => engine.feed.read(reading, { cursor, limit });
  return {
    nodes,
    doors: nodes.map(({ proxy }) => proxy),
    token,
    acts: connectionActs(nodes),
    readFeed: broken.readFeed?.(read, url) ?? read,
    applicationUrl: url,
    open: async () => openPostgres({ url, connections: 2 }),
    async close() {
      await Promise.all(nodes.map((node) => node.stop()));
      await Promise.all([...nodes.map((node) => node.proxy.close()), reading.close()]);
    },
  };
}

function inProcess(proxy: TcpProxy, end: () => Promise<void>): ServerNode {
  let stopped: Promise<void> | undefined;
  return {
    proxy,
    faults: [],
    kills: 0,
    feedPort: null,
    get running() {
      return stopped === undefined;
    },
    start: async () => {},
    startAndKill: async () => {},
    freeze: () => {},
    thaw: () => {},
    kill: async () => {
      throw new Error('A node in this process cannot be killed.');
    },
    stop: () => {
      stopped ??= end();
      return stopped;
    },
  };
}
