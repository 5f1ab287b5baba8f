// `npm run bench`: installs and builds what is missing, then compares Muster with other queues on this machine.
// Arguments are those of bench/run.mjs: `npm run bench -- --help`. Only bench/ depends on the other queues.

import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { isInstalled, prepareCheckout, root, runTool } from './install.mjs';

prepareCheckout();
if (runTool('typescript/bin/tsc', ['-b']).status !== 0) {
  console.error('The build failed, so nothing was measured.');
  process.exit(1);
}
installPeers();
const { status } = spawnSync(process.execPath, [path.join(root, 'bench/run.mjs'), ...process.argv.slice(2)], {
  stdio: ['ignore', 'inherit', 'inherit'],
});
process.exit(status ?? 1);

function installPeers() {
  const folder = path.join(root, 'bench');
  const record = path.join(folder, 'node_modules/.package-lock.json');
  const read = (/** @type {string} */ file) => JSON.parse(readFileSync(file, 'utf8'));
  if (existsSync(record) && isInstalled(read(path.join(folder, 'package-lock.json')), read(record))) return;
  console.log('Installing the peers (npm ci in bench) …');
  // Without install scripts: nothing here needs one.
  const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  if (spawnSync('npm', args, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] }).status !== 0) {
    console.error('npm ci failed in bench.');
    process.exit(1);
  }
}
