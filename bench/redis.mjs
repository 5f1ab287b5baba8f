// A throwaway Redis server in a temporary folder. Its append-only file is written to disk every second, as BullMQ's guide for
// production asks. One row turns on a write per command, which corresponds to a synchronous commit.

import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startGuard } from '../testing/guard.mjs';

export const redisSettings = {
  appendonly: 'yes',
  appendfsync: 'everysec',
  save: '',
  'maxmemory-policy': 'noeviction',
};

/** The version of the installed server, or undefined. */
export function redisVersion() {
  const { stdout } = spawnSync('redis-server', ['--version'], { encoding: 'utf8' });
  return /v=(\S+)/.exec(stdout ?? '')?.[1];
}

export async function startRedis() {
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-redis-'));
  const guard = startGuard(folder);
  const port = await freePort();
  const settings = Object.entries(redisSettings).flatMap(([name, value]) => [`--${name}`, value]);
  const server = spawn(
    'redis-server',
    ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, ...settings],
    { cwd: folder, detached: true, stdio: ['ignore', 'pipe', 'inherit'] },
  );
  guard.watch(server.pid);
  await new Promise((resolve, reject) => {
    let log = '';
    server.stdout.on('data', (text) => {
      log += text;
      if (log.includes('Ready to accept connections')) resolve(undefined);
    });
    server.once('error', reject);
    server.once('exit', () => reject(new Error(`Redis did not start:\n${log}`)));
  });
  server.unref();
  return {
    port,
    async stop() {
      const ended = new Promise((resolve) => server.once('exit', resolve));
      server.ref();
      server.kill('SIGKILL');
      await ended;
      rmSync(folder, { force: true, recursive: true });
      guard.dismiss();
    },
  };
}

/** @returns {Promise<number>} */
function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });
}
