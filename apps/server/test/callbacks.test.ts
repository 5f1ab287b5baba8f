import type { ServerResponse } from 'node:http';
import { EngineError } from '@muster/engine';
import { Client, Receiver } from '@upstash/qstash';
import { SignJWT } from 'jose';
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { messageIdOf } from '../src/callbacks/message.ts';
import { sign } from '../src/callbacks/signing-keys.ts';
import { type Arrived, type Destination, startDestination } from '../testing/destination.ts';
import { type TestServer, testServer } from '../testing/test-server.ts';

/** The QStash client and receiver, as published, against Muster. */
let t: TestServer;
let shop: Destination;
let qstash: Client;
let publisher: string;
/** The names the resolver was asked for. */
const asked: string[] = [];
/** The receiver does not use the test's clock. */
const ANY_TIME = 100 * 366 * 86_400;

beforeAll(async () => {
  vi.spyOn(console, 'error').mockReturnValue(); // the client prints each refusal
  shop = await startDestination();
  t = await testServer({
    clock: true,
    settings: {
      ...{ MUSTER_OUTGOING_ALLOW: '127.0.0.1', MUSTER_RETENTION_DAYS: '1', MUSTER_LANE_DEPTH_LIMIT: '15' },
    },
    resolve: async (host) => {
      asked.push(host);
      return [{ address: host.startsWith('inside') ? '10.1.2.3' : '127.0.0.1', family: 4 }];
    },
  });
  publisher = (await t.token({ kind: 'publisher', name: 'the shop' })).token;
  qstash = new Client({ baseUrl: t.server.url, token: publisher, retry: false });
});
afterAll(async () => {
  await t.close();
  await shop.close();
});
afterEach(() => shop.letGo());

const at = (path: string, host = 'shop.example') => `http://${host}:${shop.port}${path}`;
const statesOf = async (messageId: string) =>
  (await qstash.logs({ messageIds: [messageId] })).logs.map(({ state }) => state as string);
const comesTo = (messageId: string, state: string) =>
  expect.poll(async () => (await statesOf(messageId))[0]).toBe(state);
const receiverOf = ({ current, next }: { current: string; next: string }) =>
  new Receiver({ currentSigningKey: current, nextSigningKey: next });
const keys = async () => (await t.get('/v2/keys')).body as { current: string; next: string };

test('G84: a published message is sent at once, with a signature that the QStash receiver accepts, and its response is kept', async () => {
  shop.on('/paid', (response) => response.writeHead(201, { 'x-shop': 'open' }).end('noted'));
  const { messageId, url } = await qstash.publishJSON({
    ...{ url: at('/paid'), body: { order: 7 }, method: 'PUT', label: 'money', headers: { 'X-Trace': 'abc' } },
  });
  expect(url).toBe(at('/paid'));
  await comesTo(messageId, 'DELIVERED');
  const [request, ...more] = shop.of('/paid');
  expect(more).toEqual([]);
  expect(request).toMatchObject({ method: 'PUT', body: '{"order":7}' });
  expect(request?.headers).toMatchObject({
    ...{ 'content-type': 'application/json', 'x-trace': 'abc', 'upstash-message-id': messageId },
    ...{ 'upstash-retried': '0', host: `shop.example:${shop.port}` },
  });
  expect(request?.headers.authorization).toBeUndefined();
  const receiver = receiverOf(await keys());
  const signed = { signature: String(request?.headers['upstash-signature']), url, clockTolerance: ANY_TIME };
  expect(await receiver.verify({ ...signed, body: '{"order":7}' })).toBe(true);
  await expect(receiver.verify({ ...signed, body: '{"order":8}' })).rejects.toThrow('body hash');
  await expect(receiver.verify({ ...signed, body: '{"order":7}', url: at('/free') })).rejects.toThrow(
    'subject',
  );
  const { logs } = await qstash.logs({ messageIds: [messageId] });
  expect(logs.map(({ state }) => state)).toEqual(['DELIVERED', 'ACTIVE', 'CREATED']);
  expect(logs[0]).toMatchObject({
    ...{ responseStatus: 201, responseBody: 'noted', label: 'money', url },
    responseHeader: { 'x-shop': ['open'] },
  });
  // delivered messages are gone, as in QStash
  await expect(qstash.messages.get(messageId)).rejects.toMatchObject({ status: 404 });
  const labelled = await qstash.logs({ filter: { label: 'money' } });
  expect(labelled.logs.map((one) => one.messageId)).toEqual([messageId, messageId, messageId]);
  expect((await qstash.logs({ filter: { label: 'mone' } })).logs).toEqual([]);
});

test('events of a message are listed in order, even if clocks go back', async () => {
  shop.hold('/back');
  const { messageId } = await qstash.publish({ url: at('/back') });
  await expect.poll(() => shop.of('/back').length).toBe(1);
  t.clock.advance(-5);
  shop.letGo();
  await comesTo(messageId, 'DELIVERED');
  t.clock.advance(5);
  const times = (await qstash.logs({ messageIds: [messageId] })).logs.map(({ time }) => time);
  expect(times).toEqual([t.clock().getTime(), t.clock().getTime(), t.clock().getTime()]);
});

test('a message waits for its delay or its time; it can be read and cancelled', async () => {
  const later = await qstash.publish({ url: at('/later'), delay: '90s', body: 'x', retries: 1 });
  const notBefore = Math.floor(t.clock().getTime() / 1_000) + 60;
  const exact = await qstash.publish({ url: at('/exact'), notBefore, failureCallback: at('/sorry') });
  const never = await qstash.publish({ url: at('/never'), delay: 60 });
  expect(await qstash.messages.get(later.messageId)).toMatchObject({
    ...{ messageId: later.messageId, url: at('/later'), method: 'POST', body: 'x', maxRetries: 1 },
    notBefore: t.clock().getTime() + 90_000,
  });
  expect(await qstash.messages.get(exact.messageId)).toMatchObject({
    ...{ notBefore: notBefore * 1_000, failureCallback: at('/sorry'), maxRetries: 3 },
  });
  expect(await qstash.messages.cancel(never.messageId)).toEqual({ cancelled: 1 });
  await expect(qstash.messages.delete(never.messageId)).rejects.toMatchObject({ status: 404 });
  await t.pass(61_000);
  await comesTo(exact.messageId, 'DELIVERED');
  expect(await statesOf(later.messageId)).toEqual(['CREATED']);
  await t.pass(30_000);
  await comesTo(later.messageId, 'DELIVERED');
  expect(await statesOf(never.messageId)).toEqual(['CANCELED', 'CREATED']);
  expect(shop.of('/never')).toEqual([]);
});

