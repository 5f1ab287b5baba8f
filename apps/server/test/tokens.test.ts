import { testDatabase } from '@muster/engine/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readConfig } from '../src/config.ts';
import { LINES } from '../src/database/migrations.ts';
import { type Server, startServer } from '../src/main.ts';
import { createTokens } from '../src/tokens/tokens.ts';
import { type TestServer, testServer } from '../testing/test-server.ts';

let t: TestServer;
beforeAll(async () => {
  t = await testServer();
});
afterAll(() => t.close());

const status = async (token: string, path = '/api/counts') => (await t.get(path, { token })).status;

test('a token is shown once, works, and ends at once when it is revoked', async () => {
  const { id, token } = await t.token({ kind: 'operator', role: 'viewer', name: 'dashboard' });
  expect(token).toMatch(/^mst_operator_1_[\w-]{43}$/);
  expect(await status(token)).toBe(200);
  const list = JSON.stringify((await t.get('/api/tokens')).body);
  expect(list).toContain('dashboard');
  expect(list).not.toContain(token.slice(-43));

  expect(await t.del(`/api/tokens/${id}`)).toMatchObject({ status: 204, body: '' });
  const [revoked] = (await t.get('/api/tokens')).body.tokens;
  expect(revoked).toMatchObject({ id, revokedAt: expect.any(String) });
  expect(await status(token)).toBe(401);
});

test('a rotated token leaves the old one valid until it is used for the first time', async () => {
  const old = await t.token({ kind: 'worker', name: 'sleeper' });
  const claims = async (token: string) =>
    (await t.post('/api/lanes/rotation/claim', { worker: 'w' }, { token })).status;
  const second = (await t.post(`/api/tokens/${old.id}/rotate`)).body;
  const third = (await t.post(`/api/tokens/${second.id}/rotate`)).body;
  t.secret(second.token);
  t.secret(third.token);
  expect(third).toMatchObject({ name: 'sleeper', kind: 'worker', replaces: old.id });
  expect(await claims(second.token)).toBe(401);
  expect(await claims(old.token)).toBe(200);
  expect(await claims(third.token)).toBe(200);
  expect(await claims(old.token)).toBe(401);
  expect(await claims(second.token)).toBe(401);
  expect(await claims(third.token)).toBe(200);
  expect(await t.post(`/api/tokens/${old.id}/rotate`)).toMatchObject({
    status: 409,
    body: { code: 'MUSTER_TOKEN_REVOKED' },
  });
});

test('viewers read, operators change, admins manage; workers only work', async () => {
  const [viewer, operator, worker] = await Promise.all([
    t.token({ kind: 'operator', role: 'viewer', name: 'v' }),
    t.token({ kind: 'operator', role: 'operator', name: 'o' }),
    t.token({ kind: 'worker', name: 'w' }),
  ]);
  const asks: [string, string, object?][] = [
    ['GET', '/api/actions'],
    ['POST', '/api/lanes/roles/actions', { kind: 'x' }],
    ['POST', '/api/lanes/roles/claim', { worker: 'w' }],
    ['POST', '/api/lanes/roles/pause', {}],
    ['POST', '/api/pause', { tag: 'roles' }],
    ['GET', '/api/tokens'],
    ['GET', '/api/audit'],
    ['GET', '/metrics'],
  ];
  const seen = async (token: string) => {
    const answers: number[] = [];
    for (const [method, path, body] of asks)
      answers.push((await t.send(method, path, body, { token })).status);
    return answers;
  };
  expect(await seen(viewer.token)).toEqual([200, 403, 403, 403, 403, 403, 403, 200]);
  expect(await seen(operator.token)).toEqual([200, 201, 200, 200, 403, 403, 403, 200]);
  expect(await seen(worker.token)).toEqual([403, 201, 200, 403, 403, 403, 403, 403]);
  expect((await t.get('/api/tokens', { token: viewer.token })).body.error).toBe(
    'This requires the role admin; the token has the role viewer.',
  );
});

