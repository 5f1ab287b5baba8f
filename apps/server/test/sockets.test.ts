import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestServer, testServer } from '../testing/test-server.ts';

/** Clients that disconnect while the server works for them, and a server that stops while clients wait. */
/** For events without a promised time, on a busy machine. */
let t: TestServer;
beforeAll(async () => {
  t = await testServer();
});
afterAll(() => t.close());

const events = async (id: string) =>
  (await t.get(`/api/actions/${id}`)).body.events.map((event: { type: string }) => event.type);

function rawClaim(url: string, token: string, lane: string, body: object): Socket {
  const text = JSON.stringify({ worker: 'gone', ...body });
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {});
  socket.write(
    `POST /api/lanes/${lane}/claim HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
  );
  return socket;
}

test('a client that hangs up while waiting leaves no waiter behind', async () => {
  const socket = rawClaim(t.server.url, t.operator, 'hung-up', { wait: 25 });
  await expect.poll(() => t.engine.parkedWaiters).toBe(1);
  socket.destroy();
  await expect.poll(() => t.engine.parkedWaiters).toBe(0);
  const { id } = (await t.post('/api/lanes/hung-up/actions', { kind: 'x' })).body;
  expect(await events(id)).toEqual(['CREATED']);
});

test('an action claimed for a closed connection is pending again at once', async () => {
  const { db, schema } = t.engine;
  // The claim is held up until its connection is closed. The test cannot see how long the server takes to begin it, so it waits
  // longer each time until the server was fast enough.
  for (let n = 0; n < 30; n += 1) {
    const lane = `held-up-${n}`;
    const { id } = (await t.post(`/api/lanes/${lane}/actions`, { kind: 'x' })).body;
    await db.transaction(async (tx) => {
      await tx.query({ text: `select 1 from ${schema}.lanes where tenant_id = $1 for update`, values: [1] });
      const socket = rawClaim(t.server.url, t.operator, lane, {});
      await once(socket, 'connect');
      await pause(n * 20);
      socket.destroy();
      await pause(n * 20);
    });
    await expect.poll(async () => (await t.get(`/api/actions/${id}`)).body.state).toBe('pending');
    if ((await events(id)).length === 1) continue;
    await expect.poll(() => events(id)).toEqual(['CREATED', 'SENT', 'RELEASED']);
    return;
  }
  throw new Error('The server never began a claim before its connection was gone.');
});

test('a stop answers all waiting requests, and refuses the next one', async () => {
  const own = await testServer();
  const waiting = [1, 2, 3].map((n) => own.post(`/api/lanes/stop-${n}/claim`, { worker: 'w', wait: 25 }));
  await expect.poll(() => own.engine.parkedWaiters).toBe(3);
  const began = performance.now();
  const stopped = own.close();
  for (const answer of await Promise.all(waiting))
    expect(answer).toMatchObject({ status: 200, body: { actions: [] } });
  await stopped;
  expect(performance.now() - began).toBeLessThan(25_000);
  await expect(fetch(`${own.server.url}/healthz`)).rejects.toThrow();
});

test('invalid HTTP gets an answer in the form of every other error', async () => {
  const { hostname, port } = new URL(t.server.url);
  const socket = connect(Number(port), hostname);
  socket.write('hello\r\n\r\n');
  let text = '';
  for await (const chunk of socket) text += chunk;
  expect(text).toMatch(/^HTTP\/1\.1 400 /);
  expect(JSON.parse(text.slice(text.indexOf('{')))).toMatchObject({ code: 'MUSTER_BAD_REQUEST' });
});
