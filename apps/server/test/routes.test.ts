import { readFileSync } from 'node:fs';
import { BlockList } from 'node:net';
import { endpoint } from '@muster/contracts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createApp } from '../src/http/app.ts';
import { defineRoute } from '../src/http/define-route.ts';
import { createLog } from '../src/http/logging.ts';
import { SignInFailures } from '../src/http/sign-in-failures.ts';
import { type TestServer, testServer } from '../testing/test-server.ts';

let t: TestServer;
beforeAll(async () => {
  t = await testServer({ settings: { MUSTER_FAILED_SIGN_INS_PER_MINUTE: '1000000' } });
});
afterAll(() => t.close());

/** What phones say is never answered with 401: they would leave. */
const OF_PHONES = [
  'GET /mdm/enrol/:token',
  'GET /scep',
  'POST /scep',
  'PUT /checkin',
  'PUT /mdm',
  'PUT /mdm/:tenant',
];
const HEALTH = ['GET /healthz', 'GET /openapi.json', 'GET /readyz', 'HEAD /healthz', 'HEAD /readyz'];
/** Whoever is not signed in hears that. */
const OF_BROWSERS = ['GET /api/session'];
const PUBLIC = [...HEALTH, ...OF_PHONES, ...OF_BROWSERS].sort();

test('every route but the public ones answers 401 without a token, and with a wrong one', async () => {
  const { routes } = t.server; // Fastify's own list: whoever registers a route, it is in there
  expect(routes.length).toBeGreaterThan(20);
  const open: string[] = [];
  for (const { method, path } of routes) {
    const url = t.server.url + path.replaceAll(/:\w+/g, '1');
    for (const authorization of [
      undefined,
      'Bearer x',
      `Bearer ${'x'.repeat(43)}`,
      'Basic eDp4',
      `Bearer mst_operator_1_${'A'.repeat(43)}`,
    ]) {
      const { status } = await fetch(url, { method, headers: authorization ? { authorization } : {} });
      if (status !== 401) open.push(`${method} ${path}`);
    }
  }
  expect([...new Set(open)].sort()).toEqual(PUBLIC);
});

test('no route but those of health answers HEAD, so none that claims can be run by it', async () => {
  const health = ['/healthz', '/readyz'];
  for (const { path } of t.server.routes)
    expect((await fetch(t.server.url + path.replaceAll(/:\w+/g, '1'), { method: 'HEAD' })).status).toBe(
      health.includes(path) ? 200 : 405,
    );
});

test('health and readiness answer HEAD as GET, without the body, and name both methods', async () => {
  for (const path of ['/healthz', '/readyz']) {
    const [get, headed] = [await t.get(path), await t.send('HEAD', path, undefined)];
    expect(headed).toMatchObject({ status: 200, body: '' });
    for (const name of ['content-type', 'content-length'])
      expect(headed.headers.get(name)).toBe(get.headers.get(name));
    expect((await t.post(path)).headers.get('allow')).toBe('GET, HEAD');
  }
});

test('a route without an access rule cannot be registered', async () => {
  const given = {
    log: createLog('silent', { write: () => {} }),
    mostBodyBytes: 1,
    tokens: {} as never,
    signIns: {} as never,
    failures: new SignInFailures(1, () => 0),
    trustedProxies: new BlockList(),
  };
  const { fastify: app } = createApp({ ...given, routes: [] });
  expect(() => app.get('/open', () => 'hello')).toThrow('has no access rule');
  const broken = defineRoute(
    endpoint({ method: 'GET', path: '/open', summary: 'A mistake', responses: {} }),
    {
      access: undefined as never,
      handler: () => 'hello',
    },
  );
  expect(() => createApp({ ...given, routes: [broken] })).toThrow();
});

test('the committed description is the one that is served', async () => {
  const served = (await t.get('/openapi.json')).body;
  const committed = JSON.parse(readFileSync(new URL('../openapi.json', import.meta.url), 'utf8'));
  expect(served, 'run npm run generate').toEqual(committed);
});

test('every DELETE answers 204 without a body, and whatever shows a new token answers 201', async () => {
  const { components, paths } = (await t.get('/openapi.json')).body;
  const shown = (content: Record<string, { schema: { $ref?: string; properties?: object } }> = {}) =>
    Object.values(content).flatMap(({ schema: { $ref = '', properties } }) =>
      Object.keys(properties ?? components.schemas[$ref.split('/').at(-1) ?? '']?.properties ?? {}),
    );
  const issuing: string[] = [];
  for (const [path, methods] of Object.entries<Record<string, { responses: object }>>(paths))
    for (const [method, { responses }] of Object.entries(methods)) {
      const { default: _refused, ...successes } = responses as Record<string, { content?: never }>;
      // QStash's client wants to read how many
      if (method === 'delete' && !path.startsWith('/v2/'))
        expect([path, Object.keys(successes)]).toEqual([path, ['204']]);
      for (const [status, { content }] of Object.entries(successes)) {
        if (status === '204') expect(content).toBeUndefined();
        if (shown(content).some((field) => /token$/i.test(field)))
          issuing.push(`${status} ${method} ${path}`);
      }
    }
  expect(issuing.length).toBeGreaterThan(5);
  expect(issuing.filter((one) => !one.startsWith('201 post '))).toEqual([]);
});

test('a number that is a duration, a size or a pace says its unit; wait, which agents know, is in seconds', async () => {
  interface Node {
    readonly $ref?: string;
    readonly in?: string;
    readonly name?: string;
    readonly properties?: Record<string, Node>;
    readonly schema?: Node;
    readonly type?: string | string[];
  }
  const { body } = await t.get('/openapi.json');
  const named = new Set<string>();
  const note = (field: string, { $ref, type }: Node) => {
    const types = $ref ? body.components.schemas[$ref.split('/').at(-1) ?? '']?.type : type;
    if ([types].flat().some((one) => one === 'number' || one === 'integer')) named.add(field);
  };
  const walk = (node: Node): void => {
    if (node === null || typeof node !== 'object') return;
    if (node.in && node.name && node.schema) note(node.name, node.schema);
    for (const [field, rule] of Object.entries(node.properties ?? {})) note(field, rule);
    for (const inner of Object.values(node)) walk(inner as Node);
  };
  walk(body);
  expect(named).toContain('leaseSeconds');
  const measures = [...named].filter((field) =>
    /wait(?!ing)|timeout|backoff|after|delay|lease|duration|interval|period|rate|speed|size|bytes|length|days|seconds|ms$/i.test(
      field,
    ),
  );
  expect(measures.filter((field) => !/(Seconds|Ms|Days|Bytes|PerMinute)$/.test(field))).toEqual(['wait']);
});

test('health and readiness are for everybody', async () => {
  expect(await t.get('/healthz', { token: null })).toMatchObject({ status: 200, body: { status: 'ok' } });
  expect(await t.get('/readyz', { token: null })).toMatchObject({ status: 200, body: { status: 'ready' } });
});
