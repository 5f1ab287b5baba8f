import { afterAll, beforeAll, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { type TestServer, testServer } from '../testing/test-server.ts';

/** Invalid tokens. The tests play the proxy and name the client addresses. */
let t: TestServer;
beforeAll(async () => {
  t = await testServer({
    clock: true,
    settings: { MUSTER_FAILED_SIGN_INS_PER_MINUTE: '5', MUSTER_TRUSTED_PROXIES: '127.0.0.1, 10.0.0.0/8' },
  });
});
afterAll(() => t.close());

const from = (address: string, token: string | null, path = '/api/counts') =>
  t.get(path, { token, headers: { 'x-forwarded-for': address } });
const guess = (address: string, path?: string) => from(address, `guess-${'x'.repeat(40)}`, path);

async function useUp(address: string): Promise<void> {
  for (let n = 0; n < 5; n += 1) expect((await guess(address)).status).toBe(401);
  expect((await guess(address)).status).toBe(429);
}

test('G66: above the limit an address gets 429 with Retry-After; after a minute it is served again', async () => {
  await useUp('192.0.2.1');
  await t.pass(15_000);
  const refused = await guess('192.0.2.1');
  expect(refused).toMatchObject({ status: 429, body: { code: 'MUSTER_TOO_MANY_FAILURES' } });
  expect(refused.headers.get('retry-after')).toBe('45');
  expect((await guess('192.0.2.1', '/api/control/queue')).status).toBe(429);
  expect((await guess('192.0.2.2')).status).toBe(401);
  await t.pass(45_000);
  expect((await guess('192.0.2.1')).status).toBe(401);
});

test('G66: a valid token is accepted from an address that has used up its failures, even when it is new', async () => {
  await useUp('192.0.2.3');
  const { token } = await t.token({ kind: 'operator', role: 'viewer', name: 'behind the same wall' });
  for (let n = 0; n < 20; n += 1) expect((await from('192.0.2.3', token)).status).toBe(200);
  expect((await guess('192.0.2.3')).status).toBe(429);
  // a request without a token, or with a valid one at the wrong door, is not a guess
  expect((await from('192.0.2.3', null)).status).toBe(401);
  for (let n = 0; n < 6; n += 1) {
    expect((await from('192.0.2.4', null)).status).toBe(401);
    expect((await from('192.0.2.4', token, '/api/control/queue')).status).toBe(401);
    expect((await from('192.0.2.4', token, '/api/tokens')).status).toBe(403);
  }
});

test('G66: the client is the last address that is not a trusted proxy', async () => {
  await useUp('192.0.2.5, 10.1.2.3');
  expect((await guess('192.0.2.5')).status).toBe(429);
  expect((await guess('198.51.100.1, 192.0.2.5')).status).toBe(429); // a client may claim what it likes
  expect((await guess('192.0.2.5, 198.51.100.1')).status).toBe(401);
  for (const odd of ['unknown', '', '1.2.3.4.5', ',,', 'x'.repeat(5_000), '_hidden, [::1]:80'])
    expect([401, 429]).toContain((await guess(odd)).status);
});

test('G66: unknown tokens on a WebSocket are counted like others', async () => {
  const closed = (token: string) =>
    new Promise<number>((resolve) => {
      const headers = { 'x-forwarded-for': '192.0.2.9, 10.1.2.3' };
      const address = `${t.server.url.replace('http', 'ws')}/graphql`;
      const socket = new WebSocket(address, 'graphql-transport-ws', { headers });
      const payload = { authorization: `Bearer ${token}` };
      socket.on('open', () => socket.send(JSON.stringify({ type: 'connection_init', payload })));
      socket.on('message', () => socket.close(1000));
      socket.on('close', resolve);
    });
  for (let n = 0; n < 5; n += 1) expect(await closed(`guess-${'x'.repeat(40)}`)).toBe(4403);
  expect(await closed(`guess-${'x'.repeat(40)}`)).toBe(4429);
  expect((await guess('192.0.2.9')).status).toBe(429);
  expect(await closed(t.operator)).toBe(1000);
});

test('G66: without trusted proxies a client cannot choose its address', async () => {
  const own = await testServer({ settings: { MUSTER_FAILED_SIGN_INS_PER_MINUTE: '5' } });
  const statuses: number[] = [];
  for (let n = 0; n < 7; n += 1) {
    const headers = { 'x-forwarded-for': `192.0.2.${n}` };
    statuses.push((await own.get('/api/counts', { token: 'x'.repeat(40), headers })).status);
  }
  expect(statuses).toEqual([401, 401, 401, 401, 401, 429, 429]);
  await own.close();
});
