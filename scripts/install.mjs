// Makes a checkout ready to run: the right Node, and the packages of package-lock.json. Shared by become.mjs,
// test.mjs and others. Uses only syntax that an old Node can parse, so that one gets a sentence instead of a syntax error.

import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');

/**
 * @typedef {{ integrity?: string, link?: boolean, optional?: boolean, version?: string }} LockedPackage
 * @typedef {{ packages: Record<string, LockedPackage> }} Lock
 */

/**
 * The sentence to show for a Node older than the floor in package.json, or undefined when it will do.
 * @param {string} version such as v20.19.0
 * @param {string} floor such as >=20.19
 */
export function complaintAboutNode(version, floor) {
  const [major = 0, minor = 0] = version.replace('v', '').split('.').map(Number);
  const [floorMajor = 0, floorMinor = 0] = floor.replace('>=', '').split('.').map(Number);
  if (major > floorMajor || (major === floorMajor && minor >= floorMinor)) return undefined;
  return `Muster needs Node ${floorMajor}.${floorMinor} or newer, and this is Node ${version.replace('v', '')}.`;
}

/**
 * True if npm's own record of node_modules has every package of the lock file. npm writes that record last, so an interrupted
 * install does not count, nor does one without the development packages. Optional packages of other platforms are not compared.
 * @param {Lock} lock package-lock.json
 * @param {Lock} record node_modules/.package-lock.json
 */
export function isInstalled(lock, record) {
  return Object.entries(lock.packages).every(([where, wanted]) => {
    if (where === '' || wanted.optional) return true;
    const found = record.packages[where];
    return (
      found?.link === wanted.link &&
      found?.version === wanted.version &&
      found?.integrity === wanted.integrity
    );
  });
}

/** @param {string} file */
function readJson(file) {
  return JSON.parse(readFileSync(path.join(root, file), 'utf8'));
}

/** Stops the process with a sentence when Node is too old; runs `npm ci` when packages are missing. */
export function prepareCheckout() {
  const complaint = complaintAboutNode(process.version, readJson('package.json').engines.node);
  if (complaint !== undefined) {
    console.error(complaint);
    process.exit(1);
  }
  const record = 'node_modules/.package-lock.json';
  if (existsSync(path.join(root, record)) && isInstalled(readJson('package-lock.json'), readJson(record)))
    return;

  console.log('Installing packages (npm ci) …');
  // The development packages are included explicitly, because NODE_ENV=production would leave out the compiler.
  installPackages(root, ['--include=dev']);
}

/**
 * Runs `npm ci` in a folder, or stops the process with a sentence.
 * @param {string} folder @param {string[]} more options
 */
export function installPackages(folder, more) {
  // Under `npm start` the environment names npm's own file.
  const npm = process.env.npm_execpath;
  const [command, before] = npm?.endsWith('npm-cli.js') ? [process.execPath, [npm]] : ['npm', []];
  const args = ['ci', ...more, '--no-audit', '--no-fund', '--loglevel=error'];
  const { error, status } = spawnSync(command, [...before, ...args], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  if (status !== 0) {
    console.error(`npm ci failed${error ? `: ${error.message}` : ''}.`);
    process.exit(1);
  }
}

/**
 * Runs the command-line entry of an installed package with this Node.
 * @param {string} entry its path below node_modules
 * @param {string[]} args
 * @param {{ output?: 'inherit' | 'pipe', env?: NodeJS.ProcessEnv }} [options]
 */
export function runTool(entry, args, { output = 'inherit', env = process.env } = {}) {
  return spawnSync(process.execPath, [path.join(root, 'node_modules', entry), ...args], {
    cwd: root,
    encoding: 'utf8',
    env,
    maxBuffer: 64 * 1024 * 1024,
    stdio: ['ignore', output, 'inherit'],
  });
}
