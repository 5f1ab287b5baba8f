import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestServer, testServer } from '../testing/test-server.ts';

let t: TestServer;
beforeAll(async () => {
  t = await testServer({ settings: { MUSTER_LANE_DEPTH_LIMIT: '3' } });
});
afterAll(() => t.close());

const enqueue = '/api/lanes/printer/actions';
const claim = '/api/lanes/printer/claim';
const report = '/api/actions/1/report';

test.each([
  [enqueue, {}, 'kind is missing in the body.'],
  [enqueue, { kind: 5 }, 'kind must be a text.'],
  [enqueue, { kind: '' }, 'kind must have from 1 to 200 characters.'],
  [enqueue, { kind: 'x'.repeat(201) }, 'kind must have from 1 to 200 characters.'],
  [enqueue, { kind: 'a\nb' }, 'kind must be text without control characters.'],
  [enqueue, { kind: 'x', wiat: 1 }, 'The body has an unknown field "wiat".'],
  [enqueue, { kind: 'x', priority: 'asap' }, 'priority must be one of normal, urgent.'],
  [enqueue, { kind: 'x', maxAttempts: 0 }, 'maxAttempts must be from 1 to 1000.'],
  [enqueue, { kind: 'x', maxAttempts: 1.5 }, 'maxAttempts must be a whole number.'],
  [enqueue, { kind: 'x', notBefore: 'tomorrow' }, 'notBefore must be a time such as 2026-03-01T12:00:00Z.'],
  [
    enqueue,
    { kind: 'x', deadline: '0000-01-01T00:00:00Z' },
    'deadline must be a time from 1970 to 8999, such as 2026-03-01T12:00:00Z.',
  ],
  [
    enqueue,
    { kind: 'x', deadline: '9999-12-31T23:59:59-12:00' },
    'deadline must be a time from 1970 to 8999, such as 2026-03-01T12:00:00Z.',
  ],
  [enqueue, { kind: 'x', tags: 'red' }, 'tags must be a list.'],
  [enqueue, { kind: 'x', tags: [''] }, 'tags.0 must have from 1 to 200 characters.'],
  [enqueue, { kind: 'x', supersede: { mode: 'replace' } }, 'supersede.key is missing in the body.'],
  [enqueue, [], 'The body must be an object.'],
  [enqueue, 'null', 'kind is missing in the body.'],
  [claim, { worker: 'w', wait: 26 }, 'wait must be from 0 to 25.'],
  [claim, { worker: 'w', wait: -1 }, 'wait must be from 0 to 25.'],
  [claim, { worker: 'w', wait: '5' }, 'wait must be a number.'],
  [claim, { worker: 'w', leaseSeconds: 0 }, 'leaseSeconds must be from 1 to 86400.'],
  [claim, {}, 'worker is missing in the body.'],
  [report, { attempt: 0, status: 'succeeded' }, 'attempt must be at least 1.'],
  [report, { attempt: 1, status: 'done' }, 'status must be one of succeeded, failed, notNow.'],
  [report, { attempt: 1, status: 'failed', next: { wait: 99 } }, 'next.wait must be from 0 to 25.'],
  [report, { attempt: 1, status: 'failed', next: 'yes' }, 'next must be an object.'],
])('%s with %j is refused with a sentence', async (path, body, sentence) => {
  expect(await t.post(path, body)).toMatchObject({
    status: 400,
    body: { error: sentence, code: 'MUSTER_BAD_BODY' },
  });
});

test.each([
  ['{"kind"', 'MUSTER_BAD_JSON'],
  ['', 'MUSTER_BAD_BODY'],
  ['{"kind":"a\\u0000"}', 'MUSTER_BAD_TEXT'],
  ['{"kind":"x","payload":{"deep":["\\ud800"]}}', 'MUSTER_BAD_TEXT'],
  ['{"kind":"x","payload":{"\\u0000":1}}', 'MUSTER_BAD_TEXT'],
  [`{"kind":"x","payload":${'['.repeat(64)}${']'.repeat(64)}}`, 'MUSTER_BAD_JSON'],
  [`{"kind":"x","payload":${'['.repeat(100_000)}`, 'MUSTER_BAD_JSON'],
  ['{"kind":"x","__proto__":{"a":1}}', 'MUSTER_BAD_JSON'],
])('the text %.40s is refused', async (text, code) => {
  expect(await t.post(enqueue, text)).toMatchObject({ status: 400, body: { code } });
});

