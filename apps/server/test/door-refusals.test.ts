import type { Order } from '@muster/contracts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startDestination } from '../testing/destination.ts';
import { type TestServer, testServer } from '../testing/test-server.ts';

/** Refusals of orders, callbacks and webhooks, and requests that would have no effect. */
let t: TestServer;
let shop: Awaited<ReturnType<typeof startDestination>>;
beforeAll(async () => {
  shop = await startDestination();
  t = await testServer({ clock: true, settings: { MUSTER_OUTGOING_ALLOW: '127.0.0.1' } });
});
afterAll(async () => {
  await t.close();
  await shop.close();
});

const order = async (): Promise<Order> => (await t.post('/api/orders', { type: 'VIP' })).body;
async function bot(): Promise<string> {
  const { botToken, id } = (await t.post('/api/bots')).body;
  t.secret(botToken);
  return id;
}
const patch = (path: string, body: object) => t.send('PATCH', path, body);
const publish = (headers: Record<string, string>, to = `http://127.0.0.1:${shop.port}/x`) =>
  t.post(`/v2/publish/${to}`, {}, { headers });

test('a refused PATCH of an order says what to send instead', async () => {
  const [{ id }, by, other] = [await order(), await bot(), await bot()];
  const path = `/api/orders/${id}`;
  await patch(path, { status: 'PROCESSING', botId: by });
  const said = async (body: object) => (await patch(path, body)).body.error;
  expect(await said({ status: null })).toBe('status must be one of PENDING, PROCESSING, COMPLETE.');
  expect(await said({ deletedAt: '2026-03-01T12:00:00Z' })).toContain('to delete one, send DELETE');
  expect(await said({ status: 'COMPLETE', botId: other })).toContain('leave out botId');
  expect(await said({ status: 'PENDING', botId: other })).toContain('botId must be null');
  expect(await said({ botId: other })).toContain('status PROCESSING');
  for (const to of ['/api/bots', `/api/bots/${other}/claim`])
    expect(await t.post(to, { name: 'x' })).toMatchObject({ status: 400, body: { code: 'MUSTER_BAD_BODY' } });
  await t.post('/api/orders/clear');
});

test('a PATCH that changes nothing leaves no audit line and does not change updatedAt', async () => {
  const [{ id }, by, idle] = [await order(), await bot(), await bot()];
  const [path, botPath] = [`/api/orders/${id}`, `/api/bots/${idle}`];
  const now = async () => [
    ...[(await t.get(path)).body, (await t.get(botPath)).body],
    (await t.get('/api/audit?limit=1')).body,
  ];
  const nothing = async (at: string, body: object) => {
    const before = await now();
    t.clock.advance(1_000);
    expect((await patch(at, body)).status).toBe(200);
    expect(await now()).toEqual(before);
  };
  await nothing(path, { status: 'PENDING' });
  await nothing(path, { deletedAt: null });
  await nothing(botPath, { status: 'IDLE' });
  await nothing(botPath, { deletedAt: null, currentOrderId: null });
  await patch(path, { status: 'PROCESSING', botId: by });
  await nothing(path, { status: 'PROCESSING', botId: by });
  await patch(path, { status: 'COMPLETE' });
  await nothing(path, { status: 'COMPLETE' });
  // a real change does both
  const before = await now();
  t.clock.advance(1_000);
  await t.del(botPath);
  await patch(botPath, { deletedAt: null });
  const after = await now();
  expect(after[1].updatedAt > before[1].updatedAt).toBe(true);
  expect(after[2]).not.toEqual(before[2]);
  await t.post('/api/orders/clear');
});

test('options of a message without effect are refused, by the name that the sender used', async () => {
  const said = async (headers: Record<string, string>, to?: string) => {
    const { body, status } = await publish(headers, to);
    expect(status).toBe(400);
    return body.error as string;
  };
  expect(await said({ 'upstash-callback-method': 'PUT' })).toContain('needs upstash-callback');
  expect(await said({ 'upstash-failure-callback-retries': '1' })).toContain('needs upstash-failure-callback');
  expect(await said({ 'upstash-content-based-deduplication': 'yes' })).toContain('must be true or false');
  expect(await said({ 'upstash-label': 'x'.repeat(513) })).toContain('label');
  expect(await said({}, 'http://127.0.0.1:99999/x')).toContain('port');
  expect((await publish({ 'upstash-content-based-deduplication': 'false' })).status).toBe(201);
});

test('a message that is cancelled in flight shows no retry', async () => {
  shop.hold('/slow');
  const { messageId } = (await publish({}, `http://127.0.0.1:${shop.port}/slow`)).body;
  await expect.poll(() => shop.of('/slow').length).toBe(1);
  await t.del(`/v2/messages/${messageId}`);
  const states = async () => {
    const { events } = (await t.get(`/v2/events?messageId=${messageId}`)).body;
    return events.map(({ state }: { state: string }) => state);
  };
  await expect.poll(async () => (await states())[0]).toBe('CANCELED');
  expect(await states()).toEqual(['CANCELED', 'CANCEL_REQUESTED', 'ACTIVE', 'CREATED']);
  shop.letGo();
});

test('a webhook that could never send anything, or an empty PATCH, is refused', async () => {
  const url = `http://127.0.0.1:${shop.port}/hook`;
  const make = (events: string[], filter: object) => t.post('/api/webhooks', { url, events, filter });
  for (const [events, filter] of [
    [['batch.finished'], { kinds: ['LOCK'] }],
    [['task.finished', 'alert.raised'], { devices: ['1'] }],
    [['device.state_changed'], { kinds: ['LOCK'] }],
    [['device.state_changed', 'order.created'], { tags: ['a'] }],
  ] as const)
    expect((await make([...events], filter)).body).toMatchObject({
      ...{ code: 'MUSTER_BAD_BODY', error: expect.stringContaining('matches this filter') },
    });
  const { body, status } = await make(['device.state_changed', 'batch.finished'], { devices: ['1'] });
  expect(status).toBe(201);
  t.secret(body.secret);
  expect((await make(['action.*'], { hosts: ['x'] })).body.error).toBe(
    'filter.hosts.0 must be an id, such as "7".',
  );
  const path = `/api/webhooks/${body.id}`;
  expect((await patch(path, {})).status).toBe(400);
  expect((await patch(path, { filter: { kinds: ['LOCK'] } })).status).toBe(400);
  await t.del(path);
});
