/**
 * The seam between the engine and a database. A `Queryable` is anything that runs one statement: our own database, a
 * transaction of ours, or a plain `pg` client, pool or transaction of the caller's. The engine knows nothing else.
 */

export interface Query {
  /** A named statement is prepared once per connection. */
  readonly name?: string;
  readonly text: string;
  readonly values?: unknown[];
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

/** Milliseconds; 0 is no limit. What is not said is as the connections have it. */
export interface Limits {
  /** How long a statement waits for a lock of somebody else's. */
  readonly lockMs?: number;
  /** How long a statement may take. The server ends it itself, so it is known that nothing came of it. */
  readonly statementMs?: number;
}

export interface Connections extends Queryable {
  transaction<T>(run: (tx: Transaction) => Promise<T>, limits?: Limits): Promise<T>;
}

export interface Database extends Connections {
  readonly kind: 'embedded' | 'postgres';
  /** By tenant, over several servers: a statement is of one tenant, so nothing is gathered for several. */
  readonly isDistributed: boolean;
  /** How many gathered statements of one kind may be in flight at once. */
  readonly writers: number;
  /** How long a caller may have to wait for an answer before he hears that there is none. */
  readonly deadlineMs: number;
  /** Connections for gathered statements only: they give up on a lock quickly instead of stalling everybody. */
  readonly gathered: Connections;
  /** Connections for duties only: their statements may take long, and no caller waits behind them. */
  readonly housekeeping: Connections;
  /** A few for what the node lives by (the lead, tokens, "is the database there?"): nothing else can use them up. */
  readonly reserved: Connections;
  /** A client of the caller's that reads values as the engine does, whatever parsers are set. */
  adopt(client: Queryable): Queryable;
  /**
   * Calls back for each notification, and after every new beginning: what was told in between was heard by nobody.
   * `reconnect` drops the session and opens a new one.
   */
  listen(channel: string, on: (payload: string) => void, onReconnect?: () => void): Promise<Listener>;
  close(): Promise<void>;
}

export interface Listener {
  reconnect(): Promise<void>;
  close(): Promise<void>;
}

export function isTransaction(client: Queryable): client is Transaction {
  return 'afterCommit' in client;
}
