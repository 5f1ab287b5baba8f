import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestServer, testServer } from '../testing/test-server.ts';

/** Hosts, devices and PCs have their last contacts in one place, each over its own channel. */
let t: TestServer;
beforeAll(async () => {
  t = await testServer({ clock: true, settings: { MUSTER_ONLINE_WINDOW_SECONDS: '90' } });
});
afterAll(() => t.close());

test('who is heard of is online at once and until the window is over, and nobody else of the same number', async () => {
  const host = (await t.post('/api/hosts', { name: 'h' })).body;
  const device = (await t.post('/api/devices', { name: 'd' })).body;
  const pc = (await t.post('/api/pcs', { name: 'p' })).body;
  expect([host.id, device.id, pc.id]).toEqual(['1', '1', '1']);
  const speak = [
    ['hosts', () => t.get('/api/control/running', { token: t.secret(host.agentToken) })],
    ['devices', () => t.post('/api/checkin', {}, { token: t.secret(device.deviceToken) })],
    ['pcs', () => t.get('/api/pcs/1/running', { token: t.secret(pc.runnerToken) })],
  ] as const;
  const online = async () =>
    Object.fromEntries(
      await Promise.all(
        speak.map(async ([noun]) => [noun, (await t.get(`/api/${noun}/1`)).body.online] as const),
      ),
    );
  const nobody = { hosts: false, devices: false, pcs: false };
  expect(await online()).toEqual(nobody);
  for (const [noun, come] of speak) {
    expect((await come()).status).toBe(200);
    expect(await online()).toEqual({ ...nobody, [noun]: true });
    t.clock.advance(89_000);
    expect(await online()).toEqual({ ...nobody, [noun]: true });
    t.clock.advance(1_000);
    expect(await online()).toEqual(nobody);
  }
});
