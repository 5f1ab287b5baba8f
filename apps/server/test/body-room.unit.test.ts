import { fastify } from 'fastify';
import { expect, test } from 'vitest';
import { boundBodies } from '../src/http/body-room.ts';
import { errorReply } from '../src/http/error-reply.ts';
import { useJsonBodies } from '../src/http/json-body.ts';

const KB = 1_024;

test('G64: the bodies of requests that wait are bounded together, and no tenant takes the room of another', async () => {
  const app = fastify({ bodyLimit: 1_000 * KB });
  app.decorateRequest('caller', null);
  app.setErrorHandler(errorReply);
  useJsonBodies(app);
  boundBodies(app, 400 * KB);
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
