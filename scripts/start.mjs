// `npm start`: from a fresh clone to a running server. Installs and builds only what is missing or
// changed, then runs `muster serve` with the arguments it was given and hands on signals and exit code.

import { spawn } from 'node:child_process';
import os from 'node:os';
import path from 'node:path';
import { prepareCheckout, root, runTool } from './install.mjs';

prepareCheckout();
build();
serve(process.argv.slice(2));

function build() {
  const started = Date.now();
  const { status, stdout } = runTool('typescript/bin/tsc', ['-b', '--listEmittedFiles'], { output: 'pipe' });
  const lines = stdout.split('\n');
  const messages = lines.filter((line) => line !== '' && !line.startsWith('TSFILE:'));
  if (status !== 0) {
    console.error([...messages, 'The build failed, so the server was not started.'].join('\n'));
    process.exit(1);
  }
  const emitted = lines.some((line) => line.startsWith('TSFILE:'));
  if (emitted) console.log(`Built in ${((Date.now() - started) / 1000).toFixed(1)} s.`);
}

/** @param {string[]} args */
function serve(args) {
  // A process group of its own: Ctrl-C reaches this process from the terminal and, under npm, once more
  // from npm. The server gets one signal for both, and another only when somebody insists.
  const server = spawn(process.execPath, [path.join(root, 'apps/server/bin/muster.js'), 'serve', ...args], {
    cwd: root,
    detached: true,
    stdio: 'inherit',
  });
  const oneKeyPress = 500;
  let lastSignalAt = Number.NEGATIVE_INFINITY;
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
    process.on(signal, () => {
      const now = performance.now();
      if (now - lastSignalAt > oneKeyPress) server.kill(signal === 'SIGHUP' ? 'SIGTERM' : signal);
      lastSignalAt = now;
    });
  }
  server.on('error', (error) => {
    console.error(`The server could not be started: ${error.message}`);
    process.exit(1);
  });
  server.on('exit', (code, signal) =>
    process.exit(code ?? (signal === null ? 1 : 128 + os.constants.signals[signal])),
  );
}
