import pg from 'pg';
import type { Database, Limits } from '../db.ts';
import { Distribution } from '../distributed/distribution.ts';
import { closeIdle } from './idle-clients.ts';
import { ListenerSession } from './listener.ts';
import { DEADLINE_MS, loadOf, type Patience, pooled } from './pooled.ts';
import { clientTo, type Host, Primary } from './primary.ts';

export interface PostgresOptions {
  readonly url: string;
  /** Instead of the one in the URL: the one of these that accepts writes. */
  readonly hosts?: readonly Host[];
  /**
   * How the one connection that listens reaches the server itself: the others then go through a pooler in transaction
   * mode.
   */
  readonly listen?: Pick<PostgresOptions, 'url' | 'hosts'> | undefined;
  /** Connections for everything but gathered statements. */
  readonly connections?: number;
  /** Receives errors of idle connections; the pool replaces them by itself. */
  readonly onError?: (error: Error) => void;
  /** How long a caller may have to wait; a connection and a statement each get a part of it. */
  readonly deadlineMs?: number;
  /** How long one statement may take; by default half of the deadline. A transaction can have another limit. */
  readonly statementMs?: number;
  /** Distributed by tenant: each statement is of one. */
  readonly isDistributed?: boolean;
}

/** Four tenths for a connection, five for the statement, and one more to hear that the server has ended it. */
const FOR_CONNECTION = 0.4;
const FOR_STATEMENT = 0.5;
/** An operation that changes something also waits for its turn, as long as for a connection. */
const FOR_BEGIN = 0.15;
/** For the listener, which no caller waits for. */
const CONNECT_MS = 10_000;
/** When the system probes a silent peer; its own default is two hours. */
const KEEP_ALIVE = { keepAlive: true, keepAliveInitialDelayMillis: 10_000 };

/**
 * More than two writers per kind of statement bring little (measured); all kinds share these. They stay open: a new session
 * plans each statement anew, and an action took 20 to 70 ms to its waiting worker after ten quiet seconds.
 */
const GATHERED_CONNECTIONS = 4;
const STAYS_OPEN = 0;
/** Others are closed when they were not used for so long. */
const IDLE_MS = 10_000;
/**
 * In a distributed database a statement is of one tenant and takes some 30 ms however much it holds, so more run at
 * once.
 */
const DISTRIBUTED = { writers: 8, gatheredConnections: 16 };
/** Only a uniqueness check on an uncommitted key can wait here; the batch is then run again row by row. */
const GATHERED_LOCK_MS = 100;
/** Elsewhere only the caller itself waits for a lock, but on a connection that others need. */
const LOCK_MS = 1_000;
/** Two token look-ups, one record of first uses, the leadership and the health check at once. */
const RESERVED_CONNECTIONS = 4;
/** One scheduled duty, and one that an event triggers at once. */
const HOUSEKEEPING_CONNECTIONS = 2;
/** Below the 60 s after which housekeeping goes on without a duty. */
const HOUSEKEEPING_STATEMENT_MS = 45_000;

const LEAVE_AGAIN_MS = 1_000;

/** The pool of whatever is none of the others. */
const REQUESTS = 'requests';

/** `unconfirmed.ts` lives on a warning. */
const WARNINGS = 'client_min_messages = warning';
/** No statement here runs long enough to pay for JIT compilation: one over 100,000 rows lost 60 of its 520 ms to it. */
const NO_JIT = 'jit = off';
const ALWAYS = [WARNINGS, NO_JIT];
/**
 * Gathered statements look everything up by key, and their plans are kept. A plan made while a table was small would
 * read the whole table each time, however large it has become, until the table is analysed again.
 */
const NO_SCANS = 'enable_seqscan = off';
/**
 * They are planned once per connection, not for each of the first five calls too: a plan takes up to 15 ms, the statement
 * one, and the arrays hide their length from it anyway.
 */
const PLAN_ONCE = 'plan_cache_mode = force_generic_plan';

