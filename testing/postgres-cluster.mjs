// A throwaway PostgreSQL cluster in a temporary folder, for tests, crash suites and benchmarks:
// initdb, a server on a port of 127.0.0.1, and nothing left behind. A guard process outlives this one and
// clears up when this one is gone without calling stop(): Ctrl-C, a crash, even a kill -9.
//
//   startCluster() ──► up ──down(mode)──► down ──up()──► up ──stop()──► gone

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  appendFileSync,
  chownSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { startGuard } from './guard.ts';
import { findPostgres, oldestMajor } from './postgres-binaries.mjs';

/** `fast` ends sessions and writes a checkpoint; `immediate` is a crash: the next start recovers from the log. */
export type DownMode = 'fast' | 'immediate';

export interface ClusterOptions {
  /** Off by default, which is right for tests; a benchmark of durable commits turns it on. */
  fsync?: boolean;
  /** More lines for postgresql.conf, and stronger than the ones here. */
  settings?: Record<string, string | number | boolean>;
}

export interface Cluster {
  readonly dataDir: string;
  readonly port: number;
  /** Of the database `postgres`, as a superuser. */
  readonly url: string;
  readonly version: string;
  down(mode: DownMode): Promise<void>;
  /** Down and up again, on the same port and data. */
  restart(mode: DownMode): Promise<void>;
  /** Ends the server and removes its folder. */
  stop(): Promise<void>;
  up(): Promise<void>;
}

const patience = 60_000;

export async function startCluster({ fsync = false, settings = {} }: ClusterOptions = {}): Promise<Cluster> {
  const binaries = findPostgres();
  if (binaries === undefined) {
    throw new Error(
      `No PostgreSQL ${oldestMajor}+ server programs were found on the PATH or in /usr/lib/postgresql. ` +
        'Install a PostgreSQL server (on Debian: the package postgresql), or set MUSTER_TEST_DATABASE_URL.',
    );
  }
  const { bin, version } = binaries;
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-pg-'));
  const guard = startGuard(folder);
  const dataDir = path.join(folder, 'data');
  const logFile = path.join(folder, 'server.log');
  const password = randomBytes(16).toString('hex');
  const owner = serverUser();
  let server: ChildProcess | undefined;

  function launch(program: string, args: string[]): ChildProcess {
    const log = openSync(logFile, 'a');
    const child = spawn(path.join(bin, program), args, {
      ...owner,
      cwd: folder,
      detached: true,
      env: { LC_ALL: 'C', PATH: process.env.PATH, TZ: 'UTC' },
      stdio: ['ignore', log, log],
    });
    guard.watch(child.pid);
    return child;
  }

  function failure(what: string): Error {
    const log = readFileSync(logFile, 'utf8').trim().split('\n').slice(-20).join('\n');
    return new Error(`${what}. The end of its log:\n${log}`);
  }

  async function initialise(): Promise<void> {
    const passwordFile = path.join(folder, 'password');
    writeFileSync(passwordFile, password, { mode: 0o600 });
    writeFileSync(logFile, '');
    if (owner.uid !== undefined && owner.gid !== undefined) {
      for (const file of [folder, passwordFile]) chownSync(file, owner.uid, owner.gid);
    }
    const initdb = launch('initdb', [
      ...['--pgdata', dataDir, '--username', 'postgres', '--pwfile', passwordFile],
      ...['--auth', 'scram-sha-256', '--encoding', 'UTF8', '--locale', 'C', '--no-sync'],
    ]);
    const [code] = await once(initdb, 'exit');
    if (code !== 0) throw failure(`initdb ended with exit code ${code}`);
    appendFileSync(path.join(dataDir, 'postgresql.conf'), configuration({ folder, fsync, settings }));
  }

  async function up(port: number): Promise<void> {
    if (server !== undefined) throw new Error('the cluster is up already');
    const child = launch('postgres', ['-D', dataDir, '-p', String(port)]);
    const deadline = performance.now() + patience;
    while (!isReady(dataDir, child.pid)) {
      if (child.exitCode !== null || child.signalCode !== null) throw failure('PostgreSQL did not start');
      if (performance.now() > deadline) throw failure('PostgreSQL was not ready in time');
      await pause(10);
    }
    child.unref();
    server = child;
  }

  async function down(mode: DownMode): Promise<void> {
    const child = server;
    if (child === undefined) return;
    server = undefined;
    child.ref();
    const ended = child.exitCode !== null || child.signalCode !== null ? undefined : once(child, 'exit');
    child.kill(mode === 'fast' ? 'SIGINT' : 'SIGQUIT');
    await ended;
    guard.watch(undefined);
  }

  async function stop(): Promise<void> {
    await down('immediate');
    rmSync(folder, { force: true, recursive: true });
    guard.dismiss();
  }

  try {
    await initialise();
    const port = await firstUp(up, () => readFileSync(logFile, 'utf8'));
    return {
      dataDir,
      port,
      url: `postgres://postgres:${password}@127.0.0.1:${port}/postgres`,
      version,
      down,
      async restart(mode) {
        await down(mode);
        await up(port);
      },
      stop,
      up: () => up(port),
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Another program may take the free port before the server does; then the next one is tried. */
async function firstUp(up: (port: number) => Promise<void>, readLog: () => string): Promise<number> {
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

/**
 * Below the range from which the system picks ports for outgoing connections: while the server is down
 * for a restart, a client that keeps trying could otherwise be given the very port it is trying to reach.
 */
async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + (randomBytes(2).readUInt16LE() % 10_000);
    const probe = createServer();
    const free = await new Promise<boolean>((resolve) => {
      probe.once('error', () => resolve(false));
      probe.listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!free) continue;
    await new Promise((resolve) => probe.close(resolve));
    return port;
  }
}

/** PostgreSQL refuses to run as root, so root lends it another user. */
function serverUser(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {};
  for (const name of ['postgres', 'nobody']) {
    const uid = spawnSync('id', ['-u', name], { encoding: 'utf8' });
    const gid = spawnSync('id', ['-g', name], { encoding: 'utf8' });
    if (uid.status === 0 && gid.status === 0) return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
  }
  throw new Error('PostgreSQL does not run as root, and there is neither a user postgres nor a user nobody.');
}

/** What pg_ctl waits for: the server writes its state into the eighth line of its pid file. */
function isReady(dataDir: string, pid: number | undefined): boolean {
  try {
    const lines = readFileSync(path.join(dataDir, 'postmaster.pid'), 'utf8').split('\n');
    return Number(lines[0]) === pid && lines[7]?.trim() === 'ready';
  } catch {
    return false;
  }
}

function configuration(given: { folder: string } & Required<ClusterOptions>): string {
  const lines = Object.entries({
    autovacuum: true,
    fsync: given.fsync,
    listen_addresses: '127.0.0.1',
    max_connections: 200,
    shared_buffers: '256MB',
    synchronous_commit: true,
    unix_socket_directories: given.folder,
    ...given.settings,
  });
  return lines.map(([name, value]) => `${name} = '${String(value).replaceAll("'", "''")}'\n`).join('');
}
