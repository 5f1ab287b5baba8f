import { EventSource } from 'eventsource';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { EventStream } from '../src/events/event-stream.ts';
import { fakeDevice } from '../testing/fake-device.ts';
import { type TestServer, testServer } from '../testing/test-server.ts';

let t: TestServer;
const closing: (() => void)[] = [];
beforeAll(async () => {
  t = await testServer({ settings: { MUSTER_MAX_STREAMS: '4' } });
});
afterAll(async () => {
  for (const close of closing) close();
  await t.close();
});

const put = async (lane: string, kind = 'x') =>
  (await t.post(`/api/lanes/${lane}/actions`, { kind })).body.id as string;

/** A public client of server-sent events, as a browser would be one. */
async function follow(query = '', options: { token?: string; cursor?: string } = {}) {
  const messages: { id: string; data: { type: string; actionId: string | null; target: string | null } }[] =
    [];
  const refusals: unknown[] = [];
  const source = new EventSource(`${t.server.url}/api/events${query}`, {
    fetch: (url, init) =>
      fetch(url, {
        ...init,
        headers: {
          ...init.headers,
          authorization: `Bearer ${options.token ?? t.operator}`,
          ...(options.cursor === undefined ? {} : { 'last-event-id': options.cursor }),
        },
      }),
  });
  let opened = 0;
  source.addEventListener('open', () => {
    opened += 1;
  });
  source.addEventListener('message', (message) =>
    messages.push({ id: message.lastEventId, data: JSON.parse(message.data) }),
  );
  source.addEventListener('refused', (message) => refusals.push(JSON.parse(message.data)));
  closing.push(() => source.close());
  await expect.poll(() => opened).toBeGreaterThan(0);
  return {
    source,
    messages,
    refusals,
    of: (id: string) => messages.filter(({ data }) => data.actionId === id).map(({ data }) => data.type),
  };
}

test('G43: pages by cursor show everything once, with what it is about', async () => {
  const device = await fakeDevice(t);
  const from = (await t.get('/api/events?cursor=end')).body.cursor;
  const own = await put('feed-a', 'make');
  const other = await device.assign('LOCK');
  const { body } = await t.get(`/api/events?cursor=${from}&limit=1`);
  expect(body.events).toMatchObject([
    {
      type: 'CREATED',
      actionId: own,
      target: 'generic:feed-a',
      kind: 'make',
      channel: 'generic',
      attempt: 0,
    },
  ]);
  const rest = (await t.get(`/api/events?cursor=${body.cursor}`)).body;
  expect(rest.events).toMatchObject([{ actionId: other, target: `device:${device.id}`, kind: 'LOCK' }]);
  expect(rest.more).toBe(false);
  expect((await t.get(`/api/events?cursor=${rest.events[0].cursor}`)).body.events).toEqual([]);
  const filtered = async (query: string) =>
    (await t.get(`/api/events?cursor=${from}&${query}`)).body.events.map(
      (event: { actionId: string }) => event.actionId,
    );
  expect(await filtered(`target=device:${device.id}`)).toEqual([other]);
  expect(await filtered('target=generic:feed-a')).toEqual([own]);
  expect(await filtered('kind=LOCK')).toEqual([other]);
  expect(await filtered('type=SENT')).toEqual([]);
});

test('bad cursors and filters are refused in words, for a stream as for a page', async () => {
  for (const headers of [{}, { accept: 'text/event-stream' }])
    for (const query of ['cursor=nonsense', 'limit=0', 'type=NEVER', 'colour=red']) {
      const answer = await t.get(`/api/events?${query}`, { headers });
      expect([query, answer.status]).toEqual([query, 400]);
      expect(answer.body.error).toBeTruthy();
    }
  expect((await t.get('/api/events', { token: null })).status).toBe(401);
});

test('G43: a stream shows what happens as it happens, and a client that comes back misses nothing', async () => {
  const stream = await follow();
  const first = await put('stream-a');
  await expect.poll(() => stream.of(first)).toEqual(['CREATED']);
  const cursor = stream.messages.at(-1)?.id as string;
  stream.source.close();
  await expect.poll(async () => openStreams()).toBe(0);
  const missed = await Promise.all(Array.from({ length: 20 }, () => put('stream-b')));
  const again = await follow('?target=generic:stream-b', { cursor });
  const live = await put('stream-b');
  await expect.poll(() => again.messages.length).toBe(21);
  expect(again.messages.map(({ data }) => data.actionId)).toEqual([...missed.sort(byNumber), live]);
  again.source.close();
});

