import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../../../testing/free-port.mjs';
import { findHaproxy } from '../../../../testing/haproxy.mjs';

/**
 * HAProxy with the file that operators get, deploy/haproxy/haproxy.cfg, and a socket to ask what it thinks of the
 * nodes. With one thread, what it did before an answer is done.
 */
const CONFIG = fileURLToPath(new URL('../../../../deploy/haproxy/haproxy.cfg', import.meta.url));
const BETWEEN_MS = 50;

/** `NOLB`: the node is draining, gets no new requests and keeps those it has. */
export type Opinion = 'UP' | 'NOLB' | 'DOWN';

export interface Haproxy {
  readonly port: number;
  readonly url: string;
  /** What it thinks of this node, the first of which is 0; empty while it starts. */
  opinionOf(node: number): Promise<string>;
  /** Resolves when it thinks so. */
  thinks(node: number, opinion: Opinion): Promise<void>;
  /** How often it has ended the sessions of a node that was too slow to answer its checks, as on a busy machine. */
  impatience(): number;
  stop(): Promise<void>;
}

export async function startHaproxy(nodes: readonly number[], folder: string): Promise<Haproxy> {
  const program = findHaproxy();
  if (program === undefined) throw new Error('No HAProxy was found: apt-get install haproxy.');
  const port = await freePort();
  const socket = path.join(folder, 'haproxy.sock');
  const own = path.join(folder, 'haproxy-stats.cfg');
  writeFileSync(own, `global\n    nbthread 1\n    stats socket ${socket} mode 600 level user\n`);
  const logFile = path.join(folder, 'haproxy.log');
  const log = openSync(logFile, 'a');
  const child = spawn(program, ['-db', '-f', CONFIG, '-f', own], {
    env: {
      PATH: process.env.PATH,
      MUSTER_BALANCER: `127.0.0.1:${port}`,
      ...Object.fromEntries(nodes.map((node, n) => [`MUSTER_NODE_${n + 1}`, `127.0.0.1:${node}`])),
    },
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  const kill = () => void child.kill('SIGKILL');
  process.once('exit', kill);

  const opinionOf = (node: number) => ask(socket, node);

  async function thinks(node: number, opinion: Opinion): Promise<void> {
    while (!(await opinionOf(node)).startsWith(opinion)) {
      if (child.exitCode !== null) throw new Error(`HAProxy has ended:\n${readFileSync(logFile, 'utf8')}`);
      await pause(BETWEEN_MS);
    }
  }

  for (const node of nodes.keys()) await thinks(node, 'UP');
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    opinionOf,
    thinks,
    impatience: () => readFileSync(logFile, 'utf8').match(/is DOWN, reason: Layer\d timeout/g)?.length ?? 0,
    stop: () => end(child).finally(() => process.off('exit', kill)),
  };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}

/** From its table of statistics; empty while it starts. */
async function ask(socket: string, node: number): Promise<string> {
  const text = await new Promise<string>((resolve) => {
    let said = '';
    connect(socket, function (this: { end(text: string): void }) {
      this.end('show stat\n');
    })
      .on('data', (part) => {
        said += part;
      })
      .on('error', () => resolve(''))
      .on('close', () => resolve(said));
  });
  const [head = '', ...lines] = text.split('\n').map((line) => line.split(','));
  const column = (head as string[]).indexOf('status');
  return lines.find((fields) => fields[1] === `node-${node + 1}`)?.[column] ?? '';
}
