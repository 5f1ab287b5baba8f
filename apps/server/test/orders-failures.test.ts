import type { Bot, Order } from '@muster/contracts';
import type { Database } from '@muster/engine';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { sign } from '../src/callbacks/signing-keys.ts';
import { startDestination } from '../testing/destination.ts';
import { rawConnection } from '../testing/raw-http.ts';
import { type TestServer, testServer } from '../testing/test-server.ts';

/** Failures between a claim and the end of its order; times are in seconds since the claim. */
let t: TestServer;
/** The next transaction that reaches this statement stops before it. */
let before: { readonly name: string; reach(): Promise<void> } | null = null;
const gated = (db: Database): Database => ({
  ...db,
  transaction: (run, limits) =>
    db.transaction(
      (tx) =>
        run({
          async query(query) {
            const gate = query.name === before?.name ? before : null;
            if (gate) before = null;
            await gate?.reach();
            return tx.query(query);
          },
          afterCommit: (then) => tx.afterCommit(then),
          ifInDoubt: (then) => tx.ifInDoubt(then),
        }),
      limits,
    ),
});
beforeAll(async () => {
  t = await testServer({ clock: true, database: gated, faults: true });
});
afterAll(() => t.close());
afterEach(async () => {
  await t.post('/api/orders/clear');
  for (const { id } of await bots()) await t.del(`/api/bots/${id}`);
});

const order = async (on = t, type: 'NORMAL' | 'VIP' = 'NORMAL'): Promise<Order> =>
  (await on.post('/api/orders', { type })).body;
const bot = async (on = t): Promise<Bot> => {
  const { botToken, ...made } = (await on.post('/api/bots')).body;
  on.secret(botToken);
  return made;
};
const claim = (id: string, on = t) => on.post(`/api/bots/${id}/claim`);
const patch = (path: string, body: object) => t.send('PATCH', path, body);
const list = async (on = t): Promise<Order[]> => (await on.get('/api/orders')).body.orders;
const bots = async (on = t): Promise<Bot[]> => (await on.get('/api/bots')).body.bots;
const one = async (id: string, on = t) => (await list(on)).find((row) => row.id === id) as Order;
const isDone = (id: string, on = t) => expect.poll(async () => (await one(id, on)).status).toBe('COMPLETE');
const seconds = (n: number) => () => t.clock.advance(n * 1_000);
/** Runs every duty that is due, and waits for what its callbacks lead to. */
const now = () => t.pass(0);
/** The three stuck states: none of them ever exists. */
async function nobodyIsStuck(on = t): Promise<void> {
  const orders = await list(on);
  for (const { currentOrderId, id, status } of await bots(on)) {
    expect(status === 'PROCESSING').toBe(currentOrderId !== null);
    if (currentOrderId === null) continue;
    expect(orders.find((row) => row.id === currentOrderId)).toMatchObject({
      status: 'PROCESSING',
      botId: id,
    });
  }
}

/** The messages to /api/orders/complete about it. */
async function messagesOf(id: string): Promise<{ id: string; payload: { url: string; body: string } }[]> {
  const { actions } = (await t.get('/api/actions?channel=callbacks')).body;
  return actions.filter(({ payload }: { payload: { body: string } }) => payload.body.includes(id));
}

/** The events of the only one of them, newest first. */
async function callbacksOf(
  id: string,
): Promise<{ state: string; responseBody?: string; responseStatus?: number }[]> {
  const messages = await messagesOf(id);
  expect(messages.length).toBeLessThanOrEqual(1);
  const [message] = messages;
  return message ? (await t.get(`/v2/events?messageId=msg_${message.id}`)).body.events : [];
}
const sent = async (id: string) => (await callbacksOf(id)).map(({ state }) => state);

/** An order that a bot is processing. */
async function claimed(): Promise<{ order: Order; bot: Bot }> {
  const [made, by] = [await order(), await bot()];
  expect((await claim(by.id)).body.id).toBe(made.id);
  return { order: await one(made.id), bot: by };
}

