import { fastify } from 'fastify';
import { afterEach, expect, test } from 'vitest';
import type {} from '../src/http/auth.ts'; // a request has a caller
import { boundBodies } from '../src/http/body-room.ts';
import { errorReply } from '../src/http/error-reply.ts';
import { useJsonBodies } from '../src/http/json-body.ts';
import { settleUnreadBodies } from '../src/http/unread-body.ts';
import { head, type RawConnection, rawConnection } from '../testing/raw-http.ts';

const KB = 1_024;

test('G64: the bodies of waiting requests are bounded in total, and no tenant takes the space of another', async () => {
  const app = fastify({ bodyLimit: 1_000 * KB });
  app.decorateRequest('caller', null);
  app.setErrorHandler(errorReply);
  useJsonBodies(app);
  boundBodies(app, { bytes: 400 * KB });
  app.addHook('onRequest', async (request) => {
    request.caller = { tenantId: Number(request.headers['x-tenant']) } as never;
  });
  let answerAll = () => {};
  const wait = new Promise<void>((resolve) => {
    answerAll = resolve;
  });
  app.post('/', async () => {
    await wait;
    return {};
  });
  const send = async (tenant: number, bytes: number) =>
    await app.inject({
      method: 'POST',
      url: '/',
      headers: { 'content-type': 'application/json', 'x-tenant': String(tenant) },
      payload: JSON.stringify('x'.repeat(bytes)),
    });
  const three = [send(1, 150 * KB), send(1, 150 * KB), send(1, 150 * KB)];
  const refused = await Promise.race(three); // two of them wait
  expect(refused.statusCode).toBe(503);
  expect(refused.json()).toMatchObject({ code: 'MUSTER_OVERLOADED' });
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
  const others = [send(2, 50 * KB), send(1, 1_000)]; // a small one costs nothing worth counting
  answerAll();
  const codes = (await Promise.all([...three, ...others])).map(({ statusCode }) => statusCode);
  expect(codes.sort()).toEqual([200, 200, 200, 200, 503]);
  expect((await send(1, 150 * KB)).statusCode).toBe(200);
  await app.close();
});

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

/** A server with space for 1,000 KB, of which one tenant gets 800; it answers with the length of the body. */
async function listening(ms?: number) {
  const app = fastify({ bodyLimit: 500 * KB });
  app.decorateRequest('caller', null);
  app.setErrorHandler(errorReply);
  app.addHook('onSend', settleUnreadBodies({ bytes: 64 * KB, ms: 50 }));
  useJsonBodies(app);
  boundBodies(app, ms === undefined ? { bytes: 1_000 * KB } : { bytes: 1_000 * KB, ms });
  app.addHook('onRequest', async (request) => {
    request.caller = { tenantId: 1 } as never;
  });
  let gate: Promise<void> = Promise.resolve();
  let [reading, handling] = [0, 0];
  let heard = () => {};
  const more = () =>
    new Promise<void>((resolve) => {
      heard = resolve;
    });
  app.addHook('preParsing', (_request, _reply, _payload, done) => {
    reading += 1;
    heard();
    done();
  });
  app.post('/', async (request) => {
    handling += 1;
    heard();
    await gate;
    return { length: (request.body as string).length };
  });
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  undo.push(() => app.close());
  return {
    /** Sends the head and part of the body, never its end. */
    begin(headers: Record<string, string | number>, some: string | Buffer = ''): RawConnection {
      const client = rawConnection(url);
      undo.push(() => client.socket.destroy());
      client.send(head('POST /', { 'content-type': 'application/json', ...headers }));
      client.send(some);
      return client;
    },
    async untilReading(count: number) {
      while (reading < count) await more();
    },
    async untilHandling(count: number) {
      while (handling < count) await more();
      return 'handled';
    },
    /** Waits until no answer is on its way. */
    hold() {
      gate = new Promise(() => {});
    },
  };
}

const LENGTH = 400 * KB;
const codeOf = (answer: { body: string } | null) => JSON.parse(answer?.body ?? '{}').code;

test('G64: space for a body is reserved before it is read: a body that is too large for it is refused at once, unread', async () => {
  const server = await listening();
  const held = [1, 2].map(() => server.begin({ 'content-length': LENGTH }, Buffer.alloc(KB, ' ')));
  await server.untilReading(2);
  const third = server.begin({ 'content-length': LENGTH });
  const refused = await third.answer();
  expect(refused?.status).toBe(503);
  expect(codeOf(refused)).toBe('MUSTER_OVERLOADED');
  expect(refused?.headers.connection).toBe('close');
  await third.closed;
  // a client that hangs up gives back its space, and the other can finish
  held[0]?.socket.destroy();
  for (;;) {
    const next = server.begin({ 'content-length': LENGTH }, `"${'x'.repeat(LENGTH - 2)}"`);
    const answer = await next.answer();
    if (answer?.status === 200) break;
    expect(answer?.status).toBe(503); // the server has not heard of it yet
  }
  held[1]?.send(`"${'x'.repeat(LENGTH - KB - 2)}"`);
  expect((await held[1]?.answer())?.status).toBe(200);
});

test('G64: a body without a length counts as the largest allowed until it is read, then as its real size', async () => {
  const server = await listening();
  const chunked = { 'transfer-encoding': 'chunked' };
  server.begin(chunked, '1\r\n"\r\n');
  await server.untilReading(1);
  expect(codeOf(await server.begin(chunked, '1\r\n"\r\n').answer())).toBe('MUSTER_OVERLOADED');
  // three waiting requests with small bodies hold almost nothing
  const small = await listening();
  small.hold();
  for (let n = 1; n <= 3; n += 1) {
    const client = small.begin(chunked, '4\r\n"xx"\r\n0\r\n\r\n');
    expect(await Promise.race([client.answer(), small.untilHandling(n)])).toBe('handled');
  }
});

test('G64: a body that does not arrive in time is answered 408, and its connection is closed', async () => {
  const server = await listening(20);
  for (const headers of [{ 'content-length': LENGTH }, { 'transfer-encoding': 'chunked' }]) {
    const client = server.begin(headers, '1\r\n');
    const answer = await client.answer();
    expect(answer?.status).toBe(408);
    expect(codeOf(answer)).toBe('MUSTER_TOO_SLOW');
    expect(answer?.headers.connection).toBe('close');
    await client.closed;
  }
});
