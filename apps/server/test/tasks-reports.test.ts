import { brokenInvariants } from '@muster/engine/testing';
import { expect, test } from 'vitest';
import { fakePc, type Held, newTask, showTask } from '../testing/fake-pc.ts';
import { listOf, parked, taskStage } from '../testing/task-stage.ts';

/** These use the clock of the database: the functions are called by applications that know no other. */
const stage = taskStage({ clock: false });
const query = async (text: string, ...values: unknown[]) =>
  (await stage.t.engine.db.query({ text, values, tenantId: 1 })).rows;
const rowsOf = (view: string, where: string, ...values: unknown[]) =>
  query(`select * from muster_reports.${view} where tenant_id = 1 and ${where} order by 1`, ...values);

test('reports read tasks under the names and columns that they know', async () => {
  const pc = await fakePc(stage.t, 3, { slots: 2 });
  const task = await newTask(stage.t, listOf(pc), { maxAttempts: 1 });
  const next = await newTask(stage.t, listOf(pc));
  const [a, b] = (await pc.claim()) as [Held, Held];
  await pc.say('ack', a);
  await pc.complete(a, { result: { ok: true } });
  await pc.fail(b);
  expect(await rowsOf('tasks', 'id in ($1, $2)', task.id, next.id)).toMatchObject([
    { id: task.id, status: 'running', completed_count: 1, failed_count: 1, device_count: 3, max_attempts: 1 },
    { id: next.id, status: 'pending', started_at: null, completed_at: null },
  ]);
  expect(await rowsOf('task_devices', 'task_id = $1', task.id)).toMatchObject([
    {
      id: a.id,
      device_id: a.deviceId,
      pc_id: pc.id,
      status: 'completed',
      attempt: 1,
      error: null,
      result: { ok: true },
    },
    { id: b.id, status: 'failed', attempt: 1, max_attempts: 1, error: 'broken' },
  ]);
  expect(await rowsOf('pc_device_summary', 'pc_id = $1', pc.id)).toMatchObject([
    { running_count: 0, eligible_device_count: 2, target: 2, error_count: 1, free_slots: 2 },
  ]);
  expect(await rowsOf('workers', 'pc_id = $1', pc.id)).toMatchObject([
    { device_capacity: 2, max_devices: 2 },
  ]);
  const logs = await rowsOf('execution_logs', 'task_device_id in ($1, $2)', a.id, b.id);
  expect(logs.map((row) => [row.task_device_id, row.event_type, row.attempt])).toEqual([
    [a.id, 'CREATED', 0],
    [b.id, 'CREATED', 0],
    [a.id, 'SENT', 1],
    [b.id, 'SENT', 1],
    [a.id, 'ACKED', 1],
    [a.id, 'SUCCEEDED', 1],
    [b.id, 'FAILED', 1],
    [b.id, 'FAILED_FINAL', 1],
  ]);
  expect(logs[6]).toMatchObject({ level: 'error', message: 'broken', worker: `pc:${pc.id}` });
  const [busy] = (await pc.claim()) as [Held];
  await stage.t.send('PUT', `/api/pcs/${pc.id}/devices`, { devices: [{ id: a.deviceId, present: false }] });
  const devices = await rowsOf('devices', 'pc_id = $1', pc.id);
  expect(devices.map(({ id, status, error }) => [id, status, error])).toEqual([
    [a.deviceId, 'offline', null],
    [b.deviceId, 'error', 'broken'],
    [busy.deviceId, 'busy', null],
  ]);
  await stage.t.post(`/api/devices/${b.deviceId}/clear-error`);
  expect(await rowsOf('devices', `pc_id = $1 and status = 'online'`, pc.id)).toMatchObject([
    { id: b.deviceId, absent_since: null },
  ]);
  await pc.complete(busy);
  for (const view of ['tasks', 'task_devices', 'execution_logs', 'pc_device_summary', 'workers', 'devices'])
    await expect(query(`delete from muster_reports.${view}`)).rejects.toThrow(/cannot delete from view/);
});

test('a timeout has the text that reports search for', async () => {
  const pc = await fakePc(stage.t, 1);
  const task = await newTask(stage.t, listOf(pc), { maxAttempts: 2 });
  await pc.claim();
  await query(
    `update muster.lanes set lease_until = now() - interval '1 minute', check_at = now() - interval '1 minute' where lease_until is not null`,
  );
  await stage.t.engine.runDuty('end-leases');
  const text = 'Task device timeout: exceeded 20 minutes';
  expect(await rowsOf('task_devices', 'task_id = $1', task.id)).toMatchObject([
    { status: 'pending', attempt: 1, error: text },
  ]);
  expect(await rowsOf('execution_logs', `task_id = $1 and message like '%timeout%'`, task.id)).toMatchObject([
    { event_type: 'TIMEOUT', level: 'error', message: text },
  ]);
});

