import type { Order } from '@muster/contracts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { playOrders } from '../testing/orders/play-orders.ts';
import { type TestServer, testServer } from '../testing/test-server.ts';

let t: TestServer;
beforeAll(async () => {
  t = await testServer({ clock: true });
});
afterAll(() => t.close());

const order = async (type: 'NORMAL' | 'VIP' = 'NORMAL'): Promise<Order> =>
  (await t.post('/api/orders', { type })).body;
async function bot(): Promise<{ id: string; botToken: string }> {
  const { body } = await t.post('/api/bots');
  t.secret(body.botToken);
  return body;
}
const claim = (id: string, token?: string) =>
  t.post(`/api/bots/${id}/claim`, undefined, token === undefined ? {} : { token });
const list = async (): Promise<Order[]> => (await t.get('/api/orders')).body.orders;
const one = async (id: string) => (await list()).find((row) => row.id === id) as Order;
const comesTo = (id: string, status: string) =>
  expect.poll(async () => (await one(id)).status, { timeout: 60_000 }).toBe(status);
/** After this time an order is complete without any callback. */
const LEASE_MS = 12_000;
const clear = () => t.post('/api/orders/clear');
const patch = (path: string, body: object) => t.send('PATCH', path, body);

test('an order has a number, waits, is processed by a bot and is complete when its time is over', async () => {
  const made = await t.post('/api/orders', { type: 'VIP', userId: '018f3f2e-7f5a-7c3b-8a1d-0123456789ab' });
  expect(made.status).toBe(201);
  expect(made.body).toMatchObject({ orderNumber: 1, type: 'VIP', status: 'PENDING', botId: null });
  const { id, botToken } = await bot();
  const { status, body } = await claim(id, botToken);
  expect(status).toBe(200);
  expect(body).toMatchObject({ id: made.body.id, status: 'PROCESSING', botId: id });
  expect(Date.parse(body.processingEndsAt) - Date.parse(body.processingStartedAt)).toBe(10_000);
  const [row] = (await t.get('/api/bots')).body.bots;
  expect(row).toMatchObject({ id, status: 'PROCESSING', currentOrderId: made.body.id });
  const again = await claim(id, botToken);
  expect(again.status).toBe(409);
  expect(again.body).toMatchObject({ code: 'MUSTER_BOT_BUSY', order: { id: made.body.id } });
  await t.pass(10_000);
  await comesTo(made.body.id, 'COMPLETE');
  expect(await one(made.body.id)).toMatchObject({
    ...{ status: 'COMPLETE', botId: id, completedAt: expect.any(String), completionReason: 'CALLBACK' },
    ...{ processingStartedAt: body.processingStartedAt, processingEndsAt: null },
  });
  expect((await t.get('/api/bots')).body.bots[0]).toMatchObject({ status: 'IDLE', currentOrderId: null });
  expect((await claim(id, botToken)).body).toBeNull();
  await clear();
});

test('G83: those that wait are in the order of their turn, VIP first; then those in process and complete ones, newest first', async () => {
  const made = [await order(), await order('VIP'), await order(), await order('VIP'), await order()];
  const [a, b] = [await bot(), await bot()];
  await claim(a.id);
  await claim(b.id);
  await t.pass(LEASE_MS);
  await claim(a.id);
  const numbers = (await list()).map((row) => `${row.status} ${made.findIndex(({ id }) => id === row.id)}`);
  expect(numbers).toEqual(['PENDING 2', 'PENDING 4', 'PROCESSING 0', 'COMPLETE 3', 'COMPLETE 1']);
  const paged: string[] = [];
  let cursor: string | null = null;
  do {
    const page: { orders: Order[]; cursor: string | null } = (
      await t.get(`/api/orders?limit=1${cursor ? `&cursor=${cursor}` : ''}`)
    ).body;
    paged.push(...page.orders.map(({ id }) => id));
    cursor = page.cursor;
  } while (cursor);
  expect(paged).toEqual((await list()).map(({ id }) => id));
  await clear();
});

test('an order is given to a bot by hand, taken back, and completed, as the rules allow', async () => {
  const [first, second] = [await order(), await order()];
  const [a, b] = [await bot(), await bot()];
  const path = `/api/orders/${second.id}`;
  expect((await patch(path, { status: 'COMPLETE' })).body.code).toBe('MUSTER_ORDER_STATUS');
  expect((await patch(path, { status: 'PROCESSING' })).status).toBe(409);
  expect((await patch(path, { status: 'PROCESSING', botId: a.id })).body).toMatchObject({ botId: a.id });
  expect((await patch(path, { status: 'PROCESSING', botId: a.id })).status).toBe(200);
  expect((await patch(path, { status: 'PROCESSING', botId: b.id })).status).toBe(409);
  expect((await patch(`/api/orders/${first.id}`, { status: 'PROCESSING', botId: a.id })).status).toBe(409);
  expect((await patch(path, { status: 'PENDING' })).body).toMatchObject({
    ...{ status: 'PENDING', botId: null, processingStartedAt: null },
  });
  expect((await claim(a.id)).body.id).toBe(first.id);
  expect((await claim(b.id)).body.id).toBe(second.id);
  expect((await patch(path, { status: 'COMPLETE' })).body.status).toBe('COMPLETE');
  expect((await patch(path, { status: 'COMPLETE' })).status).toBe(200);
  expect((await patch(path, { status: 'PENDING' })).status).toBe(409);
  expect((await patch(`/api/bots/${a.id}`, { status: 'PROCESSING' })).status).toBe(200);
  expect((await patch(`/api/bots/${b.id}`, { status: 'PROCESSING' })).status).toBe(409);
  expect((await patch(`/api/bots/${a.id}`, { status: 'IDLE', currentOrderId: null })).body.status).toBe(
    'IDLE',
  );
  expect((await one(first.id)).status).toBe('PENDING');
  await clear();
});

