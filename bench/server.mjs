// Muster's server in this process, as `muster serve` runs it, so that its memory and profile can be taken.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { readConfig } from '../apps/server/dist/config.js';
import { startServer } from '../apps/server/dist/main.js';

const token = 'bench-operator-token-of-32-characters-or-more';

/**
 * @param {string | null} url null for the embedded database, in a folder of its own
 * @param {Record<string, string>} [settings]
 * @param {{ clock?: () => Date }} [options]
 */
export async function openServer(url, settings = {}, options = {}) {
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-bench-'));
  const server = await startServer(
    readConfig({
      PORT: '0',
      MUSTER_DATA_DIR: folder,
      MUSTER_LOG_LEVEL: 'warn',
      MUSTER_OPERATOR_TOKEN: token,
      ...(url === null ? {} : { DATABASE_URL: url }),
      ...settings,
    }),
    options,
  );
  return {
    contacts: server.contacts,
    db: server.engine.db,
    engine: server.engine,
    headers: { authorization: `Bearer ${token}` },
    port: Number(new URL(server.url).port),
    async close() {
      await server.stop();
      rmSync(folder, { force: true, recursive: true });
    },
  };
}
