import { openPostgres } from '@muster/engine';
import { createSessions, type Sessions, testDatabase } from '@muster/engine/testing';
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readConfig } from '../src/config.ts';
import { LINES } from '../src/database/migrations.ts';
import { type Server, startServer } from '../src/main.ts';
import { createTenantQueries } from '../src/tenants/queries.ts';
import { createTokens } from '../src/tokens/tokens.ts';
import { TcpProxy } from '../testing/torture/tcp-proxy.ts';

/** Long locks, a hanging database, and more calls than fit: which calls are refused, and which are not affected. */
const TOKEN = 'operator-token-of-this-test-0123456789';

interface Answer {
  readonly status: number;
  readonly retryAfter: string | null;
  // biome-ignore lint/suspicious/noExplicitAny: tests look at whatever came
  readonly body: any;
}

interface Stage {
  readonly server: Server;
  readonly proxy: TcpProxy;
  readonly sessions: Sessions;
  ask(path: string, body?: object, token?: string): Promise<Answer>;
  /** How many of Muster's connections are in this state. */
  connections(where: string): Promise<number>;
  /** An admin of a separate tenant. */
  stranger(): Promise<string>;
  close(): Promise<void>;
}

async function stage(deadlineMs: number, settings: Record<string, string> = {}): Promise<Stage> {
  const database = await testDatabase({ lines: LINES });
  const url = new URL(database.url as string);
  const proxy = await TcpProxy.start();
  proxy.aimAt(Number(url.port));
  url.port = String(proxy.port);
  const db = openPostgres({ url: url.href, deadlineMs });
  const config = { PORT: '0', MUSTER_OPERATOR_TOKEN: TOKEN, MUSTER_LOG_LEVEL: 'silent', ...settings };
  const server = await startServer(readConfig(config), { db });
  const sessions = createSessions(database.url as string);
  return {
    server,
    proxy,
    sessions,
    async ask(path, body, token = TOKEN) {
      const answer = await fetch(server.url + path, {
        method: body ? 'POST' : 'GET',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        ...(body ? { body: JSON.stringify(body) } : {}),
      });
      return {
        status: answer.status,
        retryAfter: answer.headers.get('retry-after'),
        body: await answer.json(),
      };
    },
    async connections(where) {
      const { rows } = await database.db.query({
        text: `select count(*)::int as n from pg_stat_activity where datname = current_database() and ${where}`,
      });
      return rows[0].n;
    },
    async stranger() {
      const tenant = await createTenantQueries('muster').create(database.db, 'stranger');
      const tokens = createTokens(database.db, 'muster');
      const request = {
        tenantId: tenant?.tenantId as number,
        kind: 'operator',
        role: 'admin',
        name: 'stranger',
      } as const;
      return (await tokens.create(database.db, request)).secret;
    },
    async close() {
      proxy.release();
      await sessions.end();
      await server.stop();
      await db.close();
      await proxy.close();
      await database.drop();
    },
  };
}

/** Whether it has been answered; earlier requests have had their time. */
function watch<T>(promise: Promise<T>): { readonly isSettled: boolean; readonly promise: Promise<T> } {
  const watched = { isSettled: false, promise };
  const settle = () => {
    watched.isSettled = true;
  };
  promise.then(settle, settle);
  return watched;
}

const WAITING = `application_name like 'muster%' and wait_event_type = 'Lock'`;

describe('G65: an open transaction delays only the calls that need what it holds', () => {
  let t: Stage;
  let blocker: pg.Client;
  beforeAll(async () => {
    t = await stage(120_000); // nothing times out here, however slow the machine is
    blocker = await t.sessions.open();
  });
  afterAll(() => t.close());

  /** Everything else that a node does: create a lane, look up a token, read, change, and answer /readyz. */
  async function goesOn(n: string): Promise<void> {
    const queued = await t.ask(`/api/lanes/elsewhere-${n}/actions`, { kind: 'x' });
    expect(queued.status).toBe(201);
    expect((await t.ask(`/api/actions/${queued.body.id}`)).status).toBe(200);
    expect((await t.ask(`/api/actions/${queued.body.id}/cancel`, {})).status).toBe(200);
    const issued = await t.ask('/api/tokens', { kind: 'operator', name: `new ${n}`, role: 'viewer' });
    expect((await t.ask('/api/counts', undefined, issued.body.token)).status).toBe(200);
    expect((await t.ask('/readyz')).status).toBe(200);
  }

  test('the name of a new lane: thirty claims of it', async () => {
    await blocker.query('begin');
    await blocker.query(`select muster.ensure_lane(1, 'generic', 'held')`);
    const claims = Array.from({ length: 30 }, () =>
      watch(t.ask('/api/lanes/held/claim', { worker: 'w', leaseSeconds: 5 })),
    );
    await expect.poll(() => t.connections(WAITING)).toBeGreaterThan(0);
    await goesOn('name');
    expect(await t.connections(WAITING)).toBeLessThanOrEqual(3);
    expect(claims.filter(({ isSettled }) => isSettled)).toHaveLength(0);
    await blocker.query('commit');
    const answers = await Promise.all(claims.map(({ promise }) => promise));
    expect(answers.map(({ status }) => status)).toEqual(claims.map(() => 200));
  });

  test('a lane: thirty cancels and pauses in it', async () => {
    const queued = await Promise.all(
      Array.from({ length: 15 }, () => t.ask('/api/lanes/locked/actions', { kind: 'x' })),
    );
    await blocker.query('begin');
    await blocker.query(
      `update muster.lanes set paused = paused where lane_id = (select lane_id from muster.lane_names where name = 'locked')`,
    );
    const changes = queued.flatMap(({ body }) => [
      watch(t.ask(`/api/actions/${body.id}/cancel`, {})),
      watch(t.ask('/api/lanes/locked/pause', {})),
    ]);
    await expect.poll(() => t.connections(WAITING)).toBeGreaterThan(0);
    await goesOn('lane');
    expect(changes.filter(({ isSettled }) => isSettled)).toHaveLength(0);
    await blocker.query('commit');
    const answers = await Promise.all(changes.map(({ promise }) => promise));
    expect(answers.map(({ status }) => status)).toEqual(changes.map(() => 200));
    const audit = await t.ask('/api/audit?limit=100');
    const cancels = audit.body.audit.filter(({ act }: { act: string }) => act === 'action.cancel');
    // retried, not done twice: one line for each, and one of `goesOn` in each test
    expect(cancels).toHaveLength(15 + 2);
  });
});