test('a script that looks for timeouts ends what has timed out, as housekeeping does, and finds nothing the second time', async () => {
  const pc = await fakePc(stage.t, 3, { slots: 2 });
  const task = await newTask(stage.t, listOf(pc), { maxAttempts: 1 });
  const [late, fine] = (await pc.claim()) as [Held, Held];
  const look = async () =>
    (await query('select muster_reports.fn_timeout_tasks_and_task_devices() as count'))[0].count;
  expect(await look()).toBe(0);
  const waiting = pc.claim({ wait: 25, max: 1 });
  await parked(stage);
  await query(
    `update muster.lanes set lease_until = now() - interval '1 minute' where action_id = $1`,
    late.id,
  );
  expect(await look()).toBe(1);
  expect(await look()).toBe(0);
  expect(await waiting).toMatchObject([{ deviceId: pc.devices[2]?.id }]); // the slot is free, and who waits was told
  expect(await rowsOf('task_devices', 'task_id = $1', task.id)).toMatchObject([
    { id: late.id, status: 'failed', error: 'Task device timeout: exceeded 20 minutes' },
    { id: fine.id, status: 'running' },
    { status: 'running' },
  ]);
  expect(await rowsOf('devices', `status = 'error' and pc_id = $1`, pc.id)).toMatchObject([
    { id: late.deviceId, error: 'TIMEOUT' },
  ]);
  expect(await showTask(stage.t, task.id)).toMatchObject({ counts: { failed: 1, running: 2 } });
  for (const held of await pc.running()) await pc.complete(held);
  expect(await brokenInvariants(stage.t.engine.db)).toEqual([]);
});

test('a script claims and reports in plain SQL, beside runners that do so over HTTP', async () => {
  const pc = await fakePc(stage.t, 4, { slots: 3 });
  const task = await newTask(stage.t, listOf(pc), { maxAttempts: 2 });
  const claim = (max: number) =>
    query('select * from muster_reports.claim_task_devices_for_pc(1, $1, $2)', pc.id, max);
  const fail = async (id: string, attempt: number | null = null) =>
    (
      await query(
        'select muster_reports.fail_or_retry_task_device(1, $1, $2, $3) as status',
        id,
        'no power',
        attempt,
      )
    )[0].status;

  const [first] = await claim(1);
  expect(first).toMatchObject({
    task_id: task.id,
    device_id: pc.devices[0]?.id,
    pc_id: pc.id,
    status: 'running',
    attempt: 1,
    error: null,
  });
  expect(await pc.running()).toMatchObject([{ id: first.id, attempt: 1, pcId: pc.id }]);
  expect(await pc.claim({ max: 1 })).toMatchObject([{ deviceId: pc.devices[1]?.id }]);
  expect(await claim(9)).toHaveLength(1);
  expect(await claim(9)).toEqual([]);
  expect(await showTask(stage.t, task.id)).toMatchObject({
    counts: { running: 3, pending: 1 },
    unsupplied: 1,
  });

  // it wakes a waiting runner, as a report does
  const waiting = pc.claim({ wait: 25, max: 1 });
  await parked(stage);
  expect(await fail(first.id, 9)).toBeNull();
  expect(await fail(first.id)).toBe('pending');
  expect(await waiting).toMatchObject([{ id: first.id, attempt: 2 }]);
  expect(await fail(first.id, 1)).toBeNull();
  expect(await fail(first.id, 2)).toBe('failed');
  expect(await pc.devices[0]?.show()).toMatchObject({ state: 'error', stateReason: 'no power' });
  expect(await showTask(stage.t, task.id)).toMatchObject({ counts: { failed: 1, running: 2, pending: 1 } });
  const { body } = await stage.t.get(`/api/task-devices/${first.id}/events`);
  expect(body.events.map(({ type }: { type: string }) => type)).toEqual([
    ...['CREATED', 'SENT', 'FAILED', 'RETRY_SCHEDULED', 'SENT', 'FAILED', 'FAILED_FINAL'],
  ]);

  // the second 'sent' was over HTTP, the others came from the functions
  const log = await pc.devices[0]?.milestones();
  expect(
    log?.filter(({ actionId }) => actionId === first.id).map(({ type, source }) => [type, source]),
  ).toEqual(['sent', 'retrying', 'sent', 'failed'].map((type) => [type, 'task']));

  // the last free slot goes to the device that was not supplied yet; a cancelled one ends
  const [last] = await claim(9);
  expect(last).toMatchObject({ device_id: pc.devices[3]?.id });
  await stage.t.post(`/api/tasks/${task.id}/cancel`);
  expect(await fail(last.id)).toBe('cancelled');
  await expect(query('select * from muster_reports.claim_task_devices_for_pc(1, 4711)')).rejects.toThrow(
    'no PC 4711',
  );
  await expect(
    query('select * from muster_reports.claim_task_devices_for_pc(1, $1, null)', pc.id),
  ).rejects.toThrow('max_to_claim must be a number, not null.');
  for (const held of await pc.running()) await pc.complete(held);
  expect(await brokenInvariants(stage.t.engine.db)).toEqual([]);
});

