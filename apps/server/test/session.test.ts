import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Answer, type TestServer, testServer } from '../testing/test-server.ts';

/** Signed-in browsers (issue 14). The tests play the browser, and the proxy in front of the server. */
let t: TestServer;
beforeAll(async () => {
  t = await testServer({
    clock: true,
    settings: { MUSTER_TRUSTED_PROXIES: '127.0.0.1', MUSTER_FAILED_SIGN_INS_PER_MINUTE: '5' },
  });
});
afterAll(() => t.close());

const DAY = 86_400_000;
const ALONE = { token: null };

/** What a browser keeps of a response. */
function cookiesOf({ headers }: Answer): { pair: string; name: string; attributes: string[] }[] {
  return headers.getSetCookie().map((line) => {
    const [pair = '', ...attributes] = line.split('; ');
    const secret = pair.split('=')[1] ?? '';
    if (secret !== '') t.secret(secret);
    return { pair, name: pair.split('=')[0] ?? '', attributes };
  });
}

async function signIn(token: string, headers: Record<string, string> = {}): Promise<string> {
  const answer = await t.send('POST', '/api/session', undefined, { token, headers });
  expect(answer.status).toBe(201);
  return (cookiesOf(answer)[0] as { pair: string }).pair;
}

const by = (cookie: string, more: Record<string, string> = {}) => ({
  token: null,
  headers: { cookie, ...more },
});

const operatorOf = (role: string) => t.token({ kind: 'operator', role, name: `a ${role}` });

async function tenant(name: string): Promise<{ id: string; admin: { id: string; token: string } }> {
  const { id } = (await t.post('/api/tenants', { name })).body;
  const made = await t.post(`/api/tenants/${id}/tokens`, { kind: 'operator', role: 'admin', name: 'ada' });
  t.secret(made.body.token);
  return { id, admin: made.body };
}

test('G63: a sign-in is a cookie that no script can read and no other site can send, with the rights of its token', async () => {
  const { token } = await operatorOf('operator');
  const answer = await t.send('POST', '/api/session', undefined, { token });
  expect(answer.body).toMatchObject({
    tenant: { id: '1', name: 'default' },
    role: 'operator',
    name: 'a operator',
  });
  const [cookie] = cookiesOf(answer) as [ReturnType<typeof cookiesOf>[number]];
  expect(cookie.name).toBe('muster_session_1');
  expect(cookie.attributes).toEqual([`Max-Age=${30 * 86_400}`, 'Path=/api', 'HttpOnly', 'SameSite=Strict']);
  expect(JSON.stringify(answer.body)).not.toContain('mst_session');

  expect((await t.get('/api/counts', by(cookie.pair))).status).toBe(200);
  expect((await t.post('/api/lanes/x/actions', { kind: 'X' }, by(cookie.pair))).status).toBe(201);
  expect((await t.get('/api/audit', by(cookie.pair))).status).toBe(403);
  // its secret is not a token
  const secret = cookie.pair.split('=')[1] as string;
  expect((await t.get('/api/counts', { token: secret })).status).toBe(401);
  // under TLS the cookie is Secure
  const secure = await t.send('POST', '/api/session', undefined, {
    token,
    headers: { 'x-forwarded-proto': 'https' },
  });
  expect(cookiesOf(secure)[0]?.attributes).toContain('Secure');
});

test('G63: a browser cannot change anything from another site, nor with anything a form can send', async () => {
  const { token } = await operatorOf('operator');
  const cookie = await signIn(token);
  const cancel = '/api/lanes/x/pause';
  await t.post('/api/lanes/x/actions', { kind: 'X' });
  for (const [headers, status] of [
    [{ 'sec-fetch-site': 'same-origin' }, 200],
    [{ 'sec-fetch-site': 'cross-site' }, 403],
    [{ 'sec-fetch-site': 'same-site' }, 403],
    [{ 'content-type': 'text/plain' }, 403],
    [{ 'content-type': 'application/x-www-form-urlencoded' }, 403],
  ] as const)
    expect([headers, (await t.post(cancel, {}, by(cookie, headers))).status]).toEqual([headers, status]);
  const bare = await t.send('POST', cancel, undefined, by(cookie));
  expect(bare).toMatchObject({ status: 403, body: { code: 'MUSTER_CROSS_SITE' } });
  expect((await t.send('POST', cancel, undefined, by(cookie, { 'muster-tenant': '1' }))).status).toBe(200);
  expect((await t.get('/api/counts', by(cookie, { 'sec-fetch-site': 'cross-site' }))).status).toBe(403);
  expect((await t.get('/api/counts', by(cookie, { 'sec-fetch-site': 'none' }))).status).toBe(200);
});

