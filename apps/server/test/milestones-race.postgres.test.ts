import { afterAll, beforeAll, expect, test } from 'vitest';
import { createAssigning } from '../src/fleet/assigning.ts';
import { createMilestoneLog } from '../src/fleet/milestone-log.ts';
import { fakeDevice } from '../testing/fake-device.ts';
import { sessions } from '../testing/sessions.ts';
import { type TestServer, testServer } from '../testing/test-server.ts';

let t: TestServer;
beforeAll(async () => {
  t = await testServer();
});
afterAll(() => t.close());

const START = '2026-05-01T00:00:00.000Z';
const plus = (days: number) => new Date(Date.parse(START) + days * 86_400_000).toISOString();

function turn() {
  let pass = () => {};
  const comes = new Promise<void>((resolve) => {
    pass = resolve;
  });
  return { comes, pass: () => pass() };
}

test('a result that waits for an assignment to its device includes the days of that assignment', async () => {
  const { engine } = t;
  const device = await fakeDevice(t, { expiresAt: START });
  await device.assign('A', { moreDays: 1 });
  const { action } = await device.checkIn();
  const assigning = createAssigning(engine, createMilestoneLog(engine.schema, engine.now));
  const { rows } = await engine.db.query({
    text: 'select lane_id from muster.devices where device_id = $1',
    values: [device.id],
  });
  const place = { deviceId: device.id, laneId: rows[0].lane_id };
  const [locked, go] = [turn(), turn()];
  const assigned = engine.db.transaction(async (tx) => {
    const source = { tenantId: 1, source: 'assign' as const, by: null };
    await assigning.assign(tx, source, [place], { kind: 'B', moreDays: 10 });
    locked.pass();
    await go.comes;
  });
  await locked.comes;
  const reported = device.report(action); // its statement has begun without the assignment, and waits for the device
  const waiting = `select count(*)::int as n from ${sessions()} where datname = current_database() and wait_event_type = 'Lock'`;
  await expect.poll(async () => (await engine.db.query({ text: waiting })).rows[0].n).toBeGreaterThan(0);
  go.pass();
  await Promise.all([assigned, reported]);
  const log = await device.milestones();
  expect(log.filter((m) => m.type === 'done')).toMatchObject([
    { expiresAt: plus(1), projectedExpiresAt: plus(11) },
  ]);
});