test('messages are cancelled by ids, by label, or all at once', async () => {
  const publish = (label: string) => qstash.publish({ url: at('/many'), delay: 3_600, label });
  const [one, two, three, four] = [
    await publish('a'),
    await publish('a'),
    await publish('b'),
    await publish('c'),
  ];
  expect(await qstash.messages.cancel([one.messageId, 'msg_999999', 'x'])).toEqual({ cancelled: 1 });
  expect(await qstash.messages.cancel({ filter: { label: 'b' } })).toEqual({ cancelled: 1 });
  expect(await statesOf(two.messageId)).toEqual(['CREATED']);
  expect(await qstash.messages.cancel({ all: true })).toEqual({ cancelled: 2 });
  for (const { messageId } of [one, two, three, four])
    expect((await statesOf(messageId))[0]).toBe('CANCELED');
});

test('G84: a failed message is retried with growing pauses; one that never succeeds is a dead letter, and its failure callback is sent', async () => {
  shop.on('/broken', (response) => response.writeHead(500).end('out of paper'));
  const { messageId } = await qstash.publish({
    ...{ url: at('/broken'), body: 'print', retries: 2, failureCallback: at('/failed') },
    headers: { 'Upstash-Failure-Callback-Forward-X-Who': 'printer' },
  });
  for (const [tries, pauseMs] of [
    [1, 10_000],
    [2, 20_000],
  ] as const) {
    await comesTo(messageId, 'RETRY');
    expect(shop.of('/broken')).toHaveLength(tries);
    // pauses vary by a fifth
    await t.pass(pauseMs * 0.79);
    expect((await statesOf(messageId))[0]).toBe('RETRY');
    await t.pass(pauseMs * 0.42);
    await expect.poll(() => shop.of('/broken').length).toBe(tries + 1);
  }
  await comesTo(messageId, 'FAILED');
  expect(shop.of('/broken').map(({ headers }) => headers['upstash-retried'])).toEqual(['0', '1', '2']);
  const { messages } = await qstash.dlq.listMessages();
  expect(messages).toMatchObject([
    { messageId, responseStatus: 500, responseBody: 'out of paper', body: 'print' },
  ]);
  await t.engine.runDuty('tell-of-dead-letters');
  await expect.poll(() => shop.of('/failed').length).toBe(1);
  const [told] = shop.of('/failed');
  expect(told?.headers['x-who']).toBe('printer');
  const said = JSON.parse(told?.body ?? '');
  expect(said).toMatchObject({
    status: 500,
    sourceMessageId: messageId,
    retried: 2,
    maxRetries: 2,
    url: at('/broken'),
  });
  expect(said.dlqId).toBe(messages[0]?.dlqId);
  expect(Buffer.from(said.body, 'base64').toString()).toBe('out of paper');
  expect(Buffer.from(said.sourceBody, 'base64').toString()).toBe('print');

  shop.on('/broken', (response) => response.end('printed'));
  expect(await qstash.dlq.retry(said.dlqId)).toMatchObject({ responses: [{ messageId }] });
  await comesTo(messageId, 'DELIVERED');
  expect((await qstash.dlq.listMessages()).messages).toEqual([]);
});

test('a destination can say that retries are pointless; dead letters are deleted one by one or all at once', async () => {
  shop.on('/no', (response) => response.writeHead(489, { 'upstash-nonretryable-error': 'true' }).end());
  const ids = [];
  for (let n = 0; n < 4; n += 1) ids.push((await qstash.publish({ url: at('/no') })).messageId);
  for (const id of ids) await comesTo(id, 'FAILED');
  expect(shop.of('/no')).toHaveLength(4);
  const first = await qstash.dlq.listMessages({ count: 3 });
  expect(first.messages.map(({ messageId }) => messageId)).toEqual(ids.toReversed().slice(0, 3));
  const second = await qstash.dlq.listMessages({ count: 3, cursor: first.cursor as string });
  expect(second.messages.map(({ messageId }) => messageId)).toEqual([ids[0]]);
  expect(second.cursor).toBeUndefined();
  const [one, two] = first.messages.map(({ dlqId }) => dlqId) as [string, string];
  await qstash.dlq.delete(one);
  await expect(qstash.dlq.delete(one)).rejects.toMatchObject({ status: 404 });
  expect(await qstash.dlq.delete([one, two])).toEqual({ deleted: 1 });
  expect(await qstash.dlq.delete({ all: true })).toEqual({ deleted: 2 });
  expect((await qstash.dlq.listMessages()).messages).toEqual([]);
});

test('the response of the destination is sent to the callback address', async () => {
  shop.on('/sum', (response) => response.end('42'));
  const { messageId } = await qstash.publish({ url: at('/sum'), callback: at('/summed') });
  await expect.poll(() => shop.of('/summed').length).toBe(1);
  const said = JSON.parse(shop.of('/summed')[0]?.body ?? '');
  expect(said).toMatchObject({ status: 200, sourceMessageId: messageId, retried: 0 });
  expect(Buffer.from(said.body, 'base64').toString()).toBe('42');
  expect(said.dlqId).toBeUndefined();
  expect(said.sourceCut).toBeUndefined();
});

test('G84: for a large message, the callback has the start of the body, as much as a request can carry', async () => {
  const body = 'x'.repeat(1_048_570);
  shop.on('/large', (response) => void response.writeHead(489).end('y'.repeat(100_000)));
  const { messageId } = await qstash.publish({
    ...{ url: at('/large'), body, failureCallback: at('/was-large') },
    headers: { 'upstash-forward-x-long': '"'.repeat(8_000) },
  });
  await comesTo(messageId, 'FAILED');
  await t.engine.runDuty('tell-of-dead-letters');
  await expect.poll(() => shop.of('/was-large').length).toBe(1);
  const text = shop.of('/was-large')[0]?.body ?? '';
  expect(text.length).toBeGreaterThan(1_048_570);
  const said = JSON.parse(text);
  expect(said).toMatchObject({ status: 489, sourceMessageId: messageId, sourceCut: true });
  expect(body.startsWith(Buffer.from(said.sourceBody, 'base64').toString())).toBe(true);
});

