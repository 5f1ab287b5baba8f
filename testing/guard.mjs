// A small shell that waits for the end of its input, which comes when the process that started it ends, in
// whatever way. Then it kills the process that it was last told to watch and removes the folder.

import { spawn } from 'node:child_process';

const script = `
trap '' HUP INT TERM
pid=
while read -r line; do pid=$line; done
if [ -n "$pid" ] && kill -QUIT "$pid" 2>/dev/null; then
  tries=0
  while kill -0 "$pid" 2>/dev/null && [ $tries -lt 100 ]; do sleep 0.1; tries=$((tries + 1)); done
fi
rm -rf -- "$1"
`;

/** @param {string} folder */
export function startGuard(folder) {
  const shell = spawn('/bin/sh', ['-c', script, 'guard', folder], {
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  shell.unref();
  // The pipe is a socket to Node, and must not keep a finished program alive.
  if ('unref' in shell.stdin && typeof shell.stdin.unref === 'function') shell.stdin.unref();
  // The guard may have been killed; that is no reason to fail.
  shell.stdin.on('error', () => {});
  return {
    /** Nothing is left to guard. */
    dismiss() {
      shell.stdin.end('\n');
    },
    /** @param {number | undefined} pid */
    watch(pid) {
      shell.stdin.write(`${pid ?? ''}\n`);
    },
  };
}
