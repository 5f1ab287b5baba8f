import { ofOne } from '@muster/engine';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type FakeDevice, fakeDevice } from '../testing/fake-device.ts';
import { type TestServer, testServer } from '../testing/test-server.ts';

let t: TestServer;
beforeAll(async () => {
  t = await testServer({ clock: true });
});
afterAll(() => t.close());

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
let marks = 0;

async function fleet(size: number, body: object = {}): Promise<{ tag: string; devices: FakeDevice[] }> {
  marks += 1;
  const tag = `workflow fleet ${marks}`;
  const devices: FakeDevice[] = [];
  for (let n = 0; n < size; n += 1) devices.push(await fakeDevice(t, { tags: [tag], ...body }));
  return { tag, devices };
}

async function make(body: object): Promise<string> {
  const answer = await t.post('/api/workflows', { name: 'workflow', action: { kind: 'LOCK_MSG' }, ...body });
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
  return answer.body.id;
}

/** Moves the clock and lets the workflows and their runs continue, after waiting for the server's own round. */
async function pass(ms: number): Promise<void> {
  await t.pass(ms);
  const { db } = t.engine;
  for (let idle = 0; idle < 2; ) {
    await db.transaction(async (tx) => {
      const client = ofOne(db, tx, 1);
      await client.query({ text: 'select 1 from muster.workflows where next_at is not null for update' });
      await client.query({ text: 'select 1 from muster.workflow_runs where supplied_at is null for update' });
    });
    const begun = await t.engine.runDuty('begin-workflow-runs');
    idle = begun + (await t.engine.runDuty('supply-workflow-runs')) > 0 ? 0 : idle + 1;
  }
}

const runs = async (id: string) => (await t.get(`/api/workflows/${id}/runs`)).body.runs;
const after = (ms: number) => new Date(t.clock().getTime() + ms).toISOString();

test('the action of a workflow is queued behind an assigned one and delivered after days, not lost', async () => {
  const { tag, devices } = await fleet(1);
  const device = devices[0] as FakeDevice;
  const lock = await device.assign('LOCK');
  const id = await make({ targets: { tags: [tag] }, schedule: { at: after(5 * MINUTE) } });
  await pass(5 * MINUTE);
  expect(await device.queue()).toMatchObject([
    { id: lock, kind: 'LOCK', source: 'assign', position: 1 },
    { kind: 'LOCK_MSG', source: 'workflow', position: 2, waitingFor: { code: 'BEHIND' } },
  ]);
  // the device stays offline far longer than the lease: no attempt is counted, nothing is a dead letter
  await pass(4 * DAY);
  const first = await device.checkIn();
  expect(first.action).toMatchObject({ id: lock });
  const second = await device.report(first.action);
  expect(second.action).toMatchObject({ kind: 'LOCK_MSG', source: 'workflow', attempt: 1, trigger: 'QUEUE' });
  expect(await device.report(second.action)).toMatchObject({ action: null, result: { status: 'done' } });
  expect(await runs(id)).toMatchObject([{ trigger: 'schedule', status: 'supplied', targets: 1, actions: 1 }]);
  expect((await t.get(`/api/workflows/${id}`)).body.nextAt).toBeNull();
});

test('a cron schedule runs at its times in its time zone, for the devices that exist then', async () => {
  const { tag, devices } = await fleet(1);
  t.clock.advanceTo(new Date(Math.ceil(t.clock().getTime() / DAY) * DAY));
  const id = await make({
    targets: { tags: [tag] },
    schedule: { cron: '0 9 * * *', timezone: 'Asia/Tokyo' },
  });
  // 09:00 in Tokyo is midnight in UTC
  expect((await t.get(`/api/workflows/${id}`)).body.nextAt).toBe(after(DAY));
  await pass(DAY - 1_000);
  expect(await runs(id)).toEqual([]);
  expect((await t.get(`/api/workflows/${id}`)).body.lastRun).toBeNull();
  await pass(1_000);
  await fakeDevice(t, { tags: [tag] });
  await pass(DAY);
  const both = await runs(id);
  expect(both.map((run: { targets: number }) => run.targets)).toEqual([2, 1]);
  expect((await t.get(`/api/workflows/${id}`)).body.lastRun).toEqual(both[0]);
  const listed: { id: string; lastRun: unknown }[] = (await t.get('/api/workflows')).body.workflows;
  expect(listed.find((one) => one.id === id)?.lastRun).toEqual(both[0]);
  expect(await (devices[0] as FakeDevice).queue()).toHaveLength(2);
});

