import { describe, expect, test } from 'vitest';
import { createTenantQueries } from '../src/tenants/queries.ts';
import { createTokens } from '../src/tokens/tokens.ts';
import { fakePc, type Held, newTask } from '../testing/fake-pc.ts';
import { listOf, MINUTE, parked, taskStage } from '../testing/task-stage.ts';

const stage = taskStage();
const ask = (pc: { id: string; token: string }, token = pc.token) =>
  stage.t.post(`/api/pcs/${pc.id}/claim`, {}, { token });

test('a PC is added, shown, listed, changed and deleted', async () => {
  const { status, body } = await stage.t.post('/api/pcs', { name: 'Rack 1' });
  expect(status).toBe(201);
  expect(body).toEqual({
    id: expect.any(String),
    name: 'Rack 1',
    runnerToken: expect.stringMatching(/^mst_runner_1_/),
  });
  stage.t.secret(body.runnerToken);
  const { id } = body;
  expect((await stage.t.get(`/api/pcs/${id}`)).body).toEqual({
    id,
    name: 'Rack 1',
    slots: 20,
    runningCount: 0,
    eligibleDeviceCount: 0,
    target: 0,
    freeSlots: 0,
    deviceCount: 0,
    errorDeviceCount: 0,
    absentDeviceCount: 0,
    claimableDeviceCount: 0,
    devicesInError: [],
    namesInError: [],
    online: false,
    lastSeenAt: null,
    createdAt: stage.t.clock().toISOString(),
    instances: [],
  });
  expect(await stage.t.post('/api/pcs', { name: 'Rack 1' })).toMatchObject({
    status: 409,
    body: { code: 'MUSTER_PC_EXISTS' },
  });
  const other = await fakePc(stage.t);
  expect((await stage.t.get('/api/pcs?limit=1')).body).toMatchObject({ pcs: [{ id }], cursor: id });
  expect((await stage.t.get(`/api/pcs?cursor=${id}`)).body).toMatchObject({
    pcs: [{ id: other.id }],
    cursor: null,
  });
  // by a part of the name, which is not a pattern, and by presence
  const found = async (query: string) =>
    (await stage.t.get(`/api/pcs?${query}`)).body.pcs.map((pc: { id: string }) => pc.id);
  expect(await found('text=rACK')).toEqual([id]);
  expect(await found('text=%25')).toEqual([]);
  expect(await found('text=rack&online=true')).toEqual([]);
  expect(await found('text=rack&online=false')).toEqual([id]);
  expect((await stage.t.get('/api/pcs?online=maybe')).body).toMatchObject({ code: 'MUSTER_BAD_QUERY' });
  expect((await stage.t.get('/api/pcs?cursor=x')).body).toMatchObject({ code: 'MUSTER_BAD_QUERY' });
  const changed = await stage.t.send('PATCH', `/api/pcs/${id}`, { name: 'Rack 2', slots: 3 });
  expect(changed.body).toMatchObject({ name: 'Rack 2', slots: 3 });
  expect((await stage.t.send('PATCH', `/api/pcs/${other.id}`, { name: 'Rack 2' })).status).toBe(409);
  expect((await stage.t.del(`/api/pcs/${id}`)).status).toBe(204);
  expect((await stage.t.get(`/api/pcs/${id}`)).body).toMatchObject({ code: 'MUSTER_UNKNOWN_PC' });
  expect((await ask({ id, token: body.runnerToken })).status).toBe(401);
});

test('a deleted PC leaves its devices behind, and what ran there ends with its time', async () => {
  const [pc, heir] = [await fakePc(stage.t, 2, { slots: 1 }), await fakePc(stage.t)];
  const task = await newTask(stage.t, listOf(pc));
  const [held] = (await pc.claim()) as [Held];
  await stage.t.del(`/api/pcs/${pc.id}`);
  expect(await pc.devices[0]?.show()).toMatchObject({ pcId: null, current: { id: held.id } });
  for (const { id } of pc.devices) await stage.t.send('PATCH', `/api/devices/${id}`, { pcId: heir.id });
  expect((await heir.claim()).map(({ deviceId }) => deviceId)).toEqual([pc.devices[1]?.id]);
  await stage.pass(20 * MINUTE);
  expect(await heir.claim()).toMatchObject([{ id: held.id, attempt: 2 }, { attempt: 2 }]);
  expect((await stage.t.get(`/api/tasks/${task.id}`)).body.counts).toMatchObject({ running: 2 });
});

