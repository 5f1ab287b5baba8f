import { setTimeout as pause } from 'node:timers/promises';
import { type Database, openEmbedded, openPostgres, type PostgresOptions } from '@muster/engine';
import { findServer } from '../command-socket/client.ts';
import { socketPath } from '../command-socket/socket-path.ts';
import type { Config } from '../config.ts';
import { makeDataFolder } from '../data-folder/data-folder.ts';
import { FolderInUseError, ownerOf, takeLock } from '../data-folder/lock.ts';
import { readDatabaseUrl } from './database-url.ts';

const LOOK_AGAIN_MS = 100;

/** The configured database: a server by its URL, or the embedded one, whose folder has one owner at a time. */
export interface OpenDatabase {
  readonly db: Database;
  close(): Promise<void>;
}

export async function openDatabase(
  config: Config,
  onError: (error: unknown) => void,
  patienceMs = 0,
): Promise<OpenDatabase> {
  const deadlineMs = config.MUSTER_DEADLINE_SECONDS * 1_000;
  if (config.DATABASE_URL !== null) {
    const listen = config.MUSTER_LISTEN_URL === null ? undefined : readDatabaseUrl(config.MUSTER_LISTEN_URL);
    const options = { ...readDatabaseUrl(config.DATABASE_URL), listen, deadlineMs, onError };
    const db = openPostgres({ ...options, isDistributed: await isDistributed(options) });
    return { db, close: () => db.close() };
  }
  const folder = makeDataFolder(config.MUSTER_DATA_DIR);
  const lock = await lockOf(folder.path, patienceMs);
  try {
    const db = await openEmbedded({ dataDir: folder.database, deadlineMs, onError });
    return {
      db,
      async close() {
        await db.close();
        lock.release();
      },
    };
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** Only the database itself knows it. A setting could contradict it, and then nothing would work. */
async function isDistributed(options: PostgresOptions): Promise<boolean> {
  const db = openPostgres(options);
  try {
    const { rows } = await db.query({
      text: `select exists (select from pg_extension where extname = 'citus') as is_distributed`,
    });
    return rows[0].is_distributed;
  } finally {
    await db.close();
  }
}

/**
 * A command holds the folder only for a moment, so a starting server waits for it. An owner that answers is another
 * server, even if its process cannot be seen from here, as from another container.
 */
async function lockOf(folder: string, patienceMs: number): Promise<{ release(): void }> {
  const until = performance.now() + patienceMs;
  for (;;) {
    const server = await findServer(socketPath(folder));
    server?.destroy();
    if (server) throw new FolderInUseError(folder, ownerOf(folder));
    try {
      return takeLock(folder);
    } catch (error) {
      if (!(error instanceof FolderInUseError) || performance.now() > until) throw error;
      await pause(LOOK_AGAIN_MS);
    }
  }
}