test('a scheduled time runs once, however many leaders there are', async () => {
  const { tag, devices } = await fleet(3);
  const id = await make({ targets: { tags: [tag] }, schedule: { at: after(MINUTE) } });
  t.clock.advance(MINUTE);
  const both = () =>
    Promise.all(['begin-workflow-runs', 'supply-workflow-runs'].map((duty) => t.engine.runDuty(duty)));
  await Promise.all(Array.from({ length: 4 }, both));
  await pass(0);
  expect(await runs(id)).toHaveLength(1);
  for (const device of devices) expect(await device.queue()).toHaveLength(1);
  // not even if the workflow is made to look at the same time again
  const { scheduledAt } = (await runs(id))[0];
  await t.engine.db.query({
    text: 'update muster.workflows set next_at = $2 where workflow_id = $1',
    values: [id, scheduledAt],
  });
  await pass(0);
  expect(await runs(id)).toHaveLength(1);
});

test('times that passed while no server ran are dropped and noted, caught up once, or all caught up', async () => {
  const { tag, devices } = await fleet(1);
  const schedule = { cron: '0 * * * *' };
  const [none, one, all] = [
    await make({ targets: { tags: [tag] }, schedule, action: { kind: 'NONE' } }),
    await make({ targets: { tags: [tag] }, schedule, action: { kind: 'ONE' }, catchUp: 'one' }),
    await make({ targets: { tags: [tag] }, schedule, action: { kind: 'ALL' }, catchUp: 'all' }),
  ];
  t.clock.advanceTo(new Date(Math.ceil(t.clock().getTime() / HOUR) * HOUR + 3.5 * HOUR));
  await pass(0);
  const kinds = (await (devices[0] as FakeDevice).queue()).map(({ kind }) => kind);
  expect(kinds.sort()).toEqual(['ALL', 'ALL', 'ALL', 'ALL', 'ONE']);
  expect(await runs(none as string)).toMatchObject([{ status: 'missed', targets: 0, actions: 0 }]);
  expect(await runs(one as string)).toHaveLength(1);
  expect(await runs(all as string)).toHaveLength(4);
  const missed = async () =>
    (await t.get('/api/overview')).body.problems.filter(
      ({ code }: { code: string }) => code === 'RUNS_MISSED',
    );
  expect(await missed()).toMatchObject([{ count: 1, example: { type: 'workflow', id: none } }]);
  await t.post(`/api/workflows/${none}/run`);
  await pass(2_000); // the overview is kept so long
  expect(await missed()).toEqual([]);
  for (const id of [none, one, all]) await t.del(`/api/workflows/${id}`);
});

test('before expiry: once per device and expiry date', async () => {
  const { tag, devices } = await fleet(2);
  const [soon, never] = devices as [FakeDevice, FakeDevice];
  const set = (device: FakeDevice, ms: number | null) =>
    t.send('PATCH', `/api/devices/${device.id}`, { expiresAt: ms === null ? null : after(ms) });
  await set(soon, 10 * DAY);
  const id = await make({
    targets: { tags: [tag] },
    schedule: { beforeExpiryDays: 7 },
    action: { kind: 'RENEW', moreDays: 30 },
  });
  await pass(2 * DAY);
  expect(await soon.queue()).toEqual([]);
  await pass(DAY);
  expect(await soon.queue()).toMatchObject([{ kind: 'RENEW', source: 'workflow' }]);
  for (let n = 0; n < 3; n += 1) await pass(DAY);
  expect(await soon.queue()).toHaveLength(1);
  // renewed: it has another expiry, and in time it runs again
  await soon.report((await soon.checkIn()).action);
  await pass(MINUTE);
  expect(await soon.queue()).toEqual([]);
  await pass(27 * DAY);
  expect(await soon.queue()).toHaveLength(1);
  expect(await never.queue()).toEqual([]);
  // an expired device gets none
  await set(never, -DAY);
  await pass(MINUTE);
  expect(await never.queue()).toEqual([]);
  expect(
    (await runs(id)).map((run: { trigger: string; actions: number }) => [run.trigger, run.actions]),
  ).toEqual([
    ['expiry', 1],
    ['expiry', 1],
  ]);
});

test('run now creates an action for each target at once', async () => {
  const { tag, devices } = await fleet(3);
  const id = await make({ targets: { tags: [tag] }, schedule: { at: after(DAY) }, enabled: false });
  const made = await t.post(`/api/workflows/${id}/run`);
  expect(made).toMatchObject({
    status: 201,
    body: { trigger: 'manual', targets: 3, startedBy: 'MUSTER_OPERATOR_TOKEN' },
  });
  await pass(0);
  for (const device of devices)
    expect(await device.queue()).toMatchObject([{ source: 'workflow', assignedBy: 'MUSTER_OPERATOR_TOKEN' }]);
  await pass(2 * DAY);
  expect(await runs(id)).toMatchObject([{ id: made.body.id, status: 'supplied', actions: 3 }]);
});

