import { afterAll, beforeAll, expect, test } from 'vitest';
import { fakeDevice } from '../testing/fake-device.ts';
import { type TestServer, testServer } from '../testing/test-server.ts';

let t: TestServer;
beforeAll(async () => {
  t = await testServer();
});
afterAll(() => t.close());

const LAST = '9999-12-31T23:59:59.999Z';

test('G67: plain SQL cannot store a time that no list could show', async () => {
  const { body } = await t.post('/api/lanes/printer/actions', { kind: 'x' });
  for (const column of ['not_before', 'deliver_by', 'deadline'])
    await expect(
      t.engine.db.query({
        text: `update muster.actions set ${column} = 'infinity' where action_id = $1`,
        values: [body.id],
      }),
    ).rejects.toMatchObject({ code: '23514' });
});

test("G67: plain SQL cannot queue into a lane without a target, and the error has HTTP's code", async () => {
  const { db } = t.engine;
  const lane = (tenant: number, space: string, name: string) =>
    db.query({ text: 'select muster.ensure_lane($1, $2, $3) as id', values: [tenant, space, name] });
  const refused = (detail: string) => ({
    code: 'P0002',
    detail,
    message: expect.stringMatching(/^There is no /),
  });
  await expect(lane(999, 'generic', 'a')).rejects.toMatchObject(refused('MUSTER_UNKNOWN_TENANT'));
  for (const name of ['999', 'x', '01'])
    await expect(lane(1, 'device', name)).rejects.toMatchObject(refused('MUSTER_UNKNOWN_DEVICE'));
  await expect(lane(1, 'service', '999')).rejects.toMatchObject(refused('MUSTER_UNKNOWN_SERVICE'));
  const { rows: none } = await db.query({
    text: `select 1 from muster.lane_names where tenant_id = 999 or name in ('999', 'x', '01')`,
  });
  expect(none).toEqual([]);

  const device = await fakeDevice(t);
  const laneId = (await lane(1, 'device', device.id)).rows[0].id;
  const enqueue = (key: string) =>
    db.query({
      text: `select muster.enqueue(1, $1, 'LOCK', '{}', $2) as id`,
      values: [laneId, { channel: 'checkin', idempotencyKey: key }],
    });
  const first = (await enqueue('one')).rows;
  expect((await device.checkIn()).action).toMatchObject({ id: first[0].id, kind: 'LOCK' });
  await t.del(`/api/devices/${device.id}`);
  await expect(lane(1, 'device', device.id)).rejects.toMatchObject(refused('MUSTER_UNKNOWN_DEVICE'));
  await expect(enqueue('two')).rejects.toMatchObject(refused('MUSTER_UNKNOWN_DEVICE'));
  expect((await enqueue('one')).rows).toEqual(first);
});

test('G67: a stored time that no date can hold is shown and breaks no list', async () => {
  const { body } = await t.post('/api/lanes/plotter/actions', { kind: 'x' });
  await t.engine.db.query({ text: 'alter table muster.actions drop constraint clocks_are_times' });
  for (const table of ['actions', 'pending'])
    await t.engine.db.query({
      text: `update muster.${table} set not_before = 'infinity', deadline = '290000-01-01', deliver_by = '-infinity'
        where action_id = $1`,
      values: [body.id],
    });
  const shown = { notBefore: LAST, deadline: LAST, deliverBy: '0001-01-01T00:00:00.000Z' };
  expect(await t.get(`/api/actions/${body.id}`)).toMatchObject({ status: 200, body: shown });
  expect(await t.get('/api/actions?lane=plotter')).toMatchObject({ status: 200, body: { actions: [shown] } });
});
