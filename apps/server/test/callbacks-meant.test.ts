import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { sign } from '../src/callbacks/signing-keys.ts';
import { startDestination } from '../testing/destination.ts';
import { type Answer, type TestServer, testServer } from '../testing/test-server.ts';

/** Which messages and dead letters a request selects, and which it leaves alone. */
let t: TestServer;
let shop: Awaited<ReturnType<typeof startDestination>>;
const DEPTH = 3;
beforeAll(async () => {
  shop = await startDestination();
  shop.on('/no', (response) => response.writeHead(489).end());
  t = await testServer({
    clock: true,
    settings: { MUSTER_OUTGOING_ALLOW: '127.0.0.1', MUSTER_LANE_DEPTH_LIMIT: String(DEPTH) },
  });
});
afterAll(async () => {
  await t.close();
  await shop.close();
});
beforeEach(async () => {
  await t.del('/v2/messages');
  await t.del('/v2/dlq');
});

const url = (path: string) => `http://127.0.0.1:${shop.port}${path}`;
const send = (path: string, headers: Record<string, string> = {}): Promise<Answer> =>
  t.post(`/v2/publish/${url(path)}`, {}, { headers });
const later = (headers: Record<string, string> = {}) => send('/later', { 'upstash-delay': '1h', ...headers });
async function waiting(many: number): Promise<string[]> {
  const ids: string[] = [];
  for (let n = 0; n < many; n += 1) ids.push((await later()).body.messageId);
  return ids;
}
const left = async (ids: readonly string[]) => {
  const found = await Promise.all(ids.map(async (id) => ({ id, ...(await t.get(`/v2/messages/${id}`)) })));
  return found.flatMap(({ id, status }) => (status === 200 ? id : []));
};
const letters = async (): Promise<string[]> =>
  (await t.get('/v2/dlq')).body.messages.map(({ dlqId }: { dlqId: string }) => dlqId);
async function dead(many: number): Promise<string[]> {
  for (let n = 0; n < many; n += 1) await send('/no');
  await expect.poll(async () => (await letters()).length).toBe(many);
  return letters();
}

test('ids in the body, as older QStash clients send them, select messages', async () => {
  const [a, b, c] = (await waiting(3)) as [string, string, string];
  expect((await t.send('DELETE', '/v2/messages', { messageIds: [a] })).body).toEqual({ cancelled: 1 });
  expect(await left([a, b, c])).toEqual([b, c]);
  const [x, y, z] = (await dead(3)) as [string, string, string];
  expect((await t.send('DELETE', '/v2/dlq', { dlqIds: [x] })).body).toEqual({ deleted: 1 });
  expect(await letters()).toEqual([y, z]);
  const { body } = await t.post('/v2/dlq/retry', { dlqIds: [z] });
  expect(body).toEqual({ responses: [{ messageId: z.replace('dlq', 'msg') }] });
});

test('a body or filter that is not understood, or that selects nothing, changes nothing', async () => {
  const [messages, dlq] = [await waiting(2), await dead(2)];
  const asked = [
    ['DELETE', '/v2/messages', 'messageIds'],
    ['DELETE', '/v2/dlq', 'dlqIds'],
    ['POST', '/v2/dlq/retry', 'dlqIds'],
  ] as const;
  for (const [method, path, field] of asked) {
    const ask = async (query: string, body?: unknown) =>
      (await t.send(method, `${path}${query}`, body)).status;
    for (const odd of [{ ids: ['x'] }, { [field]: 'x' }, { [field]: [1] }, ['x'], { filter: {} }])
      expect(await ask('', odd)).toBe(400);
    for (const query of [`?${field}=`, '?label=', '?count=0']) expect(await ask(query)).toBe(400);
    expect(await ask(`?${field}=x`, { [field]: ['y'] })).toBe(400);
    expect(await ask('', { [field]: [] })).toBe(200);
    expect(await ask('', { [field]: ['unknown'] })).toBe(200);
  }
  expect([await left(messages), await letters()]).toEqual([messages, dlq]);
});

