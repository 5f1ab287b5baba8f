// From a fresh clone to a running `muster <command>`: installs and builds only what is missing or changed, then becomes the
// command itself, with its arguments. There is no second process to be left behind: whatever ends this one ends the server.

import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { buildConsole } from './console.mjs';
import { prepareCheckout, root, runTool } from './install.mjs';

const LOOK_AFTER_PARENT_MS = 500;
const parent = process.ppid;

/**
 * @param {string} command
 * @param {string[]} args
 */
export function become(command, args) {
  prepareCheckout();
  build();
  stopWithNpm();
  const muster = path.join(root, 'apps/server/bin/muster.js');
  process.chdir(root);
  process.argv = [process.execPath, muster, command, ...args];
  void import(pathToFileURL(muster).href);
}

function build() {
  const started = Date.now();
  // takes most of a minute for a fresh clone
  console.log('Building what has changed …');
  const { status, stdout } = runTool('typescript/bin/tsc', ['-b', '--listEmittedFiles'], { output: 'pipe' });
  const lines = stdout.split('\n');
  const messages = lines.filter((line) => line !== '' && !line.startsWith('TSFILE:'));
  if (status !== 0) {
    console.error([...messages, 'The build failed, so the server was not started.'].join('\n'));
    process.exit(1);
  }
  const emitted = lines.some((line) => line.startsWith('TSFILE:'));
  // without the console the server still runs, and / says what is missing
  const paged = buildConsole();
  if (emitted || paged) console.log(`Built in ${((Date.now() - started) / 1000).toFixed(1)} s.`);
}

/**
 * npm forwards every signal except SIGKILL, which ends npm itself: then this process gets another parent, and the server
 * stops as on SIGTERM. Started without npm it may outlive its parent, as with `nohup`.
 */
function stopWithNpm() {
  const stop = () => process.kill(process.pid, 'SIGTERM');
  process.on('SIGHUP', stop);
  if (process.env.npm_lifecycle_event === undefined) return;
  const look = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(look);
    stop();
  }, LOOK_AFTER_PARENT_MS);
  look.unref();
}
