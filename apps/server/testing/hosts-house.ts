import type { Engine, Query, Queryable, Transaction } from '@muster/engine';
import { testDatabase } from '@muster/engine/testing';
import { readConfig } from '../src/config.ts';
import { LINES } from '../src/database/migrations.ts';
import { type Server, startServer } from '../src/main.ts';
import { contractOf } from './contract.ts';

/**
 * A server on its own database, an operator, and short ways to create hosts, services and actions. Every answer is compared with
 * the OpenAPI document.
 */
export const OPERATOR = 'operator-token-of-the-control-tests-0123456789';

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look at whatever came
  readonly body: any;
}

export interface House {
  readonly engine: Engine;
  readonly server: Server;
  readonly url: string;
  /** Every recorded statement since the start. */
  readonly statements: string[];
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
  host(name?: string, slots?: number): Promise<{ id: string; token: string }>;
  service(hostId: string, unitName?: string): Promise<string>;
  queue(hostId: string, serviceId: string, more?: object): Promise<string>;
  /** The requests of the agent with that token. */
  poll(token: string, query?: string): Promise<Answer>;
  report(token: string, body: object): Promise<Answer>;
  action(hostId: string, id: string): Promise<Answer['body']>;
  close(): Promise<void>;
}

export interface CallOptions {
  readonly token?: string | null;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

let made = 0;

export async function hostsHouse(
  settings: Record<string, string> = {},
  options: { clock?: () => Date } = {},
): Promise<House> {
  const database = await testDatabase({ lines: LINES });
  const statements: string[] = [];
  /** The same, recording every statement, also those in transactions. */
  const watch = <T extends Queryable>(inner: T): T =>
    new Proxy(inner, {
      get(target, name) {
        // biome-ignore lint/suspicious/noExplicitAny: passes through whatever is there
        const value: any = Reflect.get(target, name, target);
        if (name === 'query')
          return (query: Query) => {
            statements.push(query.name ?? query.text);
            return value.call(target, query);
          };
        if (name === 'transaction')
          return (run: (tx: Transaction) => Promise<unknown>) =>
            value.call(target, (tx: Transaction) => run(watch(tx)));
        if (name === 'gathered') return watch(value);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  const config = readConfig({
    PORT: '0',
    MUSTER_OPERATOR_TOKEN: OPERATOR,
    MUSTER_LOG_LEVEL: 'silent',
    ...settings,
  });
  const server = await startServer(config, { db: watch(database.db), ...options });
  const { engine, url } = server;
  const contract = await contractOf(url);

  async function call(method: string, path: string, given: CallOptions = {}): Promise<Answer> {
    const token = given.token === undefined ? OPERATOR : given.token;
    const response = await fetch(url + path, {
      method,
      headers: {
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        ...(given.body === undefined ? {} : { 'content-type': 'application/json' }),
        ...given.headers,
      },
      ...(given.body === undefined ? {} : { body: JSON.stringify(given.body) }),
    });
    const text = await response.text();
    const body = text === '' ? null : JSON.parse(text);
    if (body !== null) contract.check(method, path, response.status, body);
    return { status: response.status, headers: response.headers, body };
  }

  async function expectStatus(status: number, answer: Promise<Answer>): Promise<Answer['body']> {
    const got = await answer;
    if (got.status !== status)
      throw new Error(`Expected ${status}, got ${got.status}: ${JSON.stringify(got.body)}`);
    return got.body;
  }

  return {
    engine,
    server,
    url,
    statements,
    call,
    async host(name, slots) {
      made += 1;
      const body = { name: name ?? `host ${made}`, ...(slots === undefined ? {} : { slots }) };
      const made1 = await expectStatus(201, call('POST', '/api/hosts', { body }));
      return { id: made1.id, token: made1.agentToken };
    },
    async service(hostId, unitName) {
      made += 1;
      const body = { unitName: unitName ?? `unit${made}.service` };
      return (await expectStatus(201, call('POST', `/api/hosts/${hostId}/services`, { body }))).id;
    },
    async queue(hostId, serviceId, more = {}) {
      const body = { serviceId, kind: 'restart', ...more };
      return (await expectStatus(201, call('POST', `/api/hosts/${hostId}/actions`, { body }))).id;
    },
    poll: (token, query = '') => call('GET', `/api/control/queue${query}`, { token }),
    report: (token, body) => call('POST', '/api/control/report', { token, body }),
    action: (hostId, id) => expectStatus(200, call('GET', `/api/hosts/${hostId}/actions/${id}`)),
    async close() {
      await server.stop();
      await database.drop();
    },
  };
}
