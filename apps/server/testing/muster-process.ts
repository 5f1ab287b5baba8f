import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { MUSTER } from './programs.ts';

/** The muster command as users run it, in its own process. */

export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly notes: string;
}

export interface Running {
  readonly process: ChildProcess;
  readonly url: string;
  /** The output so far. */
  out(): string;
  log(): string;
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

export function temporaryFolder(): { path: string; remove(): void } {
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-process-'));
  return { path: folder, remove: () => rmSync(folder, { force: true, recursive: true }) };
}

function start(args: readonly string[], environment: Record<string, string>) {
  const child = spawn(process.execPath, [...MUSTER, ...args], {
    env: { PATH: process.env.PATH, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [out, notes]: [string[], string[]] = [[], []];
  child.stdout.on('data', (chunk) => out.push(String(chunk)));
  child.stderr.on('data', (chunk) => notes.push(String(chunk)));
  return { child, out: () => out.join(''), notes: () => notes.join('') };
}

/** Runs a command to its end. */
export async function muster(args: readonly string[], environment: Record<string, string>): Promise<Ended> {
  const { child, out, notes } = start(args, environment);
  const [code] = await once(child, 'close');
  // how far a slow start gets depends on the machine
  return { code, out: out().replace(/^Starting: .*…\n/gm, ''), notes: notes() };
}

/** Starts a server and waits until it prints where it listens. */
export async function serve(environment: Record<string, string>): Promise<Running> {
  const { child, out, notes } = start(['serve'], { PORT: '0', ...environment });
  const ended = once(child, 'close');
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout.on('data', () => {
      const [, found] = /listens on (\S+)\n.*\n/.exec(out()) ?? [];
      if (found) resolve(found);
    });
    child.once('close', (code) => reject(new Error(`The server ended with ${code}:\n${out()}${notes()}`)));
  });
  return {
    process: child,
    url,
    out,
    log: notes,
    async stop(signal = 'SIGTERM') {
      child.kill(signal);
      const [code] = await ended;
      return code;
    },
  };
}
