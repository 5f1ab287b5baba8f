import { expect, expectTypeOf, test } from 'vitest';
import { type Client, createClient, MusterError } from '../src/index.ts';

interface Asked {
  readonly url: string;
  readonly init: RequestInit & { headers: Record<string, string> };
}

/** A client whose requests end here. */
function playing(answer: () => Response, token: string | (() => string) = 'secret') {
  const asked: Asked[] = [];
  const client = createClient({
    url: 'https://muster.example/',
    token,
    fetch: async (url, init) => {
      asked.push({ url: String(url), init: init as Asked['init'] });
      return answer();
    },
  });
  return { asked, client };
}

const json = (body: unknown, init: ResponseInit = {}) => new Response(JSON.stringify(body), init);

test('a call fills in the path, the query, the token and the body of its endpoint', async () => {
  const { asked, client } = playing(() => json({ actions: [] }));
  await client.actions.claim({ params: { lane: 'Halle 3/Ä' }, body: { worker: 'desk', wait: 20 } });
  await client.devices.list({ query: { tag: ['red', 'blue'], online: true, text: undefined } });
  await client.actions.counts();
  expect(asked.map(({ url, init }) => `${init.method} ${url}`)).toEqual([
    'POST https://muster.example/api/lanes/Halle%203%2F%C3%84/claim',
    'GET https://muster.example/api/devices?tag=red&tag=blue&online=true',
    'GET https://muster.example/api/counts',
  ]);
  expect(asked[0]?.init).toMatchObject({
    body: '{"worker":"desk","wait":20}',
    headers: { authorization: 'Bearer secret', 'content-type': 'application/json' },
  });
  expect(asked[2]?.init.headers).not.toHaveProperty('content-type');
});

test.each(['.', '..', ''])(
  'a name that every URL collapses (%j) cannot reach another endpoint',
  async (lane) => {
    const { asked, client } = playing(() => json({}));
    await expect(client.actions.pauseLane({ params: { lane }, body: {} })).rejects.toThrow('lane cannot be');
    expect(asked).toEqual([]);
  },
);

test('a token function is called before each request', async () => {
  let n = 0;
  const { asked, client } = playing(
    () => json({}),
    () => `secret ${++n}`,
  );
  await client.actions.counts();
  await client.actions.counts();
  expect(asked.map(({ init }) => init.headers.authorization)).toEqual(['Bearer secret 1', 'Bearer secret 2']);
});

test('a refusal is thrown with its code, its status, its sentence and when to try again', async () => {
  const { client } = playing(() =>
    json(
      { error: 'Too much waits.', code: 'MUSTER_OVERLOADED' },
      { status: 503, headers: { 'retry-after': '7' } },
    ),
  );
  const refused = await client.actions.counts().catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(MusterError);
  expect(refused).toMatchObject({
    code: 'MUSTER_OVERLOADED',
    status: 503,
    message: 'Too much waits.',
    retryAfter: 7,
  });
});

test.each([
  ['<html>Bad gateway</html>', {}],
  ['{"message":"no route"}', {}],
  ['null', {}],
  ['', { 'retry-after': 'Wed, 21 Oct 2026 07:28:00 GMT' }],
])('an answer that is not from Muster has no code: %s', async (text, headers) => {
  const { client } = playing(() => new Response(text, { status: 502, headers }));
  await expect(client.actions.counts()).rejects.toMatchObject({ code: null, status: 502, retryAfter: null });
});

test('a request without an answer fails as fetch does', async () => {
  const client = createClient({
    url: 'https://muster.example',
    fetch: () => Promise.reject(new TypeError('fetch failed')),
  });
  await expect(client.actions.counts()).rejects.toBeInstanceOf(TypeError);
});

test('the types are those of the endpoint: other fields do not compile', () => {
  expectTypeOf<Client['actions']['counts']>().parameter(0).not.toHaveProperty('params');
  expectTypeOf<Parameters<Client['actions']['claim']>[0]['body']>().toHaveProperty('worker');
  expectTypeOf<Parameters<Client['devices']['import']>[0]['contentType']>().toExtend<string>();
  type Polled = Awaited<ReturnType<Client['control']['poll']>>;
  expectTypeOf<Polled['status']>().toEqualTypeOf<200 | 204>();
  expectTypeOf<Extract<Polled, { status: 204 }>['body']>().toEqualTypeOf<undefined>();
  expectTypeOf<Extract<Polled, { status: 200 }>['body']['actions'][number]>().toHaveProperty('leaseUntil');
  const { client } = playing(() => json({}));
  // @ts-expect-error a claim names its worker
  const unnamed = () => client.actions.claim({ params: { lane: 'a' }, body: {} });
  // @ts-expect-error a path that has no parameter takes none
  const surplus = () => client.actions.counts({ params: { id: '1' } });
  expect([unnamed, surplus]).toHaveLength(2);
});