/** This host has as many waiting messages as it may have, and none can be read. */
async function fill(host: string): Promise<void> {
  const { engine } = t;
  const notBefore = new Date(t.clock().getTime() + 3_600_000);
  for (let nth = 0; nth < 4; nth += 1) {
    const laneId = await engine.ensureLane(engine.db, 1, 'callbacks', `${host}:${shop.port}/${nth}`);
    const action = { tenantId: 1, laneId, channel: 'callbacks', kind: 'callback', payload: null, notBefore };
    await Promise.all(Array.from({ length: 15 }, () => engine.enqueue(engine.db, action)));
  }
}

test('G84: a callback is sent however full its host is, and the message ends', async () => {
  await fill('full.example');
  await expect(qstash.publish({ url: at('/', 'full.example') })).rejects.toMatchObject({ status: 409 });
  const taken = await qstash.publish({ url: at('/taken'), callback: at('/was-taken', 'full.example') });
  await comesTo(taken.messageId, 'DELIVERED');
  await expect.poll(() => shop.of('/was-taken').length).toBe(1);
  shop.on('/refused', (response) => response.writeHead(500).end());
  const refused = await qstash.publish({
    ...{ url: at('/refused'), retries: 0, failureCallback: at('/was-refused', 'full.example') },
  });
  await comesTo(refused.messageId, 'FAILED');
  await t.engine.runDuty('tell-of-dead-letters');
  await expect.poll(() => shop.of('/was-refused').length).toBe(1);
  expect(shop.of('/taken')).toHaveLength(1);
  await qstash.messages.cancel({ all: true });
  await qstash.dlq.delete({ all: true });
});

test('G84: a dead letter whose failure callback cannot be queued waits and delays no other', async () => {
  const { id } = (await t.post('/api/tenants', { name: 'without keys' })).body;
  const { token } = (
    await t.post(`/api/tenants/${id}/tokens`, { kind: 'operator', role: 'admin', name: 'o' })
  ).body;
  t.secret(token);
  const other = new Client({ baseUrl: t.server.url, token, retry: false });
  const answers: ServerResponse[] = [];
  shop.on('/fails', (response) => void answers.push(response));
  const failing = { retries: 0, url: at('/fails') };
  const first = await other.publish({ ...failing, failureCallback: at('/first-failed') });
  await expect.poll(() => answers.length).toBe(1);
  const { db, schema: s } = t.engine;
  const swap = `update ${s}.callback_keys set current_key = substr(current_key, 2) || substr(current_key, 1, 1) where tenant_id = $1`;
  await db.query({ text: swap, values: [id] });
  answers[0]?.writeHead(500).end();
  const isDead = async () => (await t.get('/v2/dlq', { token })).body.messages.length;
  await expect.poll(isDead).toBe(1);
  t.clock.advance(1);
  const second = await qstash.publish({ ...failing, failureCallback: at('/second-failed') });
  await expect.poll(() => answers.length).toBe(2);
  answers[1]?.writeHead(500).end();
  await comesTo(second.messageId, 'FAILED');
  await t.engine.runDuty('tell-of-dead-letters');
  await expect.poll(() => shop.of('/second-failed').length).toBe(1);
  expect(shop.of('/first-failed')).toEqual([]);
  expect(t.log()).toContain('The failure callback of a dead letter could not be sent yet.');
  const length = `select length(current_key) as n from ${s}.callback_keys where tenant_id = $1`;
  const { n } = (await db.query({ text: length, values: [id] })).rows[0];
  for (let turn = 1; turn < n; turn += 1) await db.query({ text: swap, values: [id] });
  await t.pass(60_000);
  await t.engine.runDuty('tell-of-dead-letters');
  await expect.poll(() => shop.of('/first-failed').length).toBe(1);
  expect(JSON.parse(shop.of('/first-failed')[0]?.body ?? '').sourceMessageId).toBe(first.messageId);
  await qstash.dlq.delete({ all: true });
});

test('an unreadable message is a dead letter, shown without an address', async () => {
  const { engine } = t;
  const odd = [null, {}, 'x', 7, [], { url: 'x', callback: {} }].map((payload) => ({ payload }));
  const { messageId } = await qstash.publish({ url: at('/', 'odd.example'), delay: 60 });
  const view = await engine.get(engine.db, 1, messageId.slice(4));
  const laneId = view?.laneId as string;
  const ids: string[] = [];
  const far = new Date(t.clock().getTime() + 50_000);
  for (const { payload } of odd) {
    const action = { tenantId: 1, laneId, channel: 'callbacks', kind: 'callback', payload, maxAttempts: 1 };
    ids.push((await engine.enqueue(engine.db, { ...action, notBefore: far })).id);
  }
  for (const id of ids) expect((await t.get(`/v2/messages/msg_${id}`)).body).toMatchObject({ url: '' });
  await t.pass(50_000);
  for (const id of ids) await comesTo(`msg_${id}`, 'FAILED');
  await engine.runDuty('tell-of-dead-letters');
  const { messages } = await qstash.dlq.listMessages();
  expect(messages.map((one) => one.messageId)).toEqual(ids.map((id) => `msg_${id}`).toReversed());
  await qstash.messages.cancel(messageId);
  await qstash.dlq.delete({ all: true });
});

