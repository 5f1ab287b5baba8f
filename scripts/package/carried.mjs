// Which files of a built checkout the Debian packages carry. Sources, types, source maps and tests stay behind.

import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';

const IMPORT =
  /^(?:import|export)\s(?:[\w$*{},\s]*?\sfrom\s)?['"]([^'"]+)['"]|\bimport\(['"]([^'"]+)['"]\)/gm;

/**
 * What ships of a workspace: its package.json, and what the `files` of it name; of `dist` only what the sources are built into.
 * @param {string} root @param {string} workspace such as packages/engine
 */
export function carriedOfWorkspace(root, workspace) {
  const manifest = path.join(workspace, 'package.json');
  const { files = [] } = JSON.parse(readFileSync(path.join(root, manifest), 'utf8'));
  const named = [...files].filter((name) => name !== 'dist' && name !== 'systemd');
  return [
    manifest,
    ...named.flatMap((name) => filesBelow(root, path.join(workspace, name))),
    ...builtFiles(root, workspace),
  ];
}

/**
 * A build leaves the files of removed sources behind, so the sources say what to take.
 * @param {string} root @param {string} workspace
 */
export function builtFiles(root, workspace) {
  const source = path.join(workspace, 'src');
  return filesBelow(root, source)
    .filter((file) => /\.(?:ts|mjs|js)$/.test(file) && !/\.d\.ts$|\.test\.ts$/.test(file))
    .map((file) => {
      const built = path.join(workspace, 'dist', path.relative(source, file)).replace(/\.ts$/, '.js');
      if (!existsSync(path.join(root, built))) throw new Error(`${built} is not built.`);
      return built;
    });
}

/**
 * Whether a file of an npm package is needed to run it. Licences are kept, whatever they are called. Extensions of PGlite are
 * archives beside it, and the engine loads none.
 * @param {string} file its path, from node_modules on
 */
export function isNeededToRun(file) {
  const name = path.basename(file);
  const [, inPackage = ''] = /.*node_modules\/(?:@[^/]+\/)?[^/]+\/(.*)$/.exec(file) ?? [];
  if (/^(?:licen[cs]e|copying|notice)/i.test(name)) return true;
  if (name.startsWith('.') || file.includes('node_modules/.bin/')) return false;
  if (/pglite\/dist\/(?:.*\.tar\.gz$|contrib\/|.*\.cjs$)/.test(file)) return false;
  if (/^(?:__tests__|tests?|benchmarks?|examples?|\.\w+)\//.test(inPackage)) return false;
  return !/\.(?:[cm]?ts|map|md|markdown|flow|html|sh)$/.test(name);
}

/**
 * The files that a program loads from its own workspaces, and the npm packages that it needs, by following its imports as built.
 * @param {string} root @param {string} entry
 */
export function closureOf(root, entry) {
  const files = new Set([entry]);
  const packages = new Set();
  for (const file of files)
    for (const [, atStart, later] of readFileSync(path.join(root, file), 'utf8').matchAll(IMPORT)) {
      const name = atStart ?? later ?? '';
      if (name.startsWith('.')) files.add(path.join(path.dirname(file), name));
      else if (name.startsWith('@muster/')) files.add(entryOf(root, name));
      else if (!name.startsWith('node:')) packages.add(name);
    }
  return { files: [...files].sort(), packages: [...packages].sort() };
}

/** @param {string} root @param {string} name such as @muster/contracts/words */
function entryOf(root, name) {
  const [, folder = '', rest = ''] = /^@muster\/([^/]+)(.*)$/.exec(name) ?? [];
  const { exports } = JSON.parse(readFileSync(path.join(root, 'packages', folder, 'package.json'), 'utf8'));
  return path.join('packages', folder, exports[`.${rest}`].default);
}

/**
 * @param {string} root @param {string} where a file or folder
 * @returns {string[]} sorted, so that a package does not depend on the order of a folder
 */
export function filesBelow(root, where) {
  const whole = path.join(root, where);
  if (statSync(whole).isFile()) return [where];
  return readdirSync(whole, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)))
    .sort();
}
