import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTenantQueries } from '../src/tenants/queries.ts';
import { createTokens } from '../src/tokens/tokens.ts';
import { type Answer, type TestServer, testServer } from '../testing/test-server.ts';

/** Changes of tokens that come at the same time. The gate is the audit log: whoever changes a token writes there last. */
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

const PATIENCE = { timeout: 20_000 };
const WAITING = `select count(*)::int as n from pg_stat_activity
  where wait_event_type = 'Lock' and datname = current_database() and backend_type = 'client backend'`;

/** Begins one after the other, each when the one before it waits; when all do they may go on. */
async function gated(...begin: (() => Promise<Answer>)[]): Promise<Answer[]> {
  const begun: Promise<Answer>[] = [];
  let answered = 0;
  await outside.query(`begin; lock table ${t.engine.schema}.audit in share mode`);
  for (const one of begin) {
    begun.push(one().finally(() => (answered += 1)));
    await expect
      .poll(async () => answered + (await outside.query(WAITING)).rows[0].n, PATIENCE)
      .toBeGreaterThanOrEqual(begun.length);
  }
  await outside.query('commit');
  return Promise.all(begun);
}

/** Nobody waits for a lock for ever: on a machine that stood still for seconds a round did not take place. */
async function undisturbed(round: () => Promise<Answer[]>): Promise<Answer[]> {
  for (;;) {
    const answers = await round();
    if (answers.every(({ status }) => status !== 503)) return answers;
  }
}

const claim = (token: string) => t.post('/api/lanes/twice/claim', { worker: 'w' }, { token });

test('G73: two admins who revoke each other at once: one succeeds, one is left', async () => {
  const { db, schema } = t.engine;
  const tokens = createTokens(db, schema);
  let admins: { id: string; secret: string }[] = [];
  let round = 0;
  const answers = await undisturbed(async () => {
    round += 1;
    const tenant = await createTenantQueries(schema).create(db, `duel ${round}`);
    admins = [];
    for (const name of ['a', 'b']) {
      const request = {
        tenantId: tenant?.tenantId as number,
        kind: 'operator',
        role: 'admin',
        name,
      } as const;
      const { secret, token } = await tokens.create(db, request);
      admins.push({ id: token.tokenId, secret: t.secret(secret) });
      expect((await t.get('/api/counts', { token: secret })).status).toBe(200);
    }
    const [a, b] = admins as [(typeof admins)[0], (typeof admins)[0]];
    return gated(
      () => t.del(`/api/tokens/${b.id}`, { token: a.secret }),
      () => t.del(`/api/tokens/${a.id}`, { token: b.secret }),
    );
  });
  expect(answers.map(({ status, body }) => [status, body.code])).toEqual([
    [200, undefined],
    [409, 'MUSTER_LAST_ADMIN'],
  ]);
  const left = await Promise.all(admins.map(({ secret }) => t.get('/api/counts', { token: secret })));
  expect(left.map(({ status }) => status)).toEqual([200, 401]);
});

test('G72: whoever ends all tokens of a host ends the one that is being made by a rotation', async () => {
  const { id, agentToken } = (await t.post('/api/hosts', { name: 'rotated meanwhile' })).body;
  const secrets = [t.secret(agentToken)];
  const [rotated, ended] = await undisturbed(async () => {
    secrets.push(t.secret((await t.post(`/api/hosts/${id}/token`)).body.agentToken));
    const [newest] = (await t.get('/api/tokens?kind=agent&limit=1')).body.tokens;
    // the rotation has made the new token and holds the old one; nobody can see the new one yet
    return gated(
      () => t.post(`/api/tokens/${newest.id}/rotate`),
      () => t.del(`/api/hosts/${id}/token`),
    );
  });
  expect([rotated?.status, ended?.status]).toEqual([201, 204]);
  secrets.push(t.secret(rotated?.body.token));
  for (const token of secrets) expect((await t.get('/api/control/queue', { token })).status).toBe(401);
});

test('G72: a token that a rotation is just ending waits for nobody, ends nothing itself, and is over', async () => {
  let old = { id: '', token: '' };
  let middle = '';
  const [rotated, used] = await undisturbed(async () => {
    old = await t.token({ kind: 'worker', name: 'twice' });
    expect((await claim(old.token)).status).toBe(200);
    middle = t.secret((await t.post(`/api/tokens/${old.id}/rotate`)).body.token);
    return gated(
      () => t.post(`/api/tokens/${old.id}/rotate`),
      () => claim(middle),
    );
  });
  expect([rotated?.status, used?.status]).toEqual([201, 200]);
  const newest = t.secret(rotated?.body.token);
  const statuses: number[] = [];
  for (const token of [middle, old.token, newest, old.token]) statuses.push((await claim(token)).status);
  expect(statuses).toEqual([401, 200, 200, 401]);
});
