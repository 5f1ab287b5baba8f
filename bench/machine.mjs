// The machine that the figures were taken on: without it they say nothing.

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import os from 'node:os';

export function machine() {
  const cpus = os.cpus();
  return {
    cpu: cpus[0]?.model ?? 'unknown',
    cores: cpus.length,
    memoryGiB: Math.round(os.totalmem() / 1024 ** 3),
    system: `${os.type()} ${os.release()}`,
    node: process.version,
  };
}

/** The commit that was measured, with a mark if the tree differs from it. @param {string} root */
export function commit(root) {
  try {
    const git = (/** @type {string[]} */ args) =>
      execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();
    const changed = git(['status', '--porcelain', '--', 'packages', 'apps']) !== '';
    return `${git(['rev-parse', '--short', 'HEAD'])}${changed ? ' with changes' : ''}`;
  } catch {
    return 'unknown';
  }
}

/** @param {string} name of a package of bench/; our own rows can be measured without them */
export function installedVersion(name) {
  const file = new URL(`./node_modules/${name}/package.json`, import.meta.url);
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).version : 'not installed';
}