test('a worker for named lanes sees no other', async () => {
  const mine = await t.token({ kind: 'worker', name: 'mine', lanes: ['mine'] });
  const asking = { token: mine.token };
  expect(await t.post('/api/lanes/other/claim', { worker: 'w' }, asking)).toMatchObject({
    status: 403,
    body: { code: 'MUSTER_LANE_NOT_ALLOWED' },
  });
  expect(await t.post('/api/lanes/other/actions', { kind: 'x' }, asking)).toMatchObject({ status: 403 });
  const other = (await t.post('/api/lanes/other/actions', { kind: 'x' })).body.id;
  await t.post('/api/lanes/other/claim', { worker: 'w' });
  for (const [act, body] of [
    ['report', { attempt: 1, status: 'succeeded' }],
    ['extend', { attempt: 1 }],
    ['release', { attempt: 1 }],
  ] as const)
    expect(await t.post(`/api/actions/${other}/${act}`, body, asking)).toMatchObject({ status: 404 });

  const id = (await t.post('/api/lanes/mine/actions', { kind: 'x' }, asking)).body.id;
  const next = (await t.post('/api/lanes/mine/actions', { kind: 'y' }, asking)).body.id;
  await t.post('/api/lanes/mine/claim', { worker: 'w' }, asking);
  const fused = await t.post(
    `/api/actions/${id}/report`,
    { attempt: 1, status: 'succeeded', next: {} },
    asking,
  );
  expect(fused.body).toMatchObject({ accepted: true, actions: [{ id: next }] });
  expect(
    await t.post(`/api/actions/${next}/report`, { attempt: 1, status: 'succeeded' }, asking),
  ).toMatchObject({
    body: { accepted: true },
  });
});

test('invalid tokens are refused with a sentence', async () => {
  for (const [body, sentence] of [
    [{ kind: 'operator', name: 'x' }, 'role is missing: an operator token needs one.'],
    [{ kind: 'worker', role: 'admin', name: 'x' }, 'role is for operator tokens only.'],
    [{ kind: 'operator', role: 'admin', name: 'x', lanes: ['a'] }, 'lanes is for worker tokens only.'],
    [{ kind: 'worker', name: 'x', lanes: [] }, 'lanes must have from 1 to 1000 entries.'],
  ] as const)
    expect(await t.post('/api/tokens', body)).toMatchObject({ status: 400, body: { error: sentence } });
  expect(await t.del('/api/tokens/999')).toMatchObject({
    status: 404,
    body: { code: 'MUSTER_UNKNOWN_TOKEN' },
  });
  expect(await t.del('/api/tokens/x')).toMatchObject({ status: 404 });
});

test('the last admin cannot lock everyone out', async () => {
  const { tokens } = (await t.get('/api/tokens')).body;
  const admins = tokens.filter(
    (one: { role: string; revokedAt?: string }) => one.role === 'admin' && !one.revokedAt,
  );
  expect(admins).toHaveLength(1);
  expect(await t.del(`/api/tokens/${admins[0].id}`)).toMatchObject({
    status: 409,
    body: { code: 'MUSTER_LAST_ADMIN' },
  });
});

test('every change by an operator is in the audit log, without secrets; a worker leaves none', async () => {
  const worker = await t.token({ kind: 'worker', name: 'audited' });
  const { id } = (await t.post('/api/lanes/audit/actions', { kind: 'x' })).body;
  await t.post('/api/lanes/audit/actions', { kind: 'x' }, { token: worker.token });
  await t.post('/api/lanes/audit/pause', { reason: 'fire drill' });
  await t.post('/api/lanes/audit/resume');
  await t.post(`/api/actions/${id}/move-to-front`);
  const notBefore = new Date(Date.now() + 3_600_000).toISOString();
  const later = (await t.post('/api/lanes/audit/actions', { kind: 'x', notBefore }, { token: worker.token }))
    .body;
  await t.post(`/api/actions/${later.id}/make-due`);
  await t.post('/api/actions/make-due', { lane: 'audit' });
  await t.post('/api/actions/cancel', { lane: 'audit', reason: 'enough' });
  await t.post(`/api/actions/${id}/redrive`);
  const { audit, cursor } = (await t.get('/api/audit?limit=8')).body;
  expect(audit.map(({ act, target }: { act: string; target: string }) => `${act} ${target}`)).toEqual([
    'action.cancel matching actions',
    'action.make-due matching actions',
    `action.make-due action ${later.id}`,
    `action.move-to-front action ${id}`,
    'lane.resume lane audit',
    'lane.pause lane audit',
    `action.enqueue action ${id}`,
    expect.stringMatching(/^token.create token \d+$/),
  ]);
  expect(audit[0]).toMatchObject({
    actor: 'MUSTER_OPERATOR_TOKEN',
    detail: { filter: { lane: 'audit' }, reason: 'enough', outcome: { cancelled: 3, requested: 0 } },
  });
  expect(audit[5]).toMatchObject({ detail: { reason: 'fire drill' } });
  expect(JSON.stringify(audit)).not.toContain(worker.token.slice(-43));
  expect((await t.get(`/api/audit?limit=500&cursor=${cursor}`)).body.audit.length).toBeGreaterThan(0);
  expect((await t.get('/api/audit?cursor=x')).status).toBe(400);
});

