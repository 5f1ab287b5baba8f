import { Duplex } from 'node:stream';
import { Worker } from 'node:worker_threads';
import pg from 'pg';
import type { Database } from '../db.ts';
import { DEADLINE_MS, loadOf, pooled } from './pooled.ts';

/**
 * PGlite in its own thread, reached by the same `pg` client over PostgreSQL's wire protocol. In the main thread a
 * 100,000-row insert stops every request for 375 ms; here it stops none, and named statements stay prepared. There is
 * one session, so the pool holds one connection and transactions wait for each other.
 */
export interface EmbeddedOptions {
  /** A folder; without it the database is in memory. */
  readonly dataDir?: string;
  /** A database image (a tar file) to start from. Tests start four times faster. */
  readonly image?: string;
  /**
   * PGlite compiled beforehand (a WebAssembly.Module), for a process that opens many: compiling takes half of an
   * opening (1.7 of 3.6 s).
   */
  readonly compiled?: object;
  /** How long a caller may have to wait. */
  readonly deadlineMs?: number;
  /** Called if the database breaks while it is idle. */
  readonly onError?: (error: Error) => void;
}

const TERMINATE = 'X'.charCodeAt(0);
const TERMINATE_LENGTH = 5;

type FromWorker = { ready: true } | { bytes: Uint8Array } | { failed: string };

export async function openEmbedded(options: EmbeddedOptions = {}): Promise<Database> {
  const worker = new Worker(new URL('./embedded-worker.mjs', import.meta.url), {
    workerData: { dataDir: options.dataDir ?? 'memory://', image: options.image, compiled: options.compiled },
  });
  await ready(worker);

  const listeners = new Map<
    string,
    { readonly on: (payload: string) => void; readonly onReconnect?: (() => void) | undefined }
  >();
  const pool = new pg.Pool({
    max: 1,
    idleTimeoutMillis: 0,
    stream: () => new WorkerStream(worker) as never,
    user: 'postgres',
    database: 'postgres',
    // The one session outlives a connection object that was thrown away after an error.
    onConnect: async (client: pg.ClientBase) => {
      await client.query('rollback');
      await client.query('discard all');
      for (const channel of listeners.keys()) await client.query(`listen ${pg.escapeIdentifier(channel)}`);
      for (const { onReconnect } of listeners.values()) onReconnect?.();
    },
  });
  pool.on('error', options.onError ?? (() => {}));
  pool.on('connect', (client) => {
    client.on('notification', (message) => listeners.get(message.channel)?.on(message.payload ?? ''));
  });
  const calls = pooled(pool);
  return {
    kind: 'embedded',
    distribution: null,
    isDistributed: false,
    writers: 1,
    deadlineMs: options.deadlineMs ?? DEADLINE_MS,
    ...calls,
    gathered: calls,
    housekeeping: calls,
    reserved: calls,
    loads: () => ({ all: loadOf(pool) }),
    host: () => null,
    async listen(channel, on, onReconnect) {
      await calls.query({ text: `listen ${pg.escapeIdentifier(channel)}` });
      listeners.set(channel, { on, onReconnect });
      return {
        reconnect: async () => {},
        close: async () => {
          listeners.delete(channel);
          await calls.query({ text: `unlisten ${pg.escapeIdentifier(channel)}` });
        },
      };
    },
    async close() {
      await pool.end();
      const gone = new Promise((resolve) => worker.once('exit', resolve));
      worker.postMessage('close');
      await gone;
    },
  };
}

function ready(worker: Worker): Promise<void> {
  return new Promise((resolve, reject) => {
    worker.once('error', reject);
    worker.once('message', (message: FromWorker) => {
      worker.off('error', reject);
      if ('failed' in message) reject(new Error(message.failed));
      else resolve();
    });
  });
}

/** Looks like a socket to `pg`: writes go to the worker, and the database's answers come back. */
class WorkerStream extends Duplex {
  readonly #worker: Worker;

  constructor(worker: Worker) {
    super();
    this.#worker = worker;
    worker.on('message', this.#receive);
    worker.on('error', this.#fail);
    worker.on('exit', this.#exit);
  }

  readonly #receive = (message: FromWorker) => {
    if ('bytes' in message) this.push(message.bytes);
    else if ('failed' in message) this.destroy(new Error(message.failed));
  };
  readonly #fail = (error: Error) => this.destroy(error);
  readonly #exit = () => this.destroy(new Error('The embedded database has stopped.'));

  connect(): this {
    process.nextTick(() => this.emit('connect'));
    return this;
  }
  setNoDelay(): void {}
  setKeepAlive(): void {}
  ref(): void {}
  unref(): void {}

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.#send(chunk);
    done();
  }

  override _writev(chunks: { chunk: Buffer }[], done: () => void): void {
    this.#send(Buffer.concat(chunks.map((part) => part.chunk)));
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#worker.off('message', this.#receive).off('error', this.#fail).off('exit', this.#exit);
    done(error);
  }

  #send(bytes: Buffer): void {
    // "Terminate" ends this connection, not the session: the next connection finds the same one.
    if (bytes[0] === TERMINATE && bytes.length === TERMINATE_LENGTH) {
      this.destroy();
      return;
    }
    const copy = new Uint8Array(bytes); // the buffer may be part of a shared pool, which cannot be transferred
    this.#worker.postMessage(copy, [copy.buffer]);
  }
}