test('of messages with one deduplication id only one is sent, however many arrive at once', async () => {
  const publish = (body: string) =>
    qstash.publish({ url: at('/once'), body, deduplicationId: 'o 1', delay: 60 });
  const answers = await Promise.all(['a', 'b', 'c', 'd', 'e'].map(publish));
  expect(new Set(answers.map(({ messageId }) => messageId)).size).toBe(1);
  expect(answers.filter(({ deduplicated }) => !deduplicated)).toHaveLength(1);
  const asking = {
    token: publisher,
    headers: { 'upstash-deduplication-id': 'o 1', 'content-type': 'text/plain' },
  };
  const again = await fetch(`${t.server.url}/v2/publish/${at('/once')}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${publisher}`, ...asking.headers },
  });
  expect(again.status).toBe(202);
  expect(await again.json()).toEqual({
    messageId: answers[0]?.messageId,
    url: at('/once'),
    deduplicated: true,
  });
  const elsewhere = { url: at('/elsewhere', 'other.example'), deduplicationId: 'o 1' };
  expect(await qstash.publish(elsewhere)).toMatchObject({ url: at('/once'), deduplicated: true });
  await t.pass(61_000);
  await comesTo(answers[0]?.messageId as string, 'DELIVERED');
  expect(shop.of('/once')).toHaveLength(1);
  // for ten minutes the id means the sent message; after that, and after the end of the message, it is free
  expect((await publish('f')).deduplicated).toBe(true);
  await t.pass(600_000);
  expect(await t.engine.runDuty('forget-deduplication')).toBeGreaterThan(0);
  const later = await publish('g');
  expect(later.deduplicated).toBeUndefined();
  await t.pass(601_000 - 541_000);
  await comesTo(later.messageId, 'DELIVERED');

  const same = { url: at('/same'), body: 'same', contentBasedDeduplication: true };
  const { messageId } = await qstash.publish(same);
  expect(await qstash.publish(same)).toMatchObject({ messageId, deduplicated: true });
  expect((await qstash.publish({ ...same, body: 'other' })).deduplicated).toBeUndefined();
});

test('the id of a waiting message is kept for longer than ten minutes', async () => {
  const wait = { url: at('/wait'), deduplicationId: 'slow', delay: 3_600 };
  const { messageId } = await qstash.publish(wait);
  await t.pass(601_000);
  expect(await qstash.publish(wait)).toMatchObject({ messageId, deduplicated: true });
  await t.engine.runDuty('forget-deduplication');
  expect(await qstash.publish(wait)).toMatchObject({ messageId, deduplicated: true });
  await qstash.messages.cancel(messageId);
});

test('a batch is published in its order, all or none', async () => {
  const published = await qstash.batchJSON([
    { url: at('/b1'), body: { n: 1 }, headers: { 'X-N': '1' } },
    { url: at('/b2'), body: { n: 2 }, delay: 60 },
  ]);
  expect(published.map(({ url }) => url)).toEqual([at('/b1'), at('/b2')]);
  await comesTo(published[0]?.messageId as string, 'DELIVERED');
  expect(shop.of('/b1')[0]).toMatchObject({ body: '{"n":1}', headers: { 'x-n': '1' } });
  const wrong = [{ url: at('/b3') }, { url: 'http://10.0.0.1/' }];
  await expect(qstash.batch(wrong)).rejects.toMatchObject({ status: 400 });
  // a message too large for any request is refused here as it is alone
  const large = [{ url: at('/b3') }, { url: at('/b3'), body: 'x'.repeat(1_048_577) }];
  await expect(qstash.batch(large)).rejects.toMatchObject({ status: 413 });
  await expect(qstash.batch([{ url: at('/b3'), queueName: 'q' }])).rejects.toMatchObject({ status: 404 });
  await t.pass(61_000);
  await comesTo(published[1]?.messageId as string, 'DELIVERED');
  expect(shop.of('/b3')).toEqual([]);
});

test('keys rotate without a gap: a receiver with the old pair accepts what the next key signed', async () => {
  const before = await keys();
  const after = (await t.post('/v2/keys/rotate')).body;
  expect(after.current).toBe(before.next);
  expect(after.next).not.toBe(before.next);
  const signed = async (path: string) => {
    const { messageId } = await qstash.publish({ url: at(path), body: 'k' });
    await comesTo(messageId, 'DELIVERED');
    return {
      signature: String(shop.of(path)[0]?.headers['upstash-signature']),
      body: 'k',
      clockTolerance: ANY_TIME,
    };
  };
  expect(await receiverOf(before).verify(await signed('/k1'))).toBe(true);
  await t.post('/v2/keys/rotate');
  await expect(receiverOf(before).verify(await signed('/k2'))).rejects.toThrow();
  expect(await receiverOf(after).verify(await signed('/k3'))).toBe(true);
  // they are not readable in the database
  const { rows } = await t.engine.db.query({
    text: `select current_key from ${t.engine.schema}.callback_keys`,
  });
  expect(rows[0].current_key.includes(Buffer.from(after.next))).toBe(false);
  expect((await t.get('/v2/keys', { token: publisher })).status).toBe(403);
});

test('G84: a slow host delays only its own callbacks', async () => {
  shop.hold('/slow');
  const slow = [];
  for (let n = 0; n < 12; n += 1) slow.push(await qstash.publish({ url: at('/slow', 'slow.example') }));
  await expect.poll(() => shop.of('/slow').length).toBeGreaterThan(0);
  const { messageId } = await qstash.publish({ url: at('/quick', 'quick.example') });
  await comesTo(messageId, 'DELIVERED');
  expect(shop.of('/slow').length).toBeLessThanOrEqual(4);
  shop.on('/slow', (response) => response.end());
  shop.letGo();
  for (const one of slow) await comesTo(one.messageId, 'DELIVERED');
});

test('G85: nothing is sent into private networks, whether by address, by name or by redirect', async () => {
  for (const url of [
    'http://10.0.0.1/',
    'http://[::1]:80/',
    'http://169.254.169.254/latest',
    'http://2130706434/',
  ])
    await expect(qstash.publish({ url })).rejects.toMatchObject({ status: 400 });
  await expect(qstash.publish({ url: at('/'), callback: 'http://192.168.0.1/' })).rejects.toMatchObject({
    status: 400,
  });
  const named = await qstash.publish({ url: 'http://inside.example/x', retries: 0 });
  await comesTo(named.messageId, 'FAILED');
  expect(asked).toContain('inside.example');
  const { logs } = await qstash.logs({ messageIds: [named.messageId] });
  expect(logs.find(({ state }) => state === 'ERROR')?.error).toContain('may not be sent to');
  shop.on('/away', (response) => response.writeHead(302, { location: 'http://inside.example/y' }).end());
  const before = asked.length;
  const redirected = await qstash.publish({ url: at('/away'), retries: 0 });
  await comesTo(redirected.messageId, 'FAILED');
  expect(asked.slice(before)).toEqual(['shop.example']);
  await qstash.dlq.delete({ all: true });
});