test('G63: revoking or rotating away a token ends its sign-ins at once, also those that wait', async () => {
  const { id, token } = await operatorOf('viewer');
  const cookie = await signIn(token);
  expect((await t.get('/api/counts', by(cookie))).status).toBe(200);
  const stream = await fetch(`${t.server.url}/api/events`, {
    headers: { cookie, accept: 'text/event-stream' },
  });
  expect(stream.status).toBe(200);
  expect((await t.del(`/api/tokens/${id}`)).status).toBe(204);
  const over = await t.get('/api/counts', by(cookie));
  expect(over).toMatchObject({ status: 401, body: { error: 'You are signed out. Sign in again.' } });
  expect(cookiesOf(over)[0]).toMatchObject({ pair: 'muster_session_1=' });
  expect(await stream.text()).toContain('You are signed out.');

  const old = await operatorOf('viewer');
  const kept = await signIn(old.token);
  const rotated = (await t.post(`/api/tokens/${old.id}/rotate`)).body.token;
  t.secret(rotated);
  expect((await t.get('/api/counts', by(kept))).status).toBe(200);
  const next = await signIn(rotated);
  expect((await t.get('/api/counts', by(kept))).status).toBe(401);
  expect((await t.get('/api/counts', by(next))).status).toBe(200);
});

test('G63: a sign-in ends by itself, and by signing out', async () => {
  const { token } = await operatorOf('viewer');
  const [one, other] = [await signIn(token), await signIn(token)];
  const follow = (cookie: string) =>
    fetch(`${t.server.url}/api/events`, { headers: { cookie, accept: 'text/event-stream' } });
  const [ends, staysOpen] = [await follow(one), await follow(other)];
  const out = await t.del('/api/session', by(one, { 'muster-tenant': '1' }));
  expect(out.status).toBe(204);
  expect(cookiesOf(out)[0]).toMatchObject({ pair: 'muster_session_1=' });
  expect((await t.get('/api/counts', by(one))).status).toBe(401);
  expect(await ends.text()).toContain('You are signed out.');
  const said = staysOpen.body?.getReader() as ReadableStreamDefaultReader<Uint8Array>;
  await said.read(); // how it began
  expect((await t.get('/api/counts', by(other))).status).toBe(200);
  const { id: news } = (await t.post('/api/lanes/of-sign-ins/actions', { kind: 'NEWS' })).body;
  expect(new TextDecoder().decode((await said.read()).value)).toContain(`"actionId":"${news}"`);
  await said.cancel();
  await t.post(`/api/actions/${news}/cancel`);
  await t.pass(30 * DAY - 1);
  expect((await t.get('/api/counts', by(other))).status).toBe(200);
  await t.pass(1);
  expect((await t.get('/api/counts', by(other))).status).toBe(401);
  const count = async () =>
    (await t.engine.db.query({ text: 'select count(*)::int as n from muster.sign_ins' })).rows[0].n;
  expect(await count()).toBeGreaterThan(0);
  await t.engine.runDuty('prune-sign-ins');
  expect(await count()).toBe(0);
});