async function signedBody(on: TestServer, key: string, body: object, path = '/api/orders/complete?tenant=1') {
  const bytes = JSON.stringify(body);
  const signature = await sign(key, {
    ...{ at: on.clock(), body: Buffer.from(bytes), messageId: 'msg_1', url: `https://muster.example${path}` },
  });
  return on.post('/api/orders/complete?tenant=1', bytes, {
    ...{ token: null, headers: { 'upstash-signature': signature } },
  });
}
/** Part of every completion fails meanwhile: the order cannot be written. */
async function unableToComplete(run: () => Promise<void>): Promise<void> {
  const { db, schema } = t.engine;
  const change = (what: string) => db.query({ text: `alter table ${schema}.orders ${what}` });
  await change('add constraint broken check (completed_at is null) not valid');
  await run().finally(() => change('drop constraint broken'));
}
const publishedKey = async () => (await t.get('/v2/keys')).body.current as string;
const key = async () => (await t.server.callbacks.keys.ensure(t.engine.db, 1)).own;

describe('the five scenarios', () => {
  test('G83: scenario 1, the callback of a claim completes the order ten seconds later and frees its bot', async () => {
    const { order: made, bot: by } = await claimed();
    const [message] = await messagesOf(made.id);
    expect(message?.payload.url).toBe('/api/orders/complete?tenant=1');
    expect(JSON.parse(message?.payload.body ?? '')).toEqual({ orderId: made.id, botId: by.id, attempt: 1 });
    await t.pass(9_900);
    expect((await one(made.id)).status).toBe('PROCESSING');
    await t.pass(100);
    await isDone(made.id);
    expect(await one(made.id)).toMatchObject({ botId: by.id, completionReason: 'CALLBACK' });
    expect((await bots())[0]).toMatchObject({ status: 'IDLE', currentOrderId: null });
    const { actions } = (await t.get('/api/actions?channel=order&state=succeeded&limit=1')).body;
    expect(actions[0]).toMatchObject({ state: 'succeeded', reason: 'CALLBACK' });
  });

  test('G83: scenario 2, a failed callback is retried and completes the order', async () => {
    const { order: made } = await claimed();
    await unableToComplete(async () => {
      await t.pass(10_000);
      await expect
        .poll(async () => {
          await now();
          return (await sent(made.id))[0];
        })
        .toBe('RETRY');
    });
    expect((await callbacksOf(made.id))[1]).toMatchObject({ state: 'ERROR', responseStatus: 500 });
    expect((await one(made.id)).status).toBe('PROCESSING');
    await t.pass(700);
    await isDone(made.id);
    expect((await one(made.id)).completionReason).toBe('CALLBACK');
  });

  test('G83: scenario 3, after a restart at 3 s the earlier callback comes at 10 s; scheduling it again gives the same one', async () => {
    const { order: made, bot: by } = await claimed();
    await t.restart(seconds(3));
    expect((await one(made.id)).status).toBe('PROCESSING');
    const startedAt = new Date(made.processingStartedAt as string);
    await t.server.callbacks.schedule(t.engine.db, {
      ...{ tenantId: 1, path: '/api/orders/complete', at: new Date(startedAt.getTime() + 10_000) },
      body: { orderId: made.id, botId: by.id, attempt: 1 },
      deduplicationId: `${made.id}-${startedAt.getTime()}`,
    });
    expect(await sent(made.id)).toEqual(['CREATED']);
    await t.pass(7_000);
    await isDone(made.id);
    expect((await one(made.id)).completionReason).toBe('CALLBACK');
    await expect.poll(async () => (await sent(made.id))[0]).toBe('DELIVERED');
  });

  test('G83: scenario 4, started again at 15 s, after the callback was due, the server completes the order at once; the late callback changes nothing', async () => {
    const { order: made, bot: by } = await claimed();
    await t.restart(seconds(15));
    await now();
    await isDone(made.id);
    const done = await one(made.id);
    const late = await signedBody(t, await key(), { orderId: made.id, botId: by.id, attempt: 1 });
    expect(late).toMatchObject({ status: 200, body: { message: 'Order already finalized' } });
    expect(await one(made.id)).toEqual(done);
    await nobodyIsStuck();
  });

  test('G83: scenario 5, while QStash is down bots get orders, and the end of the lease completes them', async () => {
    const qstash = await startDestination();
    qstash.on('/v2/publish/https://muster.example/api/orders/complete', (response) =>
      response.writeHead(503).end(),
    );
    const other = await testServer({
      clock: true,
      settings: {
        ...{
          QSTASH_URL: `http://127.0.0.1:${qstash.port}`,
          QSTASH_TOKEN: 'a',
          MUSTER_PUBLIC_URL: 'https://muster.example',
        },
        ...{ QSTASH_CURRENT_SIGNING_KEY: 'c'.repeat(32), QSTASH_NEXT_SIGNING_KEY: 'n'.repeat(32) },
      },
    });
    const [made, by] = [await order(other), await bot(other)];
    const { body, status } = await claim(by.id, other);
    expect(status).toBe(200);
    await expect.poll(() => other.log()).toContain('QStash did not accept a call.');
    const [asked] = qstash.arrived;
    const startedAt = Date.parse(body.processingStartedAt);
    expect(asked?.headers).toMatchObject({
      ...{ authorization: 'Bearer a', 'upstash-deduplication-id': `${made.id}-${startedAt}` },
      'upstash-not-before': String(Math.ceil((startedAt + 10_000) / 1_000)),
    });
    expect(JSON.parse(asked?.body ?? '')).toEqual({ orderId: made.id, botId: by.id, attempt: 1 });
    await other.pass(11_900);
    expect((await one(made.id, other)).status).toBe('PROCESSING');
    await other.pass(100);
    expect(await one(made.id, other)).toMatchObject({ status: 'COMPLETE', completionReason: 'LEASE_END' });
    // a callback of the account is accepted, signed with either of its keys
    const second = await order(other);
    const attempt = { orderId: second.id, botId: by.id, attempt: 1 };
    await claim(by.id, other);
    expect((await signedBody(other, 'x'.repeat(32), attempt)).status).toBe(401);
    expect((await signedBody(other, 'n'.repeat(32), attempt)).body).toEqual({ message: 'Order completed' });
    expect((await signedBody(other, 'c'.repeat(32), attempt)).body).toEqual({
      message: 'Order already finalized',
    });
    expect((await one(second.id, other)).completionReason).toBe('CALLBACK');
    await other.close();
    await qstash.close();
  });

  test('G83: at 0 / 5 / 10 / 20 s, a server that is down from 5 s to 20 s shows the order complete when it is asked again', async () => {
    const { order: made } = await claimed();
    await t.pass(5_000);
    expect((await one(made.id)).status).toBe('PROCESSING');
    await t.restart(seconds(15));
    await now();
    await isDone(made.id);
    await nobodyIsStuck();
    expect((await bots())[0]?.status).toBe('IDLE');
  });

  test('G83: a hundred reads at once during a completion see the order before it or after it, never half', async () => {
    const { order: made } = await claimed();
    await t.pass(9_000);
    const before = await one(made.id);
    t.clock.advance(3_000);
    const [, ...pages] = await Promise.all([now(), ...Array.from({ length: 100 }, () => list())]);
    await isDone(made.id);
    const after = await one(made.id);
    for (const [row] of pages as Order[][]) expect([before, after]).toContainEqual(row);
    // reads repair nothing: the history has one SENT and one end
    const { actions } = (await t.get('/api/actions?channel=order&state=succeeded&limit=1')).body;
    const { events } = (await t.get(`/api/actions/${actions[0].id}`)).body;
    expect(events.filter(({ type }: { type: string }) => type === 'SENT')).toHaveLength(1);
    expect(events.filter(({ type }: { type: string }) => type === 'SUCCEEDED')).toHaveLength(1);
  });
});