test('an attempt that fails in plain SQL waits as long as one that fails over HTTP', async () => {
  const pc = await fakePc(stage.t, 1, { slots: 1 });
  await newTask(stage.t, listOf(pc), { maxAttempts: 3, retryBackoffSeconds: 600 });
  const [held] = (await pc.claim()) as [Held];
  // by the database, which has microseconds; a failure that is rolled back uses the time of its transaction
  const waited = async (run: typeof query): Promise<number> => {
    const [found] = await run(
      `select (extract(epoch from r.reason::timestamptz - f.at) * 1000)::float8 as ms from muster.action_events f
        join muster.action_events r on r.action_id = f.action_id and r.type = 'RETRY_SCHEDULED'
        where f.action_id = $1 and f.type = 'FAILED'`,
      held.id,
    );
    return found.ms;
  };
  let inSql = 0;
  const undone = stage.t.engine.db.transaction(async (tx) => {
    const run = async (text: string, ...values: unknown[]) =>
      (await tx.query({ text, values, tenantId: 1 })).rows;
    await run('select muster_reports.fail_or_retry_task_device(1, $1, $2)', held.id, 'no power');
    inSql = await waited(run);
    throw new Error('undo');
  });
  await expect(undone).rejects.toThrow('undo');
  await pc.fail(held);
  expect(inSql).toBe(await waited(query));
  // spread, so that attempts that failed together do not return together
  expect(inSql).not.toBe(600_000);
  expect(Math.abs(inSql - 600_000)).toBeLessThanOrEqual(120_000);
});

test('plain SQL takes nothing that is paused, whether it is new or to be retried', async () => {
  const pc = await fakePc(stage.t, 2, { slots: 2 });
  const task = await newTask(stage.t, listOf(pc), { maxAttempts: 2 });
  const claim = () => query('select * from muster_reports.claim_task_devices_for_pc(1, $1, 2)', pc.id);
  const [held] = (await pc.claim({ max: 1 })) as [Held];
  await pc.fail(held);
  const { db } = stage.t.engine;
  for (const pause of [{ tenantId: 1 }, { tenantId: 1, tag: `task:${task.id}` }]) {
    await stage.t.engine.pause(db, pause);
    expect(await claim()).toEqual([]);
    await stage.t.engine.resume(db, pause);
  }
  expect((await claim()).map(({ id, attempt }) => [id, attempt])).toEqual([
    [held.id, 2],
    [expect.any(String), 1],
  ]);
  for (const one of await pc.running()) await pc.complete(one);
});

test('G41: both functions create a missing day of the history', async () => {
  const pc = await fakePc(stage.t, 1, { slots: 1 });
  await newTask(stage.t, listOf(pc), { maxAttempts: 2 });
  const undone = stage.t.engine.db.transaction(async (tx) => {
    const run = async (text: string, ...values: unknown[]) =>
      (await tx.query({ text, values, tenantId: 1 })).rows;
    const dropDays = async () => {
      const days = await run(
        // a distributed database takes seconds to drop them all, and others wait
        `select inhrelid::regclass::text as name from pg_inherits where inhparent = 'muster.events'::regclass
          and (${!stage.t.engine.db.isDistributed} or inhrelid::regclass::text like to_char(now() at time zone 'UTC', '%YYYYMMDD'))`,
      );
      for (const { name } of days) await run(`drop table ${name}`);
    };
    await dropDays();
    const [held] = await run('select * from muster_reports.claim_task_devices_for_pc(1, $1, 1)', pc.id);
    await dropDays();
    const failed = await run(
      'select muster_reports.fail_or_retry_task_device(1, $1, $2) as status',
      held.id,
      'no power',
    );
    expect(failed).toEqual([{ status: 'pending' }]);
    throw new Error('undo');
  });
  await expect(undone).rejects.toThrow('undo');
});
