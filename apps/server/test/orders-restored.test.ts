import type { Bot, Order } from '@muster/contracts';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { type TestServer, testServer } from '../testing/test-server.ts';

/** Orders that are given back, cancelled and restored, again and again, while bots claim them. */
let t: TestServer;
beforeAll(async () => {
  t = await testServer({ clock: true });
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
/** The bodies of the callbacks of an order, the newest first. */
async function calls(id: string): Promise<{ orderId: string; botId: string; attempt: number }[]> {
  const { actions } = (await t.get('/api/actions?channel=callbacks')).body;
  const bodies = actions.map(({ payload }: { payload: { body: string } }) => JSON.parse(payload.body));
  return bodies.filter(({ orderId }: { orderId: string }) => orderId === id);
}

test('G4 G83: an order that operators give back ever so often waits in its old place at once', async () => {
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

test('whoever assigns an order that is not handed out is told the reason', async () => {
  const [made, a] = [await order(), await bot()];
  const assign = () => patch(`/api/orders/${made.id}`, { status: 'PROCESSING', botId: a.id });
  await t.post('/api/pause', {});
  expect(await assign()).toMatchObject({
    ...{ status: 409, body: { code: 'MUSTER_ORDER_STATUS', error: expect.stringMatching(/paused\.$/) } },
  });
  await t.post('/api/resume', {});
  // cancelled after it was looked at
  const claimFromPool = t.engine.claimFromPool.bind(t.engine);
  const action = await actionOf(made.id);
  vi.spyOn(t.engine, 'claimFromPool').mockImplementationOnce(async (tx, item) => {
    await t.engine.cancel(tx, { tenantId: 1, actionId: action });
    return claimFromPool(tx, item);
  });
  expect((await assign()).body.error).toBe('The order was deleted meanwhile.');
  expect((await assign()).status).toBe(200);
});