test('a run whose supply was interrupted continues where it stopped', async () => {
  const { tag, devices } = await fleet(4);
  const id = await make({ targets: { tags: [tag] }, schedule: { at: after(DAY) } });
  const { rows } = await t.engine.db.query({
    text: `with s as (insert into muster.target_sets (tenant_id, total) values (1, 4) returning set_id), r as (
        insert into muster.workflow_runs (tenant_id, workflow_id, trigger, scheduled_at, started_at, action, set_id)
          select 1, $1, 'manual', now(), now(), '{"kind": "LOCK_MSG"}', set_id from s)
      insert into muster.targets (tenant_id, set_id, n, device_id, action_id)
        select 1, s.set_id, i.n, i.device_id, case when i.n = 1 then 1 end from s, unnest($2::bigint[]) with ordinality i(device_id, n)
        returning set_id`,
    values: [id, devices.map((device) => device.id)],
  });
  expect(rows).toHaveLength(4);
  await pass(0);
  expect((await Promise.all(devices.map((device) => device.queue()))).map((queue) => queue.length)).toEqual([
    0, 1, 1, 1,
  ]);
});

test('a cancelled run queues nothing more and ends what waits; what was handed out continues', async () => {
  const { tag, devices } = await fleet(3);
  const [first, second] = devices as [FakeDevice, FakeDevice];
  const id = await make({ targets: { tags: [tag] }, schedule: { at: after(DAY) } });
  const { body: run } = await t.post(`/api/workflows/${id}/run`);
  await pass(0);
  const { action } = await first.checkIn();
  const path = `/api/workflows/${id}/runs/${run.id}/cancel`;
  expect(await t.post(path)).toMatchObject({ status: 200, body: { id: run.id, status: 'cancelled' } });
  await pass(0);
  expect(await second.queue()).toEqual([]);
  expect((await t.get(`/api/actions?tag=workflow:${id}&state=cancelled`)).body.actions).toHaveLength(2);
  expect(await first.report(action)).toMatchObject({ result: { accepted: true, status: 'done' } });

  // repeating it changes nothing
  expect(await t.post(path)).toMatchObject({ status: 200, body: { status: 'cancelled', actions: 3 } });
  const { audit } = (await t.get('/api/audit?act=workflow.cancel-run')).body;
  expect(audit).toMatchObject([{ target: `workflow ${id}`, detail: { run: run.id } }]);

  const other = await make({ targets: { tags: [tag] }, schedule: { at: after(DAY) } });
  const { body: over } = await t.post(`/api/workflows/${other}/run`);
  await pass(0);
  for (const device of devices) await device.report((await device.checkIn()).action);
  expect(await t.post(`/api/workflows/${other}/runs/${over.id}/cancel`)).toMatchObject({
    status: 409,
    body: { code: 'MUSTER_FINISHED' },
  });
  expect((await runs(other))[0]).toMatchObject({ status: 'supplied', done: 3, waiting: 0 });
  expect(await t.post(`/api/workflows/${other}/runs/${run.id}/cancel`)).toMatchObject({
    status: 404,
    body: { code: 'MUSTER_UNKNOWN_RUN' },
  });

  // what it had not queued yet never comes
  await t.engine.db.query({
    text: `with s as (insert into muster.target_sets (tenant_id, total) values (1, 1) returning set_id), r as (
        insert into muster.workflow_runs (tenant_id, workflow_id, trigger, scheduled_at, started_at, action, set_id, cancelled_at)
          select 1, $1, 'manual', now(), now(), '{"kind": "LOCK_MSG"}', set_id, now() from s)
      insert into muster.targets (tenant_id, set_id, n, device_id) select 1, s.set_id, 1, $2 from s`,
    values: [other, second.id],
  });
  await pass(0);
  expect(await second.queue()).toEqual([]);
  expect((await runs(other))[0]).toMatchObject({ status: 'cancelled', targets: 1, actions: 0 });
});

