import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import path from 'node:path';

/** A server in its own process, on a port that stays the same whatever happens to it. */
export interface BalancedNode {
  readonly port: number;
  readonly name: string;
  /** Ends that nobody asked for. */
  readonly faults: readonly string[];
  readonly kills: number;
  /** With the program it was created with, or another version from now on. */
  start(program?: readonly string[]): Promise<void>;
  kill(): Promise<void>;
  /** Tells it to stop, as an operator does; resolves when it has. */
  stop(): Promise<void>;
  freeze(): void;
  thaw(): void;
}

const HEAP_MB = 384;

export function balancedNode(options: {
  readonly env: Record<string, string>;
  readonly folder: string;
  readonly name: string;
  readonly port: number;
  readonly program: readonly string[];
}): BalancedNode {
  const { name, port } = options;
  const log = path.join(options.folder, `${name}.log`);
  const faults: string[] = [];
  let { program } = options;
  let child: ChildProcess | undefined;
  let kills = 0;

  async function end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const ending = child;
    child = undefined;
    if (!ending || ending.exitCode !== null || ending.signalCode !== null) return;
    const gone = once(ending, 'exit');
    ending.kill('SIGCONT'); // a frozen process does not hear of the other signal
    ending.kill(signal);
    const [code] = await gone;
    if (signal === 'SIGTERM' && code !== 0) faults.push(`${name} stopped with ${code}; see ${log}`);
  }

  return {
    name,
    port,
    faults,
    get kills() {
      return kills;
    },
    async start(other = program) {
      program = other;
      const stderr = openSync(log, 'a');
      const started = spawn(process.execPath, [`--max-old-space-size=${HEAP_MB}`, ...program], {
        env: {
          PATH: process.env.PATH,
          HOST: '127.0.0.1',
          MUSTER_LOG_LEVEL: 'warn',
          PORT: `${port}`,
          ...options.env,
        },
        stdio: ['pipe', 'pipe', stderr], // the end of its input tells it that this process is gone
      });
      closeSync(stderr);
      process.once('exit', () => void started.kill('SIGKILL')); // one that stands still hears of nothing else
      child = started;
      await new Promise<void>((resolve, reject) => {
        let said = '';
        started.stdout?.on('data', (part) => {
          said += part;
          if (/^ready /m.test(said)) resolve();
        });
        started.once('exit', (code, signal) => {
          if (child === started) faults.push(`${name} ended by itself (${signal ?? code}); see ${log}`);
          reject(new Error(`${name} does not start; see ${log}`));
        });
      });
    },
    async kill() {
      kills += 1;
      await end('SIGKILL');
    },
    stop: () => end('SIGTERM'),
    freeze: () => void child?.kill('SIGSTOP'),
    thaw: () => void child?.kill('SIGCONT'),
  };
}
