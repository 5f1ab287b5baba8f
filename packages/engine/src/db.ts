/**
 * The boundary between the engine and a database. A `Queryable` is anything that runs one statement: the engine's
 * database, one of its transactions, or the caller's `pg` client, pool or transaction. The engine knows nothing else.
 */

export interface Query {
  /** Named statements are prepared once per connection. */
  readonly name?: string;
  readonly text: string;
  readonly values?: unknown[];
  /** On a distributed database: a statement of all tenants is to be of this one. */
  readonly tenantId?: number;
  /** It is written for a distributed database already: a caller's client may be the engine's own in other clothes. */
  readonly isPinned?: boolean;
}

export interface Queryable {
  // biome-ignore lint/suspicious/noExplicitAny: rows have the shape of the statement that asked for them
  query(query: any): Promise<{ rows: any[] }>;
}

export interface Transaction extends Queryable {
  /** Runs after a successful commit, never after a rollback. */
  afterCommit(run: () => void): void;
  /** Runs instead if the answer to the commit was lost: it may have happened. */
  ifInDoubt(run: () => void): void;
}

/** Milliseconds; 0 is no limit. Missing limits are those of the connection. */
export interface Limits {
  /** How long a statement waits for a lock of another transaction. */
  readonly lockMs?: number;
  /** How long a statement may take. The server ends it, so it is known to have had no effect. */
  readonly statementMs?: number;
}

export interface Connections extends Queryable {
  transaction<T>(run: (tx: Transaction) => Promise<T>, limits?: Limits): Promise<T>;
}

/** How busy the connections of one pool are at this moment. */
export interface PoolLoad {
  readonly most: number;
  readonly busy: number;
  readonly idle: number;
  /** Callers that wait for a connection. */
  readonly waiting: number;
}

/** Statements of one tenant, for a database that is distributed. */
export interface OfOneTenant {
  /** What tables, functions and views there are; again after each migration. */
  read(client: Queryable): Promise<void>;
  pinned(text: string, tenant: string): string;
}

export interface Database extends Connections {
  readonly kind: 'embedded' | 'postgres';
  /**
   * Distributed by tenant over several servers: each statement is of one tenant, so calls of several tenants are not
   * gathered.
   */
  readonly isDistributed: boolean;
  /** How its statements are written, if it is. */
  readonly distribution: OfOneTenant | null;
  /** How many gathered statements of one kind may be in flight at once. */
  readonly writers: number;
  /** The caller's deadline: how long it may wait before it is told that there is no answer. */
  readonly deadlineMs: number;
  /** Connections for gathered statements only. They give up on a lock quickly, because a batch must not stall. */
  readonly gathered: Connections;
  /** Connections for duties only: their statements may take long, and no caller waits behind them. */
  readonly housekeeping: Connections;
  /**
   * A few connections for what keeps the node alive (leadership, tokens, health checks); nothing else can use them
   * up.
   */
  readonly reserved: Connections;
  /** A caller's client that parses values as the engine does, whatever parsers are set. */
  adopt(client: Queryable): Queryable;
  /** By the name of the pool, for metrics. */
  loads(): Readonly<Record<string, PoolLoad>>;
  /**
   * Calls back for each notification, and after each new session, because notifications sent in between are lost.
   * `reconnect` drops the session and opens a new one.
   */
  listen(channel: string, on: (payload: string) => void, onReconnect?: () => void): Promise<Listener>;
  /** Which of several hosts accepts writes, as far as is known now; null with one host. */
  host(): string | null;
  close(): Promise<void>;
}

export interface Listener {
  reconnect(): Promise<void>;
  close(): Promise<void>;
}

export function isTransaction(client: Queryable): client is Transaction {
  return 'afterCommit' in client;
}
