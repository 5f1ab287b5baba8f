import { type Database, openEmbedded, openPostgres } from '@muster/engine';
import type { Config } from './config.ts';
import { makeDataFolder } from './data-folder/data-folder.ts';
import { takeLock } from './data-folder/lock.ts';

/** The database of the settings: a server by its address, or the embedded one, whose folder has one owner at a time. */
export interface OpenDatabase {
  readonly db: Database;
  close(): Promise<void>;
}

export async function openDatabase(config: Config, onError: (error: unknown) => void): Promise<OpenDatabase> {
  if (config.DATABASE_URL !== null) {
    const db = openPostgres({ url: config.DATABASE_URL, onError });
    return { db, close: () => db.close() };
  }
  const folder = makeDataFolder(config.MUSTER_DATA_DIR);
  const lock = takeLock(folder.path);
  try {
    const db = await openEmbedded({ dataDir: folder.database, onError });
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