test('a changed MUSTER_OPERATOR_TOKEN revokes the old one, and without it an issued admin is left', async () => {
  const database = await testDatabase({ lines: LINES });
  const [first, second] = ['first-'.repeat(8), 'second-'.repeat(8)];
  const startWith = (setting: object) =>
    startServer(
      readConfig({ PORT: '0', MUSTER_LOG_LEVEL: 'silent', MUSTER_DATA_DIR: '/not-needed', ...setting }),
      {
        db: database.db,
      },
    );
  const opens = async (server: Server, token: string) => {
    const headers = { authorization: `Bearer ${token}` };
    return (await fetch(`${server.url}/api/counts`, { headers })).status === 200;
  };
  const one = await startWith({ MUSTER_OPERATOR_TOKEN: first });
  expect(await opens(one, first)).toBe(true);
  await one.stop();
  const two = await startWith({ MUSTER_OPERATOR_TOKEN: second });
  expect([await opens(two, first), await opens(two, second)]).toEqual([false, true]);
  const issued = await createTokens(database.db, 'muster').create(database.db, {
    tenantId: 1,
    kind: 'operator',
    role: 'admin',
    name: 'issued',
  });
  await two.stop();
  const none = await startWith({});
  expect(none.operatorToken).toEqual({ from: 'issued' });
  expect([await opens(none, second), await opens(none, issued.secret)]).toEqual([false, true]);
  await none.stop();
  const back = await startWith({ MUSTER_OPERATOR_TOKEN: first });
  expect(await opens(back, first)).toBe(true);
  await back.stop();
  await database.drop();
});

test('another tenant has its own tokens, lanes and actions', async () => {
  expect(await t.post('/api/tenants', { name: 'acme' })).toMatchObject({
    status: 201,
    body: { id: '2', name: 'acme' },
  });
  const admin = { kind: 'operator', role: 'admin', name: 'acme' };
  const { body: issued } = await t.post('/api/tenants/2/tokens', admin);
  const secret = t.secret(issued.token);
  const acme = { token: secret };
  const ours = (await t.post('/api/lanes/shared/actions', { kind: 'x' })).body.id;
  const theirs = (await t.post('/api/lanes/shared/actions', { kind: 'x' }, acme)).body.id;
  expect(await t.get(`/api/actions/${ours}`, acme)).toMatchObject({ status: 404 });
  expect((await t.get('/api/actions', acme)).body.actions).toMatchObject([{ id: theirs }]);
  expect((await t.post('/api/lanes/shared/claim', { worker: 'w' }, acme)).body.actions).toMatchObject([
    { id: theirs },
  ]);
  expect((await t.get('/api/tokens', acme)).body.tokens).toMatchObject([{ name: 'acme' }]);
  expect((await t.get('/api/audit', acme)).body.audit).toHaveLength(2);
  expect((await t.post(`/api/actions/${ours}/cancel`, {}, acme)).status).toBe(404);
  expect((await t.get('/metrics', acme)).status).toBe(403);
  // tenants belong to the whole installation
  for (const answer of [
    await t.get('/api/tenants', acme),
    await t.post('/api/tenants', { name: 'theirs' }, acme),
    await t.post('/api/tenants/1/tokens', admin, acme),
    await t.post('/api/tenants/2/tokens', admin, acme),
  ])
    expect(answer).toMatchObject({ status: 403, body: { code: 'MUSTER_FORBIDDEN' } });
  // a token of one tenant under the number of another is invalid
  expect(await status(secret.replace('_2_', '_1_'))).toBe(401);
});

test('tokens of several tenants are looked up together: the ended ones are found', async () => {
  const { db, schema } = t.engine;
  const tokens = createTokens(db, schema);
  const made = await Promise.all(
    [1, 2, 1].map((tenantId) => tokens.create(db, { tenantId, kind: 'worker', name: 'w' })),
  );
  const all = made.map(({ token: { tenantId, tokenId } }) => ({ tenantId, tokenId }));
  expect(await tokens.invalidOf(all)).toEqual([]);
  for (const { tenantId, tokenId } of all.slice(1)) await tokens.revoke(db, tenantId, tokenId);
  const ended = await tokens.invalidOf(all);
  expect(ended).toHaveLength(2);
  expect(ended).toEqual(expect.arrayContaining(all.slice(1)));
});

