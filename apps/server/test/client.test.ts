import { MusterError } from '@muster/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestServer, testServer } from '../testing/test-server.ts';

/** For events without a promised time, on a busy machine. */
let t: TestServer;
beforeAll(async () => {
  t = await testServer();
});
afterAll(() => t.close());

test('an action is queued, claimed, reported and read through the typed client', async () => {
  const { actions } = t.client();
  const params = { lane: 'Halle 3/Prüfstand' };
  const headers = { 'idempotency-key': 'once' };
  const queued = await actions.enqueue({ params, body: { kind: 'print', tags: ['paper'] }, headers });
  const again = await actions.enqueue({ params, body: { kind: 'print', tags: ['paper'] }, headers });
  expect([queued.status, again.status]).toEqual([201, 200]);
  const { id } = queued.body;
  expect(again.body.id).toBe(id);

  const { body: claimed } = await actions.claim({ params, body: { worker: 'desk' } });
  expect(claimed.actions.map((action) => [action.id, action.attempt])).toEqual([[id, 1]]);
  const { body: reported } = await actions.report({
    params: { id },
    body: { attempt: 1, status: 'succeeded', result: { pages: 4 } },
  });
  expect(reported).toEqual({ accepted: true, status: 'succeeded' });
  const { body: read } = await actions.get({ params: { id } });
  expect(read.events.map((event) => event.type)).toEqual(['CREATED', 'SENT', 'SUCCEEDED']);
  expect(read.result).toEqual({ pages: 4 });
  const { body: listed } = await actions.list({ query: { tag: 'paper', state: 'succeeded', limit: 1 } });
  expect(listed.actions.map((action) => action.id)).toEqual([id]);
});

test('a refusal is thrown as a MusterError with its code', async () => {
  const unknown = await t
    .client()
    .actions.cancel({ params: { id: '999999' } })
    .catch((error: unknown) => error);
  expect(unknown).toBeInstanceOf(MusterError);
  expect(unknown).toMatchObject({ code: 'MUSTER_UNKNOWN_ACTION', status: 404, retryAfter: null });
  await expect(t.client(t.secret('x'.repeat(43))).actions.counts()).rejects.toMatchObject({
    code: 'MUSTER_UNAUTHORIZED',
    status: 401,
  });
});

test('a long poll ends with its signal and leaves no waiter behind', async () => {
  const ending = new AbortController();
  const waiting = t.client().actions.claim({
    params: { lane: 'quiet' },
    body: { worker: 'patient', wait: 25 },
    signal: ending.signal,
  });
  const ended = expect(waiting).rejects.toMatchObject({ name: 'AbortError' });
  await expect.poll(() => t.engine.parkedWaiters).toBe(1);
  ending.abort();
  await ended;
  await expect.poll(() => t.engine.parkedWaiters).toBe(0);
});

test('answers are distinguished by their status; one without a body has none', async () => {
  const operator = t.client();
  const { body: host } = await operator.hosts.create({ body: { name: 'web-1' } });
  const hostId = host.id;
  const agent = t.client(t.secret(host.agentToken));
  expect(await agent.control.poll()).toMatchObject({ status: 204, body: undefined });

  const { body: service } = await operator.services.create({
    params: { hostId },
    body: { unitName: 'nginx.service' },
  });
  await operator.hostActions.enqueue({
    params: { hostId },
    body: { serviceId: service.id, kind: 'restart' },
  });
  const polled = await agent.control.poll({ query: { max: 1 } });
  if (polled.status !== 200) throw new Error(`Nothing was handed out: ${polled.status}`);
  expect(polled.body.actions.map((action) => action.service.unitName)).toEqual(['nginx.service']);
  expect(polled.headers.get('cache-control')).toBe('no-store');
  expect(await operator.hosts.remove({ params: { hostId } })).toMatchObject({ status: 204, body: undefined });
});

test('a body that is not JSON is sent and returned as text', async () => {
  const { body } = await t.client().devices.import({
    contentType: 'text/csv',
    body: 'name,externalId\nfirst,e-1\nsecond,e-2\n',
  });
  const rows = body
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  for (const { deviceToken } of rows) t.secret(deviceToken);
  expect(rows).toMatchObject([{ id: expect.any(String) }, { id: expect.any(String) }]);
  expect((await t.client().server.metrics()).body).toContain('muster_depth');
});