test('parts of QStash that Muster lacks are refused with a code', async () => {
  const refused = async (path: string, headers: Record<string, string> = {}) => {
    const response = await fetch(`${t.server.url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${publisher}`, ...headers },
    });
    return [response.status, ((await response.json()) as { code: string }).code];
  };
  expect(await refused('/v2/publish/my-topic')).toEqual([404, 'MUSTER_NOT_OFFERED']);
  const flow = { 'upstash-flow-control-key': 'k', 'upstash-flow-control-value': 'rate=1' };
  expect(await refused(`/v2/publish/${at('/')}`, flow)).toEqual([404, 'MUSTER_NOT_OFFERED']);
  for (const path of ['/v2/queues', '/v2/schedules/x', '/v2/topics/t/endpoints', `/v2/enqueue/q/${at('/')}`])
    expect(await refused(path)).toEqual([404, 'MUSTER_NOT_OFFERED']);
  expect(await refused('/v2/queuesx')).toEqual([404, 'MUSTER_UNKNOWN_ROUTE']);
  for (const path of ['/v2/schedules', '/v2/schedules/x', '/v2/flowControl/k', '/v2/topics'])
    expect((await t.get(path)).body.code).toBe('MUSTER_NOT_OFFERED');
  for (const odd of [
    '%E0%A4%A',
    'http://',
    'https:///',
    'http://x:99999/',
    'http:',
    '//',
    'https://%00.example/',
  ])
    expect((await refused(`/v2/publish/${odd}`))[0]).toBeLessThan(500);
  for (const name of ['Upstash-Forward-X', 'Content-Type', 'content-type'])
    for (const value of ['a\r\nb: c', '€'])
      expect(
        (await t.post('/v2/batch', [{ destination: at('/'), headers: { [name]: value } }])).body.code,
      ).toBe('MUSTER_BAD_CALLBACK');
  await expect(qstash.schedules.list()).rejects.toMatchObject({ status: 404 });
  await expect(qstash.queue({ queueName: 'q' }).get()).rejects.toMatchObject({ status: 404 });
  for (const [name, value] of [
    ...[
      ['delay', 'soon'] as const,
      ['delay', '400d'] as const,
      ['retries', '-1'] as const,
      ['retries', '101'] as const,
    ],
    ...[['timeout', '11m'] as const, ['timeout', '0s'] as const, ['method', 'TRACE'] as const],
    ...[['not-before', 'x'] as const, ['deduplication-id', 'x'.repeat(501)] as const],
  ])
    expect(await refused(`/v2/publish/${at('/')}`, { [`upstash-${name}`]: value })).toEqual([
      400,
      'MUSTER_BAD_CALLBACK',
    ]);
});

test('binary bodies and encoded destinations arrive unchanged', async () => {
  const bytes = Buffer.from([0, 255, 128, 10]);
  const to = encodeURIComponent(at('/bytes?a=1&b=%20'));
  const response = await fetch(`${t.server.url}/v2/publish/${to}`, {
    ...{ method: 'POST', body: bytes },
    headers: { authorization: `Bearer ${publisher}`, 'content-type': 'application/octet-stream' },
  });
  expect(response.status).toBe(201);
  await expect.poll(() => shop.of('/bytes?a=1&b=%20').length).toBe(1);
  expect(shop.of('/bytes?a=1&b=%20')[0]?.headers['content-length']).toBe('4');
});

test('callbacks belong to one tenant, and roles apply', async () => {
  const viewer = (await t.token({ kind: 'operator', role: 'viewer', name: 'v' })).token;
  const look = new Client({ baseUrl: t.server.url, token: viewer, retry: false });
  await expect(look.publish({ url: at('/') })).rejects.toMatchObject({ status: 403 });
  const { messageId } = await qstash.publish({ url: at('/mine'), delay: 60 });
  expect((await look.messages.get(messageId)).url).toBe(at('/mine'));
  const { id } = (await t.post('/api/tenants', { name: 'others' })).body;
  const { token } = (
    await t.post(`/api/tenants/${id}/tokens`, { kind: 'operator', role: 'admin', name: 'o' })
  ).body;
  t.secret(token);
  const other = new Client({ baseUrl: t.server.url, token, retry: false });
  await expect(other.messages.get(messageId)).rejects.toMatchObject({ status: 404 });
  await expect(other.messages.cancel(messageId)).rejects.toMatchObject({ status: 404 });
  expect(await other.messages.cancel({ all: true })).toEqual({ cancelled: 0 });
  expect((await other.logs()).logs).toEqual([]);
  await qstash.messages.cancel(messageId);
});

test('messages cannot be copied: a signed request comes only from publishing', async () => {
  const { messageId } = await qstash.publish({ url: at('/once'), body: 'x' });
  await comesTo(messageId, 'DELIVERED');
  const id = messageId.slice('msg_'.length);
  const { payload } = (await t.get(`/api/actions/${id}`)).body;
  const path = '/api/orders/complete?tenant=1';
  for (const body of [{}, { payload: null }, { payload: { ...payload, isOwn: true, url: path } }])
    expect(await t.post(`/api/actions/${id}/copy`, body)).toMatchObject({
      ...{ status: 409, body: { code: 'MUSTER_NOT_COPIED', error: expect.stringContaining('again') } },
    });
});

test('a try that is never reported ends with its lease; its late outcome changes nothing', async () => {
  shop.hold('/stuck');
  const { messageId } = await qstash.publish({ url: at('/stuck'), timeout: '60s' });
  await expect.poll(() => shop.of('/stuck').length).toBe(1);
  shop.on('/stuck', (response) => response.end('second'));
  await t.pass(91_000);
  expect((await statesOf(messageId)).slice(0, 2)).toEqual(['RETRY', 'ERROR']);
  await t.pass(13_000);
  await comesTo(messageId, 'DELIVERED');
  const before = await qstash.logs({ messageIds: [messageId] });
  expect(before.logs[0]).toMatchObject({ responseBody: 'second' });
  shop.letGo();
  // the next one is prepared after the response of the first try was read
  await comesTo((await qstash.publish({ url: at('/after') })).messageId, 'DELIVERED');
  expect(await qstash.logs({ messageIds: [messageId] })).toEqual(before);
});