describe('a call that would wait too long is refused', () => {
  let t: Stage;
  let blocker: pg.Client;
  beforeAll(async () => {
    t = await stage(3_000, { MUSTER_MAX_QUEUED_MB: '1' });
    blocker = await t.sessions.open();
  });
  afterAll(() => t.close());

  const refused = (answer: Answer) => {
    expect(answer.status).toBe(503);
    expect(Number(answer.retryAfter)).toBeGreaterThan(0);
    return answer.body.code;
  };

  test('G64: with MUSTER_LANE_BUSY for a lock that lasts', async () => {
    await t.ask('/api/lanes/busy/actions', { kind: 'x' });
    await blocker.query('begin');
    await blocker.query(`select muster.ensure_lane(1, 'generic', 'held')`);
    await blocker.query('update muster.lanes set paused = paused');
    const answers = await Promise.all([
      t.ask('/api/lanes/held/claim', { worker: 'w' }),
      t.ask('/api/lanes/busy/claim', { worker: 'w' }),
      t.ask('/api/lanes/busy/pause', {}),
      t.ask('/api/actions/1/cancel', {}),
    ]);
    await blocker.query('rollback');
    expect(answers.map(refused)).toEqual(answers.map(() => 'MUSTER_LANE_BUSY'));
  });

  // the server went on with a statement that was given up here: 10, 20, 30, 40 sessions after four rounds
  test('G65: and no abandoned statement is left on the database server', async () => {
    await blocker.query('begin');
    await blocker.query('lock table muster.actions in access exclusive mode');
    for (let round = 0; round < 2; round += 1) {
      const answers = await Promise.all(Array.from({ length: 12 }, () => t.ask('/api/actions?limit=1')));
      expect(answers.map(refused)).not.toContain('MUSTER_INTERNAL');
      expect(await t.connections(`application_name = 'muster'`)).toBeLessThanOrEqual(10);
    }
    const locked = await t.ask('/readyz');
    await blocker.query('rollback');
    expect(locked.status).toBe(200);
    expect((await t.ask('/api/actions?limit=1')).status).toBe(200);
  });

  test('G64: with 503 when the database hangs, for reads and writes alike', async () => {
    const other = await t.stranger();
    const large = { kind: 'x', payload: { text: 'x'.repeat(100_000) } };
    for (const token of [TOKEN, other])
      expect((await t.ask('/api/lanes/known/actions', { kind: 'x' }, token)).status).toBe(201);
    t.proxy.hold();
    try {
      const queued = Array.from({ length: 20 }, () => t.ask('/api/lanes/known/actions', large));
      const others = [
        t.ask('/api/lanes/known/claim', { worker: 'w', wait: 20 }),
        t.ask('/api/actions?limit=1'),
        t.ask('/api/actions/1'),
        t.ask('/api/actions/1/cancel', {}),
      ];
      const stranger = t.ask('/api/lanes/known/actions', large, other);
      // 1 MB may wait, four fifths of it of one tenant: more is refused, but never because of other tenants
      const codes = (await Promise.all(queued)).map(refused);
      expect(codes).toContain('MUSTER_OVERLOADED');
      const rest = [...codes, ...(await Promise.all(others)).map(refused), refused(await stranger)];
      expect(rest.at(-1)).not.toBe('MUSTER_OVERLOADED');
      const known = ['MUSTER_OVERLOADED', 'MUSTER_NO_ANSWER', 'MUSTER_DATABASE_AWAY'];
      expect(rest.filter((code) => !known.includes(code))).toEqual([]);
    } finally {
      t.proxy.release();
    }
    await expect.poll(async () => (await t.ask('/api/lanes/known/actions', large)).status).toBe(201);
  });
});