describe('the five fault conditions', () => {
  test('G83: fault 1, a server that restarts while an order is processed', async () => {
    const { order: made } = await claimed();
    await t.restart(seconds(4));
    expect(await one(made.id)).toEqual(made);
    await t.pass(6_000);
    await isDone(made.id);
  });

  test('G83: fault 2, a callback that could not be scheduled', async () => {
    const [made, by] = [await order(), await bot()];
    const { db, schema } = t.engine;
    await t.restart(); // it knows no lane of callbacks any more
    await db.query({ text: `alter table ${schema}.callback_lanes rename to callback_lanes_away` });
    expect((await claim(by.id)).body.status).toBe('PROCESSING');
    await db.query({ text: `alter table ${schema}.callback_lanes_away rename to callback_lanes` });
    expect(t.log()).toContain('No callback is scheduled for an order');
    expect(await sent(made.id)).toEqual([]);
    await t.pass(12_000);
    expect(await one(made.id)).toMatchObject({ status: 'COMPLETE', completionReason: 'LEASE_END' });
  });

  test('G83: fault 3, a callback that is lost, or that fails after it was accepted and is repeated', async () => {
    const { order: lost } = await claimed();
    const [message] = await messagesOf(lost.id);
    await t.del(`/v2/messages/msg_${message?.id}`);
    await t.pass(10_000);
    expect((await one(lost.id)).status).toBe('PROCESSING');
    await t.pass(2_000);
    expect(await one(lost.id)).toMatchObject({ status: 'COMPLETE', completionReason: 'LEASE_END' });
    const { order: made, bot: by } = await claimed();
    const said = { orderId: made.id, botId: by.id, attempt: 1 };
    expect((await signedBody(t, await key(), said)).body).toEqual({ message: 'Order completed' });
    expect((await signedBody(t, await key(), said)).body).toEqual({ message: 'Order already finalized' });
    await t.pass(12_000);
    await expect
      .poll(async () => (await callbacksOf(made.id))[0])
      .toMatchObject({
        ...{ state: 'DELIVERED', responseBody: '{"message":"Order already finalized"}' },
      });
  });

  test('G83: fault 4, a bot whose connection breaks before the answer to its claim', async () => {
    const [made, by] = [await order(), await bot()];
    const raw = rawConnection(t.server.url);
    raw.send(
      `POST /api/bots/${by.id}/claim HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${t.operator}\r\ncontent-length: 0\r\n\r\n`,
    );
    raw.socket.destroySoon();
    await expect.poll(async () => (await one(made.id)).status).toBe('PROCESSING');
    const again = await claim(by.id);
    expect(again).toMatchObject({ status: 409, body: { code: 'BOT_BUSY', order: { id: made.id } } });
    await t.pass(12_000);
    await isDone(made.id);
  });

  test('G83: fault 5, a completion that fails in part has not happened at all', async () => {
    const { order: made, bot: by } = await claimed();
    const said = { orderId: made.id, botId: by.id, attempt: 1 };
    await unableToComplete(async () => {
      expect((await signedBody(t, await key(), said)).status).toBe(500);
    });
    expect((await one(made.id)).status).toBe('PROCESSING');
    await nobodyIsStuck();
    expect((await signedBody(t, await key(), said)).body).toEqual({ message: 'Order completed' });
    await nobodyIsStuck();
  });
});

