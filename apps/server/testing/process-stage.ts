import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { processDatabase } from './process-database.ts';
import { MUSTER } from './programs.ts';

/** The parts of stages with real processes. */

/** A server on its own database, a folder for other files, and an operator. */
export async function serverStage(
  environment: Record<string, string>,
  settings: Record<string, string> = {},
) {
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-stage-'));
  const at = (...names: string[]) => path.join(folder, ...names);
  const operator = randomBytes(24).toString('hex');
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const database = await processDatabase(at('data'));
  const own = { PATH: `${process.env.PATH}`, STAGE: folder, HOME: folder, ...environment };
  const server = processOf([...MUSTER, 'serve'], /Muster listens on/, {
    ...own,
    ...database.environment,
    PORT: String(port),
    MUSTER_OPERATOR_TOKEN: operator,
    MUSTER_LOG_LEVEL: 'warn',
    ...settings,
  });
  await server.start();
  return {
    folder,
    at,
    url,
    server,
    /** For the other processes of the stage. */
    environment: own,
    call: callerOf(url, operator),
    /** What scripts have written into a file of the stage. */
    lines: (name: string) =>
      existsSync(at(name)) ? readFileSync(at(name), 'utf8').split('\n').filter(Boolean) : [],
    async close() {
      await server.kill();
      await database.drop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function callerOf(url: string, operator: string) {
  return async (method: string, where: string, body?: object, headers: Record<string, string> = {}) => {
    const response = await fetch(url + where, {
      method,
      headers: {
        authorization: `Bearer ${operator}`,
        ...(body ? { 'content-type': 'application/json' } : {}),
        ...headers,
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${where}: ${response.status} ${text}`);
    return text === '' ? null : JSON.parse(text);
  };
}

/** Polls until it is true; how long that takes is not tested. */
export async function until<T>(look: () => Promise<T> | T): Promise<NonNullable<T>> {
  for (;;) {
    const found = await look();
    if (found) return found;
    await new Promise((resolve) => setTimeout(resolve, 15));
  }
}

/** A process that is killed and started again; it is ready when it says so. */
export function processOf(args: string[], ready: RegExp, environment: Record<string, string>) {
  let child: ChildProcess | undefined;
  let output = '';

  async function end(signal: NodeJS.Signals): Promise<number | null> {
    const ending = child;
    child = undefined;
    if (!ending || ending.exitCode !== null || ending.signalCode !== null) return ending?.exitCode ?? null;
    const gone = once(ending, 'exit');
    ending.kill(signal);
    await gone;
    return ending.exitCode;
  }

  return {
    output: () => output,
    async start(): Promise<void> {
      const started = spawn(process.execPath, args, { env: environment, stdio: ['ignore', 'pipe', 'pipe'] });
      child = started;
      let own = '';
      await new Promise<void>((resolve, reject) => {
        for (const stream of [started.stdout, started.stderr])
          stream.on('data', (chunk) => {
            output += chunk;
            own += chunk;
            if (ready.test(own)) resolve();
          });
        started.once('exit', (code) => reject(new Error(`It ended with ${code}:\n${own}`)));
      });
    },
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
  };
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as { port: number };
  probe.close();
  await once(probe, 'close');
  return port;
}