test('a field that JSON allows and this server does not is named', async () => {
  for (const text of [
    '{"kind":"x","__proto__":{"a":1}}',
    '{"kind":"x","payload":{"deep":[{"__proto__":1}]}}',
  ])
    expect((await t.post(enqueue, text)).body.error).toBe('The field "__proto__" is not allowed.');
  expect((await t.post(enqueue, '{"__proto__"')).body.error).toBe('The body is not valid JSON.');
  expect((await t.post(enqueue, '{"kind":"x","payload":"__proto__"}')).status).toBe(201);
});

test('a body of 63 levels, with quotes and brackets in its strings, is accepted', async () => {
  const payload = JSON.parse(`${'['.repeat(62)}"\\"[[[{{"${']'.repeat(62)}`);
  const answer = await t.post('/api/lanes/deep/actions', { kind: 'x', payload });
  expect(answer).toMatchObject({ status: 201, body: { payload } });
});

test('bodies that are not JSON or not UTF-8 are refused', async () => {
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/xml'])
    expect(
      await t.send('POST', enqueue, '{"kind":"x"}', { headers: { 'content-type': type } }),
    ).toMatchObject({
      status: 400,
      body: {
        code: 'MUSTER_BAD_CONTENT_TYPE',
        error: 'Send the body as JSON, with the header "content-type: application/json".',
      },
    });
  const response = await fetch(t.server.url + enqueue, {
    method: 'POST',
    headers: { authorization: `Bearer ${t.operator}`, 'content-type': 'application/json' },
    body: Buffer.from([...Buffer.from('{"kind":"'), 0xff, ...Buffer.from('"}')]),
  });
  expect(response.status).toBe(400);
});

test('bodies above 1 MiB and results above 64 KiB are refused, and nothing changes', async () => {
  const large = { kind: 'x', payload: 'x'.repeat(1_048_576) };
  expect(await t.post(enqueue, large)).toMatchObject({ status: 413, body: { code: 'MUSTER_TOO_LARGE' } });
  const { id } = (await t.post('/api/lanes/large/actions', { kind: 'x' })).body;
  await t.post('/api/lanes/large/claim', { worker: 'w' });
  for (const [field, value] of [
    ['result', { text: 'x'.repeat(65_536) }],
    ['result', 'é'.repeat(32_768)],
    ['error', 'x'.repeat(65_537)],
  ] as const)
    expect(
      await t.post(`/api/actions/${id}/report`, { attempt: 1, status: 'failed', [field]: value }),
    ).toMatchObject({ status: 413, body: { code: 'MUSTER_TOO_LARGE' } });
  expect((await t.get(`/api/actions/${id}`)).body.state).toBe('claimed');
  const fits = { attempt: 1, status: 'succeeded', result: 'x'.repeat(65_534) };
  expect(await t.post(`/api/actions/${id}/report`, fits)).toMatchObject({ body: { accepted: true } });
});

test('every unknown id is 404, whatever it looks like', async () => {
  for (const id of [
    '999999999',
    'x',
    '0',
    '-1',
    '1e3',
    '99999999999999999999999',
    '%20',
    "1'--",
    '%F0%9F%9A%80',
  ]) {
    for (const act of ['report', 'extend', 'release']) {
      const body = act === 'report' ? { attempt: 1, status: 'succeeded' } : { attempt: 1 };
      expect(await t.post(`/api/actions/${id}/${act}`, body)).toMatchObject({
        status: 404,
        body: { code: 'MUSTER_UNKNOWN_ACTION' },
      });
    }
    for (const act of ['cancel', 'redrive', 'move-to-front', 'make-due'])
      expect(await t.post(`/api/actions/${id}/${act}`)).toMatchObject({ status: 404 });
    expect(await t.get(`/api/actions/${id}`)).toMatchObject({ status: 404 });
  }
  expect(await t.post('/api/lanes/nowhere/pause')).toMatchObject({
    status: 404,
    body: { code: 'MUSTER_UNKNOWN_LANE' },
  });
});

