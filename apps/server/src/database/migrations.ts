import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { createMigrate, type Database, ENGINE_LINE, type MigrationLine } from '@muster/engine';

/** The tables of the server, on top of the engine's. Each feature numbers its migrations in its own range. */
export const SERVER_LINE: MigrationLine = {
  name: 'server',
  folder: fileURLToPath(new URL('../../migrations', import.meta.url)),
};
export const LINES = [ENGINE_LINE, SERVER_LINE];

export const CATALOGUE_FILE = fileURLToPath(new URL('../../catalogue.txt', import.meta.url));

export function migrations(db: Database, schema: string) {
  return createMigrate(db, { schema, lines: LINES });
}

export function committedCatalogue(): Promise<string> {
  return readFile(CATALOGUE_FILE, 'utf8');
}
