import type { Database } from '@muster/engine';
import { type Sabotage, sabotage, type TestClock, testClock } from '@muster/engine/testing';
import { readConfig } from '../../src/config.ts';
import { type Server, startServer } from '../../src/main.ts';
import { type CrashableDatabase, crashable } from '../crashable-database.ts';

/** The real server over HTTP, on a database whose client may die, with a clock that moves only when told to. */
const OPERATOR = 'operator-token-of-the-task-game-0123456789';
const DUTIES = ['end-leases', 'make-due', 'expire', 'end-stale', 'advance-tasks', 'fold-task-counts'];

export interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: the game looks at whatever came
  readonly body: any;
}

export interface GameHouse {
  readonly clock: TestClock;
  readonly crash: CrashableDatabase;
  /** Null: no answer, because the server died during the request. */
  call(method: string, path: string, body?: unknown, token?: string): Promise<Answer | null>;
  pass(ms: number): Promise<void>;
  /** A dead server is replaced by a new one on the same database. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

export async function gameHouse(inner: Database, by: Sabotage): Promise<GameHouse> {
  const clock = testClock();
  const crash = crashable(sabotage(inner, by));
  const config = readConfig({ PORT: '0', MUSTER_OPERATOR_TOKEN: OPERATOR, MUSTER_LOG_LEVEL: 'silent' });
  const start = (): Promise<Server> => startServer(config, { db: crash.db, clock });
  let server = await start();

  return {
    clock,
    crash,
    async call(method, path, body, token = OPERATOR) {
      const response = await fetch(server.url + path, {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }).catch(() => null);
      if (crash.dead || response === null) return null;
      const text = await response.text();
      if (response.status >= 500) throw new Error(`${method} ${path}: ${response.status} ${text}`);
      return { status: response.status, body: text === '' ? null : JSON.parse(text) };
    },
    async pass(ms) {
      clock.advance(ms);
      for (const duty of DUTIES) await server.engine.runDuty(duty).catch(() => 0);
    },
    async restart() {
      await server.stop();
      crash.revive();
      server = await start();
    },
    stop: () => server.stop(),
  };
}