test('a lane or action of another space is 404 for workers; operators can read and cancel it', async () => {
  const { db } = t.engine;
  const laneId = await t.engine.ensureLane(db, 1, 'elsewhere', 'printer');
  const { id } = await t.engine.enqueue(db, { tenantId: 1, laneId, kind: 'x', channel: 'elsewhere' });
  await t.engine.claim(db, { tenantId: 1, laneId, channel: 'elsewhere', worker: 'w', leaseMs: 60_000 });
  for (const act of ['report', 'extend', 'release'])
    expect(
      await t.post(`/api/actions/${id}/${act}`, {
        attempt: 1,
        ...(act === 'report' ? { status: 'succeeded' } : {}),
      }),
    ).toMatchObject({ status: 404 });
  expect(await t.get(`/api/actions/${id}`)).toMatchObject({ body: { space: 'elsewhere', state: 'claimed' } });
  expect((await t.get('/api/actions?lane=printer&space=elsewhere')).body.actions).toMatchObject([{ id }]);
  expect(await t.post(`/api/actions/${id}/cancel`)).toMatchObject({ body: { outcome: 'requested' } });
});

test('a full lane refuses, and the next lane does not', async () => {
  for (let n = 0; n < 3; n += 1)
    expect((await t.post('/api/lanes/full/actions', { kind: 'x' })).status).toBe(201);
  expect(await t.post('/api/lanes/full/actions', { kind: 'x' })).toMatchObject({
    status: 409,
    body: { code: 'MUSTER_LANE_FULL', error: 'The lane is full: it has 3 unfinished actions.' },
  });
  expect((await t.post('/api/lanes/beside/actions', { kind: 'x' })).status).toBe(201);
});

test('wrong paths, methods, queries and cursors have different errors', async () => {
  expect(await t.get('/api/nothing')).toMatchObject({ status: 404, body: { code: 'MUSTER_UNKNOWN_ROUTE' } });
  expect(await t.send('PUT', '/api/actions', {})).toMatchObject({
    status: 405,
    body: { code: 'MUSTER_WRONG_METHOD', error: 'PUT is not allowed here; allowed: GET.' },
  });
  expect((await t.send('PUT', '/api/actions', {})).headers.get('allow')).toBe('GET');
  for (const method of ['PUT', 'OPTIONS', 'PROPFIND']) {
    const answer = await t.send(method, '/api/devices/1', undefined);
    expect(answer).toMatchObject({
      status: 405,
      body: { error: `${method} is not allowed here; allowed: DELETE, GET, PATCH.` },
    });
    expect(answer.headers.get('allow')).toBe('DELETE, GET, PATCH');
  }
  expect(await t.get('/api/actions?limit=0')).toMatchObject({
    status: 400,
    body: { error: 'limit must be from 1 to 500.' },
  });
  expect(await t.get('/api/actions?state=done')).toMatchObject({
    status: 400,
    body: { code: 'MUSTER_BAD_QUERY' },
  });
  expect(await t.get('/api/actions?colour=red')).toMatchObject({ status: 400 });
  expect(await t.get('/api/actions?kind=a&kind=b')).toMatchObject({ status: 400 });
  expect(await t.get('/api/actions?cursor=abc')).toMatchObject({ status: 400 });
  expect(await t.get('/api/actions?kind=%00')).toMatchObject({
    status: 400,
    body: { code: 'MUSTER_BAD_TEXT' },
  });
  expect(await t.get('/api/actions/%zz')).toMatchObject({ status: 400, body: { code: 'MUSTER_BAD_PATH' } });
  expect(await t.post('/api/lanes/%00/claim', { worker: 'w' })).toMatchObject({ status: 400 });
  expect(await t.post('/api/lanes/a%0Ab/claim', { worker: 'w' })).toMatchObject({ status: 400 });
});

test('an expiry beyond what can be stored is refused with the limit, also where null is allowed', async () => {
  const body = { name: 'x', expiresAt: '9999-12-31T23:59:59Z' };
  for (const answer of [
    await t.post('/api/devices', body),
    await t.send('PATCH', '/api/devices/1', { expiresAt: body.expiresAt }),
  ])
    expect(answer).toMatchObject({
      status: 400,
      body: { error: 'expiresAt must be a time from 1970 to 8999, such as 2026-03-01T12:00:00Z.' },
    });
});

test('a header without a bearer token is told what is expected, and so is an unknown token', async () => {
  const refused = async (authorization: string) =>
    (await t.get('/api/actions', { token: null, headers: { authorization } })).body;
  for (const authorization of ['Basic YTpi', 'Bearer', 'Bearer a b', t.operator])
    expect(await refused(authorization)).toEqual({
      error: 'Send a token in the header "Authorization: Bearer <token>".',
      code: 'MUSTER_UNAUTHORIZED',
    });
  expect((await refused('Bearer x')).error).toBe('This token is unknown or revoked.');
});
