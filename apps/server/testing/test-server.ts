import { type Client, type ClientOptions, createClient } from '@muster/client';
import type { Database } from '@muster/engine';
import { type TestClock, testClock, testDatabase } from '@muster/engine/testing';
import { readConfig } from '../src/config.ts';
import { LINES } from '../src/database/migrations.ts';
import type { CreateFeature } from '../src/feature.ts';
import { type Server, startServer } from '../src/main.ts';
import type { Resolve } from '../src/outgoing/allow-rule.ts';
import { contractOf } from './contract.ts';

/**
 * The real server on its own database, and a client that speaks HTTP to it. Every answer is compared with the OpenAPI document; at
 * the end the log is searched for every secret that was shown.
 */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look at whatever came
  readonly body: any;
}

export interface Asking {
  /** A token other than the operator's; null for none. */
  readonly token?: string | null;
  readonly headers?: Record<string, string>;
  readonly signal?: AbortSignal;
}

export interface TestServer {
  readonly server: Server;
  readonly engine: Server['engine'];
  readonly clock: TestClock;
  readonly operator: string;
  /** The URL of the database, for other clients of the test; null on PGlite. */
  readonly databaseUrl: string | null;
  readonly kind: 'pglite' | 'postgres';
  /** Typed calls, with the operator's token unless another is given; a refusal is thrown. */
  client(token?: ClientOptions['token']): Client;
  /** Raw requests. */
  get(path: string, asking?: Asking): Promise<Answer>;
  post(path: string, body?: unknown, asking?: Asking): Promise<Answer>;
  del(path: string, asking?: Asking): Promise<Answer>;
  send(method: string, path: string, body: unknown, asking?: Asking): Promise<Answer>;
  /** A new token of the operator's tenant. */
  token(body: object): Promise<{ id: string; token: string }>;
  /** The log so far. */
  log(): string;
  /** Registers a secret that must never be in the log. */
  secret(text: string): string;
  /** Moves the clock, if there is one, and runs the housekeeping of that moment. */
  pass(ms: number): Promise<void>;
  /** Stops the server, runs the given function, and starts another server on the same database. */
  restart(meanwhile?: () => void): Promise<void>;
  /** Stops the server and drops its database; fails if the log has a secret or an unexpected error. */
  close(): Promise<void>;
}

export interface TestServerOptions {
  /** A clock that moves only when told to. */
  readonly clock?: boolean;
  readonly settings?: Record<string, string>;
  /** How long the server waits for a body that it refused. */
  readonly refusedBodyMs?: number;
  /** Replaces the server's database. */
  readonly database?: (db: Database) => Database;
  /** Additional features of the test. */
  readonly features?: readonly CreateFeature[];
  /** The pages to serve. */
  readonly pagesFolder?: string;
  /** Resolves the hosts that the server sends requests to. */
  readonly resolve?: Resolve;
  /** Errors in the log are allowed: the test provokes them. */
  readonly faults?: boolean;
}

const SECRETS_KEY = Buffer.alloc(32, 'key').toString('base64');
const DUTIES = ['end-leases', 'make-due', 'expire', 'end-stale', 'end-precedence'];

export async function testServer(options: TestServerOptions = {}): Promise<TestServer> {
  const database = await testDatabase({ lines: LINES });
  const clock = testClock();
  const operator = `operator-of-the-tests-${Math.random().toString(36).slice(2)}-0123456789`;
  const lines: string[] = [];
  const secrets = new Set([operator, SECRETS_KEY]);
  const config = readConfig({
    PORT: '0',
    MUSTER_OPERATOR_TOKEN: operator,
    MUSTER_LOG_LEVEL: 'debug',
    MUSTER_SECRETS_KEY: SECRETS_KEY,
    ...options.settings,
  });
  const start = () =>
    startServer(config, {
      db: options.database?.(database.db) ?? database.db,
      logStream: { write: (line) => void lines.push(line) },
      ...(options.clock ? { clock } : {}),
      ...(options.features ? { features: options.features } : {}),
      ...(options.resolve ? { resolve: options.resolve } : {}),
      ...(options.pagesFolder ? { pagesFolder: options.pagesFolder } : {}),
      ...(options.refusedBodyMs === undefined ? {} : { refusedBodyMs: options.refusedBodyMs }),
    });
  let server = await start();
  const contract = await contractOf(server.url);

  async function send(method: string, path: string, body: unknown, asking: Asking = {}): Promise<Answer> {
    const token = asking.token === undefined ? operator : asking.token;
    const response = await fetch(server.url + path, {
      method,
      headers: {
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...asking.headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      ...(asking.signal ? { signal: asking.signal } : {}),
    });
    const text = await response.text();
    const isJson =
      (method !== 'HEAD' && response.headers.get('content-type')?.startsWith('application/json')) ?? false;
    const parsed = isJson ? JSON.parse(text) : text;
    if (isJson) contract.check(method, path, response.status, parsed);
    return { status: response.status, headers: response.headers, body: parsed };
  }

  /** Every answer to the typed client is compared with the description too. */
  const checkedFetch: typeof fetch = async (url, init) => {
    const response = await fetch(url, init);
    if (response.headers.get('content-type')?.startsWith('application/json')) {
      const path = String(url).slice(server.url.length);
      contract.check(init?.method ?? 'GET', path, response.status, await response.clone().json());
    }
    return response;
  };

  return {
    get server() {
      return server;
    },
    get engine() {
      return server.engine;
    },
    client: (token: ClientOptions['token'] = operator) =>
      createClient({ url: server.url, token, fetch: checkedFetch }),
    clock,
    operator,
    databaseUrl: database.url,
    kind: database.kind,
    send,
    get: (path, asking) => send('GET', path, undefined, asking),
    post: (path, body, asking) => send('POST', path, body ?? {}, asking),
    del: (path, asking) => send('DELETE', path, undefined, asking),
    async token(body) {
      const answer = await send('POST', '/api/tokens', body);
      if (answer.status !== 201) throw new Error(`No token: ${JSON.stringify(answer.body)}`);
      secrets.add(answer.body.token);
      return answer.body;
    },
    log: () => lines.join(''),
    secret(text) {
      secrets.add(text);
      return text;
    },
    async pass(ms) {
      clock.advance(ms);
      for (const duty of DUTIES) await server.engine.runDuty(duty);
    },
    async restart(meanwhile) {
      await server.stop();
      meanwhile?.();
      server = await start();
    },
    async close() {
      await server.stop();
      await database.drop();
      const log = lines.join('');
      for (const secret of secrets) if (log.includes(secret)) throw new Error('The log has a secret in it.');
      const faults = lines.filter((line) => JSON.parse(line).level >= 50);
      if (faults.length > 0 && !options.faults) throw new Error(`The log has errors:\n${faults.join('')}`);
    },
  };
}