test('a stream may begin at the start, and has its place before anything has come', async () => {
  const id = await put('early');
  const all = await follow('?cursor=start&target=generic:early');
  await expect.poll(() => all.of(id)).toEqual(['CREATED']);
  all.source.close();
  const stop = new AbortController();
  const answer = await fetch(`${t.server.url}/api/events`, {
    headers: { accept: 'text/event-stream', authorization: `Bearer ${t.operator}` },
    signal: stop.signal,
  });
  const reader = answer.body?.getReader() as ReadableStreamDefaultReader<Uint8Array>;
  const text = Buffer.from((await reader.read()).value as Uint8Array).toString();
  stop.abort();
  const cursor = /^retry: 2000\nid: (\S+)\n\n/.exec(text)?.[1];
  const missed = await put('late');
  const { events } = (await t.get(`/api/events?cursor=${cursor}`)).body;
  expect(events.map((event: { actionId: string }) => event.actionId)).toEqual([missed]);
});

test('a note of a door comes in the transaction in which it was written, to its own tenant only', async () => {
  const from = (await t.get('/api/events?cursor=end')).body.cursor;
  const { db } = t.engine;
  const note = { tenantId: 1, name: 'bell.rung', data: { loud: true } };
  await expect(
    db.transaction(async (tx) => {
      await t.engine.note(tx, [note]);
      throw new Error('undo');
    }),
  ).rejects.toThrow('undo');
  const stream = await follow('?kind=bell.rung');
  await t.engine.note(db, [note, { ...note, tenantId: 2 }]);
  await expect.poll(() => stream.messages.length).toBe(1);
  const { events } = (await t.get(`/api/events?cursor=${from}&kind=bell.rung`)).body;
  expect(events).toEqual([stream.messages[0]?.data]);
  expect(events).toMatchObject([
    { type: 'NOTED', reason: 'bell.rung', data: { loud: true }, actionId: null, target: null },
  ]);
  stream.source.close();
});

test('a stream ends when its token is revoked, and one too many is told to come back', async () => {
  await expect.poll(() => openStreams()).toBe(0);
  const { id, token } = await t.token({ kind: 'operator', name: 'short', role: 'viewer' });
  const stream = await follow('', { token });
  await follow();
  await follow();
  const refused = await t.get('/api/events', { headers: { accept: 'text/event-stream' } });
  expect(refused).toMatchObject({ status: 503, body: { code: 'MUSTER_TOO_MANY_STREAMS' } });
  expect(refused.headers.get('retry-after')).toBe('5');
  const asked = { headers: { accept: 'text/event-stream;q=0, application/json' } };
  expect((await t.get('/api/events', asked)).status).toBe(200);
  await t.del(`/api/tokens/${id}`);
  await expect.poll(() => stream.refusals).toMatchObject([{ code: 'MUSTER_UNAUTHORIZED' }]);
  stream.source.close();
  await expect.poll(() => openStreams()).toBe(2);
});

test('whoever falls behind what is kept reads for himself, in order and without a gap', async () => {
  const stream = new EventStream({ engine: t.engine, log: console as never, keep: 5 });
  const stop = new AbortController();
  const begun = stream.follow({ tenantId: 1, signal: stop.signal });
  const keeper = stream.follow({ tenantId: 1, signal: stop.signal }); // the feed is read on meanwhile
  const seen: (string | null)[] = [];
  const take = async (from: typeof begun, count: number, into: (string | null)[] = []) => {
    while (into.length < count)
      into.push(...((await from.next()).value?.events ?? []).map(({ actionId }) => actionId));
    return into;
  };
  const firstOfAll = [begun.next(), keeper.next()];
  const ids = [await put('behind')];
  for (const page of await Promise.all(firstOfAll)) expect(page.value?.events.length).toBeLessThan(2);
  for (let n = 0; n < 30; n += 1) ids.push(await put('behind'));
  await take(keeper, 30);
  ids.push(await put('behind'));
  await take(begun, 31, seen);
  expect(seen.slice(-31)).toEqual(ids.slice(-31));
  stop.abort();
  await Promise.all([begun.return(), keeper.return()]);
  expect(stream.followers).toBe(0);
});

const openStreams = async () =>
  Number(/^muster_event_streams (\d+)$/m.exec((await t.get('/metrics')).body)?.[1]);
const byNumber = (a: string, b: string) => Number(a) - Number(b);