const own = (deduplicationId: string, body: object = {}) => ({
  ...{ tenantId: 1, path: '/api/orders/complete', body, deduplicationId },
  at: new Date(t.clock().getTime() + 10_000),
});
const ownMessages = async () =>
  (await asOperator().logs()).logs.filter(({ url }) => url.startsWith('/api/orders/complete'));
const asOperator = () => new Client({ baseUrl: t.server.url, token: t.operator, retry: false });

test('a door schedules a call to its own server in its transaction, once per id, and cancels it in one', async () => {
  const { callbacks } = t.server;
  const { db } = t.engine;
  expect(callbacks.isReady).toBe(true);
  await db.transaction((tx) => callbacks.schedule(tx, own('kept')));
  // the id decides, whatever else differs
  await db.transaction((tx) => callbacks.schedule(tx, { ...own('kept', { n: 2 }), at: t.clock() }));
  await db.transaction((tx) => callbacks.schedule(tx, own('cancelled')));
  const undone = db.transaction(async (tx) => {
    await callbacks.schedule(tx, own('undone'));
    throw new Error('undone');
  });
  await expect(undone).rejects.toThrow('undone');
  await db.transaction((tx) => callbacks.unschedule(tx, 1, 'cancelled'));
  await db.transaction((tx) => callbacks.unschedule(tx, 1, 'unknown'));
  expect((await ownMessages()).map(({ state }) => state)).toEqual(['CANCELED', 'CREATED', 'CREATED']);
  await t.pass(10_000);
  // the server's own address is allowed without a rule; the door decides about the response
  const answered = async () => (await ownMessages()).filter((one) => 'responseStatus' in one).length;
  await expect.poll(answered).toBe(1);
  const wrong = db.transaction((tx) => callbacks.schedule(tx, { ...own('x'), path: '/api/tokens' }));
  await expect(wrong).rejects.toThrow('may not call');
  await asOperator().messages.cancel({ all: true });
  // the deduplication ids of publishers and doors never clash
  expect((await qstash.publish({ url: at('/p'), deduplicationId: 'kept' })).deduplicated).toBeUndefined();
});

/** The lines of the lanes whose names begin with this, and how many lanes each has. */
const lines = async (begin: string) => {
  const { rows } = await t.engine.db.query({
    text: `select c.line, count(*)::int as n from muster.lane_names l join muster.lanes x using (tenant_id, lane_id)
      join muster.callback_runners c using (tenant_id, runner_id)
      where l.space = 'callbacks' and l.name like $1 || '%' group by c.line`,
    values: [begin],
  });
  return Object.fromEntries(rows.map(({ line, n }) => [line, n])) as Record<string, number>;
};

test('G84: hosts that hang, more than there are places, delay no other host, and a cancel ends their requests', async () => {
  let hanging = 0;
  shop.on('/hang', (response) => {
    hanging += 1;
    response.on('close', () => {
      hanging -= 1;
    });
  });
  const held: ServerResponse[] = [];
  shop.on('/held', (response) => void held.push(response));
  const retried = await qstash.publish({ url: at('/held', 'held.example'), timeout: 600, retries: 100 });
  // none of them ends by itself
  const many = Array.from({ length: 240 }, (_, n) => ({
    ...{ url: at('/hang', `hang${n}.example`), timeout: 600, label: 'hang' },
  }));
  for (const from of [0, 100, 200]) await qstash.batch(many.slice(from, from + 100));
  const free = await qstash.publish({ url: at('/has-a-place', 'free.example') });
  await comesTo(free.messageId, 'DELIVERED');
  await expect.poll(() => hanging).toBe(240);
  // nor do their next requests take a place of other hosts
  await expect.poll(() => lines('hang')).toEqual({ slow: 240 });
  const { callbacks } = t.server;
  const { db } = t.engine;
  await db.transaction((tx) => callbacks.schedule(tx, own('free')));
  const id = (await t.engine.idOfKey(db, 1, 'callback free')) as string;
  await t.pass(10_000);
  const answer = async () => (await callbacks.deliveries.last(db, 1, [id])).get(id)?.status;
  await expect.poll(answer).toBeTypeOf('number');
  await db.transaction((tx) => callbacks.unschedule(tx, 1, 'free'));
  expect(await qstash.messages.cancel({ filter: { label: 'hang' } })).toEqual({ cancelled: 240 });
  await expect.poll(() => hanging).toBe(0);
  const cancelled = async () =>
    (await qstash.logs({ filter: { state: 'CANCELED', label: 'hang' }, count: 400 })).logs.length;
  await expect.poll(cancelled).toBe(240);
  // a host that answers quickly again, whatever the answer, returns to the normal line; on a busy machine perhaps not at once
  await expect.poll(() => lines('held')).toEqual({ slow: 1 });
  shop.on('/held', (response) => void response.writeHead(500).end());
  held[0]?.destroy();
  await comesTo(retried.messageId, 'RETRY');
  const triedAgain = () => t.pass(86_400_000).then(() => lines('held'));
  // if that fails, the outcome is stored anyway, and the next one moves it
  const { assignRunners } = t.engine;
  const isSaid = () => t.log().includes('The follow-up of the outcome of a Callback failed.');
  const assigning = vi.spyOn(t.engine, 'assignRunners').mockImplementation(async (...given) => {
    if (!isSaid()) throw new Error('not in a test');
    return assignRunners(...given);
  });
  onTestFinished(() => void assigning.mockRestore());
  await expect.poll(triedAgain).toEqual({ quick: 1 });
  // a lane that is noted again stays where it is
  await qstash.batch(Array.from({ length: 16 }, () => ({ url: at('/hang', 'hang7.example'), delay: 60 })));
  expect((await lines('hang')).slow).toBe(240);
  await qstash.messages.cancel({ all: true });
});