test('the runner of a deleted PC may report what it holds, gets nothing more, and its token ends with the last report', async () => {
  const pc = await fakePc(stage.t, 3, { slots: 2 });
  const task = await newTask(stage.t, listOf(pc));
  const [a, b] = (await pc.claim()) as [Held, Held];
  await stage.t.del(`/api/pcs/${pc.id}`);
  /** Whether its token is accepted after a round of the duty, at any node. */
  const letIn = async () => {
    await stage.t.engine.runDuty('end-deleted-pcs');
    return (await ask(pc)).status;
  };
  expect(await letIn()).toBe(200);
  expect(await pc.running()).toMatchObject([{ id: a.id }, { id: b.id }]);
  expect(await pc.say('heartbeat', a)).toMatchObject({ accepted: true, status: 'running' });
  expect(await pc.complete(a, { claim: { max: 9 } })).toMatchObject({
    accepted: true,
    status: 'completed',
    taskDevices: [],
  });
  expect(await pc.claim()).toEqual([]);
  expect(
    (await stage.t.send('PUT', `/api/pcs/${pc.id}/devices`, { present: [] }, { token: pc.token })).status,
  ).toBe(404);
  expect(await letIn()).toBe(200);
  expect(await pc.fail(b, { claim: { max: 1 } })).toMatchObject({ accepted: true, status: 'pending' });
  // with the last report, before any duty
  expect((await ask(pc)).status).toBe(401);
  await stage.pass(0);
  expect((await stage.t.get(`/api/tasks/${task.id}`)).body).toMatchObject({
    status: 'success',
    counts: { completed: 1, cancelled: 2 },
  });
});

test('slots are from 1 to 20; more only if the setting allows it', async () => {
  for (const slots of [0, -1, 1.5, '3'])
    expect((await stage.t.post('/api/pcs', { name: 'x', slots })).body).toMatchObject({
      code: 'MUSTER_BAD_BODY',
    });
  const pc = await fakePc(stage.t, 0, { slots: 20 });
  for (const slots of [21, 50, 1_001, 2_000, Number.MAX_SAFE_INTEGER])
    for (const answer of [
      await stage.t.post('/api/pcs', { name: 'x', slots }),
      await stage.t.send('PATCH', `/api/pcs/${pc.id}`, { slots }),
    ])
      expect(answer).toMatchObject({
        status: 400,
        body: {
          code: 'MUSTER_TOO_MANY_SLOTS',
          error: 'slots must be from 1 to 20; MUSTER_MAX_SLOTS_PER_PC is the limit.',
        },
      });
});

test('a rotated token leaves the old one valid until the new one is used; a revoked one ends at once', async () => {
  const pc = await fakePc(stage.t);
  const rotated = await stage.t.post(`/api/pcs/${pc.id}/token`);
  expect(rotated.status).toBe(201);
  const fresh = stage.t.secret(rotated.body.runnerToken);
  expect((await ask(pc)).status).toBe(200);
  expect((await ask(pc, fresh)).status).toBe(200);
  expect((await ask(pc)).status).toBe(401);
  expect((await stage.t.del(`/api/pcs/${pc.id}/token`)).status).toBe(204);
  expect((await ask(pc, fresh)).status).toBe(401);
  expect(await stage.t.del(`/api/pcs/${pc.id}/token`)).toMatchObject({
    status: 409,
    body: { code: 'MUSTER_NO_RUNNER_TOKEN' },
  });
  pc.token = stage.t.secret((await stage.t.post(`/api/pcs/${pc.id}/token`)).body.runnerToken);
  expect((await ask(pc)).status).toBe(200);
});

