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
}

export interface Database extends Queryable {
  readonly kind: 'embedded' | 'postgres';
  /** How many gathered statements of one kind may be in flight at once. */
  readonly writers: number;
  /** Connections for gathered statements only: they give up on a lock quickly instead of stalling everybody. */
  readonly gathered: Queryable & { transaction<T>(run: (tx: Transaction) => Promise<T>): Promise<T> };
  transaction<T>(run: (tx: Transaction) => Promise<T>): Promise<T>;
  /** A client of the caller's that reads values as the engine does, whatever parsers are set. */
  adopt(client: Queryable): Queryable;
  /** Calls back for each notification; `reconnect` drops the connection and opens a new one. */
  listen(channel: string, on: (payload: string) => void): Promise<Listener>;
  close(): Promise<void>;
}

export interface Listener {
  reconnect(): Promise<void>;
  close(): Promise<void>;
}

export function isTransaction(client: Queryable): client is Transaction {
  return 'afterCommit' in client;
}
