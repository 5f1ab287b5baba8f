import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/** The folder of one installation, readable by its owner only. */
export interface DataFolder {
  readonly path: string;
  readonly database: string;
  readonly tokenFile: string;
  /** The key that seals values in the database, if no setting gives one. */
  readonly secretsKeyFile: string;
}

/** A problem of the folder that the user can fix. */
export class FolderError extends Error {
  constructor(what: string, cause: unknown) {
    super(`${what}: ${(cause as Error).message}`, { cause });
    this.name = 'FolderError';
  }
}

export function dataFolder(folder: string): DataFolder {
  return {
    path: folder,
    database: path.join(folder, 'db'),
    tokenFile: path.join(folder, 'operator-token'),
    secretsKeyFile: path.join(folder, 'secrets-key'),
  };
}

/** Creates the folder if it is missing, and makes it private. */
export function makeDataFolder(folder: string): DataFolder {
  try {
    mkdirSync(folder, { mode: 0o700, recursive: true });
    if ((statSync(folder).mode & 0o077) !== 0) chmodSync(folder, 0o700);
  } catch (error) {
    throw new FolderError(
      `The data folder ${folder} cannot be used. Set MUSTER_DATA_DIR to another one`,
      error,
    );
  }
  return dataFolder(folder);
}

export function readSecretFile(file: string, what: string): string | null {
  try {
    return readFileSync(file, 'utf8').trim() || null;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw new FolderError(`${what} in ${file} cannot be read`, error);
  }
}

export function writeSecretFile(file: string, secret: string): void {
  writeFileSync(file, `${secret}\n`, { mode: 0o600 });
  chmodSync(file, 0o600); // the mode above applies to a new file only
}
