// PgBouncer in transaction mode before a throwaway server, for every database of it. Debian's package, or MUSTER_TEST_PGBOUNCER.
// `.ci/run` installs it if it is missing.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort } from './free-port.mjs';
import { startGuard } from './guard.mjs';
import { serverUser } from './postgres-cluster.mjs';

const KNOWN = [
  '/usr/sbin/pgbouncer',
  '/usr/bin/pgbouncer',
  '/usr/local/bin/pgbouncer',
  '/opt/homebrew/bin/pgbouncer',
];
const patience = 60_000;

export function findPgbouncer() {
  return [process.env.MUSTER_TEST_PGBOUNCER ?? '', ...KNOWN].find((file) => file !== '' && existsSync(file));
}

/**
 * @param {string} serverUrl a superuser's
 * @param {{ sessions?: number }} [options] how many sessions of the server all clients of one database share
 * @returns {Promise<{ urlOf(url: string): string, stop(): Promise<void> }>} `urlOf` leads to the same database through it
 */
export async function startPgbouncer(serverUrl, { sessions = 20 } = {}) {
  const program = findPgbouncer();
  if (program === undefined)
    throw new Error('No PgBouncer was found: apt-get install pgbouncer, or set MUSTER_TEST_PGBOUNCER.');
  const { hostname, password, port: serverPort, username } = new URL(serverUrl);
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-pooler-'));
  const guard = startGuard(folder);
  const port = await freePort();
  const file = path.join(folder, 'pgbouncer.ini');
  const logFile = path.join(folder, 'log');
  const login = `user=${username} password=${decodeURIComponent(password)}`;
  writeFileSync(
    file,
    `[databases]
* = host=${hostname} port=${serverPort || 5432} ${login}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = ${sessions}
max_client_conn = 2000
logfile = ${logFile}
`,
    { mode: 0o600 },
  );
  // it does not run as root either
  const owner = serverUser();
  if (owner) for (const one of [folder, file]) chownSync(one, owner.uid, owner.gid);
  const child = spawn(program, ['-q', file], { ...owner, cwd: folder, detached: true, stdio: 'ignore' });
  const ended = once(child, 'exit');
  guard.watch(child.pid);

  async function stop() {
    child.kill('SIGTERM');
    await ended;
    rmSync(folder, { force: true, recursive: true });
    guard.dismiss();
  }

  const until = performance.now() + patience;
  while (!(await answers(port))) {
    if (child.exitCode === null && performance.now() < until) {
      await pause(10);
      continue;
    }
    const log = existsSync(logFile) ? readFileSync(logFile, 'utf8') : '';
    await stop();
    throw new Error(`PgBouncer did not start. Its log:\n${log}`);
  }
  child.unref();
  return {
    urlOf(url) {
      const through = new URL(url);
      through.host = `127.0.0.1:${port}`;
      return through.href;
    },
    stop,
  };
}

/** @param {number} port @returns {Promise<boolean>} */
function answers(port) {
  return new Promise((resolve) => {
    const socket = createConnection(port, '127.0.0.1');
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}