test('a runner may use only its own PC, and no route of operators', async () => {
  const [pc, other] = [await fakePc(stage.t, 1), await fakePc(stage.t, 1)];
  const asOther = { token: other.token };
  await newTask(stage.t, listOf(pc, other));
  expect(await stage.t.post(`/api/pcs/${pc.id}/claim`, {}, asOther)).toMatchObject({
    status: 403,
    body: { code: 'MUSTER_WRONG_PC' },
  });
  for (const path of [`/api/pcs/${pc.id}`, `/api/pcs/${pc.id}/running`])
    expect((await stage.t.get(path, asOther)).status).toBe(403);
  expect((await stage.t.send('PUT', `/api/pcs/${pc.id}/devices`, { present: [] }, asOther)).status).toBe(403);
  const [held] = (await pc.claim()) as [Held];
  for (const what of ['complete', 'fail', 'ack', 'heartbeat']) {
    const said = { attempt: 1, ...(what === 'fail' ? { error: 'x' } : {}) };
    expect(await stage.t.post(`/api/task-devices/${held.id}/${what}`, said, asOther)).toMatchObject({
      status: 404,
      body: { code: 'MUSTER_UNKNOWN_TASK_DEVICE' },
    });
    // an operator is not a runner, and a runner that sends cookies is a browser
    expect((await stage.t.post(`/api/task-devices/${held.id}/${what}`, said)).status).toBe(403);
    expect(
      (
        await stage.t.post(`/api/task-devices/${held.id}/${what}`, said, {
          token: pc.token,
          headers: { cookie: 'a=b' },
        })
      ).status,
    ).toBe(403);
  }
  for (const path of ['/api/tasks', '/api/pcs', '/api/devices', `/api/task-devices/${held.id}/events`])
    expect((await stage.t.get(path, { token: pc.token })).status).toBe(403);
  expect((await stage.t.post('/api/tasks', {}, { token: pc.token })).status).toBe(403);
  const viewer = stage.t.secret((await stage.t.token({ kind: 'operator', role: 'viewer', name: 'v' })).token);
  for (const path of ['/api/pcs', '/api/tasks', `/api/devices/${held.deviceId}/clear-error`])
    expect((await stage.t.post(path, { name: 'x' }, { token: viewer })).status).toBe(403);
  expect((await stage.t.get(`/api/pcs/${pc.id}/running`, { token: viewer })).body.taskDevices).toMatchObject([
    { id: held.id, pcId: pc.id },
  ]);
});

test('presence is reported as a whole list or for single devices; absent ones are not eligible, and a moved one is present again', async () => {
  const pc = await fakePc(stage.t, 3);
  const other = await fakePc(stage.t);
  const [a, b, c] = pc.devices.map(({ id }) => id) as [string, string, string];
  const put = (body: object, token: string | undefined = pc.token) =>
    stage.t.send('PUT', `/api/pcs/${pc.id}/devices`, body, { token });
  expect((await put({ present: [a, '999999'] })).body).toEqual({
    devices: [
      { id: a, present: true },
      { id: b, present: false },
      { id: c, present: false },
    ],
    unknown: ['999999'],
  });
  expect(await pc.show()).toMatchObject({ eligibleDeviceCount: 1, absentDeviceCount: 2, target: 1 });
  expect(await pc.devices[1]?.show()).toMatchObject({ absent: true });
  expect(
    (
      await put({
        devices: [
          { id: b, present: true },
          { id: a, present: false },
        ],
      })
    ).body.devices,
  ).toMatchObject([
    { id: a, present: false },
    { id: b, present: true },
    { id: c, present: false },
  ]);
  await stage.t.send('PATCH', `/api/devices/${c}`, { pcId: other.id });
  expect(await other.show()).toMatchObject({ eligibleDeviceCount: 1, absentDeviceCount: 0 });
  expect((await put({ present: 'all' })).body).toMatchObject({ code: 'MUSTER_BAD_BODY' });
  expect((await put({ present: ['x'] })).body).toMatchObject({ code: 'MUSTER_BAD_BODY' });
  expect((await put({ present: [a] }, undefined)).status).toBe(200);
  expect((await stage.t.send('PUT', '/api/pcs/4711/devices', { present: [] })).status).toBe(404);
});

