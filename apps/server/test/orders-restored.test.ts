import type { Bot, Order } from '@muster/contracts';
import type { Database } from '@muster/engine';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { type TestServer, testServer } from '../testing/test-server.ts';

/** Orders that are returned, cancelled and restored again and again while bots claim them. */
let t: TestServer;
/** Before the next look for bots of cancelled orders, outside of transactions. */
let heldUp: (() => Promise<void>) | null = null;
const gated = (db: Database): Database => ({
  ...db,
  async query(query) {
    const wait = query.name === 'muster_orders_still_processed' ? heldUp : null;
    if (wait) heldUp = null;
    await wait?.();
    return db.query(query);
  },
});
beforeAll(async () => {
  t = await testServer({ clock: true, database: gated });
});
afterAll(() => t.close());
afterEach(async () => {
  vi.restoreAllMocks();
  await t.post('/api/orders/clear');
});

const order = async (type: 'NORMAL' | 'VIP' = 'NORMAL'): Promise<Order> =>
  (await t.post('/api/orders', { type })).body;
async function bot(): Promise<Bot> {
  const { botToken, ...made } = (await t.post('/api/bots')).body;
  t.secret(botToken);
  return made;
}
const claim = (id: string) => t.post(`/api/bots/${id}/claim`);
const patch = (path: string, body: object) => t.send('PATCH', path, body);
const restore = (id: string) => patch(`/api/orders/${id}`, { deletedAt: null });
const one = async (id: string): Promise<Order> => (await t.get(`/api/orders/${id}`)).body;
const botNow = async (id: string): Promise<Bot> => (await t.get(`/api/bots/${id}`)).body;
const idle = { status: 'IDLE', currentOrderId: null };
async function actionOf(id: string): Promise<string> {
  const { actions } = (await t.get('/api/actions?channel=order')).body;
  return actions.find(({ payload }: { payload: { orderId: string } }) => payload.orderId === id).id;
}
/** The bodies of the callbacks of an order, newest first. */
async function calls(id: string): Promise<{ orderId: string; botId: string; attempt: number }[]> {
  const { actions } = (await t.get('/api/actions?channel=callbacks')).body;
  const bodies = actions.map(({ payload }: { payload: { body: string } }) => JSON.parse(payload.body));
  return bodies.filter(({ orderId }: { orderId: string }) => orderId === id);
}

test('G4 G83: an order that operators return any number of times waits in its old place at once', async () => {
  const [vip, a, b] = [await order('VIP'), await bot(), await bot()];
  const back = [
    (by: Bot) => patch(`/api/bots/${by.id}`, { status: 'IDLE' }),
    () => patch(`/api/orders/${vip.id}`, { status: 'PENDING' }),
    async (by: Bot) => {
      await t.del(`/api/bots/${by.id}`);
      await patch(`/api/bots/${by.id}`, { deletedAt: null });
    },
  ];
  for (let n = 0; n < 33; n += 1) {
    t.clock.advance(1);
    expect((await claim(a.id)).body).toMatchObject({ id: vip.id });
    await back[n % 3]?.(a);
  }
  const normal = await order();
  const { actions } = (await t.get('/api/actions?channel=order&state=pending')).body;
  expect(actions.map(({ failures }: { failures: number }) => failures)).toEqual([0, 0]);
  expect((await claim(b.id)).body.id).toBe(vip.id);
  expect((await claim(a.id)).body.id).toBe(normal.id);
});

test('assigning an order that cannot be handed out is refused with the reason', async () => {
  const [made, a] = [await order(), await bot()];
  const assign = () => patch(`/api/orders/${made.id}`, { status: 'PROCESSING', botId: a.id });
  await t.post('/api/pause', {});
  expect(await assign()).toMatchObject({
    ...{ status: 409, body: { code: 'MUSTER_ORDER_STATUS', error: expect.stringMatching(/paused\.$/) } },
  });
  await t.post('/api/resume', {});
  // cancelled after it was read
  const claimFromPool = t.engine.claimFromPool.bind(t.engine);
  const action = await actionOf(made.id);
  vi.spyOn(t.engine, 'claimFromPool').mockImplementationOnce(async (tx, item) => {
    await t.engine.cancel(tx, { tenantId: 1, actionId: action });
    return claimFromPool(tx, item);
  });
  expect((await assign()).body.error).toBe('The order has just been deleted.');
  expect((await assign()).status).toBe(200);
});

