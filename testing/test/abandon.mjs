// Run by guard.unit.test.ts: sets a guard over a folder and a process, prints that, and waits to be killed.

import { spawn } from 'node:child_process';
import { startGuard } from '../guard.mjs';

const guard = startGuard(process.argv[2] ?? '');
const watched = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], {
  detached: true,
  stdio: 'ignore',
});
guard.watch(watched.pid);
console.log(watched.pid);
setInterval(() => {}, 1000);