describe('the three stuck states', () => {
  test('G83: stuck state 1, a PROCESSING bot without an order: however an order ends, its bot is idle in the same transaction', async () => {
    type Way = (order: Order, bot: Bot) => Promise<unknown>;
    // by its own end, or by an operator: then its callback is cancelled
    const byItself: Way[] = [
      async (made, by) => signedBody(t, await key(), { orderId: made.id, botId: by.id, attempt: 1 }),
      () => t.pass(12_000),
    ];
    const bySomebody: Way[] = [
      (made) => patch(`/api/orders/${made.id}`, { status: 'COMPLETE' }),
      (made) => patch(`/api/orders/${made.id}`, { status: 'PENDING' }),
      (made) => t.del(`/api/orders/${made.id}`),
      (_, by) => patch(`/api/bots/${by.id}`, { status: 'IDLE', currentOrderId: null }),
      () => t.post('/api/orders/clear'),
    ];
    for (const way of [...byItself, ...bySomebody]) {
      const { order: made, bot: by } = await claimed();
      await way(made, by);
      if (bySomebody.includes(way)) expect((await sent(made.id))[0]).toBe('CANCELED');
      expect((await bots()).find(({ id }) => id === by.id)).toMatchObject({
        status: 'IDLE',
        currentOrderId: null,
      });
      await nobodyIsStuck();
      await t.post('/api/orders/clear');
    }
  });

  test('G83: stuck state 2, a deleted bot with a deleted order: the steps that lead there leave neither behind', async () => {
    const { order: first, bot: by } = await claimed();
    const second = await order();
    expect((await t.del(`/api/bots/${by.id}`)).status).toBe(204);
    expect(await one(first.id)).toMatchObject({ status: 'PENDING', botId: null, processingStartedAt: null });
    const other = await bot();
    await patch(`/api/orders/${second.id}`, { status: 'PROCESSING', botId: other.id });
    expect((await t.del(`/api/orders/${second.id}`)).status).toBe(204);
    await nobodyIsStuck();
    expect((await bots()).map(({ status }) => status)).toEqual(['IDLE']);
    // both callbacks were cancelled with their claims, and nothing comes back later
    expect([(await sent(first.id))[0], (await sent(second.id))[0]]).toEqual(['CANCELED', 'CANCELED']);
    await t.pass(12_000);
    expect((await one(first.id)).status).toBe('PENDING');
    // recovered by hand
    await patch(`/api/orders/${second.id}`, { deletedAt: null, status: 'PENDING' });
    expect((await list()).map(({ id }) => id)).toEqual([first.id, second.id]);
    expect((await claim(other.id)).body.id).toBe(first.id);
  });

  test('G83: stuck state 3, a complete order whose bot continues: the callback of a deleted bot completes nothing', async () => {
    const { order: made, bot: by } = await claimed();
    const said = { orderId: made.id, botId: by.id, attempt: 1 };
    expect((await t.del(`/api/bots/${by.id}`)).status).toBe(204);
    expect((await signedBody(t, await key(), said)).body).toEqual({ message: 'Order already finalized' });
    expect((await one(made.id)).status).toBe('PENDING');
    expect((await patch(`/api/bots/${by.id}`, { deletedAt: null })).body).toMatchObject({
      ...{ status: 'IDLE', currentOrderId: null },
    });
    // claimed again by the same bot it is another attempt, and the callback of the first still changes nothing
    expect((await claim(by.id)).body.id).toBe(made.id);
    expect((await signedBody(t, await key(), said)).body).toEqual({ message: 'Order already finalized' });
    expect((await signedBody(t, await key(), { ...said, attempt: 2 })).body).toEqual({
      message: 'Order completed',
    });
    await nobodyIsStuck();
  });
});