test('G83: an order that is cancelled and restored before its bot is free leaves that bot free', async () => {
  const [made, a] = [await order(), await bot()];
  await claim(a.id);
  // the duty that frees the bots of cancelled orders has not run yet
  let open = () => {};
  let isReached = false;
  heldUp = () => {
    isReached = true;
    return new Promise<void>((resolve) => {
      open = resolve;
    });
  };
  expect((await t.post(`/api/actions/${await actionOf(made.id)}/cancel`, {})).status).toBe(200);
  await expect.poll(() => isReached).toBe(true);
  expect((await restore(made.id)).body).toMatchObject({ status: 'PENDING', botId: null });
  expect(await botNow(a.id)).toMatchObject(idle);
  t.clock.advance(1);
  expect((await claim(a.id)).body).toMatchObject({ id: made.id, status: 'PROCESSING', botId: a.id });
  open();
  expect((await patch(`/api/bots/${a.id}`, { status: 'IDLE' })).body).toMatchObject(idle);
  expect((await one(made.id)).status).toBe('PENDING');
});

test('G83: a bot whose cancelled order was not freed yet is set idle by hand', async () => {
  const [made, a] = [await order(), await bot()];
  await claim(a.id);
  vi.spyOn(t.engine, 'reportMany').mockRejectedValue(new Error('not now'));
  await t.post(`/api/actions/${await actionOf(made.id)}/cancel`, {});
  await expect
    .poll(() => t.log())
    .toContain('The bots of cancelled orders become free when their leases end.');
  expect(await claim(a.id)).toMatchObject({ status: 409, body: { code: 'MUSTER_ORDER_STATUS' } });
  expect((await patch(`/api/bots/${a.id}`, { status: 'IDLE' })).body).toMatchObject(idle);
  expect((await claim(a.id)).body).toBeNull();
});

test('G83: the callback of a claim before the order was restored does not complete it', async () => {
  const [made, a] = [await order(), await bot()];
  for (const attempt of [1, 2]) {
    await claim(a.id);
    expect((await calls(made.id))[0]).toMatchObject({ attempt });
    await t.del(`/api/orders/${made.id}`);
    await restore(made.id);
    t.clock.advance(1_000);
  }
  // returned within one life, too
  await claim(a.id);
  await patch(`/api/orders/${made.id}`, { status: 'PENDING' });
  t.clock.advance(1_000);
  await claim(a.id);
  expect((await calls(made.id)).map(({ attempt }) => attempt)).toEqual([4, 3, 2, 1]);
  // all of them arrive, as if none had been cancelled
  const answers: string[] = [];
  for (const [n, body] of (await calls(made.id)).toReversed().entries()) {
    const at = new Date(t.clock().getTime() + 1);
    const call = { tenantId: 1, path: '/api/orders/complete', at, body, deduplicationId: `again-${n}` };
    await t.server.callbacks.schedule(t.engine.db, call);
    t.clock.advance(1);
    await t.pass(0);
    await expect
      .poll(async () => {
        const { events } = (await t.get('/v2/events?state=DELIVERED')).body;
        return events.length;
      })
      .toBe(n + 1);
    const { events } = (await t.get('/v2/events?state=DELIVERED')).body;
    answers.push(JSON.parse(events[0].responseBody).message);
    if (n < 3) expect(await one(made.id)).toMatchObject({ status: 'PROCESSING', botId: a.id });
  }
  expect(answers).toEqual([...Array(3).fill('Order already finalized'), 'Order completed']);
  expect(await one(made.id)).toMatchObject({ status: 'COMPLETE', completionReason: 'CALLBACK' });
});

test('G83: a claim does not answer with an order that the bot lost before the answer was built', async () => {
  const a = await bot();
  const losses: ((made: Order) => Promise<unknown>)[] = [
    () => patch(`/api/bots/${a.id}`, { status: 'IDLE' }),
    ({ id }) => t.del(`/api/orders/${id}`),
    ({ id }) => patch(`/api/orders/${id}`, { status: 'COMPLETE' }),
    async ({ id }) => {
      await t.del(`/api/orders/${id}`);
      await restore(id);
    },
  ];
  const claimFromPool = t.engine.claimFromPool.bind(t.engine);
  for (const lose of losses) {
    const made = await order();
    vi.spyOn(t.engine, 'claimFromPool').mockImplementationOnce(async (db, item) => {
      const got = await claimFromPool(db, item);
      await lose(made);
      return got;
    });
    expect(await claim(a.id)).toMatchObject({ status: 409, body: { code: 'MUSTER_ORDER_STATUS' } });
    expect(await botNow(a.id)).toMatchObject(idle);
    await t.post('/api/orders/clear');
  }
});
