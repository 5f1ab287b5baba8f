import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { head, type RawConnection, rawConnection } from '../testing/raw-http.ts';
import { type TestServer, testServer } from '../testing/test-server.ts';

/** Connections with other things than well-formed requests that are read to their end. */
let t: TestServer;
/** Gives up a refused body at once. */
let impatient: TestServer;
const open: RawConnection[] = [];
beforeAll(async () => {
  [t, impatient] = await Promise.all([
    testServer({ refusedBodyMs: 60_000 }),
    testServer({ refusedBodyMs: 50 }),
  ]);
});
afterAll(async () => {
  for (const { socket } of open) socket.destroy();
  await Promise.all([t.close(), impatient.close()]);
});

function connection(to = t): RawConnection {
  const made = rawConnection(to.server.url);
  open.push(made);
  return made;
}
/** How many pieces the server accepted before it closed the connection; at most a thousand. */
async function sentUntilClosed({ closed, socket }: RawConnection, piece: Buffer): Promise<number> {
  for (let sent = 0; sent < 1_000; sent += 1) {
    const went = new Promise<boolean>((resolve) => {
      socket.write(piece, (error) => resolve(!error));
    });
    if (await Promise.race([went, closed.then(() => false)])) continue;
    await closed;
    return sent;
  }
  return 1_000;
}
const code = (answer: { body: string } | null) => JSON.parse(answer?.body ?? '{}').code;
const HEALTH = head('GET /healthz', {});
const bearer = (token = t.operator) => ({ authorization: `Bearer ${token}` });
const KIB = 1_024;
const LIMIT = 64 * KIB;

describe('a body that is not read', () => {
  test.each([
    ['without a token', 'POST /api/lanes/x/actions', {}, 401],
    [
      'with an unknown token',
      'POST /api/lanes/x/actions',
      { authorization: `Bearer ${'x'.repeat(40)}` },
      401,
    ],
    ['of an agent without a token', 'POST /api/control/report', {}, 401],
    ['at an unknown path', 'POST /nothing', {}, 404],
    ['with a wrong method', 'PUT /api/actions', {}, 405],
    ['where none is wanted', 'GET /healthz', {}, 200],
  ])(
    'G66: %s is drained up to 64 KiB, and the connection continues',
    async (_what, line, headers, status) => {
      const client = connection();
      client.send(head(line, { 'content-length': LIMIT, 'content-type': 'application/json', ...headers }));
      const answer = await client.answer();
      expect(answer?.status).toBe(status);
      expect(answer?.headers.connection).toBe('keep-alive');
      client.send(Buffer.alloc(LIMIT, 'x'));
      client.send(HEALTH);
      expect((await client.answer())?.status).toBe(200);
      client.socket.destroy();
    },
  );

  test.each([
    ['POST /api/lanes/x/actions', 401],
    ['POST /api/control/report', 401],
    ['POST /nothing', 404],
    ['GET /healthz', 200],
  ])('G66: %s above that says so and closes', async (line, status) => {
    const client = connection(impatient);
    client.send(head(line, { 'content-length': 200 * KIB * KIB, 'content-type': 'application/json' }));
    const answer = await client.answer();
    expect(answer?.status).toBe(status);
    expect(answer?.headers.connection).toBe('close');
    await client.closed; // nothing more was sent: also a slow one is let go
  });

  test('G66: no client without a token makes the server read for ever, whatever length it announces', async () => {
    const client = connection();
    client.send(head('POST /api/lanes/x/actions', { 'transfer-encoding': 'chunked' }));
    const chunk = Buffer.concat([Buffer.from('10000\r\n'), Buffer.alloc(LIMIT, 'x'), Buffer.from('\r\n')]);
    expect((await client.answer())?.status).toBe(401);
    expect(await sentUntilClosed(client, chunk)).toBeLessThan(1_000);
  });

  test('G66: a refused body that comes too slowly is not waited for', async () => {
    const client = connection(impatient);
    client.send(`${head('POST /api/lanes/x/actions', { 'content-length': 1_000 })}x`);
    expect(await client.answer()).toMatchObject({ status: 401, headers: { connection: 'keep-alive' } });
    await client.closed;
  });
});

