import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { BlockList } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { endpoint } from '@muster/contracts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createApp } from '../src/http/app.ts';
import { defineRoute } from '../src/http/define-route.ts';
import { createLog } from '../src/http/logging.ts';
import { SignInFailures } from '../src/http/sign-in-failures.ts';
import { Pages } from '../src/pages/pages.ts';
import { type TestServer, testServer } from '../testing/test-server.ts';

let t: TestServer;
const pagesFolder = mkdtempSync(path.join(tmpdir(), 'muster-pages-'));
beforeAll(async () => {
  mkdirSync(path.join(pagesFolder, 'assets'));
  writeFileSync(path.join(pagesFolder, 'index.html'), '<!doctype html><title>Muster</title>');
  writeFileSync(
    path.join(pagesFolder, 'assets/index-D3rpdjda.js'),
    `export const text = '${'x'.repeat(500)}';`,
  );
  writeFileSync(path.join(pagesFolder, 'icon.svg'), '<svg/>');
  t = await testServer({ pagesFolder, settings: { MUSTER_FAILED_SIGN_INS_PER_MINUTE: '1000000' } });
});
afterAll(async () => {
  await t.close();
  rmSync(pagesFolder, { recursive: true });
});

/** Messages from phones are never answered with 401, which would make phones leave. */
const OF_PHONES = [
  'GET /mdm/enrol/:token',
  'GET /scep',
  'POST /scep',
  'PUT /checkin',
  'PUT /mdm',
  'PUT /mdm/:tenant',
];
const HEALTH = ['GET /healthz', 'GET /openapi.json', 'GET /readyz', 'HEAD /healthz', 'HEAD /readyz'];
/** The answer without a token. */
const OF_BROWSERS = ['GET /api/session'];
const PUBLIC = [...HEALTH, ...OF_PHONES, ...OF_BROWSERS].sort();

test('every route except the public ones answers 401 without a token, and with an invalid one', async () => {
  const { routes } = t.server; // Fastify's own list, so it has every registered route
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

test('only health routes answer HEAD, so HEAD never runs a claim', async () => {
  const health = ['/healthz', '/readyz'];
  for (const { path } of t.server.routes)
    expect((await fetch(t.server.url + path.replaceAll(/:\w+/g, '1'), { method: 'HEAD' })).status).toBe(
      health.includes(path) ? 200 : 405,
    );
});

test('health and readiness answer HEAD like GET, without the body, and name both methods', async () => {
  for (const path of ['/healthz', '/readyz']) {
    const [get, headed] = [await t.get(path), await t.send('HEAD', path, undefined)];
    expect(headed).toMatchObject({ status: 200, body: '' });
    for (const name of ['content-type', 'content-length'])
      expect(headed.headers.get(name)).toBe(get.headers.get(name));
    expect((await t.post(path)).headers.get('allow')).toBe('GET, HEAD');
  }
});

/** With the headers of a browser that opens a page. */
const open = (page: string, headers: Record<string, string> = {}) =>
  t.get(page, { token: null, headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8', ...headers } });

test('pages of the console are served at paths without a route; unknown paths under the routes stay JSON', async () => {
  for (const page of ['/', '/actions', '/actions/4718?tab=raw', '/t/acme/devices/12', '/no/such/page']) {
    const answer = await open(page);
    expect([page, answer.status, answer.body]).toEqual([page, 200, '<!doctype html><title>Muster</title>']);
    expect(answer.headers.get('cache-control')).toBe('no-cache');
    expect(answer.headers.get('content-security-policy')).toMatch(/^default-src 'self';/);
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
  }
  const etag = (await open('/')).headers.get('etag') as string;
  expect((await open('/actions', { 'if-none-match': etag })).status).toBe(304);
  for (const unknown of ['/api/nonsense', '/api', '/v2/nonsense', '/assets/gone-D3rpdjda.js']) {
    const { status, body } = await open(unknown);
    expect([unknown, status, body.code]).toEqual([unknown, 404, 'MUSTER_UNKNOWN_ROUTE']);
  }
  // a program does not get a page
  expect((await t.get('/nonsense')).body.code).toBe('MUSTER_UNKNOWN_ROUTE');
  expect((await t.post('/actions')).body.code).toBe('MUSTER_UNKNOWN_ROUTE');
});

test('browsers cache files of the console that are named after their content', async () => {
  const script = await t.get('/assets/index-D3rpdjda.js', {
    token: null,
    headers: { 'accept-encoding': 'identity' },
  });
  expect(script.body).toContain('export const text');
  expect(script.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
  expect(script.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
  const small = await t.get('/assets/index-D3rpdjda.js', { headers: { 'accept-encoding': 'gzip' } });
  expect(small.headers.get('content-encoding')).toBe('gzip');
  expect(small.body).toBe(script.body);
  expect((await t.get('/icon.svg')).headers.get('cache-control')).toBe('no-cache');
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
  const { fastify: app } = createApp({ ...given, routes: [], pages: new Pages('/no/such/folder') });
  expect(() => app.get('/open', () => 'hello')).toThrow('has no access rule');
  const broken = defineRoute(
    endpoint({ method: 'GET', path: '/open', summary: 'A mistake', responses: {} }),
    {
      access: undefined as never,
      handler: () => 'hello',
    },
  );
  expect(() => createApp({ ...given, routes: [broken] })).toThrow();

  // and without a built console, / says what to run
  const root = await app.inject('/');
  expect([root.statusCode, root.body]).toEqual([404, expect.stringContaining('npm run build')]);
  expect((await app.inject('/actions')).json().code).toBe('MUSTER_UNKNOWN_ROUTE');
});

test('the committed description is the one that is served', async () => {
  const served = (await t.get('/openapi.json')).body;
  const committed = JSON.parse(readFileSync(new URL('../openapi.json', import.meta.url), 'utf8'));
  expect(served, 'run npm run generate').toEqual(committed);
});

test('every DELETE answers 204 without a body, and every answer with a new token is 201', async () => {
  const { components, paths } = (await t.get('/openapi.json')).body;
  const shown = (content: Record<string, { schema: { $ref?: string; properties?: object } }> = {}) =>
    Object.values(content).flatMap(({ schema: { $ref = '', properties } }) =>
      Object.keys(properties ?? components.schemas[$ref.split('/').at(-1) ?? '']?.properties ?? {}),
    );
  const issuing: string[] = [];
  for (const [path, methods] of Object.entries<Record<string, { responses: object }>>(paths))
    for (const [method, { responses }] of Object.entries(methods)) {
      const { default: _refused, ...successes } = responses as Record<string, { content?: never }>;
      // QStash's client reads the number
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

test('a number that is a duration, a size or a pace has its unit in its name; only wait, which agents know, is in seconds without it', async () => {
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

test('health and readiness are public', async () => {
  expect(await t.get('/healthz', { token: null })).toMatchObject({ status: 200, body: { status: 'ok' } });
  expect(await t.get('/readyz', { token: null })).toMatchObject({ status: 200, body: { status: 'ready' } });
});
