// Finds the programs of a PostgreSQL server on this machine: the newest that is new enough.
// Plain JavaScript, because scripts/test.mjs runs it before anything is compiled.

import { spawnSync } from 'node:child_process';
import { accessSync, constants, readdirSync, realpathSync } from 'node:fs';
import path from 'node:path';

export const oldestMajor = 15;

/** Folders of distributions that keep server programs off the PATH. */
const versionedFolders = [
  { parent: '/usr/lib/postgresql', inside: 'bin' }, // Debian, Ubuntu
  { parent: '/usr', inside: 'bin', name: /^pgsql-\d+$/ }, // Red Hat, Fedora
  { parent: '/opt/homebrew/opt', inside: 'bin', name: /^postgresql@\d+$/ }, // macOS
];

/**
 * @typedef {{ bin: string, major: number, version: string }} PostgresBinaries
 * @param {{ searchPath?: string, folders?: { parent: string, inside: string, name?: RegExp }[] }} [where]
 * @returns {PostgresBinaries | undefined}
 */
export function findPostgres({ searchPath = process.env.PATH ?? '', folders = versionedFolders } = {}) {
  const candidates = searchPath.split(path.delimiter).filter((folder) => path.isAbsolute(folder));
  for (const { parent, inside, name } of folders) {
    for (const entry of entriesOf(parent)) {
      if (name === undefined || name.test(entry)) candidates.push(path.join(parent, entry, inside));
    }
  }
  const found = new Map();
  for (const folder of candidates) {
    const bin = binFolderBehind(folder);
    if (bin !== undefined && !found.has(bin)) found.set(bin, describe(bin));
  }
  return [...found.values()]
    .filter((binaries) => binaries !== undefined && binaries.major >= oldestMajor)
    .sort((a, b) => b.major - a.major)[0];
}

/** @param {string} folder */
function entriesOf(folder) {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/**
 * The folder that contains both programs: on the PATH there may be a link to only one of them.
 * @param {string} folder
 */
function binFolderBehind(folder) {
  try {
    const bin = path.dirname(realpathSync(path.join(folder, 'postgres')));
    for (const program of ['postgres', 'initdb']) accessSync(path.join(bin, program), constants.X_OK);
    return bin;
  } catch {
    return undefined;
  }
}

/**
 * @param {string} bin
 * @returns {PostgresBinaries | undefined}
 */
function describe(bin) {
  const { stdout } = spawnSync(path.join(bin, 'postgres'), ['--version'], { encoding: 'utf8' });
  const version = /\(PostgreSQL\) (\d+)(\S*)/.exec(stdout ?? '');
  if (version === null) return undefined;
  return { bin, major: Number(version[1]), version: `${version[1]}${version[2]}` };
}
