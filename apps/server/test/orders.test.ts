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
async function bot(): Promise<{ id: string; number: number; botToken: string }> {
  const { body } = await t.post('/api/bots');
  t.secret(body.botToken);
  return body;
}
const claim = (id: string, token?: string) =>
  t.post(`/api/bots/${id}/claim`, undefined, token === undefined ? {} : { token });
const list = async (): Promise<Order[]> => (await t.get('/api/orders')).body.orders;
const one = async (id: string): Promise<Order> => (await t.get(`/api/orders/${id}`)).body;
/** The ids of a list, in order. */
async function paged(path: string): Promise<string[]> {
  const ids: string[] = [];
  let cursor = '';
  do {
    const { cursor: next, ...page } = (await t.get(`${path}limit=1${cursor}`)).body;
    ids.push(...(Object.values(page) as { id: string }[][]).flat().map(({ id }) => id));
    cursor = next && `&cursor=${next}`;
  } while (cursor);
  return ids;
}
const comesTo = (id: string, status: string) => expect.poll(async () => (await one(id)).status).toBe(status);
/** After this time an order is complete without any callback. */
const LEASE_MS = 12_000;
const clear = () => t.post('/api/orders/clear');
const patch = (path: string, body: object) => t.send('PATCH', path, body);

test('an order has a number, waits, is processed by a bot and is complete when its time is up', async () => {
  const made = await t.post('/api/orders', { type: 'VIP', userId: '018f3f2e-7f5a-7c3b-8a1d-0123456789ab' });
  expect(made.status).toBe(201);
  expect(made.body).toMatchObject({ orderNumber: 1, type: 'VIP', status: 'PENDING', botId: null });
  const { id, botToken } = await bot();
  const { status, body } = await claim(id, botToken);
  expect(status).toBe(200);
  expect(body).toMatchObject({ id: made.body.id, status: 'PROCESSING', botId: id });
  expect(Date.parse(body.processingEndsAt) - Date.parse(body.processingStartedAt)).toBe(10_000);
  const [row] = (await t.get('/api/bots')).body.bots;
  expect(row).toMatchObject({
    ...{ id, number: expect.any(Number), status: 'PROCESSING', currentOrderId: made.body.id },
    ...{ currentOrderNumber: 1, processingEndsAt: body.processingEndsAt },
    processingStartedAt: body.processingStartedAt,
  });
  expect(await paged('/api/bots?status=PROCESSING&')).toEqual([id]);
  const idle = await bot();
  expect(idle).toMatchObject({ currentOrderNumber: null, processingEndsAt: null });
  expect(idle.number).toBeGreaterThan(row.number);
  expect(await paged('/api/bots?status=IDLE&')).toEqual([idle.id]);
  expect(await paged('/api/bots?status=IDLE&deleted=true&')).toEqual([]);
  await t.del(`/api/bots/${idle.id}`);
  expect(await paged('/api/bots?status=IDLE&deleted=true&')).toEqual([idle.id]);
  expect((await t.get('/api/bots?status=DONE')).body).toMatchObject({ code: 'MUSTER_BAD_QUERY' });
  const report = async (view: string) =>
    (await t.engine.db.query({ text: `select * from muster_reports.${view} where tenant_id = 1` })).rows[0];
  expect(await report('orders')).toMatchObject({ id: made.body.id, status: 'PROCESSING', bot_id: id });
  expect(await report('bots')).toMatchObject({ id, status: 'PROCESSING', current_order_id: made.body.id });
  const again = await claim(id, botToken);
  expect(again.status).toBe(409);
  expect(again.body).toMatchObject({ code: 'BOT_BUSY', order: { id: made.body.id } });
  await t.pass(10_000);
  await comesTo(made.body.id, 'COMPLETE');
  expect(await one(made.body.id)).toMatchObject({
    ...{ status: 'COMPLETE', botId: id, completedAt: expect.any(String), completionReason: 'CALLBACK' },
    ...{ processingStartedAt: body.processingStartedAt, processingEndsAt: null },
  });
  expect((await t.get('/api/bots')).body.bots[0]).toMatchObject({ status: 'IDLE', currentOrderId: null });
  expect(await report('orders')).toMatchObject({ status: 'COMPLETE', completion_reason: 'CALLBACK' });
  expect(await report('bots')).toMatchObject({ status: 'IDLE', current_order_id: null });
  expect((await claim(id, botToken)).body).toBeNull();
  await clear();
});