test('responses of many hosts at once are stored a few at a time, and none is lost', async () => {
  const { deliveries } = t.server.callbacks;
  const add = deliveries.add;
  let open = () => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  let [storing, most] = [0, 0];
  const adding = vi.spyOn(deliveries, 'add').mockImplementation(async (...given) => {
    storing += 1;
    most = Math.max(most, storing);
    await gate;
    await add(...given);
    storing -= 1;
  });
  shop.hold('/at-once');
  const sent = await qstash.batch(
    Array.from({ length: 12 }, (_, n) => ({ url: at('/at-once', `at-once${n}.example`) })),
  );
  await expect.poll(() => shop.of('/at-once').length).toBe(12);
  shop.letGo();
  await expect.poll(() => storing).toBe(4);
  open();
  for (const one of sent) await comesTo((one as { messageId: string }).messageId, 'DELIVERED');
  expect(most).toBe(4);
  adding.mockRestore();
});

test('G84: responses that cannot be stored because of a lock delay no other, and are stored when it is released', async () => {
  const { deliveries } = t.server.callbacks;
  const add = deliveries.add;
  const locked = new Set<string>();
  const adding = vi.spyOn(deliveries, 'add').mockImplementation((tx, of, delivery) => {
    if (locked.has(messageIdOf(of.actionId))) throw new EngineError('MUSTER_LANE_BUSY', 'locked');
    return add(tx, of, delivery);
  });
  // however long the others take, none gives up meanwhile
  const { db } = t.engine as { db: { deadlineMs: number } };
  const { deadlineMs } = db;
  db.deadlineMs = 3_600_000;
  onTestFinished(() => {
    locked.clear();
    db.deadlineMs = deadlineMs;
    adding.mockRestore();
  });
  shop.hold('/locked');
  const sent = (await qstash.batch(
    Array.from({ length: 8 }, (_, n) => ({ url: at('/locked', `locked${n}.example`) })),
  )) as { messageId: string }[];
  for (const { messageId } of sent.slice(0, 4)) locked.add(messageId);
  await expect.poll(() => shop.of('/locked').length).toBe(8);
  shop.letGo();
  for (const { messageId } of sent.slice(4)) await comesTo(messageId, 'DELIVERED');
  expect(await statesOf(sent[0]?.messageId as string)).toEqual(['ACTIVE', 'CREATED']);
  locked.clear();
  for (const { messageId } of sent) await comesTo(messageId, 'DELIVERED');
  expect(shop.of('/locked')).toHaveLength(8);
});

test("a publisher neither sees nor cancels the server's calls to itself, and its labels are separate", async () => {
  const { callbacks } = t.server;
  const { db } = t.engine;
  const [path, label] = ['/api/orders/complete?tenant=1', '/api/orders/complete'];
  await db.transaction((tx) => callbacks.schedule(tx, own('secret', { orderId: 'x' })));
  const [made] = await ownMessages();
  const messageId = made?.messageId as string;
  const { events } = (await t.get(`/v2/events?label=${label}&count=1`)).body;
  expect(events[0]).toMatchObject({ messageId, url: path });
  expect(await statesOf(messageId)).toEqual([]);
  expect((await qstash.logs()).logs.filter(({ url }) => url === path)).toEqual([]);
  await expect(qstash.messages.get(messageId)).rejects.toMatchObject({ status: 404 });
  await expect(qstash.messages.cancel(messageId)).rejects.toMatchObject({ status: 404 });
  expect(await qstash.messages.cancel([messageId])).toEqual({ cancelled: 0 });
  expect(await qstash.messages.cancel({ filter: { label } })).toEqual({ cancelled: 0 });
  // and messages published with that label are not the server's
  const mine = await qstash.publish({ url: at('/labelled'), delay: 60, label });
  await db.transaction((tx) => callbacks.unscheduleAll(tx, { tenantId: 1, path: label, ids: [] }));
  expect((await ownMessages())[0]?.state).toBe('CANCELED');
  expect(await statesOf(mine.messageId)).toEqual(['CREATED']);
  await qstash.messages.cancel(mine.messageId);
  // nor are its dead letters
  await db.transaction((tx) => callbacks.schedule(tx, own('dead', {})));
  const dead = (await t.engine.idOfKey(db, 1, 'callback dead')) as string;
  const stateOfDead = () => t.pass(10_000).then(async () => (await t.engine.get(db, 1, dead))?.state);
  await expect.poll(stateOfDead).toBe('failed');
  const letters = async (client: Client) =>
    (await client.dlq.listMessages()).messages.filter(({ dlqId }) => dlqId === `dlq_${dead}`).length;
  expect([await letters(asOperator()), await letters(qstash)]).toEqual([1, 0]);
  await expect(qstash.dlq.delete(`dlq_${dead}`)).rejects.toMatchObject({ status: 404 });
  expect(await qstash.dlq.delete([`dlq_${dead}`])).toEqual({ deleted: 0 });
  const again = await t.post(`/v2/dlq/retry?dlqIds=dlq_${dead}`, undefined, { token: publisher });
  expect(again.body).toEqual({ responses: [] });
  expect(await letters(asOperator())).toBe(1);
  expect((await t.del(`/v2/dlq/dlq_${dead}`)).status).toBe(200);
  await asOperator().messages.cancel({ all: true });
});

