import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { openEmbedded } from '@muster/engine';
import { createServerProcess } from './server-process.ts';
import { connectionActs, killAndStart, type Stage } from './stage.ts';
import { revokeWhileWaiting } from './wake-acts.ts';

/** The embedded database: one process, one folder. */
export async function embeddedStage(folder: string): Promise<Stage> {
  const token = randomBytes(24).toString('hex');
  const dataDir = path.join(folder, 'data');
  const node = await createServerProcess({
    env: { MUSTER_DATA_DIR: dataDir, MUSTER_OPERATOR_TOKEN: token },
    folder,
    name: 'server',
  });
  await node.start();
  return {
    nodes: [node],
    doors: [node.proxy],
    token,
    acts: {
      'kill the server': (on) => killAndStart(node, on),
      'kill the server while it starts': async (on) => {
        await node.kill();
        await node.startAndKill(on.random.int(0, 2_000));
        await node.start();
      },
      ...connectionActs([node]),
      'revoke a token while it waits': revokeWhileWaiting,
    },
    async readFeed(cursor, limit) {
      if (node.feedPort === null || !node.running) throw new Error('The server is down.');
      const answer = await fetch(
        `http://127.0.0.1:${node.feedPort}/?limit=${limit}${cursor ? `&cursor=${cursor}` : ''}`,
        {
          signal: AbortSignal.timeout(10_000),
        },
      );
      if (!answer.ok) throw new Error(await answer.text());
      return (await answer.json()) as Awaited<ReturnType<Stage['readFeed']>>;
    },
    applicationUrl: null,
    open: () => openEmbedded({ dataDir: path.join(dataDir, 'db') }),
    async close() {
      await node.kill();
      await node.proxy.close();
    },
  };
}