test('the next order says whether it waits for any bot, a free one, or one that asks', async () => {
  const first = await order();
  const second = await order();
  const why = async (n: number) => {
    const { actions } = (await t.get('/api/actions?kind=order&state=pending')).body;
    const { code, text } = actions.reverse()[n].waitingFor;
    return { code, text };
  };
  for (const { id } of (await t.get('/api/bots')).body.bots) await t.del(`/api/bots/${id}`);
  expect(await why(0)).toEqual({ code: 'NO_BOT', text: 'There are no bots.' });
  const busy = await bot();
  expect(await why(0)).toEqual({
    code: 'NEXT_CONTACT',
    text: '1 of 1 bots is idle; the next claim gets it.',
  });
  expect(await why(1)).toMatchObject({ code: 'BEHIND' });
  expect((await claim(busy.id)).body).toMatchObject({ id: first.id });
  expect(await why(0)).toEqual({ code: 'NO_FREE_BOT', text: 'The only bot is busy.' });
  expect((await one(second.id)).status).toBe('PENDING');
  await clear();
});

test('G83: waiting orders are listed in the order of their turn, VIP first; then those processing and complete, newest first', async () => {
  const made = [await order(), await order('VIP'), await order(), await order('VIP'), await order()];
  const [a, b] = [await bot(), await bot()];
  await claim(a.id);
  await claim(b.id);
  await t.pass(LEASE_MS);
  await claim(a.id);
  const numbers = (await list()).map((row) => `${row.status} ${made.findIndex(({ id }) => id === row.id)}`);
  expect(numbers).toEqual(['PENDING 2', 'PENDING 4', 'PROCESSING 0', 'COMPLETE 3', 'COMPLETE 1']);
  expect(await paged('/api/orders?')).toEqual((await list()).map(({ id }) => id));
  // one status alone, however many orders of another come first
  const places = async (query: string) =>
    (await paged(`/api/orders?${query}&`)).map((id) => made.findIndex((row) => row.id === id));
  expect(await places('status=PENDING')).toEqual([2, 4]);
  expect(await places('status=PROCESSING')).toEqual([0]);
  expect(await places('status=COMPLETE')).toEqual([3, 1]);
  await clear();
  expect(await places('status=PROCESSING&deleted=true')).toEqual([]);
  // deleted ones have the same order, and none is processed
  const gone = (await paged('/api/orders?deleted=true&')).map((id) => made.findIndex((row) => row.id === id));
  expect(gone.filter((n) => n >= 0)).toEqual([0, 2, 4, 3, 1]);
  expect(await paged('/api/orders?deleted=false&')).toEqual([]);
});