test('a signature is valid only for its body, path, tenant and time', async () => {
  const { callbacks } = t.server;
  const { db, now } = t.engine;
  const url = '/api/orders/complete?tenant=1';
  const body = Buffer.from('{"orderId":1}');
  const published = await keys();
  const { own: current } = await callbacks.keys.ensure(db, 1);
  const signed = (key: string, path = url) =>
    sign(key, { at: now(), body, messageId: 'msg_1', url: `http://127.0.0.1:1${path}` });
  const signature = await signed(current);
  const request = { signature, body, url };
  const isSigned = async (more: Partial<typeof request>) =>
    (await callbacks.signedFor(db, { ...request, ...more })) === 1;
  expect(await isSigned({})).toBe(true);
  // publishing to such a path gives a signature by one of these keys
  expect(await isSigned({ signature: await signed(published.current) })).toBe(false);
  expect(await isSigned({ signature: await signed(published.next) })).toBe(false);
  expect(await isSigned({ signature: await signed('another key of 32 bytes or more, say') })).toBe(false);
  expect(await isSigned({ signature: await signed(current, '/api/bots?tenant=1') })).toBe(false);
  expect(await isSigned({ body: Buffer.from('{"orderId":2}') })).toBe(false);
  expect(await isSigned({ signature: await signed(current, '/api/orders/complete') })).toBe(false);
  for (const tenant of ['2', '0', '1&n=1', '01', ''])
    expect(
      await callbacks.signedFor(db, { ...request, url: `/api/orders/complete?tenant=${tenant}` }),
    ).toBeNull();
  expect(await isSigned({ signature: 'nonsense' })).toBe(false);
  const [, payload] = signature.split('.');
  const unsigned = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${payload}.`;
  expect(await isSigned({ signature: unsigned })).toBe(false);
  // signed with the right key, but not a callback's signature: another issuer, or no end
  const claims = JSON.parse(Buffer.from(payload as string, 'base64url').toString('utf8'));
  const bare = (said: object) =>
    new SignJWT({ ...claims, ...said }).setProtectedHeader({ alg: 'HS256' }).sign(Buffer.from(current));
  expect(await isSigned({ signature: await bare({}) })).toBe(true);
  for (const odd of [{ iss: 'another' }, { exp: undefined }, { nbf: undefined }])
    expect(await isSigned({ signature: await bare(odd) })).toBe(false);
  await t.pass(361_000);
  expect(await isSigned({})).toBe(false);
});

test('unused lanes lose their runner and get it back when used; old responses are deleted', async () => {
  const url = at('/rare', 'rare.example');
  const { messageId } = await qstash.publish({ url });
  await comesTo(messageId, 'DELIVERED');
  const waits = await qstash.publish({ url: at('/waits', 'waits.example'), delay: '3d' });
  const counted = async (table: string) =>
    (await t.engine.db.query({ text: `select count(*)::int as n from ${t.engine.schema}.${table}` })).rows[0]
      .n;
  await t.pass(2.1 * 86_400_000);
  // a few hundred at a time; a lane with waiting messages keeps its runner
  const left = () => t.engine.runDuty('give-up-callback-lanes').then(() => counted('callback_lanes'));
  await expect.poll(left).toBe(1);
  await t.engine.runDuty('prune-callbacks');
  expect(await counted('callback_deliveries')).toBe(0);
  const again = await qstash.publish({ url });
  await comesTo(again.messageId, 'DELIVERED');
  await qstash.messages.cancel(waits.messageId);
});

test('with a QStash account in the settings, the calls of doors go there after the commit, and no transaction fails because of it', async () => {
  const { current, next } = await keys();
  // the first server plays the QStash account
  const other = await testServer({
    clock: true,
    settings: {
      ...{ QSTASH_URL: t.server.url, QSTASH_TOKEN: publisher, MUSTER_PUBLIC_URL: at('') },
      ...{ QSTASH_CURRENT_SIGNING_KEY: current, QSTASH_NEXT_SIGNING_KEY: next },
    },
  });
  const { callbacks } = other.server;
  const { db } = other.engine;
  const path = '/api/orders/complete?tenant=1';
  for (const id of ['one', 'two']) await db.transaction((tx) => callbacks.schedule(tx, own(id, { id })));
  await db.transaction((tx) => callbacks.unschedule(tx, 1, 'two'));
  await expect(
    db.transaction(async (tx) => {
      await callbacks.schedule(tx, own('undone'));
      throw new Error('undone');
    }),
  ).rejects.toThrow('undone');
  const there = async () =>
    (await qstash.logs()).logs.filter(({ url }) => url === at(path)).map(({ state }) => state as string);
  await expect.poll(async () => (await there()).toSorted()).toEqual(['CANCELED', 'CREATED', 'CREATED']);
  await t.pass(11_000);
  await expect.poll(() => shop.of(path).length).toBe(1);
  const { body, headers } = shop.of(path)[0] as Arrived;
  expect(JSON.parse(body)).toEqual({ id: 'one' });
  const signature = String(headers['upstash-signature']);
  other.clock.advance(t.clock().getTime() - other.clock().getTime());
  expect(await callbacks.signedFor(db, { signature, body: Buffer.from(body), url: path })).toBe(1);
  // signed by the account for another address with this path: not for this server
  const elsewhere = { at: other.clock(), body: Buffer.from(body), messageId: 'msg_1' };
  const forged = await sign(current, { ...elsewhere, url: `http://evil.example${path}` });
  expect(await callbacks.signedFor(db, { signature: forged, body: Buffer.from(body), url: path })).toBeNull();
  await t.del(
    `/api/tokens/${(await t.get('/api/tokens')).body.tokens.find((one: { name: string }) => one.name === 'the shop').id}`,
  );
  await db.transaction((tx) => callbacks.schedule(tx, own('refused')));
  await expect.poll(() => other.log()).toContain('QStash did not accept a call.');
  await other.close();
});

test('without a signing key, publishing is refused and doors work without their callbacks', async () => {
  const other = await testServer({ clock: true, settings: { MUSTER_SECRETS_KEY: '' } });
  const { callbacks } = other.server;
  expect(callbacks.isReady).toBe(false);
  await other.engine.db.transaction((tx) => callbacks.schedule(tx, own('none')));
  const answer = await other.post(`/v2/publish/https://shop.example/`, {});
  expect(answer.body.code).toBe('MUSTER_SECRETS_KEY_MISSING');
  expect((await other.get('/v2/events')).body.events).toEqual([]);
  // an order does not wait for a callback that cannot come
  await other.post('/api/orders', { type: 'NORMAL' });
  const { botToken, id } = (await other.post('/api/bots')).body;
  other.secret(botToken);
  await other.post(`/api/bots/${id}/claim`);
  const first = async () => (await other.get('/api/orders')).body.orders[0];
  await other.pass(9_900);
  expect((await first()).status).toBe('PROCESSING');
  await other.pass(100);
  expect(await first()).toMatchObject({ status: 'COMPLETE', completionReason: 'LEASE_END' });
  await other.close();
});
