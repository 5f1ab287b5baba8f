import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import {
  createMigrate,
  type Database,
  ENGINE_LINE,
  EngineError,
  type MigrationLine,
  type MigrationStatus,
} from '@muster/engine';

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

/** A node must not serve without the tables that it needs: the first request for one would fail, at any hour. */
export function schemaTooOld(missing: readonly MigrationStatus[]): EngineError {
  const names = missing.map(({ line, version, name }) => `${line} ${version} ${name}`);
  return new EngineError(
    'MUSTER_SCHEMA_TOO_OLD',
    `The database lacks migrations of this version (${names.join(', ')}), and MUSTER_AUTO_MIGRATE is "no". Run "muster migrate up".`,
  );
}