/** Calls of the door to `name` stop before it until the gate is opened; `reached` counts them. */
function gateBefore<On extends object>(on: On, name: keyof On) {
  let reached = 0;
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const original = on[name] as (...given: unknown[]) => unknown;
  const spy = vi.spyOn(on as Record<string, (...given: unknown[]) => unknown>, String(name));
  spy.mockImplementation(async (...given) => {
    reached += 1;
    await opened;
    return original.apply(on, given);
  });
  return {
    reached: (times = 1) => expect.poll(() => reached).toBe(times),
    /** Later calls do not stop. */
    free: () => void spy.mockRestore(),
    open() {
      spy.mockRestore();
      open();
    },
  };
}

describe('races, made with gates', () => {
  const stateOf = async (id: string) => ((await one(id)) ?? { status: 'DELETED' }).status;

  test('G83: two claims of one bot: one gets the next order, the other is told so', async () => {
    const [first, second, by] = [await order(), await order(), await bot()];
    const gate = gateBefore(t.engine, 'claimFromPool');
    const asked = [claim(by.id), claim(by.id)];
    await gate.reached(2);
    gate.open();
    const answers = (await Promise.all(asked)).toSorted((a, b) => a.status - b.status);
    expect(answers[0]).toMatchObject({ status: 200, body: { id: first.id } });
    expect(answers[1]).toMatchObject({ status: 409, body: { order: { id: first.id } } });
    expect(await stateOf(second.id)).toBe('PENDING');
  });

  test('G83: a claim that comes after the deletion of its bot gets nothing', async () => {
    const [made, by] = [await order(), await bot()];
    const gate = gateBefore(t.engine, 'claimFromPool');
    const asked = claim(by.id);
    await gate.reached();
    expect((await t.del(`/api/bots/${by.id}`)).status).toBe(204);
    gate.open();
    expect((await asked).body).toBeNull();
    expect(await stateOf(made.id)).toBe('PENDING');
  });

  test('G83: an order claimed while its bot is being deleted is returned, and its callback is cancelled', async () => {
    const [made, by] = [await order(), await bot()];
    const gate = gateBefore(t.engine, 'blockLane');
    const removed = t.del(`/api/bots/${by.id}`);
    await gate.reached();
    expect((await claim(by.id)).body.id).toBe(made.id);
    gate.open();
    expect((await removed).status).toBe(204);
    expect(await stateOf(made.id)).toBe('PENDING');
    expect((await sent(made.id))[0]).toBe('CANCELED');
  });

  test('G83: a callback that is scheduled after its order was returned changes nothing', async () => {
    const [made, by] = [await order(), await bot()];
    const gate = gateBefore(t.server.callbacks, 'schedule');
    const asked = claim(by.id);
    await gate.reached();
    expect((await patch(`/api/bots/${by.id}`, { status: 'IDLE' })).status).toBe(200);
    gate.open();
    expect((await asked).status).toBe(200);
    await t.pass(10_000);
    await expect
      .poll(async () => (await callbacksOf(made.id))[0])
      .toMatchObject({
        ...{ state: 'DELIVERED', responseBody: '{"message":"Order already finalized"}' },
      });
    expect(await stateOf(made.id)).toBe('PENDING');
  });

  test('G83: a callback and the end of the lease at the same moment complete the order once, whichever is first', async () => {
    const { order: made, bot: by } = await claimed();
    const said = { orderId: made.id, botId: by.id, attempt: 1 };
    const gate = gateBefore(t.engine, 'report');
    const asked = signedBody(t, await key(), said);
    await gate.reached();
    await t.pass(12_000);
    expect(await one(made.id)).toMatchObject({ status: 'COMPLETE', completionReason: 'LEASE_END' });
    gate.open();
    expect((await asked).body).toEqual({ message: 'Order already finalized' });
    const { actions } = (await t.get('/api/actions?channel=order&state=succeeded&limit=1')).body;
    const { events } = (await t.get(`/api/actions/${actions[0].id}`)).body;
    expect(events.filter(({ type }: { type: string }) => type === 'SUCCEEDED')).toHaveLength(1);
  });

  test('G83: a callback that was accepted before its order went to another bot completes nothing there', async () => {
    const { order: made, bot: by } = await claimed();
    const other = await bot();
    const gate = gateBefore(t.engine, 'report');
    const asked = signedBody(t, await key(), { orderId: made.id, botId: by.id, attempt: 1 });
    await gate.reached();
    gate.free();
    await patch(`/api/orders/${made.id}`, { status: 'PENDING' });
    expect((await claim(other.id)).body.id).toBe(made.id);
    gate.open();
    expect((await asked).body).toEqual({ message: 'Order already finalized' });
    expect(await one(made.id)).toMatchObject({ status: 'PROCESSING', botId: other.id });
  });

  test('G83: a bot that is set idle returns only its own order, not one that another bot has meanwhile', async () => {
    const { order: made, bot: by } = await claimed();
    const other = await bot();
    let open = () => {};
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    const reach = vi.fn(() => opened);
    before = { name: 'muster_get_order', reach };
    const asked = patch(`/api/bots/${by.id}`, { status: 'IDLE' });
    await expect.poll(() => reach.mock.calls.length).toBe(1);
    const { actions } = (await t.get('/api/actions?channel=order&state=claimed')).body;
    await t.engine.release(t.engine.db, { tenantId: 1, actionId: actions[0].id, attempt: 1 });
    expect((await claim(other.id)).body.id).toBe(made.id);
    open();
    expect((await asked).body).toMatchObject({ status: 'IDLE' });
    expect(await one(made.id)).toMatchObject({ status: 'PROCESSING', botId: other.id });
  });

  test('G83: clear and a claim at the same moment: an order claimed before is cleared too, and none is claimed after', async () => {
    const [first, second, a, b] = [await order(), await order(), await bot(), await bot()];
    const before = gateBefore(t.engine, 'cancelMatching');
    const cleared = t.post('/api/orders/clear');
    await before.reached();
    expect((await claim(a.id)).body.id).toBe(first.id);
    const after = gateBefore(t.engine, 'reportMany');
    before.open();
    await after.reached();
    const asked = claim(b.id);
    after.open();
    expect((await cleared).body).toEqual({ cleared: 2 });
    expect((await asked).body).toBeNull();
    expect(await list()).toEqual([]);
    await nobodyIsStuck();
    expect((await bots()).map(({ status }) => status)).toEqual(['IDLE', 'IDLE']);
    expect((await sent(first.id))[0]).toBe('CANCELED');
    expect(await sent(second.id)).toEqual([]);
  });
});