test('admins of the default tenant create tenants and their first tokens, and the audit logs show it', async () => {
  const names = ['Nord', 'Süd', 'West 3'];
  const made = await Promise.all(names.map((name) => t.post('/api/tenants', { name })));
  expect(made.map(({ status }) => status)).toEqual([201, 201, 201]);
  expect(new Set(made.map(({ body }) => body.id)).size).toBe(3);
  const [first] = made.map(({ body }) => body.id as string) as [string];
  expect((await t.get('/api/tenants')).body.tenants).toEqual(
    expect.arrayContaining([expect.objectContaining({ id: '1', name: 'default' }), made[0]?.body]),
  );
  expect(await t.post('/api/tenants', { name: 'Nord' })).toMatchObject({
    status: 409,
    body: { code: 'MUSTER_TENANT_EXISTS' },
  });
  for (const name of ['', ' x', 'a/b', 'x'.repeat(101)])
    expect((await t.post('/api/tenants', { name })).status).toBe(400);
  const body = { kind: 'operator', role: 'admin', name: 'boss' };
  for (const id of ['99', '0', 'x', '99999999999'])
    expect(await t.post(`/api/tenants/${id}/tokens`, body)).toMatchObject({
      status: 404,
      body: { code: 'MUSTER_UNKNOWN_TENANT' },
    });
  const operator = await t.token({ kind: 'operator', role: 'operator', name: 'no admin' });
  expect((await t.get('/api/tenants', { token: operator.token })).status).toBe(403);

  const issued = (await t.post(`/api/tenants/${first}/tokens`, body)).body;
  const theirs = (await t.get('/api/audit', { token: t.secret(issued.token) })).body.audit;
  expect(theirs).toMatchObject([{ act: 'token.create', target: `token ${issued.id}` }]);
  const ours = (await t.get('/api/audit?limit=20')).body.audit;
  expect(ours).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ act: 'tenant.create', target: `tenant ${first}` }),
      expect.objectContaining({ act: 'token.create', target: `token ${issued.id} of tenant ${first}` }),
    ]),
  );
});

test('lists come in pages, and show the tokens of a fleet only on request', async () => {
  for (let n = 0; n < 3; n += 1) await t.token({ kind: 'worker', name: `paged ${n}` });
  const device = await t.post('/api/devices', { name: 'paged device' });
  expect(device.status).toBe(201);
  t.secret(device.body.deviceToken);
  const seen: string[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { body } = await t.get(`/api/tokens?limit=2${cursor && `&cursor=${cursor}`}`);
    seen.push(...body.tokens.map(({ kind }: { kind: string }) => kind));
    cursor = body.cursor;
  }
  const all = (await t.get('/api/tokens?limit=500')).body.tokens;
  expect(seen).toHaveLength(all.length);
  expect(seen).not.toContain('device');
  const devices = await t.get('/api/tokens?kind=device');
  expect(devices.body).toMatchObject({ tokens: [{ kind: 'device' }], cursor: null });
  expect(await t.get('/api/tokens?kind=none')).toMatchObject({
    status: 400,
    body: { code: 'MUSTER_BAD_QUERY' },
  });
});

test('a host-enrolment token does not enrol devices, and lists tell the two kinds apart', async () => {
  const [host, device] = [
    await t.token({ kind: 'host-enrolment', name: 'racks' }),
    await t.token({ kind: 'device-enrolment', name: 'tills', tags: ['till'], reEnrol: true }),
  ];
  expect(host.token).toMatch(/^mst_host-enrolment_1_/);
  const enrol = (noun: string, token: string) => t.post(`/api/${noun}/enrol`, { name: 'one' }, { token });
  for (const [noun, own, other, kind] of [
    ['hosts', host, device, 'device-enrolment'],
    ['devices', device, host, 'host-enrolment'],
  ] as const) {
    const { status, body } = await enrol(noun, own.token);
    const { id, name, ...secret } = body;
    expect([status, id, name]).toEqual([201, expect.stringMatching(/^\d+$/), 'one']);
    t.secret(Object.values(secret)[0] as string);
    expect(await enrol(noun, other.token)).toMatchObject({
      status: 403,
      body: { code: 'MUSTER_FORBIDDEN', error: `A ${kind} token is not allowed here.` },
    });
  }
  const { tokens } = (await t.get('/api/tokens?kind=device-enrolment')).body;
  expect(tokens).toMatchObject([{ id: device.id, restriction: { tags: ['till'], reEnrol: true } }]);
  expect((await t.get('/api/audit?limit=2')).body.audit).toMatchObject([
    { act: 'device.enrol', actor: 'tills' },
    { act: 'host.enrol', actor: 'racks' },
  ]);
  for (const [field, value] of [
    ['tags', ['x']],
    ['reEnrol', true],
    ['lanes', ['x']],
  ] as const)
    expect(await t.post('/api/tokens', { kind: 'host-enrolment', name: 'x', [field]: value })).toMatchObject({
      status: 400,
      body: {
        error: `${field} is for ${field === 'lanes' ? 'worker' : 'device-enrolment'} tokens only.`,
      },
    });
});