test('G63: a browser is signed in to several tenants, and each request acts in the tenant that it names', async () => {
  const [here, there] = [await operatorOf('viewer'), await tenant('acme')];
  const cookie = `theme=dark; ${await signIn(here.token)}; ${await signIn(there.admin.token)}`;
  const list = (await t.get('/api/session', by(cookie))).body;
  expect(list).toMatchObject({
    signIns: [
      { tenant: { id: '1', name: 'default' }, role: 'viewer' },
      { tenant: { id: there.id, name: 'acme' }, role: 'admin', name: 'ada' },
    ],
    now: t.clock().toISOString(),
  });
  expect(list.features).toContain('orders');
  const queue = (headers: Record<string, string>) =>
    t.post('/api/lanes/x/actions', { kind: 'THERE' }, by(cookie, headers));
  expect((await queue({})).status).toBe(403); // the default tenant's is a viewer
  expect((await queue({ 'muster-tenant': there.id })).status).toBe(201);
  const kinds = async (headers: Record<string, string>) =>
    (await t.get('/api/actions?kind=THERE', by(cookie, headers))).body.actions.length;
  expect([await kinds({}), await kinds({ 'muster-tenant': there.id })]).toEqual([0, 1]);
  expect((await t.get('/api/counts', by(cookie, { 'muster-tenant': '99' }))).status).toBe(401);
  expect((await t.get('/api/counts', by(cookie, { 'muster-tenant': 'x' }))).status).toBe(400);
  // a cookie under the name of another tenant is invalid
  const [, secret] = (await signIn(here.token)).split('=');
  const foreign = `muster_session_${there.id}=${secret}`;
  expect((await t.get('/api/counts', by(foreign, { 'muster-tenant': there.id }))).status).toBe(401);
  // a token in the same request takes precedence
  expect((await t.get('/api/audit', { headers: { cookie } })).status).toBe(200);
});

test('G63 G66: signing in needs an operator token in the header, and invalid cookies are limited like invalid tokens', async () => {
  const cookie = await signIn((await operatorOf('admin')).token);
  expect((await t.send('POST', '/api/session', undefined, by(cookie, { 'muster-tenant': '1' }))).status).toBe(
    401,
  );
  const worker = await t.token({ kind: 'worker', name: 'w' });
  expect((await t.send('POST', '/api/session', undefined, { token: worker.token })).status).toBe(403);
  expect((await t.get('/api/session', ALONE)).body.signIns).toEqual([]);

  const from = (address: string) => ({ 'x-forwarded-for': address });
  const guess = (address: string, path = '/api/counts') =>
    t.get(path, by(`muster_session_1=mst_session_1_${'x'.repeat(43)}`, from(address)));
  for (let n = 0; n < 4; n += 1) expect((await guess('192.0.2.1')).status).toBe(401);
  const listed = await guess('192.0.2.1', '/api/session');
  expect(listed).toMatchObject({ status: 200, body: { signIns: [] } });
  expect(cookiesOf(listed)[0]?.pair).toBe('muster_session_1=');
  for (const path of ['/api/counts', '/api/session'])
    expect((await guess('192.0.2.1', path)).status).toBe(429);
  const wrong = { token: `wrong-${'x'.repeat(40)}`, headers: from('192.0.2.1') };
  expect((await t.send('POST', '/api/session', undefined, wrong)).status).toBe(429);
  expect((await t.get('/api/counts', by(cookie, from('192.0.2.1')))).status).toBe(200);
});

test('routes of agents, devices and phones still refuse cookies', async () => {
  const cookie = await signIn((await operatorOf('admin')).token);
  expect((await t.get('/api/control/queue', by(cookie))).status).toBe(400); // in the words of its protocol
  expect(await t.post('/api/checkin', {}, by(cookie))).toMatchObject({
    status: 403,
    body: { error: 'Cookies are not accepted here.' },
  });
});

test('one token signs in at most a hundred browsers; then the oldest sign-in ends', async () => {
  const { id, token } = await operatorOf('viewer');
  const [first, second] = [await signIn(token), await signIn(token)];
  await t.engine.db.query({
    text: `insert into muster.sign_ins (tenant_id, token_id, sha256, signed_in_at, ends_at)
      select 1, $1, sha256(n::text::bytea), now(), now() from generate_series(1, 98) n`,
    values: [id],
  });
  expect((await t.get('/api/counts', by(first))).status).toBe(200);
  await signIn(token);
  expect((await t.get('/api/counts', by(first))).status).toBe(401);
  expect((await t.get('/api/counts', by(second))).status).toBe(200);
});