export function openPostgres(options: PostgresOptions): Database {
  const onError = options.onError ?? (() => {});
  const deadlineMs = options.deadlineMs ?? DEADLINE_MS;
  const statementMs = options.statementMs ?? deadlineMs * FOR_STATEMENT;
  const isDistributed = options.isDistributed ?? false;
  const distribution = isDistributed ? new Distribution() : null;
  const pools = new Map<string, pg.Pool>();
  const connectMs = deadlineMs * FOR_CONNECTION;
  const line = lineTo(options, connectMs);
  const isPooled = options.listen !== undefined;
  const listeningLine = options.listen ? lineTo(options.listen, connectMs) : line;
  const closings: ((reason: Error) => void)[] = [];
  /** After a failover the old primary may come back as a standby, or be told not to write: nothing may stay there. */
  let leftAt = Number.NEGATIVE_INFINITY;
  const onReadOnly = () => {
    line.primary?.doubt();
    listeningLine.primary?.doubt();
    // a new listening session makes every waiting call look again, and each of them may come back to here
    const now = performance.now();
    if (now - leftAt < LEAVE_AGAIN_MS) return;
    leftAt = now;
    const reason = new Error('The server has become read-only: its idle connections are closed.');
    for (const close of closings) close(reason);
    void listener.reconnect();
  };
  const open = (
    name: string,
    max: number,
    limits: Required<Limits> & Pick<Patience, 'asksFirst'>,
    settings: readonly string[] = [],
    idleTimeoutMillis = IDLE_MS,
  ) => {
    const pool = new pg.Pool({
      ...line.config,
      application_name: name === REQUESTS ? 'muster' : `muster ${name}`,
      ...KEEP_ALIVE,
      connectionTimeoutMillis: connectMs,
      max,
      idleTimeoutMillis,
      ...(isPooled ? {} : ofSession(limits, [...ALWAYS, ...settings])),
    });
    pool.on('error', onError);
    pools.set(name, pool);
    closings.push(closeIdle(pool));
    return pooled(pool, {
      ...limits,
      beginMs: deadlineMs * FOR_BEGIN,
      distribution,
      onReadOnly,
      setLocal: isPooled
        ? [...ALWAYS, ...settings, ...timeouts(limits)]
        : isDistributed
          ? [...settings, `lock_timeout = ${limits.lockMs}`]
          : undefined,
    });
  };
  const listener = new ListenerSession(
    {
      ...listeningLine.config,
      application_name: 'muster listener',
      ...KEEP_ALIVE,
      connectionTimeoutMillis: CONNECT_MS,
      query_timeout: CONNECT_MS,
    },
    onError,
  );
  return {
    kind: 'postgres',
    distribution,
    isDistributed,
    writers: isDistributed ? DISTRIBUTED.writers : 2,
    deadlineMs,
    ...open(REQUESTS, options.connections ?? 10, { lockMs: LOCK_MS, statementMs }),
    gathered: open(
      'gathered',
      isDistributed ? DISTRIBUTED.gatheredConnections : GATHERED_CONNECTIONS,
      { lockMs: GATHERED_LOCK_MS, statementMs },
      isDistributed ? [NO_SCANS] : [NO_SCANS, PLAN_ONCE],
      STAYS_OPEN,
    ),
    housekeeping: open('housekeeping', HOUSEKEEPING_CONNECTIONS, {
      lockMs: LOCK_MS,
      statementMs: HOUSEKEEPING_STATEMENT_MS,
      asksFirst: true,
    }),
    reserved: open('reserved', RESERVED_CONNECTIONS, { lockMs: LOCK_MS, statementMs }),
    loads: () => Object.fromEntries([...pools].map(([name, pool]) => [name, loadOf(pool)])),
    host: () => line.primary?.name ?? null,
    listen: (channel, on, onReconnect) => listener.listen(channel, on, onReconnect),
    async close() {
      await Promise.all([...pools.values()].map((pool) => pool.end()));
    },
  };
}

/** What a session keeps, given to it when it begins. */
const ofSession = ({ lockMs, statementMs }: Required<Limits>, settings: readonly string[]) => ({
  lock_timeout: lockMs,
  statement_timeout: statementMs,
  onConnect: async (client: pg.ClientBase) =>
    void (await client.query(settings.map((setting) => `set ${setting}`).join('; '))),
});

const timeouts = ({ lockMs, statementMs }: Required<Limits>) => [
  `lock_timeout = ${lockMs}`,
  `statement_timeout = ${statementMs}`,
];

/** How to connect: `pg` itself does it for the host of a URL; of several, `Primary` finds the right one. */
function lineTo({ url, hosts = [] }: Pick<PostgresOptions, 'url' | 'hosts'>, patienceMs: number) {
  const config = { connectionString: url };
  const [first, ...others] = hosts;
  if (!first) return { config, primary: undefined };
  const primary = new Primary(
    [first, ...others],
    { ...config, application_name: 'muster finder', ...KEEP_ALIVE },
    patienceMs,
  );
  return { config: { ...config, Client: clientTo(primary) }, primary };
}
