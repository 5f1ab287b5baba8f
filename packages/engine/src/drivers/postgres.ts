import pg from 'pg';
import type { Database, Listener } from '../db.ts';
import { pooled } from './pooled.ts';

export interface PostgresOptions {
  readonly url: string;
  /** Connections for everything but gathered statements. */
  readonly connections?: number;
  /** Told of errors on idle connections; the pool replaces them by itself. */
  readonly onError?: (error: Error) => void;
  /** How long a statement may take before its connection counts as broken. Transactions of the caller's may take longer. */
  readonly patienceMs?: number;
}

const PATIENCE_MS = 30_000;
const CONNECT_MS = 10_000;
/** The system asks a silent peer whether it is still there; its own default is two hours. */
const KEEP_ALIVE = { keepAlive: true, keepAliveInitialDelayMillis: 10_000 };

/** More than two writers per kind of statement bring little (measured); these are shared by all kinds. */
const GATHERED_CONNECTIONS = 4;
/** Only a uniqueness check on an uncommitted key can wait here; the batch is then run again row by row. */
const GATHERED_LOCK_TIMEOUT_MS = 100;

/** Nothing here runs long enough to pay for being compiled: one statement over 100,000 rows lost 60 of its 520 ms to it. */
const NO_JIT = 'set jit = off';
/**
 * Gathered statements look everything up by key, and their plans are kept. One that was made while a table was small would
 * read all of it each time, however large it has become, until the table is analysed again.
 */
const NO_SCANS = 'set enable_seqscan = off';

export function openPostgres(options: PostgresOptions): Database {
  const onError = options.onError ?? (() => {});
  const patienceMs = options.patienceMs ?? PATIENCE_MS;
  const open = (config: pg.PoolConfig) => {
    const pool = new pg.Pool({
      connectionString: options.url,
      ...KEEP_ALIVE,
      connectionTimeoutMillis: CONNECT_MS,
      ...config,
    });
    pool.on('error', onError);
    return pool;
  };
  const set = (what: string) => async (client: pg.ClientBase) => void (await client.query(what));
  const general = open({
    application_name: 'muster',
    max: options.connections ?? 10,
    onConnect: set(NO_JIT),
  });
  const gathered = open({
    application_name: 'muster gathered',
    max: GATHERED_CONNECTIONS,
    lock_timeout: GATHERED_LOCK_TIMEOUT_MS,
    onConnect: set(`${NO_JIT}; ${NO_SCANS}`),
    query_timeout: patienceMs, // here also inside of transactions: they are short
  });
  return {
    kind: 'postgres',
    writers: 2,
    ...pooled(general, patienceMs),
    gathered: pooled(gathered, patienceMs),
    listen: (channel, on) => listen(options.url, channel, on, onError),
    async close() {
      await Promise.all([general.end(), gathered.end()]);
    },
  };
}

/** One connection of its own that listens; a broken one is replaced, with a pause that grows to five seconds. */
async function listen(
  url: string,
  channel: string,
  on: (payload: string) => void,
  onError: (error: Error) => void,
): Promise<Listener> {
  let client: pg.Client | undefined;
  let closed = false;
  let retry: NodeJS.Timeout | undefined;
  let pause = 100;

  async function connect() {
    const next = new pg.Client({
      connectionString: url,
      application_name: 'muster listener',
      ...KEEP_ALIVE,
      connectionTimeoutMillis: CONNECT_MS,
      query_timeout: CONNECT_MS,
    });
    next.on('notification', (message) => on(message.payload ?? ''));
    next.on('error', (error) => {
      onError(error);
      if (client === next) later();
    });
    next.on('end', () => {
      if (client === next) later();
    });
    await next.connect();
    await next.query(`listen ${pg.escapeIdentifier(channel)}`);
    client = next;
    pause = 100;
  }

  function later() {
    client = undefined;
    if (closed || retry) return;
    retry = setTimeout(() => {
      retry = undefined;
      connect().catch((error) => {
        onError(error);
        later();
      });
    }, pause);
    pause = Math.min(pause * 2, 5_000);
  }

  function drop(): Promise<void> {
    const old = client;
    client = undefined;
    return old?.end().catch(onError) ?? Promise.resolve();
  }

  await connect();
  return {
    async reconnect() {
      void drop(); // a peer that is gone never confirms the end
      await connect().catch((error) => {
        onError(error);
        later();
      });
    },
    async close() {
      closed = true;
      clearTimeout(retry);
      await drop();
    },
  };
}
