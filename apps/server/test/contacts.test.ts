import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { FakeDevice } from '../testing/fake-device.ts';
import { type FakePc, fakePc, type Held, newTask } from '../testing/fake-pc.ts';
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

describe('G10: a task does not keep a device from its urgent action', () => {
  async function deviceOfPc(): Promise<{ device: FakeDevice; pc: FakePc }> {
    const pc = await fakePc(t, 1);
    return { device: pc.devices[0] as FakeDevice, pc };
  }
  /** A contact is written down a second later. */
  async function comes(device: FakeDevice): Promise<void> {
    await device.checkIn();
    const stored = async () => {
      const { rows } = await t.engine.db.query({
        text: `select seen_at from muster.contacts where tenant_id = 1 and channel = 'checkin' and target_id = $1`,
        values: [device.id],
      });
      return rows[0]?.seen_at;
    };
    await expect.poll(stored, { timeout: 20_000 }).toEqual(t.clock());
  }

  test('while the device is online: it comes for that first, and the task says what it waits for', async () => {
    const { device, pc } = await deviceOfPc();
    await newTask(t, { deviceIds: [device.id] }, { retryBackoffSeconds: 1 });
    const [held] = (await pc.claim()) as [Held];
    await pc.fail(held);
    await t.pass(5_000);
    await comes(device);
    const urgent = await device.assign('LOCK', { priority: 'urgent' });
    expect(await pc.claim()).toEqual([]);
    expect((await t.get(`/api/task-devices/${held.id}`)).body.waitingFor).toMatchObject({
      code: 'BEHIND_URGENT',
      actionId: urgent,
      until: new Date(t.clock().getTime() + 90_000).toISOString(),
    });
    const { action } = await device.checkIn();
    expect(action.id).toBe(urgent);
    const waiting = pc.claim({ wait: 20 });
    await device.report(action);
    const [again] = (await waiting) as [Held];
    expect(again).toMatchObject({ id: held.id, attempt: 2 });
    await pc.complete(again);
  });

  test('and not for longer: a PC that waits gets the device when it was not heard of for the whole window', async () => {
    const { device, pc } = await deviceOfPc();
    await comes(device);
    const urgent = await device.assign('LOCK', { priority: 'urgent' });
    await newTask(t, { deviceIds: [device.id] });
    const waiting = pc.claim({ wait: 20 });
    await expect.poll(() => t.engine.parkedWaiters).toBe(1);
    await t.pass(89_999);
    expect(t.engine.parkedWaiters).toBe(1);
    await t.pass(1);
    const [held] = (await waiting) as [Held];
    expect(held.deviceId).toBe(device.id);
    await pc.complete(held);
    expect((await device.checkIn()).action.id).toBe(urgent);
  });

  test('nor for a device that only its PC was heard of', async () => {
    const { device, pc } = await deviceOfPc();
    await device.assign('LOCK', { priority: 'urgent' });
    await newTask(t, { deviceIds: [device.id] });
    const [held] = (await pc.claim()) as [Held];
    expect(held.deviceId).toBe(device.id);
    await pc.complete(held);
  });
});