test('a contact that is written late counts from when it happened', async () => {
  const pc = await fakePc(stage.t);
  await pc.running();
  const at = stage.t.clock();
  stage.t.clock.advance(16 * MINUTE);
  const stored = async () => {
    const { rows } = await stage.t.engine.db.query({
      text: "select seen_at from muster.contacts where tenant_id = 1 and channel = 'runner' and target_id = $1",
      values: [pc.id],
    });
    return rows[0]?.seen_at;
  };
  while ((await stored()) === undefined) await new Promise((resolve) => setTimeout(resolve, 20));
  expect(await stored()).toEqual(at);
});

test('the last contact of a PC is that of its runner', async () => {
  const pc = await fakePc(stage.t);
  await stage.pass(5 * MINUTE);
  await pc.running();
  expect(await pc.show()).toMatchObject({ online: true, lastSeenAt: stage.t.clock().toISOString() });
  await stage.pass(16 * MINUTE);
  expect(await pc.show()).toMatchObject({ online: false });
});

test('a fleet is imported with its PCs, and a second upload moves devices', async () => {
  const [one, two] = [await fakePc(stage.t), await fakePc(stage.t)];
  const upload = async (lines: string[]) => {
    const { body } = await stage.t.send('POST', '/api/devices/import', `${lines.join('\n')}\n`, {
      headers: { 'content-type': 'text/csv' },
    });
    return (body as string)
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
  };
  const first = await upload(['name,externalId,pcId', `a,I-1,${one.id}`, `b,I-2,${one.id}`, 'c,I-3,4711']);
  for (const { deviceToken } of first) if (deviceToken) stage.t.secret(deviceToken);
  expect(first[2]).toEqual({ line: 4, error: 'There is no PC with this pcId.' });
  expect(await one.show()).toMatchObject({ eligibleDeviceCount: 2 });
  for (const { deviceToken } of await upload(['name,externalId,pcId', `a,I-1,${two.id}`]))
    stage.t.secret(deviceToken);
  expect([(await one.show()).deviceCount, (await two.show()).deviceCount]).toEqual([1, 1]);
  await newTask(stage.t, { pcIds: [one.id, two.id] });
  expect([await one.claim(), await two.claim()]).toMatchObject([
    [{ deviceId: first[1].id }],
    [{ deviceId: first[0].id }],
  ]);
});