test('G83: a deleted bot gives its order back to its old place; a deleted order frees its bot; both can be restored', async () => {
  const [first, second] = [await order(), await order()];
  const [a, b] = [await bot(), await bot()];
  await claim(a.id);
  expect((await t.del(`/api/bots/${a.id}`)).status).toBe(204);
  expect((await claim(a.id)).status).toBe(404);
  expect((await claim(a.id, a.botToken)).status).toBe(401);
  expect((await claim(b.id)).body.id).toBe(first.id);
  expect((await t.del(`/api/orders/${first.id}`)).status).toBe(204);
  expect((await t.del(`/api/orders/${first.id}`)).status).toBe(404);
  expect((await list()).map(({ id }) => id)).toEqual([second.id]);
  expect((await patch(`/api/orders/${first.id}`, { status: 'PENDING' })).status).toBe(404);
  const restored = await patch(`/api/orders/${first.id}`, { deletedAt: null, status: 'PENDING' });
  expect(restored.body).toMatchObject({ status: 'PENDING', deletedAt: null, orderNumber: first.orderNumber });
  expect((await patch(`/api/bots/${a.id}`, { deletedAt: null })).body.deletedAt).toBeNull();
  // in its old place, before the one that is younger
  expect((await claim(a.id)).body.id).toBe(first.id);
  expect((await claim(b.id)).body.id).toBe(second.id);
  const third = await order();
  expect((await clear()).body).toEqual({ cleared: 3 });
  expect(await list()).toEqual([]);
  expect(
    (await t.get('/api/bots')).body.bots.every(({ status }: { status: string }) => status === 'IDLE'),
  ).toBe(true);
  expect((await order()).orderNumber).toBe(third.orderNumber + 1);
  expect((await t.del('/api/orders/clear')).status).toBe(204);
  expect(await list()).toEqual([]);
});

test('G83: whatever an operator does while bots compete, and while the server restarts, each order is completed once', async () => {
  await clear();
  let isRestarted = false;
  const report = await playOrders({
    ...{ bots: 10, orders: 60, seed: process.env.MUSTER_TEST_SEED ?? '1', operator: t.operator },
    url: () => t.server.url,
    elapse: () => t.pass(LEASE_MS),
    async disturb(done) {
      if (isRestarted || done < 0.3) return;
      isRestarted = true;
      await t.restart();
    },
  });
  expect(report.faults).toEqual([]);
  expect(isRestarted && report.compared > 20 && report.acts > 3).toBe(true);
  await clear();
});

test('an action that an operator cancels is a deleted order; deleted ones are forgotten after some days', async () => {
  const made = await order();
  const { actions } = (await t.get('/api/actions?channel=order&state=pending')).body;
  expect((await t.post(`/api/actions/${actions[0].id}/cancel`, {})).status).toBe(200);
  expect(await list()).toEqual([]);
  expect((await patch(`/api/orders/${made.id}`, { deletedAt: null })).body.status).toBe('PENDING');
  await t.del(`/api/orders/${made.id}`);
  await t.pass(31 * 86_400_000);
  await t.engine.runDuty('prune-orders');
  expect((await patch(`/api/orders/${made.id}`, { deletedAt: null })).status).toBe(404);
});

test('a token of a bot claims for that bot alone', async () => {
  const [a, b] = [await bot(), await bot()];
  expect((await claim(b.id, a.botToken)).body.code).toBe('MUSTER_WRONG_BOT');
  expect((await t.get('/api/orders', { token: a.botToken })).status).toBe(403);
  // a restored bot has none, and gets a new one
  await t.del(`/api/bots/${a.id}`);
  expect((await t.post(`/api/bots/${a.id}/token`)).status).toBe(404);
  await patch(`/api/bots/${a.id}`, { deletedAt: null });
  expect((await claim(a.id, a.botToken)).status).toBe(401);
  const { body, status } = await t.post(`/api/bots/${a.id}/token`);
  expect(status).toBe(201);
  t.secret(body.botToken);
  expect((await claim(a.id, body.botToken)).status).toBe(200);
  expect((await claim(b.id, body.botToken)).status).toBe(403);
});