describe('an import that is answered early', () => {
  const rows = (size: number) => `externalId,name\n${'x,a row that is never read\n'.repeat(size / 26)}`;
  const importing = (headers: object, length: number) =>
    head('POST /api/devices/import', {
      ...bearer(),
      'content-type': 'text/csv',
      'content-length': length,
      ...headers,
    });

  test.each([
    ['because of its content', {}, 'name,name\n', 400, true],
    ['because of its bytes', {}, Buffer.from([0xff, 0x0a]), 400, true],
    ['because of a row', {}, 'name\n"x"y\n', 200, true],
    ['because of its type', { 'content-type': 'text/plain' }, '', 400, false],
    ['because of its token', { authorization: `Bearer ${'x'.repeat(40)}` }, '', 401, false],
  ])('G66: %s leaves a usable connection', async (_why, headers, begin, status, isBegun) => {
    const client = connection();
    const rest = rows(isBegun ? 2_000_000 : 60_000); // of an import that was begun more is read
    client.send(importing(headers, Buffer.byteLength(begin) + rest.length));
    client.send(begin);
    client.send(rest.slice(0, 30_000));
    if (!isBegun) expect((await client.answer())?.status).toBe(status);
    client.send(rest.slice(30_000));
    if (isBegun)
      expect(await client.answer()).toMatchObject({ status, body: expect.stringContaining('"error":') });
    client.send(HEALTH);
    expect((await client.answer())?.status).toBe(200);
  });

  test('G66: with very much left to read, the connection is closed after the answer', async () => {
    const client = connection();
    client.send(importing({}, 10_000_000_000));
    client.send('name,name\n');
    // read first: closing a connection while the client still sends may cut off the end of the answer
    expect(await client.received('The header has the same column twice.')).toBe(true);
    expect(await sentUntilClosed(client, Buffer.alloc(1_048_576, 'x'))).toBeLessThan(1_000);
  });
});

describe('invalid requests', () => {
  test.each(['/api/lanes/', '/api/actions/', '/api/devices/'])(
    'G66: a path parameter of any length under %s is refused in JSON, with and without a token',
    async (path) => {
      for (const length of [2_401, 50_000])
        for (const asking of [{}, { token: null }]) {
          const suffix = path === '/api/lanes/' ? '/claim' : '';
          const method = suffix ? 'POST' : 'GET';
          const answer = await t.send(
            method,
            `${path}${'x'.repeat(length)}${suffix}`,
            suffix ? {} : undefined,
            asking,
          );
          expect(answer).toMatchObject({ status: 414, body: { code: 'MUSTER_PATH_TOO_LONG' } });
        }
      expect(t.log()).not.toContain('MUSTER_INTERNAL');
    },
  );

  test.each([
    [
      'an expectation',
      head('POST /api/lanes/x/claim', { expect: 'the-unexpected' }),
      417,
      'MUSTER_BAD_EXPECTATION',
    ],
    ['no Host', 'GET /healthz HTTP/1.1\r\n\r\n', 400, 'MUSTER_BAD_REQUEST'],
    ['CONNECT', head('CONNECT example.org:443', {}), 400, 'MUSTER_BAD_REQUEST'],
    ['a line that is none', 'GET\r\n\r\n', 400, 'MUSTER_BAD_REQUEST'],
    [
      'a head without end',
      head('GET /healthz', { 'x-long': 'x'.repeat(70_000) }),
      431,
      'MUSTER_HEADERS_TOO_LARGE',
    ],
    [
      'two lengths',
      head('POST /x', { 'content-length': '3\r\ncontent-length: 4' }),
      400,
      'MUSTER_BAD_REQUEST',
    ],
  ])('G66: %s is answered in JSON and closes', async (_what, text, status, expected) => {
    const client = connection();
    client.send(text);
    const answer = await client.answer();
    expect([answer?.status, code(answer)]).toEqual([status, expected]);
    expect(answer?.headers).toMatchObject({
      'content-type': expect.stringMatching(/^application\/json/),
      connection: 'close',
    });
    await client.closed;
  });

  test('HTTP/1.0 needs no Host', async () => {
    const client = connection();
    client.send('GET /healthz HTTP/1.0\r\n\r\n');
    expect((await client.answer())?.status).toBe(200);
  });

  test('a client that hangs up in the middle of its body is not logged as a missing database', async () => {
    const begin = head('POST /api/lanes/hung-up/actions', {
      ...bearer(),
      'content-length': 100,
      'content-type': 'application/json',
    });
    // the client cannot see whether the server has begun to read, so it waits longer until it has
    for (let n = 0; n < 100 && !/client disconnected|The request failed/.test(t.log()); n += 1) {
      const client = connection();
      client.send(`${begin}{`);
      await pause(n * 10);
      client.socket.end();
      await client.closed;
    }
    expect(t.log()).toContain('The client disconnected.');
    expect(t.log()).not.toContain('MUSTER_DATABASE_AWAY');
  });
});

test.each(['.', '..', '%2e', '%2E%2e'])('a lane cannot have a name of dots: %s', async (lane) => {
  const client = connection();
  const body = '{"kind":"x"}';
  client.send(
    head(`POST /api/lanes/${lane}/actions`, {
      'content-length': body.length,
      'content-type': 'application/json',
      ...bearer(),
    }) + body,
  );
  const answer = await client.answer();
  expect(answer?.status).toBe(400);
  expect(code(answer)).toBe('MUSTER_BAD_PATH');
  expect(await t.engine.findLane(t.engine.db, 1, 'generic', '..')).toBeNull();
});
