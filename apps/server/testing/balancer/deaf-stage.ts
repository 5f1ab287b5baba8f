import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { createEngine, type Database, openPostgres } from '@muster/engine';
import { readConfig } from '../../src/config.ts';
import { startServer } from '../../src/main.ts';
import type { Stage } from '../torture/stage.ts';
import { wakeActs } from './acts.ts';
import { startHaproxy } from './haproxy.ts';

/** Three nodes in this process, one of which is broken on purpose: it hears nothing of what other nodes take in. */
export async function deafStage(url: string, folder: string): Promise<Stage> {
  const token = randomBytes(24).toString('hex');
  const started = [];
  for (const n of [0, 1, 2]) {
    const db = openPostgres({ url });
    const config = readConfig({
      ...{ DATABASE_URL: url, HOST: '127.0.0.1', PORT: '0', MUSTER_OPERATOR_TOKEN: token },
      ...{ MUSTER_DATA_DIR: path.join(folder, `node-${n}`), MUSTER_LOG_LEVEL: 'silent' },
    });
    started.push({ db, server: await startServer(config, { db: n === 0 ? deaf(db) : db }) });
  }
  const balancer = await startHaproxy(
    started.map(({ server }) => Number(new URL(server.url).port)),
    folder,
  );
  const nodes = started.map(({ db, server }) => {
    let stopped: Promise<void> | undefined;
    const stop = () => {
      stopped ??= server.stop().then(() => db.close());
      return stopped;
    };
    return { faults: [], kills: 0, stop };
  });
  const reading = openPostgres({ url, connections: 1 });
  const { feed } = createEngine(reading);
  return {
    ...{ nodes, token, acts: wakeActs, doors: [balancer], applicationUrl: null },
    readFeed: (cursor, limit) => feed.read(reading, { cursor, limit }),
    open: async () => openPostgres({ url, connections: 2 }),
    async close() {
      await Promise.all(nodes.map((node) => node.stop()));
      await Promise.all([balancer.stop(), reading.close()]);
    },
  };
}

function deaf(db: Database): Database {
  return { ...db, listen: async () => ({ reconnect: async () => {}, close: async () => {} }) };
}
