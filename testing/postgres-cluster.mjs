// A throwaway PostgreSQL cluster in a temporary folder, in memory if possible, for tests, crash suites and benchmarks:
// initdb, a server on a port of 127.0.0.1, and nothing left behind. A guard process outlives this one and
// cleans up if this one ends without calling stop(): Ctrl-C, a crash, even a kill -9.
//
//   startCluster() ──► up ──down(mode), kill()──► down ──up()──► up ──stop()──► gone
//
// postgres-standby.mjs makes one a standby of another.
//
// Plain JavaScript, so that a script can use it without a loader.

import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  appendFileSync,
  chownSync,
  closeSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fleetingFolder } from './fleeting-folder.mjs';
import { freePort } from './free-port.mjs';
import { startGuard } from './guard.mjs';
import { findPostgres, oldestMajor } from './postgres-binaries.mjs';

/**
 * `fast` ends sessions and writes a checkpoint; `immediate` is a crash: the next start recovers from the log.
 * @typedef {'fast' | 'immediate'} DownMode
 *
 * @typedef {object} ClusterOptions
 * @property {boolean} [fsync] off by default, which is right for tests; a benchmark of durable commits turns it on
 * @property {string} [password] of the superuser; a standby has that of its primary
 * @property {Record<string, string | number | boolean>} [settings] for postgresql.conf, overriding ours
 *
 * @typedef {object} Cluster
 * @property {string} dataDir
 * @property {(mode: DownMode) => Promise<void>} down
 * @property {() => void} freeze suspends all its processes; connections stay and nothing answers
 * @property {() => Promise<void>} kill all its processes with SIGKILL, as if its machine were gone
 * @property {string} password
 * @property {number} port
 * @property {(mode: DownMode) => Promise<void>} restart down and up again, on the same port and data
 * @property {(program: string, args: string[]) => Promise<void>} run one of PostgreSQL's programs, as the user of the server
 * @property {() => Promise<void>} stop ends the server and removes its folder
 * @property {() => void} thaw
 * @property {() => Promise<void>} up
 * @property {string} url of the database `postgres`, as a superuser
 * @property {string} version
 */

const patience = 60_000;

/**
 * @param {ClusterOptions} [options]
 * @returns {Promise<Cluster>}
 * @example
 * const cluster = await startCluster({ settings: { max_connections: 50 } });
 * await cluster.restart('immediate');
 * await cluster.stop();
 */
