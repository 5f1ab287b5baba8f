import { afterAll, beforeAll, expect, test } from 'vitest';
import { head, rawConnection } from '../testing/raw-http.ts';
import { type TestServer, testServer } from '../testing/test-server.ts';

let t: TestServer;
beforeAll(async () => {
  t = await testServer();
});
afterAll(() => t.close());

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const asked = (id: string) => ({ headers: { 'x-request-id': id } });

test.each([
  ['a success', 'GET', '/healthz', {}, 200],
  ['an empty page', 'GET', '/api/actions', {}, 200],
  ['a wrong body', 'POST', '/api/lanes/x/actions', {}, 400],
  ['no token', 'GET', '/api/actions', { token: null }, 401],
  ['no token of an agent', 'GET', '/api/control/queue', { token: null }, 401],
  ['an unknown path', 'GET', '/nothing', {}, 404],
  ['a wrong method', 'PUT', '/api/actions', {}, 405],
  ['a path that cannot be decoded', 'GET', '/api/actions/%zz', {}, 400],
  ['a path that is too long', 'GET', `/api/actions/${'x'.repeat(3_000)}`, {}, 414],
] as const)('%s carries the X-Request-Id of its request', async (_what, method, path, asking, status) => {
  const body = method === 'POST' ? {} : undefined;
  const answer = await t.send(method, path, body, { ...asking, ...asked('check/4711:~!') });
  expect(answer.status).toBe(status);
  expect(answer.headers.get('x-request-id')).toBe('check/4711:~!');
});

test('a token in a URL is not in the log', async () => {
  const { token } = await t.token({ kind: 'operator', name: 'careless', role: 'viewer' });
  expect((await t.get(`/api/devices?token=${token}`)).status).toBe(400);
  expect((await t.get(`/api/actions/${token}`)).status).toBe(404);
  expect(t.log()).not.toContain(token);
});

test('the log uses the request id of the client', async () => {
  await t.get('/healthz', asked('findable-1'));
  const line = t
    .log()
    .split('\n')
    .find((one) => one.includes('findable-1'));
  expect(JSON.parse(line ?? '{}')).toMatchObject({ reqId: 'findable-1', url: '/healthz', status: 200 });
});

test('a missing or malformed id is replaced by a generated one', async () => {
  const given = [undefined, 'x'.repeat(201), 'two words', 'caf\u00e9', ''];
  const names = await Promise.all(
    given.map(async (id) => {
      const answer = await t.get('/healthz', id === undefined ? {} : asked(id));
      return answer.headers.get('x-request-id') ?? '';
    }),
  );
  for (const name of names) expect(name).toMatch(UUID);
  expect(new Set(names).size).toBe(given.length);
  const longest = 'x'.repeat(200);
  expect((await t.get('/healthz', asked(longest))).headers.get('x-request-id')).toBe(longest);
});

test('an import and a refused Expect carry it too', async () => {
  const answer = await t.send('POST', '/api/devices/import', 'name\na\n', {
    headers: { 'content-type': 'text/csv', 'x-request-id': 'a-fleet' },
  });
  expect(answer.headers.get('x-request-id')).toBe('a-fleet');
  const client = rawConnection(t.server.url);
  client.send(head('POST /api/lanes/x/claim', { expect: 'the-unexpected', 'x-request-id': 'expected' }));
  expect((await client.answer())?.headers['x-request-id']).toBe('expected');
  client.socket.destroy();
});