test('count is a limit, and a cursor says that there are more', async () => {
  const messages = await waiting(3);
  const first = (await t.del('/v2/messages?count=2')).body;
  expect(first).toEqual({ cancelled: 2, cursor: expect.any(String) });
  expect(await left(messages)).toHaveLength(1);
  expect((await t.del(`/v2/messages?count=2&cursor=${first.cursor}`)).body).toEqual({ cancelled: 1 });
  const [, , oldest] = await dead(3);
  const deleted = (await t.del('/v2/dlq?count=2')).body;
  expect(deleted).toEqual({ deleted: 2, cursor: expect.any(String) });
  expect(await letters()).toEqual([oldest]);
  expect((await t.post(`/v2/dlq/retry?count=2&cursor=${deleted.cursor}`)).body).toEqual({
    responses: [{ messageId: oldest?.replace('dlq', 'msg') }],
  });
});

test('when an operator cancels all messages, the callbacks that complete orders stay', async () => {
  const { botToken, id } = (await t.post('/api/bots')).body;
  t.secret(botToken);
  const order = (await t.post('/api/orders', { type: 'VIP' })).body;
  await t.post(`/api/bots/${id}/claim`);
  await waiting(1);
  expect((await t.del('/v2/messages')).body).toEqual({ cancelled: 1 });
  await t.pass(10_000);
  const now = async () => (await t.get(`/api/orders/${order.id}`)).body;
  await expect.poll(async () => (await now()).status).toBe('COMPLETE');
  expect((await now()).completionReason).toBe('CALLBACK');
});

test('a host takes as many messages as its four lines have space for; then the refusal names the host', async () => {
  const answers: Answer[] = [];
  for (let n = 0; n <= 4 * DEPTH; n += 1) answers.push(await later());
  expect(answers.map(({ status }) => status)).toEqual([...Array(4 * DEPTH).fill(201), 409]);
  expect(answers.at(-1)?.body).toEqual({
    code: 'MUSTER_LANE_FULL',
    error: expect.stringContaining(`12 messages already wait for 127.0.0.1:${shop.port}`),
  });
});

test('a cancelled message frees its deduplication id', async () => {
  const publish = (path: string, delay: Record<string, string> = {}) =>
    send(path, { 'upstash-deduplication-id': 'paid-7', ...delay });
  const first = await publish('/once', { 'upstash-delay': '1h' });
  expect((await publish('/once')).status).toBe(202);
  await t.del(`/v2/messages/${first.body.messageId}`);
  // in flight, it is given up as soon as the cancel is requested
  shop.hold('/once');
  const second = await publish('/once');
  expect(second.status).toBe(201);
  await expect.poll(() => shop.of('/once').length).toBe(1);
  await t.del(`/v2/messages/${second.body.messageId}`);
  expect((await publish('/again')).status).toBe(201);
  await expect.poll(() => shop.of('/again').length).toBe(1);
  expect((await publish('/again')).status).toBe(202);
  shop.letGo();
});

test('the keys for receivers cannot sign the callback that completes an order', async () => {
  const { botToken, id: botId } = (await t.post('/api/bots')).body;
  t.secret(botToken);
  const { id: orderId } = (await t.post('/api/orders', { type: 'VIP' })).body;
  await t.post(`/api/bots/${botId}/claim`);
  const said = JSON.stringify({ orderId, botId, attempt: 1 });
  const path = '/api/orders/complete?tenant=1';
  const shown: Record<string, string> = (await t.get('/v2/keys')).body;
  expect(Object.keys(shown)).toEqual(['current', 'next']);
  for (const key of Object.values(shown))
    for (const made of [
      key,
      // as the server once signed its calls to itself
      createHmac('sha256', key).update('calls of the server to itself').digest('base64url'),
    ]) {
      const by = { at: t.clock(), body: Buffer.from(said), messageId: 'msg_1', url: `http://x${path}` };
      const headers = { 'upstash-signature': await sign(made, by) };
      expect((await t.post(path, said, { token: null, headers })).status).toBe(401);
    }
  expect((await t.get(`/api/orders/${orderId}`)).body.status).toBe('PROCESSING');
});