test('G83: bots of orders that are cancelled together are freed together, and at once by a clear', async () => {
  const [reports, releases] = [vi.spyOn(t.engine, 'reportMany'), vi.spyOn(t.engine, 'release')];
  const cancels = vi.spyOn(t.engine, 'cancel');
  const workers = [await bot(), await bot(), await bot()];
  const take = async () => {
    const made = [await order(), await order(), await order()];
    for (const { id } of workers) await claim(id);
    return made;
  };
  await take();
  expect((await t.post('/api/orders/clear')).body).toEqual({ cleared: 3 });
  const cancelled = await take();
  await t.post('/api/actions/cancel', { channel: 'order' });
  const idle = async () => (await bots()).every(({ status }) => status === 'IDLE');
  await expect.poll(idle).toBe(true);
  for (const { id } of cancelled) expect(await sent(id)).toEqual(['CANCELED', 'CREATED']);
  // nothing follows a clear: it has freed the bots itself. Each time one transaction frees all three; it may have been retried
  const freed = new Set(reports.mock.calls.map(([, items]) => items.length));
  const oneByOne = releases.mock.calls.length + cancels.mock.calls.length;
  for (const spy of [reports, releases, cancels]) spy.mockRestore();
  expect([...freed]).toEqual([3]);
  expect(oneByOne).toBe(0);
});

