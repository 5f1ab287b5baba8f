import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestServer, testServer } from '../testing/test-server.ts';

let t: TestServer;
beforeAll(async () => {
  t = await testServer();
});
afterAll(() => t.close());

const enqueue = '/api/lanes/printer/actions';
const refused = {
  status: 400,
  body: {
    code: 'MUSTER_BAD_VALUE',
    error: 'The body has a number beyond 9007199254740991, which would be rounded. Send it as a string.',
  },
};

test.each([
  '9007199254740993',
  '-9007199254740993',
  '[1,{"a":12345678901234567890}]',
  '{"a":"\\"1","b":9007199254740992}',
  '9007199254740993.0',
  '9007199254740993e0',
  '1e17',
  '1E+400',
  '-1e400',
])('G67: a payload with %s is refused, because it would become another number', async (payload) => {
  expect(await t.post(enqueue, `{"kind":"x","payload":${payload}}`)).toMatchObject(refused);
  expect(await t.post(enqueue, `{"payload":${payload},"kind":"x"}`)).toMatchObject(refused);
});

test('G67: so is a result, and such a number anywhere else', async () => {
  const { body } = await t.post(enqueue, { kind: 'x' });
  await t.post('/api/lanes/printer/claim', { worker: 'w' });
  const report = (result: string) =>
    t.post(`/api/actions/${body.id}/report`, `{"attempt":1,"status":"succeeded","result":${result}}`);
  expect(await report('{"n":9007199254740993}')).toMatchObject(refused);
  expect(await t.post(enqueue, '{"kind":"x","maxAttempts":9007199254740993}')).toMatchObject(refused);
  expect(await report('9007199254740991')).toMatchObject({ status: 200 });
  expect((await t.get(`/api/actions/${body.id}`)).body.result).toBe(9007199254740991);
});

test('G67: exact values return unchanged: safe integers, fractions, digits in strings and names', async () => {
  const payload =
    '{"most":9007199254740991,"least":-9007199254740991,"text":"9007199254740993","9007199254740993":"e+99 \\\\",' +
    '"fraction":0.12345678901234567,"small":1e-300,"list":[1.5e3,-0.1,0]}';
  const { status, body } = await t.post(enqueue, `{"kind":"x","payload":${payload}}`);
  expect(status).toBe(201);
  expect((await t.get(`/api/actions/${body.id}`)).body.payload).toEqual(JSON.parse(payload));
});
