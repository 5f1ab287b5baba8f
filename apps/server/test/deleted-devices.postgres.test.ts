import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type FakeDevice, fakeDevice } from '../testing/fake-device.ts';
import { sessions } from '../testing/sessions.ts';
import { type Answer, type TestServer, testServer } from '../testing/test-server.ts';

/** Changes of a device at the same moment as its deletion: the second one finds it deleted. */
let t: TestServer;
let other: pg.Client;
beforeAll(async () => {
  t = await testServer();
  other = new pg.Client(t.databaseUrl as string);
  await other.connect();
});
afterAll(async () => {
  await other.end();
  await t.close();
});

const WAITING = `select count(*)::int as n from ${sessions()}
  where wait_event_type = 'Lock' and datname = current_database() and backend_type = 'client backend'`;

/** The request is sent before the delete commits; the delete commits as soon as the request waits for it. */
async function whileDeleted(device: FakeDevice, send: () => Promise<Answer>): Promise<Answer> {
  const watcher = new pg.Client(t.databaseUrl as string);
  await watcher.connect();
  await other.query('begin');
  await other.query('update muster.devices set deleted_at = now() where device_id = $1', [device.id]);
  const asked = send();
  let answered = false;
  const settled = asked.finally(() => {
    answered = true;
  });
  await expect.poll(async () => answered || (await watcher.query(WAITING)).rows[0].n > 0).toBe(true);
  await other.query('commit');
  await watcher.end();
  return settled;
}

const REQUESTS: Record<string, (id: string) => Promise<Answer>> = {
  'an action': (id) => t.post(`/api/devices/${id}/actions`, { kind: 'x' }),
  'an action with days': (id) => t.post(`/api/devices/${id}/actions`, { kind: 'x', moreDays: 3 }),
  'a new enrolment': (id) => t.post(`/api/devices/${id}/re-enrol`),
  'a new token': (id) => t.post(`/api/devices/${id}/token`),
};

test.each(Object.entries(REQUESTS))('%s for a device that is being deleted is refused', async (_, send) => {
  const device = await fakeDevice(t);
  const tokens = async () =>
    (
      await other.query(`select count(*)::int as n from muster.tokens where kind = 'device' and owner = $1`, [
        device.id,
      ])
    ).rows[0].n;
  const before = await tokens();
  expect(await whileDeleted(device, () => send(device.id))).toMatchObject({
    status: 404,
    body: { code: 'MUSTER_UNKNOWN_DEVICE' },
  });
  const { rows } = await other.query('select 1 from muster.assignments where device_id = $1', [device.id]);
  expect(rows).toEqual([]);
  expect(await tokens()).toBe(before);
});

test.each([0, 3])(
  'a batch (moreDays %i) assigns nothing to a device that is being deleted',
  async (moreDays) => {
    const device = await fakeDevice(t);
    const made = await whileDeleted(device, async () => {
      const batch = await t.post('/api/batches', {
        targets: { deviceIds: [device.id] },
        action: { kind: 'x', moreDays },
      });
      await t.engine.runDuty('supply-batches');
      return batch;
    });
    await expect
      .poll(async () => (await t.get(`/api/batches/${made.body.id}`)).body.status)
      .toBe('completed');
    const { targets } = (await t.get(`/api/batches/${made.body.id}/targets`)).body;
    expect(targets).toMatchObject([{ error: 'DEVICE_DELETED' }]);
  },
);