test('G83: an order created during a clear waits for it and is not cleared', async () => {
  const [first, { db }] = [await order(), t.engine];
  const gate = gateBefore(t.engine, 'cancelMatching');
  const cleared = t.post('/api/orders/clear');
  await gate.reached();
  let isMade = false;
  const made = order().finally(() => {
    isMade = true;
  });
  const waits = `select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`;
  await expect.poll(async () => isMade || (await db.query({ text: waits })).rows.length > 0).toBe(true);
  gate.open();
  expect((await cleared).body).toEqual({ cleared: 1 });
  const { id, orderNumber } = await made;
  expect((await list()).map((row) => row.id)).toEqual([id]);
  expect(orderNumber).toBe(first.orderNumber + 1);
});

test('G83: the settings limit the unfinished orders, and every third claim takes a normal one', async () => {
  const other = await testServer({ settings: { MUSTER_ORDER_LIMIT: '5', MUSTER_NORMAL_SHARE: '3' } });
  const normal = await order(other);
  for (let n = 0; n < 3; n += 1) await order(other, 'VIP');
  const [last, ...refused] = (
    await Promise.all([1, 2, 3].map(() => other.post('/api/orders', { type: 'NORMAL' })))
  ).toSorted((a, b) => a.status - b.status);
  expect(last?.status).toBe(201);
  const full = { code: 'MUSTER_LANE_FULL', error: expect.stringContaining('MUSTER_ORDER_LIMIT') };
  for (const one of refused) expect(one).toMatchObject({ status: 409, body: full });
  const taken: Order[] = [];
  for (let n = 0; n < 4; n += 1) taken.push((await claim((await bot(other)).id, other)).body);
  expect(taken.map(({ type }) => type)).toEqual(['VIP', 'VIP', 'NORMAL', 'VIP']);
  expect(taken[2]?.id).toBe(normal.id);
  // an order that is being processed is not finished
  const more = async () => (await other.post('/api/orders', { type: 'VIP' })).status;
  expect(await more()).toBe(409);
  await other.send('PATCH', `/api/orders/${normal.id}`, { status: 'COMPLETE' });
  await other.del(`/api/orders/${last?.body.id}`);
  expect([await more(), await more(), await more()]).toEqual([201, 201, 409]);
  const restored = await other.send('PATCH', `/api/orders/${last?.body.id}`, { deletedAt: null });
  expect(restored).toMatchObject({ status: 409, body: full });
  await other.close();
});

test('G83: a callback is accepted only with a valid signature', async () => {
  const { order: made, bot: by } = await claimed();
  const said = { orderId: made.id, botId: by.id, attempt: 1 };
  const complete = (headers: Record<string, string>, token: string | null = null, query = '?tenant=1') =>
    t.post(`/api/orders/complete${query}`, said, { token, headers });
  for (const refused of [
    await complete({}),
    await complete({}, t.operator),
    await complete({ 'upstash-signature': 'a.b.c' }),
    await complete({}, null, ''),
    await signedBody(t, 'x'.repeat(32), said),
    await signedBody(t, await key(), said, '/api/orders/complete?tenant=2'),
    // publishing to this path on any host gives a signature with this key
    await signedBody(t, await publishedKey(), said),
  ])
    expect(refused).toMatchObject({ status: 401, body: { code: 'MUSTER_BAD_SIGNATURE' } });
  expect((await signedBody(t, await key(), { orderId: made.id })).status).toBe(400);
  expect((await signedBody(t, await key(), { ...said, botId: made.id })).body.message).toContain('already');
  expect((await one(made.id)).status).toBe('PROCESSING');
  // a rotation concerns only the keys that receivers know
  await t.post('/v2/keys/rotate');
  expect((await signedBody(t, await key(), said)).body).toEqual({ message: 'Order completed' });
});
