import { on, once } from 'node:events';
import { BlockList, connect, Socket } from 'node:net';
import { endpoint } from '@muster/contracts';
import { expect, test } from 'vitest';
import { anybody } from '../src/http/access.ts';
import { type AppOptions, createApp } from '../src/http/app.ts';
import { defineRoute } from '../src/http/define-route.ts';
import { InHand } from '../src/http/in-hand.ts';
import { createLog } from '../src/http/logging.ts';
import { SignInFailures } from '../src/http/sign-in-failures.ts';
import { head, rawConnection } from '../testing/raw-http.ts';

const appWith = (routes: AppOptions['routes']) =>
  createApp({
    log: createLog('silent', { write: () => {} }),
    mostBodyBytes: 1,
    tokens: {} as never,
    signIns: {} as never,
    failures: new SignInFailures(1, () => 0),
    trustedProxies: new BlockList(),
    routes,
  });

/** GET /slow, whose answers wait until it is opened. */
function gatedRoute() {
  let open = () => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const slow = defineRoute(endpoint({ method: 'GET', path: '/slow', summary: 'Waits', responses: {} }), {
    access: anybody,
    async handler() {
      await gate;
      return { status: 'done' };
    },
  });
  return { open: () => open(), slow };
}

test('while the server stops, running requests are answered and new ones get MUSTER_STOPPING', async () => {
  const { open, slow } = gatedRoute();
  const ready = defineRoute(endpoint({ method: 'GET', path: '/ready', summary: 'Says', responses: {} }), {
    access: anybody,
    evenStopping: true,
    handler: async () => ({ status: 'draining' }),
  });
  const app = appWith([slow, ready]);
  const url = await app.fastify.listen({ port: 0 });
  const client = rawConnection(url);
  client.send(head('GET /slow', {}));
  await once(app.fastify.server, 'request');
  const closed = app.close();
  client.send(head('GET /slow', {}));
  await once(app.fastify.server, 'request');
  // the port stays open: a balancer that finds it closed may cut the first request
  const balancer = rawConnection(url);
  balancer.send(head('GET /ready', {}));
  expect(await balancer.answer()).toMatchObject({ status: 200, body: '{"status":"draining"}' });
  balancer.send(head('GET /slow', {}));
  expect(await balancer.answer()).toMatchObject({ status: 503 });
  open();
  expect(await client.answer()).toMatchObject({ status: 200, body: '{"status":"done"}' });
  const refused = await client.answer();
  expect(refused).toMatchObject({ status: 503, headers: { connection: 'close' } });
  expect(refused?.headers['retry-after']).toMatch(/^[1-4]$/);
  expect(JSON.parse(refused?.body ?? '')).toEqual({
    error: 'The server is stopping. Try again.',
    code: 'MUSTER_STOPPING',
  });
  await closed;
  await expect(fetch(url)).rejects.toThrow();
});

test('a stop does not wait for a pipelined request whose connection broke', async () => {
  const { open, slow } = gatedRoute();
  const app = appWith([slow]);
  const url = new URL(await app.fastify.listen({ port: 0, host: '127.0.0.1' }));
  const client = connect(Number(url.port), url.hostname).on('error', () => {});
  const seen = on(app.fastify.server, 'request');
  client.write(head('GET /slow', {}).repeat(2));
  const requests = [await seen.next(), await seen.next()].map(({ value: [request] }) => request);
  const broken = new Promise((resolve) => requests[1].socket.once('close', resolve));
  client.resetAndDestroy();
  await broken;
  open();
  await app.close();
});

test('requests are in hand until they are answered or their connection is closed', async () => {
  const inHand = new InHand();
  const none = () => inHand.none(3_600_000);
  await none();
  const [kept, broken] = [new Socket(), new Socket()];
  const answered = inHand.add(kept);
  expect(inHand.add(kept)).toBe(answered);
  inHand.add(broken);
  let isOver = false;
  const over = none().then(() => {
    isOver = true;
  });
  broken.destroy();
  await once(broken, 'close');
  inHand.add(broken); // read from its buffer afterwards
  answered.unanswered -= 1;
  await inHand.none(100); // one look and more
  expect(isOver).toBe(false);
  answered.unanswered -= 1;
  await over;
});
