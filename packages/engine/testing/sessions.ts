import pg from 'pg';
import type { Queryable } from '../src/index.ts';

/** The test's own `pg` clients, each a session, like those of an application that shares the database. */
export interface Sessions {
  open(): Promise<pg.Client>;
  /** What the engine is given: each statement is a transaction of its own unless the session has begun one. */
  queryable(client: pg.Client): Queryable;
  end(): Promise<void>;
}

export function createSessions(url: string): Sessions {
  const clients: pg.Client[] = [];
  return {
    async open() {
      const client = new pg.Client({ connectionString: url });
      clients.push(client);
      await client.connect();
      return client;
    },
    queryable: (client) => ({ query: (query) => client.query(query) }),
    async end() {
      await Promise.all(clients.map((client) => client.end()));
    },
  };
}