describe('invalid input gets a sentence and a code', () => {
  test.each<[string, object]>([
    ['no name', { kind: 'A', targets: { all: true } }],
    ['no kind', { name: 'a', targets: { all: true } }],
    ['no targets', { name: 'a', kind: 'A' }],
    ['two kinds of targets', { name: 'a', kind: 'A', targets: { all: true, tags: ['x'] } }],
    ['all that is not true', { name: 'a', kind: 'A', targets: { all: false } }],
    ['an empty list', { name: 'a', kind: 'A', targets: { deviceIds: [] } }],
    ['what is no id', { name: 'a', kind: 'A', targets: { deviceIds: ['-1'] } }],
    ['numbers for ids', { name: 'a', kind: 'A', targets: { deviceIds: [1] } }],
    ['no tries', { name: 'a', kind: 'A', targets: { all: true }, maxAttempts: 0 }],
    ['no time', { name: 'a', kind: 'A', targets: { all: true }, timeoutSeconds: 0 }],
    ['a wait below zero', { name: 'a', kind: 'A', targets: { all: true }, retryBackoffSeconds: -1 }],
    ['what is no time', { name: 'a', kind: 'A', targets: { all: true }, deadline: 'soon' }],
    ['an unknown field', { name: 'a', kind: 'A', targets: { all: true }, priority: 'high' }],
  ])('a task with %s', async (_what, body) => {
    expect(await stage.t.post('/api/tasks', body)).toMatchObject({
      status: 400,
      body: { code: 'MUSTER_BAD_BODY', error: expect.stringMatching(/\.$/) },
    });
  });

  test('unknown ids are 404, and a claim takes 1 to 100 and waits at most 25 seconds', async () => {
    const pc = await fakePc(stage.t, 1);
    const gone = (await fakePc(stage.t, 1)).devices[0]?.id as string;
    await stage.t.del(`/api/devices/${gone}`);
    const none = Array.from({ length: 22 }, (_, n) => String(4711 + n));
    for (const [targets, code, error] of [
      [{ pcIds: [pc.id, '4711'] }, 'PC', 'There is no PC with this id: 4711.'],
      [{ pcIds: ['4712', '4711', '4712'] }, 'PC', 'There are no PCs with these ids: 4712, 4711.'],
      [{ deviceIds: [pc.devices[0]?.id, gone] }, 'DEVICE', `There is no device with this id: ${gone}.`],
      [
        { deviceIds: none },
        'DEVICE',
        `There are no devices with these ids: ${none.slice(0, 20).join(', ')} and 2 more.`,
      ],
    ] as const)
      expect(await stage.t.post('/api/tasks', { name: 'a', kind: 'A', targets })).toMatchObject({
        status: 404,
        body: { code: `MUSTER_UNKNOWN_${code}`, error },
      });
    expect((await stage.t.get('/api/tasks?status=running')).body.tasks).toEqual([]);
    for (const path of ['/api/tasks/x', '/api/tasks/4711', '/api/tasks/4711/devices'])
      expect(await stage.t.get(path)).toMatchObject({ status: 404, body: { code: 'MUSTER_UNKNOWN_TASK' } });
    for (const path of ['/api/task-devices/x', '/api/task-devices/4711/events'])
      expect(await stage.t.get(path)).toMatchObject({
        status: 404,
        body: { code: 'MUSTER_UNKNOWN_TASK_DEVICE' },
      });
    expect((await stage.t.post('/api/devices/4711/clear-error')).status).toBe(404);
    for (const wish of [{ max: 0 }, { max: 101 }, { max: 1.5 }, { wait: 26 }, { wait: -1 }, { all: true }])
      expect((await stage.t.post(`/api/pcs/${pc.id}/claim`, wish, { token: pc.token })).status).toBe(400);
    expect(await pc.claim({ max: 100, wait: 0.01 })).toEqual([]);
    await newTask(stage.t, listOf(pc));
    const [held] = (await pc.claim()) as [Held];
    const say = (what: string, body: object, id = held.id) =>
      stage.t.post(`/api/task-devices/${id}/${what}`, body, { token: pc.token });
    for (const [what, body] of [
      ['complete', {}],
      ['complete', { attempt: 0 }],
      ['complete', { attempt: 1, claim: { max: 0 } }],
      ['fail', { attempt: 1 }],
      ['fail', { attempt: 1, error: 7 }],
      ['ack', {}],
      ['heartbeat', { attempt: '1' }],
    ] as const)
      expect(await say(what, body)).toMatchObject({ status: 400, body: { code: 'MUSTER_BAD_BODY' } });
    expect((await say('fail', { attempt: 1, error: 'a\u0000b' })).status).toBe(400);
    expect(await say('fail', { attempt: 1, error: 'x'.repeat(70_000) })).toMatchObject({
      status: 413,
      body: { code: 'MUSTER_TOO_LARGE' },
    });
    expect((await say('complete', { attempt: 1, result: 'x'.repeat(70_000) })).status).toBe(413);
    for (const id of ['x', '4711', '0']) expect((await say('complete', { attempt: 1 }, id)).status).toBe(404);
    expect(await pc.running()).toMatchObject([{ attempt: 1 }]);
  });
});