test('a workflow is changed, disabled, enabled, listed and deleted', async () => {
  const { tag } = await fleet(1);
  const id = await make({ name: 'nightly', targets: { tags: [tag] }, schedule: { cron: '0 2 * * *' } });
  const path = `/api/workflows/${id}`;
  expect((await t.get(path)).body).toMatchObject({
    name: 'nightly',
    enabled: true,
    catchUp: 'none',
    schedule: { cron: '0 2 * * *' },
  });
  expect((await t.send('PATCH', path, { enabled: false })).body).toMatchObject({
    enabled: false,
    nextAt: null,
  });
  await pass(3 * DAY);
  expect(await runs(id)).toEqual([]);
  const enabled = await t.send('PATCH', path, {
    enabled: true,
    name: 'weekly',
    schedule: { cron: '0 2 * * 1' },
  });
  expect(enabled.body).toMatchObject({ name: 'weekly', enabled: true });
  expect(Date.parse(enabled.body.nextAt)).toBeGreaterThan(t.clock().getTime());
  expect((await t.get('/api/workflows?limit=500')).body.workflows.map((w: { id: string }) => w.id)).toContain(
    id,
  );
  expect(await t.del(path)).toMatchObject({ status: 204, body: '' });
  for (const answer of [
    await t.get(path),
    await t.post(`${path}/run`),
    await t.get(`${path}/runs`),
    await t.del(path),
  ])
    expect(answer).toMatchObject({ status: 404, body: { code: 'MUSTER_UNKNOWN_WORKFLOW' } });
});

test('an invalid schedule is refused with a sentence', async () => {
  const body = { name: 'x', targets: { all: true }, action: { kind: 'X' } };
  for (const schedule of [{ cron: '0 0 30 2 *' }, { cron: '* * * * *', timezone: 'Mars' }, { at: after(-1) }])
    expect(await t.post('/api/workflows', { ...body, schedule })).toMatchObject({
      status: 400,
      body: { code: 'MUSTER_BAD_SCHEDULE' },
    });
  const id = await make({ targets: { all: true }, schedule: { cron: '0 0 3 * * *' } });
  for (const cron of ['often', '0 0 3 * * * 2030', '@daily', '61 * * * *'])
    for (const answer of [
      await t.post('/api/workflows', { ...body, schedule: { cron } }),
      await t.send('PATCH', `/api/workflows/${id}`, { schedule: { cron } }),
    ])
      expect(answer).toMatchObject({
        status: 400,
        body: {
          error:
            'schedule.cron is not a cron pattern of five fields, or six with seconds first, such as "0 3 * * *".',
          code: 'MUSTER_BAD_SCHEDULE',
        },
      });
  await t.del(`/api/workflows/${id}`);
  for (const schedule of [{}, { cron: '* * * * *', at: after(DAY) }, { beforeExpiryDays: -1 }])
    expect(await t.post('/api/workflows', { ...body, schedule })).toMatchObject({
      status: 400,
      body: { code: 'MUSTER_BAD_BODY' },
    });
});

test('targets that do not exist are refused; those that are deleted later are refused rows of a run', async () => {
  const [device, gone] = [await fakeDevice(t, { expiresAt: after(DAY) }), await fakeDevice(t)];
  const none = ['99999999999999999999999', '-1', 'x'];
  const targets = { deviceIds: [device.id, gone.id] };
  const id = await make({ targets, schedule: { at: after(HOUR) } });
  const wrong = { deviceIds: [device.id, ...none] };
  const body = { name: 'w', schedule: { at: after(HOUR) }, targets: wrong, action: { kind: 'A' } };
  for (const answer of [
    await t.post('/api/workflows', body),
    await t.send('PATCH', `/api/workflows/${id}`, { targets: wrong }),
  ])
    expect(answer).toMatchObject({
      status: 404,
      body: {
        code: 'MUSTER_UNKNOWN_DEVICE',
        error: `There are no devices with these ids: ${none.join(', ')}.`,
      },
    });
  const expiring = await make({ targets, schedule: { beforeExpiryDays: 7 } });
  await t.del(`/api/devices/${gone.id}`);
  expect((await t.post(`/api/workflows/${id}/run`)).status).toBe(201);
  await pass(MINUTE);
  expect(await runs(id)).toMatchObject([{ status: 'supplied', targets: 2, actions: 1, refused: 1 }]);
  expect(await runs(expiring)).toMatchObject([{ trigger: 'expiry', targets: 1, actions: 1 }]);
});

test('runs are deleted some time after their end, and so are the notices of expiry', async () => {
  const { tag, devices } = await fleet(1);
  const [device] = devices as [FakeDevice];
  const id = await make({ targets: { tags: [tag] }, schedule: { at: after(MINUTE) } });
  await pass(MINUTE);
  await device.report((await device.checkIn()).action);
  expect(await runs(id)).toHaveLength(1);
  await pass(15 * DAY);
  await t.engine.runDuty('prune-workflow-runs');
  await t.engine.runDuty('prune-expiry-notices');
  expect(await runs(id)).toEqual([]);
  expect((await t.get(`/api/workflows/${id}`)).status).toBe(200);
  const { rows } = await t.engine.db.query({
    text: 'select 1 from muster.expiry_notices where expires_at < $1',
    values: [t.clock()],
  });
  expect(rows).toEqual([]);
});
