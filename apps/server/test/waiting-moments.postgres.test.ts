import type { Database, Query } from '@muster/engine';
import { testDatabase } from '@muster/engine/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readConfig } from '../src/config.ts';
import { LINES } from '../src/database/migrations.ts';
import { type Server, startServer } from '../src/main.ts';
import { createTokens } from '../src/tokens/tokens.ts';
import type { Answer } from '../testing/test-server.ts';

/** So long that only a missing end makes a test wait for it. */
const WAIT = 25;

async function parked(server: Pick<Server, 'engine'>, count = 1): Promise<void> {
  while (server.engine.parkedWaiters < count) await new Promise<void>((resolve) => setImmediate(resolve));
}

/** A server whose statements can be stopped after they ran, and whose notifications can be cut off. */
async function nosyServer() {
  const database = await testDatabase({ lines: LINES });
  const hooks = {
    after: async (_query: Query, _rows: readonly unknown[]): Promise<void> => {},
    isDeaf: false,
    reconnected: [] as (() => void)[],
  };
  const watch = <C extends { query(query: Query): Promise<{ rows: unknown[] }> }>(inner: C): C => ({
    ...inner,
    async query(query: Query) {
      const answer = await inner.query(query);
      await hooks.after(query, answer.rows);
      return answer;
    },
  });
  const inner = watch(database.db);
  const db: Database = {
    ...inner,
    gathered: watch(inner.gathered),
    listen(channel, on, onReconnect = () => {}) {
      hooks.reconnected.push(onReconnect);
      return inner.listen(channel, (word) => void (hooks.isDeaf || on(word)), onReconnect);
    },
  };
  const operator = 'operator-token-of-this-test-0123456789';
  const start = (on: Database) =>
    startServer(readConfig({ PORT: '0', MUSTER_OPERATOR_TOKEN: operator, MUSTER_LOG_LEVEL: 'silent' }), {
      db: on,
    });
  const server = await start(db);
  const ask = async (method: string, path: string, body?: object, token = operator, at = server) => {
    const answer = await fetch(at.url + path, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body ? { 'content-type': 'application/json' } : {}),
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    const text = await answer.text();
    return { status: answer.status, body: (text === '' ? null : JSON.parse(text)) as Answer['body'] };
  };
  return {
    ask,
    hooks,
    server,
    /** Another node that receives every notification. */
    another: () => start(database.db),
    token: async () => (await ask('POST', '/api/tokens', { kind: 'worker', name: 'w' })).body,
    async close() {
      await server.stop();
      await database.drop();
    },
  };
}

describe('a token that is revoked at that very moment', () => {
  let nosy: Awaited<ReturnType<typeof nosyServer>>;
  beforeAll(async () => {
    nosy = await nosyServer();
  });
  afterAll(() => nosy.close());
  const once = (statement: string, run: () => Promise<unknown>) => {
    let isDone = false;
    nosy.hooks.after = async ({ name }, rows) => {
      if (isDone || name !== statement || !JSON.stringify(rows).includes('"action_id":"')) return;
      isDone = true;
      await run();
    };
  };

  test('G63: when something was claimed for its holder, releases it', async () => {
    const { ask, server } = nosy;
    const { id, token } = await nosy.token();
    const waiting = ask('POST', '/api/lanes/flight/claim', { worker: 'w', wait: WAIT }, token);
    await parked(server);
    once('muster_claim', async () => {
      expect((await ask('DELETE', `/api/tokens/${id}`)).status).toBe(204);
    });
    const { body } = await ask('POST', '/api/lanes/flight/actions', { kind: 'x' });
    expect(await waiting).toMatchObject({ status: 401, body: { code: 'MUSTER_UNAUTHORIZED' } });
    const next = await ask('POST', '/api/lanes/flight/claim', { worker: 'v', wait: WAIT });
    expect(next.body.actions).toMatchObject([{ id: body.id, attempt: 2 }]);
  });

  test('G63: between its look-up and the wait, keeps its holder from waiting', async () => {
    const { ask } = nosy;
    const { id, token } = await nosy.token();
    await ask('POST', '/api/lanes/report/actions', { kind: 'x' });
    const [claimed] = (await ask('POST', '/api/lanes/report/claim', { worker: 'w' }, token)).body.actions;
    nosy.hooks.after = async ({ name }) => {
      if (name !== 'muster_report_success') return;
      nosy.hooks.after = async () => {};
      await ask('DELETE', `/api/tokens/${id}`);
    };
    const report = { worker: 'w', attempt: 1, status: 'succeeded', next: { wait: WAIT } };
    expect(await ask('POST', `/api/actions/${claimed.id}/report`, report, token)).toMatchObject({
      status: 401,
      body: { code: 'MUSTER_UNAUTHORIZED' },
    });
  });

  test('G63: but whose revocation is rolled back, does not end', async () => {
    const { db } = nosy.server.engine;
    const tokens = createTokens(db, 'muster');
    const ended: string[] = [];
    tokens.watch({ revoked: (_tenantId, tokenId) => void ended.push(tokenId), missed: () => {} });
    const { id } = await nosy.token();
    await expect(
      db.transaction(async (tx) => {
        await tokens.revoke(tx, 1, id);
        throw new Error('undo');
      }),
    ).rejects.toThrow('undo');
    expect(ended).toEqual([]);
    await db.transaction((tx) => tokens.revoke(tx, 1, id));
    expect(ended).toEqual([id]);
  });

  test('G63: at another node, also ends here, even if this node learns of it only when it listens again', async () => {
    const { ask, hooks, server } = nosy;
    const other = await nosy.another();
    try {
      for (const isDeaf of [false, true]) {
        const { id, token } = await nosy.token();
        const waiting = ask('POST', '/api/lanes/far/claim', { worker: 'w', wait: WAIT }, token);
        await parked(server);
        hooks.isDeaf = isDeaf;
        expect((await ask('DELETE', `/api/tokens/${id}`, undefined, undefined, other)).status).toBe(204);
        if (isDeaf) {
          hooks.isDeaf = false;
          for (const reconnected of hooks.reconnected) reconnected();
        }
        expect(await waiting).toMatchObject({ status: 401 });
      }
    } finally {
      await other.stop();
    }
  });
});