test('another tenant has its own line of tasks and sees nothing of this one', async () => {
  const { db } = stage.t.engine;
  const tenantId = (await createTenantQueries('muster').create(db, 'second'))?.tenantId as number;
  const { secret } = await createTokens(db, 'muster').create(db, {
    tenantId,
    kind: 'operator',
    role: 'admin',
    name: 'second',
  });
  const second = { token: stage.t.secret(secret) };
  const pc = await fakePc(stage.t, 1);
  const task = await newTask(stage.t, listOf(pc));
  const [held] = (await pc.claim()) as [Held];
  for (const path of [`tasks/${task.id}`, `pcs/${pc.id}`, `task-devices/${held.id}`, `pcs/${pc.id}/running`])
    expect((await stage.t.get(`/api/${path}`, second)).status).toBe(404);
  expect((await stage.t.post(`/api/tasks/${task.id}/cancel`, {}, second)).status).toBe(404);
  expect((await stage.t.get('/api/tasks', second)).body.tasks).toEqual([]);
  const pcIds = { name: 'x', kind: 'X', targets: { pcIds: [pc.id] } };
  expect((await stage.t.post('/api/tasks', pcIds, second)).status).toBe(404);
  // both have an active task at the same time; a device of another tenant is unknown there
  const { body: own } = await stage.t.post('/api/pcs', { name: 'pc' }, second);
  stage.t.secret(own.runnerToken);
  const body = { name: 'x', kind: 'X', targets: { deviceIds: [held.deviceId] } };
  expect(await stage.t.post('/api/tasks', body, second)).toMatchObject({
    status: 404,
    body: { code: 'MUSTER_UNKNOWN_DEVICE' },
  });
  const all = { name: 'x', kind: 'X', targets: { all: true } };
  expect((await stage.t.post('/api/tasks', all, second)).body).toMatchObject({ total: 0 });
  expect((await stage.t.post(`/api/pcs/${own.id}/claim`, {}, { token: own.runnerToken })).body).toEqual({
    taskDevices: [],
  });
});

test('every change by an operator is in the audit log', async () => {
  const pc = await fakePc(stage.t, 1);
  const task = await newTask(stage.t, listOf(pc));
  await stage.t.post(`/api/devices/${pc.devices[0]?.id}/clear-error`);
  await stage.t.post(`/api/tasks/${task.id}/cancel`, { reason: 'why not' });
  await stage.t.send('PATCH', `/api/pcs/${pc.id}`, { slots: 2 });
  await stage.t.del(`/api/pcs/${pc.id}`);
  const { body } = await stage.t.get('/api/audit?limit=6');
  expect(body.audit.map(({ act, target }: { act: string; target: string }) => [act, target])).toEqual([
    ['pc.delete', `pc ${pc.id}`],
    ['pc.update', `pc ${pc.id}`],
    ['task.cancel', `task ${task.id}`],
    ['device.clear-error', `device ${pc.devices[0]?.id}`],
    ['task.create', `task ${task.id}`],
    ['device.create', `device ${pc.devices[0]?.id}`],
  ]);
});

test('metrics show the polls and hand-outs of runners', async () => {
  const pc = await fakePc(stage.t, 1);
  const waiting = pc.claim({ wait: 25 });
  await parked(stage);
  await newTask(stage.t, listOf(pc), { maxAttempts: 5 });
  const [held] = (await waiting) as [Held];
  await pc.fail(held, { claim: { max: 1 } });
  const { body } = await stage.t.get('/metrics');
  for (const line of [
    /^muster_task_claims_total\{tenant="1",outcome="work"\} \d+$/m,
    /^muster_task_claim_wait_seconds_count\{tenant="1"\} \d+$/m,
    /^muster_task_devices_handed_out_total\{tenant="1",attempt="further"\} \d+$/m,
    /^muster_task_processing_seconds_count\{tenant="1",status="failed"\} \d+$/m,
  ])
    expect(body).toMatch(line);
});

test('finished tasks are deleted with everything that belongs to them', async () => {
  const pc = await fakePc(stage.t, 1);
  const task = await newTask(stage.t, listOf(pc));
  for (const held of await pc.claim()) await pc.complete(held);
  await stage.pass(0);
  await stage.pass(15 * 24 * 60 * MINUTE);
  await stage.t.engine.runDuty('fold-task-counts');
  while ((await stage.t.engine.runDuty('prune-tasks')) > 0);
  expect((await stage.t.get(`/api/tasks/${task.id}`)).status).toBe(404);
  const { rows } = await stage.t.engine.db.query({
    text: 'select (select count(*) from muster.task_targets where task_id = $1)::int + (select count(*) from muster.task_counts where task_id = $1)::int as n',
    values: [task.id],
  });
  expect(rows[0].n).toBe(0);
});
