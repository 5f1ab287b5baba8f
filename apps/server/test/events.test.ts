import { settledUpTo } from '@muster/engine/testing';
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

/** A public client of server-sent events, like that of a browser. */
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

test('G43: pages by cursor show every event once, with its target', async () => {
  const device = await fakeDevice(t);
  const from = (await t.get('/api/events?cursor=end')).body.cursor;
  const own = await put('feed-a', 'make');
  const other = await device.assign('LOCK');
  // events held back by a transaction of another suite come when it ends
  const many = async () => (await t.get(`/api/events?cursor=${from}`)).body.events.length;
  await expect.poll(many).toBe(2);
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

test('bad cursors and filters are refused in a sentence, for streams and for pages', async () => {
  for (const headers of [{}, { accept: 'text/event-stream' }])
    for (const query of ['cursor=nonsense', 'limit=0', 'type=NEVER', 'colour=red']) {
      const answer = await t.get(`/api/events?${query}`, { headers });
      expect([query, answer.status]).toEqual([query, 400]);
      expect(answer.body.error).toBeTruthy();
    }
  expect((await t.get('/api/events', { token: null })).status).toBe(401);
});

test('G43: a stream shows events as they happen, and a client that reconnects misses nothing', async () => {
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

test('a stream may begin at the start, and has a cursor before any event has come', async () => {
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
  // a transaction of another suite on the same server may hold it back
  const shown = async () => (await t.get(`/api/events?cursor=${cursor}`)).body.events;
  await expect
    .poll(async () => (await shown()).map((event: { actionId: string }) => event.actionId))
    .toEqual([missed]);
});

test('a note of a door is written in its transaction, and only its own tenant sees it', async () => {
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

test('a stream ends when its token is revoked, and one too many gets Retry-After', async () => {
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

test('a stream that falls behind the buffered events reads the feed itself, in order and without a gap', async () => {
  const stream = new EventStream({ engine: t.engine, log: console as never, keep: 5 });
  const stop = new AbortController();
  // from a cursor: "from now on" could begin after the first of them
  const from = {
    tenantId: 1,
    cursor: (await t.get('/api/events?cursor=end')).body.cursor,
    signal: stop.signal,
  };
  const begun = stream.follow(from);
  const keeper = stream.follow(from); // the feed is read on meanwhile
  const ids: string[] = [];
  const putMore = async () => ids.push(await put('behind'));
  const takeAll = async (of: typeof begun, into: (string | null)[]) => {
    while (into.length < ids.length)
      into.push(...((await of.next()).value?.events ?? []).map(({ actionId }) => actionId));
    return into;
  };
  await putMore();
  const [seen, kept] = [await takeAll(begun, []), await takeAll(keeper, [])];
  for (let n = 0; n < 30; n += 1) await putMore();
  await takeAll(keeper, kept);
  await putMore();
  expect(await takeAll(begun, seen)).toEqual(ids);
  expect(await takeAll(keeper, kept)).toEqual(ids);
  stop.abort();
  await Promise.all([begun.return(), keeper.return()]);
  expect(stream.followers).toBe(0);
});

const openStreams = async () =>
  Number(/^muster_event_streams (\d+)$/m.exec((await t.get('/metrics')).body)?.[1]);
const byNumber = (a: string, b: string) => Number(a) - Number(b);

/** A page that follows the hints, with all messages it received. */
async function followLive(headers: Record<string, string>, query = '') {
  const aborted = new AbortController();
  closing.push(() => aborted.abort());
  const response = await fetch(`${t.server.url}/api/live${query}`, { headers, signal: aborted.signal });
  let text = '';
  const messages = () =>
    text.split('\n\n').flatMap((block) => {
      const [, event] = /^event: (\w+)$/m.exec(block) ?? [];
      const [, data] = /^data: (.*)$/m.exec(block) ?? [];
      const [, id] = /^id: (.*)$/m.exec(block) ?? [];
      return event && data ? [{ event, id, data: JSON.parse(data) }] : [];
    });
  const ended = (async () => {
    for await (const chunk of response.body as ReadableStream<Uint8Array>)
      text += Buffer.from(chunk).toString();
  })().catch(() => {});
  const of = (event: string) => messages().filter((one) => one.event === event);
  return { response, messages, of, ended, close: () => aborted.abort() };
}
const asOperator = () => ({ authorization: `Bearer ${t.operator}` });

test('G43: hints say what has changed, never its new value, and continue where they stopped', async () => {
  for (const close of closing.splice(0)) close();
  await expect.poll(async () => openStreams()).toBe(0);
  const device = await fakeDevice(t);
  const page = await followLive(asOperator());
  expect(page.response.headers.get('content-type')).toContain('text/event-stream');
  await expect.poll(() => page.of('tick')).not.toHaveLength(0);
  expect(page.of('tick')[0]?.data).toEqual({
    now: expect.any(String),
    lag: expect.any(Number),
    version: expect.any(String),
  });
  const id = await device.assign('LOCK');
  await expect.poll(() => page.of('changed').flatMap(({ data }) => data.actions)).toContain(id);
  expect(page.of('changed').flatMap(({ data }) => data.targets)).toContain(`device:${device.id}`);
  expect(JSON.stringify(page.messages())).not.toContain('LOCK');
  const last = page.messages().at(-1)?.id as string;
  page.close();
  await expect.poll(async () => openStreams()).toBe(0);

  const missed = await device.assign('LOCK');
  const again = await followLive({ ...asOperator(), 'last-event-id': last });
  await expect.poll(() => again.of('changed').flatMap(({ data }) => data.actions)).toEqual([missed]);
  again.close();
  for (const [cursor, status] of [
    ['nonsense', 400],
    ['end', 400],
  ] as const)
    expect((await t.get(`/api/live?cursor=${cursor}`)).status).toBe(status);
  expect((await t.get('/api/live', { token: null })).status).toBe(401);
  await expect.poll(async () => openStreams()).toBe(0);
});

test('G43: a page that missed much gets `many`, and one that is too far behind reads everything again', async () => {
  const from = (await t.get('/api/events?cursor=end')).body.cursor;
  // read at once: until then a transaction of another suite on the server holds them back
  const noted = async (count: number) => {
    await t.engine.note(
      t.engine.db,
      Array.from({ length: count }, (_one, n) => ({
        tenantId: 1,
        name: `note-${n}`,
        data: {},
      })),
    );
    await settledUpTo(t.engine.db);
  };
  await noted(1_200);
  const much = await followLive({ ...asOperator(), 'last-event-id': from });
  await expect.poll(() => much.of('many')).toHaveLength(1);
  expect(much.of('changed')).toEqual([]);
  much.close();
  for (let n = 0; n < 9; n += 1) await noted(1_000);
  const late = await followLive({ ...asOperator(), 'last-event-id': from });
  await expect.poll(() => late.of('resync')).toHaveLength(1);
  await noted(1);
  await expect.poll(() => late.of('changed').flatMap(({ data }) => data.notes)).toEqual(['note-0']);
  late.close();
  await expect.poll(async () => openStreams()).toBe(0);
});

test('G63: a stream of hints ends with the token of its cookie', async () => {
  const { id, token } = await t.token({ kind: 'operator', role: 'viewer', name: 'looks' });
  const signedIn = await t.send('POST', '/api/session', undefined, { token });
  const [cookie = ''] = (signedIn.headers.get('set-cookie') ?? '').split(';');
  t.secret(cookie.split('=')[1] as string);
  const page = await followLive({ cookie }, '?tenant=1');
  await expect.poll(() => page.of('tick')).not.toHaveLength(0);
  await t.del(`/api/tokens/${id}`);
  await page.ended;
  expect(page.of('refused')).toMatchObject([{ data: { code: 'MUSTER_UNAUTHORIZED' } }]);
});
