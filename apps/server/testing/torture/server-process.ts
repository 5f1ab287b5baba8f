import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { TORTURE } from '../programs.ts';
import { TcpProxy } from './tcp-proxy.ts';

/** A server as users run it: its own process, here behind a proxy that survives it. */
export interface ServerNode {
  readonly proxy: TcpProxy;
  readonly running: boolean;
  start(): Promise<void>;
  /** Starts it and kills it this many milliseconds later, most likely while it opens its database. */
  startAndKill(afterMs: number): Promise<void>;
  /** As `kill -9` does it. */
  kill(): Promise<void>;
  /** As an operator does it. */
  stop(): Promise<void>;
  /** Suspended, like a machine that is migrated or out of memory. */
  freeze(): void;
  thaw(): void;
  /** How often it was killed. */
  readonly kills: number;
  /** It ended without being told to. */
  readonly faults: readonly string[];
  /** For the embedded database: where the event feed can be read. */
  readonly feedPort: number | null;
}

/** A small heap: a server that accepts more than it can hold ends on its own, which is a finding. */
const HEAP_MB = 384;
const PATIENCE_MS = 60_000;
const MOST_STARTS = 10;

export async function createServerProcess(options: {
  env: Record<string, string>;
  folder: string;
  name: string;
}): Promise<ServerNode> {
  const proxy = await TcpProxy.start();
  const faults: string[] = [];
  const log = path.join(options.folder, `${options.name}.log`);
  let child: ChildProcess | undefined;
  let feedPort: number | null = null;
  let kills = 0;

  async function startOnce(): Promise<boolean> {
    const stderr = openSync(log, 'a');
    const started = spawn(process.execPath, [`--max-old-space-size=${HEAP_MB}`, ...TORTURE], {
      env: { PATH: process.env.PATH, HOST: '127.0.0.1', PORT: '0', MUSTER_LOG_LEVEL: 'warn', ...options.env },
      stdio: ['pipe', 'pipe', stderr], // the end of its input tells it that this process is gone
    });
    closeSync(stderr);
    child = started;
    const addresses = await firstLine(started);
    if (addresses === null || child !== started) return false;
    feedPort = addresses.feed;
    proxy.aimAt(addresses.http);
    started.once('exit', (code, signal) => {
      if (child !== started) return;
      child = undefined;
      proxy.aimAt(null);
      faults.push(`${options.name} ended by itself (${signal ?? code}); see ${log}`);
      void startOnce(); // as a supervisor would
    });
    return true;
  }

  async function end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const ending = child;
    child = undefined;
    if (!ending) return;
    if (signal === 'SIGKILL') {
      kills += 1;
      proxy.aimAt(null);
    }
    if (ending.exitCode === null && ending.signalCode === null) {
      const gone = once(ending, 'exit');
      ending.kill(signal);
      await gone;
    }
    proxy.aimAt(null);
  }

  return {
    proxy,
    faults,
    get kills() {
      return kills;
    },
    get feedPort() {
      return feedPort;
    },
    get running() {
      return child !== undefined;
    },
    async start() {
      // while the database is away a start may fail; a supervisor would try again
      for (let n = 1; n <= MOST_STARTS; n += 1) if (await startOnce()) return;
      throw new Error(`${options.name} does not start; see ${log}`);
    },
    async startAndKill(afterMs) {
      const starting = startOnce();
      await pause(afterMs);
      await end('SIGKILL');
      await starting;
    },
    freeze: () => void child?.kill('SIGSTOP'),
    thaw: () => void child?.kill('SIGCONT'),
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
  };
}

/** What serve.mjs says when it is ready; null if it has ended instead. */
async function firstLine(child: ChildProcess): Promise<{ http: number; feed: number } | null> {
  let text = '';
  const timer = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS);
  try {
    for await (const part of child.stdout ?? []) {
      text += part;
      const line = /^ready (.+)$/m.exec(text)?.[1];
      if (line !== undefined) return JSON.parse(line);
    }
    return null;
  } finally {
    clearTimeout(timer);
  }
}
