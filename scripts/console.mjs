// Builds the web console into apps/console/dist, unless the build there is of the same files. `npm start`, `npm run build` and
// the browser tests call it; the first of them builds, in about two seconds of CPU.

import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { root, runTool } from './install.mjs';

const folder = path.join(root, 'apps/console');
const stamp = path.join(folder, 'dist/.built-from');
const SOURCES = ['src', 'public', 'index.html', 'package.json', 'vite.config.mjs'];

/** Whether something was built. */
export function buildConsole() {
  if (!existsSync(folder)) return false;
  const made = fingerprint();
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === made) return false;
  // for every caller: a test would otherwise get React for development
  const { status } = runTool(
    'vite/bin/vite.js',
    ['build', '--config', path.join(folder, 'vite.config.mjs')],
    {
      env: { ...process.env, NODE_ENV: 'production' },
    },
  );
  if (status !== 0) {
    console.error('The console could not be built.');
    return false;
  }
  writeFileSync(stamp, made);
  return true;
}

/** Of every file that the build reads; the lock file stands for the packages. */
export function fingerprint() {
  const hash = createHash('sha256').update(readFileSync(path.join(root, 'package-lock.json')));
  for (const source of SOURCES) {
    const whole = path.join(folder, source);
    for (const file of path.extname(source) ? [whole] : filesIn(whole))
      hash.update(path.relative(folder, file)).update(readFileSync(file));
  }
  return hash.digest('hex');
}

/**
 * @param {string} where
 * @returns {string[]}
 */
function filesIn(where) {
  return readdirSync(where, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))
    .sort();
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const started = Date.now();
  if (buildConsole()) console.log(`Built the console in ${((Date.now() - started) / 1000).toFixed(1)} s.`);
}
