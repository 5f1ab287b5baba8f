import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestServer, testServer } from '../testing/test-server.ts';

/** Arbitrary requests to every route: never a 5xx, and every refusal has the one form (the client checks it). */
let t: TestServer;
beforeAll(async () => {
  t = await testServer();
});
afterAll(() => t.close());

const RUNS = 300;

/** Values that look right, nearly right, or wrong. */
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 300 }),
  fc.constantFrom(
    '',
    '1',
    'succeeded',
    'normal',
    'replace',
    '2026-03-01T12:00:00Z',
    '9999-12-31T23:59:59-12:00',
    '\u0000',
    '\ud800',
  ),
);
const value: fc.Arbitrary<unknown> = fc.oneof(
  { depthSize: 'small' },
  text,
  fc.integer(),
  fc.double(),
  fc.boolean(),
  fc.constantFrom(null, 1, 25, 26, -1, 1e308, 2 ** 53),
  fc.array(text, { maxLength: 3 }),
  fc.jsonValue({ maxDepth: 3 }),
);
const FIELDS = [
  ...[
    'kind',
    'payload',
    'priority',
    'notBefore',
    'deliverBy',
    'deadline',
    'maxAttempts',
    'headOfLine',
    'supersede',
  ],
  ...[
    'tags',
    'worker',
    'max',
    'wait',
    'leaseSeconds',
    'attempt',
    'status',
    'result',
    'error',
    'next',
    'reason',
  ],
  ...[
    'retryAfterSeconds',
    'tag',
    'lane',
    'space',
    'channel',
    'ids',
    'state',
    'createdBefore',
    'createdAfter',
  ],
  ...['role', 'name', 'lanes', 'key', 'mode', '__proto__', 'constructor'],
];
/** Waits take real time, so allowed ones are kept short. */
const short = (body: unknown): unknown =>
  JSON.parse(JSON.stringify(body ?? null), (key, inner) =>
    key === 'wait' && typeof inner === 'number' && inner > 0 && inner <= 25 ? 0.01 : inner,
  );
const body = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.dictionary(
      fc.constantFrom(...FIELDS),
      fc.oneof(value, fc.dictionary(fc.constantFrom(...FIELDS), value)),
      { maxKeys: 6 },
    ),
  },
  { weight: 1, arbitrary: value },
);

test('no body makes any route fail', async () => {
  const routes = t.server.routes.filter(({ method, path }) => method !== 'GET' && path.startsWith('/api/'));
  const id = (await t.post('/api/lanes/fuzz/actions', { kind: 'x' })).body.id;
  await t.post('/api/lanes/fuzz/claim', { worker: 'w' });
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...routes),
      body,
      fc.constantFrom(id, '0', 'x', 'fuzz'),
      async (route, sent, name) => {
        // pausing everything or revoking the operator would hide what follows
        fc.pre(
          !(
            route.path === '/api/pause' ||
            (route.method === 'DELETE' && route.path.startsWith('/api/tokens'))
          ),
        );
        const path = route.path.replaceAll(/:\w+/g, encodeURIComponent(name));
        const answer = await t.send(route.method, path, JSON.stringify(short(sent)));
        expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(500);
      },
    ),
    { numRuns: RUNS },
  );
});

test('no text instead of JSON makes a route fail', async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 200 }), async (sent) => {
      const answer = await t.send('POST', '/api/lanes/fuzz/actions', sent.toWellFormed());
      expect(answer.status).toBeLessThan(500);
    }),
    { numRuns: RUNS },
  );
});

test('no query and no path makes a route fail', async () => {
  const part = fc
    .string({ unit: 'binary', maxLength: 50 })
    .map((raw) => encodeURIComponent(raw.toWellFormed()));
  await fc.assert(
    fc.asyncProperty(
      part,
      fc.dictionary(
        fc.constantFrom('lane', 'kind', 'state', 'tag', 'channel', 'cursor', 'limit', 'space', 'x'),
        part,
      ),
      async (segment, query) => {
        const search = Object.entries(query).map(([key, one]) => `${key}=${one}`);
        for (const path of [
          `/api/actions?${search.join('&')}`,
          `/api/actions/${segment}`,
          `/api/audit?${search.join('&')}`,
        ])
          expect((await t.get(path)).status).toBeLessThan(500);
        expect((await t.post(`/api/lanes/${segment}/claim`, { worker: 'w' })).status).toBeLessThan(500);
      },
    ),
    { numRuns: RUNS / 3 },
  );
});
