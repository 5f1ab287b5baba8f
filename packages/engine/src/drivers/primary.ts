import pg from 'pg';
import { codeOf, NO_WRITABLE_HOST } from '../sqlstate.ts';

export interface Host {
  readonly host: string;
  readonly port: number;
}

/**
 * Which of several hosts accepts writes. The one that last did is used without asking, until a connection to it breaks,
 * is refused or turns out to be read-only; then all are tried in turn, beginning with that one. Whoever wants a
 * connection meanwhile waits for the same round.
 */
export class Primary {
  readonly #hosts: readonly Host[];
  readonly #config: pg.ClientConfig;
  /** Where a round begins. */
  #first: Host;
  #known: Host | undefined;
  #round: Promise<Host> | undefined;
  #failed: { readonly error: Error; readonly at: number } | undefined;

  /** `patienceMs` is for a whole round: a host that does not answer must leave time for the others. */
  constructor(hosts: readonly [Host, ...Host[]], config: pg.ClientConfig, patienceMs: number) {
    this.#hosts = hosts;
    this.#first = hosts[0];
    const each = Math.ceil(patienceMs / hosts.length / 2);
    this.#config = { ...config, connectionTimeoutMillis: each, query_timeout: each };
  }

  where(): Promise<Host> {
    if (this.#known) return Promise.resolve(this.#known);
    // hundreds of callers may ask in the seconds in which a standby is promoted
    if (this.#failed && performance.now() - this.#failed.at < AGAIN_MS)
      return Promise.reject(this.#failed.error);
    this.#round ??= this.#try().finally(() => {
      this.#round = undefined;
    });
    return this.#round;
  }

  get name(): string | null {
    return this.#known ? nameOf(this.#known) : null;
  }

  /** A connection to it broke or cannot write. */
  doubt(host: Host | undefined = this.#known): void {
    if (host === this.#known) this.#known = undefined;
  }

  async #try(): Promise<Host> {
    const reasons: string[] = [];
    const from = this.#hosts.indexOf(this.#first);
    for (const host of [...this.#hosts.slice(from), ...this.#hosts.slice(0, from)]) {
      const reason = await this.#ask(host);
      if (reason === null) {
        this.#first = host;
        this.#known = host;
        this.#failed = undefined;
        return host;
      }
      reasons.push(`${nameOf(host)} ${reason}`);
    }
    const error = new NoWritableHost(reasons);
    this.#failed = { error, at: performance.now() };
    throw error;
  }

  /** Null: it accepts writes. Throws if it refuses the user or the database. */
  async #ask({ host, port }: Host): Promise<string | null> {
    const client = new pg.Client({ ...this.#config });
    Object.assign(client, { host, port });
    client.on('error', () => {}); // the query that is under way tells it too
    const status = statusOf(client);
    try {
      await client.connect();
      return (await isReadOnly(client, status)) ? 'is read-only' : null;
    } catch (error) {
      if (isRefusal(error)) throw namedAfter({ host, port }, error);
      return `does not answer (${codeOf(error) || (error as Error).message})`;
    } finally {
      void client.end().catch(() => {});
    }
  }
}

const AGAIN_MS = 100;

class NoWritableHost extends Error {
  readonly code = NO_WRITABLE_HOST;
  constructor(reasons: readonly string[]) {
    super(`No host of the database accepts writes: ${reasons.join('; ')}.`);
    this.name = 'NoWritableHost';
  }
}

/** Of the user or the database, not of this server: the others would do the same. */
const isRefusal = (error: unknown) => codeOf(error).startsWith('28') || codeOf(error) === '3D000';

/** PostgreSQL does not say which server refuses, and each has rules of its own. */
function namedAfter(host: Host, error: unknown): unknown {
  if (isRefusal(error) && error instanceof Error) error.message = `${nameOf(host)}: ${error.message}`;
  return error;
}

const nameOf = ({ host, port }: Host) => (host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`);

/** A class of clients that connect to the host that accepts writes; a pool makes its own with it. */
export function clientTo(primary: Primary): typeof pg.Client {
  return class extends pg.Client {
    // as in `pg`: with a callback for the pool, without one for everyone else
    // biome-ignore lint/suspicious/noExplicitAny: each form has a type of its own, and this is both
    override connect(...[callback]: any[]): any {
      const connected = this.#connect();
      if (!callback) return connected;
      connected.then(() => callback(null), callback);
    }

    async #connect(): Promise<void> {
      const host = await primary.where();
      // the pool's patience ended first
      if (connectionOf(this).stream.destroyed) throw new Error('timeout exceeded when trying to connect');
      Object.assign(this, host);
      const status = statusOf(this);
      try {
        await super.connect();
        if (await isReadOnly(this, status)) throw await this.#refused(host);
      } catch (error) {
        primary.doubt(host);
        throw namedAfter(host, error);
      }
      this.on('error', () => primary.doubt(host));
    }

    async #refused(host: Host): Promise<Error> {
      await super.end();
      return new NoWritableHost([`${nameOf(host)} is read-only`]);
    }
  };
}

/** What a server says of itself to each new session, and again when it changes: it costs no round trip. */
interface Status {
  readonly in_hot_standby?: string;
  readonly default_transaction_read_only?: string;
}

/** Parts of `pg` that its types leave out. */
interface Connection {
  readonly stream: { readonly destroyed: boolean };
  on(
    event: 'parameterStatus',
    then: (message: { parameterName: string; parameterValue: string }) => void,
  ): void;
}

const connectionOf = (client: pg.Client) => (client as unknown as { connection: Connection }).connection;

function statusOf(client: pg.Client): Status {
  const status: Record<string, string> = {};
  connectionOf(client).on('parameterStatus', ({ parameterName, parameterValue }) => {
    status[parameterName] = parameterValue;
  });
  return status;
}

async function isReadOnly(client: pg.Client, status: Status): Promise<boolean> {
  const { in_hot_standby: standby, default_transaction_read_only: readOnly } = status;
  if (standby !== undefined && readOnly !== undefined) return standby === 'on' || readOnly === 'on';
  // a pooler passes neither on
  const { rows } = await client.query('show transaction_read_only');
  return rows[0].transaction_read_only === 'on';
}
