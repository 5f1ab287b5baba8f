import type { Transaction } from '@muster/engine';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTenantQueries } from '../src/tenants/queries.ts';
import { createTokens } from '../src/tokens/tokens.ts';
import { type Answer, type TestServer, testServer } from '../testing/test-server.ts';

/** Simultaneous changes of tokens: one is held open just before its commit, the other comes meanwhile. */
let t: TestServer;
let outside: pg.Client;
beforeAll(async () => {
  t = await testServer();
  outside = new pg.Client(t.databaseUrl as string);
  await outside.connect();
});
afterAll(async () => {
  await outside.end();
  await t.close();
});

const WAITING = `select count(*)::int as n from pg_stat_activity
  where wait_event_type = 'Lock' and datname = current_database() and backend_type = 'client backend'`;
/** On the server of the tenant. */
const WAITING_THERE = 'select count(*)::int as n from citus_lock_waits';

/** The second is sent when the first has done everything except its commit, which comes when the second waits, if it does. */
async function overlapping<T>(
  first: (tx: Transaction) => Promise<T>,
  second: () => Promise<Answer>,
  mayWait = true,
): Promise<[T, Answer]> {
  let commit = () => {};
  const mayCommit = new Promise<void>((resolve) => {
    commit = resolve;
  });
  let changed: Promise<T> | undefined;
  await new Promise<void>((done, failed) => {
    changed = t.engine.db.transaction(async (tx) => {
      const result = await first(tx);
      done();
      await mayCommit;
      return result;
    });
    changed.catch(failed);
  });
  let answers = 0;
  const asked = second().finally(() => {
    answers += 1;
  });
  const waiting = t.engine.db.isDistributed ? WAITING_THERE : WAITING;
  await expect
    .poll(async () => answers || (mayWait && (await outside.query(waiting)).rows[0].n))
    .toBeTruthy();
  commit();
  return Promise.all([changed as Promise<T>, asked]);
}

/** A limit for lock waits: on a machine that stood still for seconds, a round is skipped. */
async function undisturbed<T>(round: () => Promise<[T, Answer]>): Promise<[T, Answer]> {
  for (;;) {
    const [first, second] = await round();
    if (second.status !== 503) return [first, second];
  }
}

const claim = (token: string) => t.post('/api/lanes/twice/claim', { worker: 'w' }, { token });

test('G73: of two admins who revoke each other at the same moment one succeeds, and one is left', async () => {
  const { db, schema } = t.engine;
  const tokens = createTokens(db, schema);
  let admins: { id: string; secret: string }[] = [];
  let round = 0;
  const [, answer] = await undisturbed(async () => {
    round += 1;
    const { tenantId = 0 } = (await createTenantQueries(schema).create(db, `duel ${round}`)) ?? {};
    admins = [];
    for (const name of ['a', 'b']) {
      const { secret, token } = await tokens.create(db, { tenantId, kind: 'operator', role: 'admin', name });
      admins.push({ id: token.tokenId, secret: t.secret(secret) });
      expect((await t.get('/api/counts', { token: secret })).status).toBe(200);
    }
    const [a, b] = admins as [(typeof admins)[0], (typeof admins)[0]];
    return overlapping(
      (tx) => tokens.revoke(tx, tenantId, b.id),
      () => t.del(`/api/tokens/${a.id}`, { token: b.secret }),
    );
  });
  expect(answer).toMatchObject({ status: 409, body: { code: 'MUSTER_LAST_ADMIN' } });
  expect((await t.get('/api/counts', { token: admins[0]?.secret as string })).status).toBe(200);
});

test('G72: revoking all tokens of a host also ends one that a rotation is creating', async () => {
  const { db, schema } = t.engine;
  const { id, agentToken } = (await t.post('/api/hosts', { name: 'rotated meanwhile' })).body;
  const secrets = [t.secret(agentToken)];
  const [, ended] = await undisturbed(async () => {
    secrets.push(t.secret((await t.post(`/api/hosts/${id}/token`)).body.agentToken));
    const [newest] = (await t.get('/api/tokens?kind=agent&limit=1')).body.tokens;
    return overlapping(
      async (tx) => {
        const { secret } = await createTokens(db, schema).rotate(tx, 1, newest.id, null);
        secrets.push(t.secret(secret));
      },
      () => t.del(`/api/hosts/${id}/token`),
    );
  });
  expect(ended.status).toBe(204);
  for (const token of secrets) expect((await t.get('/api/control/queue', { token })).status).toBe(401);
});

test('G72: a token that a rotation is ending waits for no lock, ends nothing itself, and is invalid', async () => {
  const { db, schema } = t.engine;
  const old = await t.token({ kind: 'worker', name: 'twice' });
  expect((await claim(old.token)).status).toBe(200);
  const middle = t.secret((await t.post(`/api/tokens/${old.id}/rotate`)).body.token);
  const [rotated, used] = await overlapping(
    (tx) => createTokens(db, schema).rotate(tx, 1, old.id, null),
    () => claim(middle),
    false,
  );
  expect(used.status).toBe(200);
  const newest = t.secret(rotated.secret);
  const statuses: number[] = [];
  for (const token of [middle, old.token, newest, old.token]) statuses.push((await claim(token)).status);
  expect(statuses).toEqual([401, 200, 200, 401]);
});

test('two tenants that are created at the same moment get different numbers', async () => {
  const [first, second] = await overlapping(
    (tx) => createTenantQueries(t.engine.schema).create(tx, 'made first'),
    () => t.post('/api/tenants', { name: 'made meanwhile' }),
  );
  expect(second.status).toBe(201);
  expect(second.body.id).toBe(String((first?.tenantId ?? 0) + 1));
});