export async function startCluster({
  fsync = false,
  password = randomBytes(16).toString('hex'),
  settings = {},
} = {}) {
  const binaries = findPostgres();
  if (binaries === undefined) {
    throw new Error(
      `No PostgreSQL ${oldestMajor}+ server programs were found on the PATH or in /usr/lib/postgresql. ` +
        'Install a PostgreSQL server (on Debian: the package postgresql), or set MUSTER_TEST_DATABASE_URL.',
    );
  }
  const { bin, version } = binaries;
  // what must survive a power cut must be on a disk
  const folder = mkdtempSync(path.join(fsync ? tmpdir() : fleetingFolder(), 'muster-pg-'));
  const guard = startGuard(folder);
  const dataDir = path.join(folder, 'data');
  const logFile = path.join(folder, 'server.log');
  const owner = serverUser();
  /** @type {import('node:child_process').ChildProcess | undefined} */
  let server;

  /** @param {string} program @param {string[]} args */
  function launch(program, args) {
    const log = openSync(logFile, 'a');
    const child = spawn(path.join(bin, program), args, {
      ...owner,
      cwd: folder,
      detached: true,
      env: { LC_ALL: 'C', PATH: process.env.PATH, TZ: 'UTC' },
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    child.once('error', (error) => appendFileSync(logFile, `${error.message}\n`));
    guard.watch(child.pid);
    return child;
  }

  /** @param {string} program @param {string[]} args */
  async function run(program, args) {
    const [code] = await once(launch(program, args), 'exit');
    guard.watch(server?.pid);
    if (code !== 0) throw failure(`${program} ended with exit code ${code}`);
  }

  /** @param {string} what */
  function failure(what) {
    const log = readFileSync(logFile, 'utf8').trim().split('\n').slice(-20).join('\n');
    return new Error(`${what}. The end of its log:\n${log}`);
  }

  async function initialise() {
    const passwordFile = path.join(folder, 'password');
    writeFileSync(passwordFile, password, { mode: 0o600 });
    writeFileSync(logFile, '');
    if (owner !== undefined) {
      for (const file of [folder, passwordFile]) chownSync(file, owner.uid, owner.gid);
    }
    await run('initdb', [
      ...['--pgdata', dataDir, '--username', 'postgres', '--pwfile', passwordFile],
      ...['--auth', 'scram-sha-256', '--encoding', 'UTF8', '--locale', 'C', '--no-sync'],
    ]);
    appendFileSync(path.join(dataDir, 'postgresql.conf'), configuration(folder, fsync, settings));
  }

  /** @param {number} port */
  async function up(port) {
    if (server !== undefined) throw new Error('The cluster is up already.');
    const child = launch('postgres', ['-D', dataDir, '-p', String(port)]);
    server = child;
    const deadline = performance.now() + patience;
    while (!isReady(dataDir, child.pid)) {
      if (hasEnded(child)) {
        server = undefined;
        throw failure('PostgreSQL did not start');
      }
      if (performance.now() > deadline) throw failure('PostgreSQL was not ready in time');
      await pause(10);
    }
    child.unref();
  }

  /** @param {DownMode} mode */
  async function down(mode) {
    const child = server;
    if (child === undefined) return;
    signalAll('SIGCONT');
    server = undefined;
    child.ref();
    const ended = hasEnded(child) ? undefined : once(child, 'exit');
    child.kill(mode === 'fast' ? 'SIGINT' : 'SIGQUIT');
    await ended;
    guard.watch(undefined);
  }

  async function kill() {
    const child = server;
    if (child === undefined) return;
    child.ref();
    const ended = hasEnded(child) ? undefined : once(child, 'exit');
    signalAll('SIGKILL');
    server = undefined;
    await ended;
    guard.watch(undefined);
  }

  /** @param {'SIGSTOP' | 'SIGCONT' | 'SIGKILL'} signal */
  function signalAll(signal) {
    if (server?.pid === undefined) return;
    // the parent first: it would replace its children
    for (const pid of [server.pid, ...childrenOf(server.pid)]) {
      try {
        process.kill(pid, signal);
      } catch (error) {
        if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ESRCH') throw error;
      }
    }
  }

  async function stop() {
    await down('immediate');
    rmSync(folder, { force: true, recursive: true });
    guard.dismiss();
  }

  try {
    await initialise();
    const port = await firstUp(up, () => readFileSync(logFile, 'utf8'));
    return {
      dataDir,
      down,
      freeze: () => signalAll('SIGSTOP'),
      kill,
      password,
      port,
      async restart(mode) {
        await down(mode);
        await up(port);
      },
      run,
      stop,
      thaw: () => signalAll('SIGCONT'),
      up: () => up(port),
      url: `postgres://postgres:${password}@127.0.0.1:${port}/postgres`,
      version,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** @param {number} parent */
function childrenOf(parent) {
  const { stdout } = spawnSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' });
  const pairs = stdout.split('\n').map((line) => line.trim().split(/\s+/).map(Number));
  return pairs.filter(([, ppid]) => ppid === parent).map(([pid]) => Number(pid));
}

/** @param {import('node:child_process').ChildProcess} child */
function hasEnded(child) {
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
}

/**
 * Another program may take the free port before the server does; then the next one is tried.
 * @param {(port: number) => Promise<void>} up
 * @param {() => string} readLog
 */
async function firstUp(up, readLog) {
  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort();
    try {
      await up(port);
      return port;
    } catch (error) {
      if (attempt === 3 || !readLog().includes('could not bind')) throw error;
    }
  }
}

/** PostgreSQL refuses to run as root, so it runs as another user. */
export function serverUser() {
  if (process.getuid?.() !== 0) return undefined;
  for (const name of ['postgres', 'nobody']) {
    const uid = spawnSync('id', ['-u', name], { encoding: 'utf8' });
    const gid = spawnSync('id', ['-g', name], { encoding: 'utf8' });
    if (uid.status === 0 && gid.status === 0) return { gid: Number(gid.stdout), uid: Number(uid.stdout) };
  }
  throw new Error('PostgreSQL does not run as root, and there is neither a user postgres nor a user nobody.');
}

/**
 * What pg_ctl waits for: the server writes its state into the eighth line of its pid file; a standby has a state of its own.
 * @param {string} dataDir
 * @param {number | undefined} pid
 */
function isReady(dataDir, pid) {
  try {
    const lines = readFileSync(path.join(dataDir, 'postmaster.pid'), 'utf8').split('\n');
    return Number(lines[0]) === pid && ['ready', 'standby'].includes(lines[7]?.trim() ?? '');
  } catch {
    return false;
  }
}

/**
 * @param {string} folder
 * @param {boolean} fsync
 * @param {Record<string, string | number | boolean>} settings
 */
function configuration(folder, fsync, settings) {
  const lines = Object.entries({
    autovacuum: true,
    fsync,
    listen_addresses: '127.0.0.1',
    max_connections: 200,
    max_wal_size: '256MB', // of memory
    shared_buffers: '256MB',
    synchronous_commit: true,
    unix_socket_directories: folder,
    ...settings,
  });
  return lines.map(([name, value]) => `${name} = '${String(value).replaceAll("'", "''")}'\n`).join('');
}