test('an order is assigned to a bot by hand, taken back and completed, within the rules', async () => {
  const [first, second] = [await order(), await order()];
  const [a, b] = [await bot(), await bot()];
  const path = `/api/orders/${second.id}`;
  expect((await patch(path, { status: 'COMPLETE' })).body.code).toBe('MUSTER_ORDER_STATUS');
  expect((await patch(path, { status: 'PROCESSING' })).status).toBe(409);
  expect((await patch(path, { status: 'PROCESSING', botId: a.id })).body).toMatchObject({ botId: a.id });
  expect((await patch(path, { status: 'PROCESSING', botId: a.id })).status).toBe(200);
  expect((await patch(path, { status: 'PROCESSING', botId: b.id })).status).toBe(409);
  // its customer does not change on the way
  for (const odd of [
    { botId: null },
    { botId: b.id },
    { status: 'PENDING', botId: b.id },
    { status: 'COMPLETE', botId: b.id },
  ])
    expect((await patch(path, odd)).body).toMatchObject({ code: 'MUSTER_ORDER_STATUS' });
  for (const nothing of ['null', undefined])
    for (const of of [path, `/api/bots/${a.id}`])
      expect((await t.send('PATCH', of, nothing)).status).toBe(400);
  expect(await one(second.id)).toMatchObject({ status: 'PROCESSING', botId: a.id });
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

test('G83: a deleted bot returns its order to its old place; a deleted order frees its bot; both can be restored', async () => {
  const [first, second] = [await order(), await order()];
  const [a, b] = [await bot(), await bot()];
  await claim(a.id);
  expect((await t.del(`/api/bots/${a.id}`)).status).toBe(204);
  expect((await claim(a.id)).status).toBe(404);
  expect((await claim(a.id, a.botToken)).status).toBe(401);
  expect((await claim(b.id)).body.id).toBe(first.id);
  expect((await t.del(`/api/orders/${first.id}`)).status).toBe(204);
  expect((await t.del(`/api/orders/${first.id}`)).status).toBe(404);
  // a deleted order is unknown except in the list of deleted ones
  for (const [path, id, code] of [
    ['/api/orders', first.id, 'MUSTER_UNKNOWN_ORDER'],
    ['/api/bots', a.id, 'MUSTER_UNKNOWN_BOT'],
  ] as const) {
    expect(await t.get(`${path}/${id}`)).toMatchObject({ status: 404, body: { code } });
    expect(await paged(`${path}?deleted=true&`)).toContain(id);
  }
  expect((await t.get(`/api/bots/${b.id}`)).body).toMatchObject({
    id: b.id,
    status: 'IDLE',
    deletedAt: null,
  });
  expect((await list()).map(({ id }) => id)).toEqual([second.id]);
  expect((await patch(`/api/orders/${first.id}`, { status: 'PENDING' })).status).toBe(404);
  const restored = await patch(`/api/orders/${first.id}`, { deletedAt: null, status: 'PENDING' });
  expect(restored.body).toMatchObject({ status: 'PENDING', deletedAt: null, orderNumber: first.orderNumber });
  expect((await patch(`/api/bots/${a.id}`, { deletedAt: null })).body.deletedAt).toBeNull();
  for (const [path, id] of [
    ['/api/orders', first.id],
    ['/api/bots', a.id],
  ] as const) {
    expect((await t.get(`${path}/${id}`)).body).toMatchObject({ id, deletedAt: null });
    expect(await paged(`${path}?deleted=true&`)).not.toContain(id);
  }
  // in its old place, before the newer one
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

test('ids in upper case name the same order and bot', async () => {
  const [made, a] = [await order(), await bot()];
  const upper = (id: string) => id.toUpperCase();
  expect((await claim(upper(a.id), a.botToken)).body).toMatchObject({ id: made.id, botId: a.id });
  expect((await t.get('/api/bots')).body.bots).toContainEqual(
    expect.objectContaining({ id: a.id, currentOrderId: made.id }),
  );
  expect((await patch(`/api/bots/${a.id}`, { status: 'IDLE' })).body.status).toBe('IDLE');
  expect((await one(made.id)).status).toBe('PENDING');
  const given = { status: 'PROCESSING', botId: upper(a.id) };
  for (let n = 0; n < 2; n += 1)
    expect((await patch(`/api/orders/${upper(made.id)}`, given)).body).toMatchObject({
      ...{ id: made.id, status: 'PROCESSING', botId: a.id },
    });
  await t.pass(LEASE_MS);
  expect(await one(made.id)).toMatchObject({ status: 'COMPLETE', botId: a.id });
  expect((await t.del(`/api/orders/${upper(made.id)}`)).status).toBe(204);
  const renewed = (await t.post(`/api/bots/${upper(a.id)}/token`)).body;
  t.secret(renewed.botToken);
  expect(renewed.id).toBe(a.id);
  expect((await t.del(`/api/bots/${upper(a.id)}`)).status).toBe(204);
});

test('updatedAt never goes back', async () => {
  const [made, a] = [await order(), await bot()];
  const botNow = async () =>
    (await t.get('/api/bots')).body.bots.find(({ id }: { id: string }) => id === a.id).updatedAt as string;
  const seen = { order: [made.updatedAt], bot: [await botNow()] };
  for (const step of [
    () => claim(a.id),
    () => patch(`/api/orders/${made.id}`, { status: 'PENDING' }),
    () => claim(a.id),
    () => patch(`/api/bots/${a.id}`, { status: 'IDLE' }),
    () => claim(a.id),
    () => t.pass(LEASE_MS),
  ]) {
    t.clock.advance(1_000);
    await step();
    seen.order.push((await one(made.id)).updatedAt);
    seen.bot.push(await botNow());
  }
  for (const times of [seen.order, seen.bot]) expect(times).toEqual([...new Set(times)].sort());
  await clear();
});

test('G14: the call that ends the time of an order cannot be made due, neither singly nor by filter', async () => {
  const [made, { id }] = [await order(), await bot()];
  await claim(id);
  const { actions } = (await t.get('/api/actions?channel=callbacks&state=pending')).body;
  const call = actions.find(({ payload }: { payload: { body: string } }) =>
    payload.body.includes(made.id),
  ).id;
  const refused = await t.post(`/api/actions/${call}/make-due`, {});
  expect(refused).toMatchObject({ status: 409, body: { code: 'MUSTER_NOT_MADE_DUE' } });
  expect((await t.post('/api/actions/make-due', { channel: 'callbacks' })).body).toEqual({ due: 0 });
  expect((await t.get(`/api/actions/${call}`)).body.waitingFor).toMatchObject({ code: 'NOT_BEFORE' });
  await clear();
});

test('the action of an order can be neither moved nor copied; cancelling it deletes the order and frees its bot', async () => {
  const [first, second, a] = [await order(), await order(), await bot()];
  const { actions } = (await t.get('/api/actions?channel=order&state=pending')).body;
  const actionOf = (id: string) =>
    actions.find(({ payload }: { payload: { orderId: string } }) => payload.orderId === id).id;
  const moved = await t.post(`/api/actions/${actionOf(second.id)}/move-to-front`, {});
  expect(moved).toMatchObject({ status: 409, body: { code: 'MUSTER_NOT_MOVED' } });
  expect((await claim(a.id)).body.id).toBe(first.id);
  expect((await t.post(`/api/actions/${actionOf(first.id)}/cancel`, {})).body.outcome).toBe('requested');
  expect((await list()).map(({ id }) => id)).toEqual([second.id]);
  for (const status of ['PENDING', 'COMPLETE'])
    expect((await patch(`/api/orders/${first.id}`, { status })).status).toBe(404);
  await expect.poll(async () => (await claim(a.id)).body.id).toBe(second.id);
  // by a filter as well; the callbacks of both are cancelled
  await t.post('/api/actions/cancel', { channel: 'order' });
  await expect.poll(async () => (await claim(a.id)).body).toBeNull();
  const copied = await t.post(`/api/actions/${actionOf(second.id)}/copy`, {});
  expect(copied).toMatchObject({ status: 409, body: { code: 'MUSTER_NOT_COPIED' } });
  const { events } = (await t.get('/v2/events?label=/api/orders/complete&count=2')).body;
  expect(events.filter(({ state }: { state: string }) => state === 'CANCELED')).toHaveLength(2);
  const restored = await patch(`/api/orders/${first.id}`, { deletedAt: null, status: 'PENDING' });
  expect(restored.body).toMatchObject({ status: 'PENDING', deletedAt: null });
  await t.pass(LEASE_MS);
  expect((await list()).map(({ id, status }) => [id, status])).toEqual([[first.id, 'PENDING']]);
  await clear();
});

test('G83: whatever an operator does while bots compete and the server restarts, each order is completed once', async () => {
  await clear();
  let isRestarted = false;
  const report = await playOrders({
    ...{ bots: 10, orders: 40, seed: process.env.MUSTER_TEST_SEED ?? '1', operator: t.operator },
    url: () => t.server.url,
    elapse: () => t.pass(LEASE_MS),
    async disturb(done) {
      if (isRestarted || done < 0.3) return;
      isRestarted = true;
      await t.restart();
    },
  });
  expect(report.faults).toEqual([]);
  // how much is compared varies: a round with a lost answer is not
  expect(isRestarted && report.compared > 0 && report.acts > 0).toBe(true);
  await clear();
});

test('an action that an operator cancels is a deleted order; deleted orders are removed after some days', async () => {
  const made = await order();
  const { actions } = (await t.get('/api/actions?channel=order&state=pending')).body;
  expect((await t.post(`/api/actions/${actions[0].id}/cancel`, {})).status).toBe(200);
  expect(await list()).toEqual([]);
  expect((await patch(`/api/orders/${made.id}`, { deletedAt: null })).body.status).toBe('PENDING');
  await t.del(`/api/orders/${made.id}`);
  // its action has been pruned by then
  await t.pass(20 * 86_400_000);
  for (const duty of ['keep-days', 'prune', 'prune-orders']) await t.engine.runDuty(duty);
  expect((await t.get(`/api/actions/${actions[0].id}`)).status).toBe(404);
  const restored = await patch(`/api/orders/${made.id}`, { deletedAt: null });
  expect(restored.body).toMatchObject({ status: 'PENDING', orderNumber: made.orderNumber });
  await t.del(`/api/orders/${made.id}`);
  await t.pass(31 * 86_400_000);
  await t.engine.runDuty('prune-orders');
  expect((await patch(`/api/orders/${made.id}`, { deletedAt: null })).status).toBe(404);
});

test('complete orders are pruned with other finished actions, waiting ones are not', async () => {
  const today = () => t.engine.runDuty('keep-days');
  await today();
  const [done, waits, a] = [await order('VIP'), await order(), await bot()];
  await claim(a.id);
  await patch(`/api/orders/${done.id}`, { status: 'COMPLETE' });
  await t.pass(13 * 86_400_000);
  await t.engine.runDuty('prune-orders');
  expect((await one(done.id)).status).toBe('COMPLETE');
  await t.pass(86_401_000);
  await t.engine.runDuty('prune-orders');
  expect((await t.get(`/api/orders/${done.id}`)).status).toBe(404);
  expect((await list()).map(({ id }) => id)).toEqual([waits.id]);
  await today();
  await clear();
});

test('a bot token claims only for its own bot', async () => {
  const [a, b] = [await bot(), await bot()];
  expect((await claim(b.id, a.botToken)).body.code).toBe('MUSTER_WRONG_BOT');
  expect((await t.get('/api/orders', { token: a.botToken })).status).toBe(403);
  // a restored bot has no token, and gets a new one
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
