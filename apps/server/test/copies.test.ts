import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fakeDevice } from '../testing/fake-device.ts';
import { fakePc, type Held, newTask } from '../testing/fake-pc.ts';
import { type TestServer, testServer } from '../testing/test-server.ts';

/** Finished actions: listed by target, named by their origin, and run again with changes (issue 11). */
let t: TestServer;
beforeAll(async () => {
  t = await testServer({ clock: true });
});
afterAll(() => t.close());

const copy = (id: string, body: object = {}) => t.post(`/api/actions/${id}/copy`, body);
const idsOf = async (path: string) =>
  (await t.get(path)).body.actions.map(({ id }: { id: string }) => id) as string[];

async function host() {
  const { id, agentToken } = (await t.post('/api/hosts', { name: `host ${Math.random()}` })).body;
  t.secret(agentToken);
  const service = (await t.post(`/api/hosts/${id}/services`, { unitName: 'nginx' })).body;
  const queued = await t.post(`/api/hosts/${id}/actions`, { serviceId: service.id, kind: 'stop' });
  return { id, service: service.id, action: queued.body.id };
}

describe('the actions of a target', () => {
  test('those of a device are listed by state, from every door', async () => {
    const pc = await fakePc(t, 1);
    const [device] = pc.devices as [(typeof pc.devices)[number]];
    await newTask(t, { deviceIds: [device.id] });
    const [held] = (await pc.claim()) as [Held];
    await pc.complete(held);
    const [done, running, pending] = [
      await device.assign('A'),
      await device.assign('B'),
      await device.assign('C'),
    ];
    await device.report((await device.checkIn()).action);
    const path = `/api/devices/${device.id}/actions`;
    expect(await idsOf(`${path}?state=finished`)).toEqual([done, held.id]);
    expect(await idsOf(`${path}?state=running`)).toEqual([running]);
    expect(await idsOf(`${path}?state=pending`)).toEqual([pending]);
    expect(await idsOf(path)).toEqual([pending, running, done, held.id]);
    const first = (await t.get(`${path}?state=finished&limit=1`)).body;
    expect(await idsOf(`${path}?state=finished&limit=1&cursor=${first.cursor}`)).toEqual([held.id]);
    for (const unknown of ['999', 'x'])
      expect((await t.get(`/api/devices/${unknown}/actions`)).body.code).toBe('MUSTER_UNKNOWN_DEVICE');
    expect((await t.get(`${path}?state=none`)).status).toBe(400);

    // of the PC: the work of its runner, not the check-in actions of its devices
    expect(await idsOf(`/api/pcs/${pc.id}/actions`)).toEqual([held.id]);
    expect(await idsOf(`/api/pcs/${pc.id}/actions?state=succeeded`)).toEqual([held.id]);
    expect(await idsOf(`/api/pcs/${pc.id}/actions?state=unfinished`)).toEqual([]);
    for (const unknown of ['999', 'x'])
      expect((await t.get(`/api/pcs/${unknown}/actions`)).body.code).toBe('MUSTER_UNKNOWN_PC');
  });

  test('those of a PC come in pages over all its devices', async () => {
    const pc = await fakePc(t, 3);
    await newTask(t, { pcIds: [pc.id] });
    const held = await pc.claim({ max: 3 });
    for (const one of held) await pc.complete(one);
    const ids = held.map(({ id }) => id).sort((a, b) => Number(b) - Number(a));
    const { body } = await t.get(`/api/pcs/${pc.id}/actions?limit=2&state=finished`);
    expect(body.actions.map(({ id }: { id: string }) => id)).toEqual(ids.slice(0, 2));
    expect(await idsOf(`/api/pcs/${pc.id}/actions?limit=2&cursor=${body.cursor}`)).toEqual(ids.slice(2));
  });

  test('those of a host use the same states', async () => {
    const { id, action } = await host();
    expect(await idsOf(`/api/hosts/${id}/actions?state=pending`)).toEqual([action]);
    expect(await idsOf(`/api/hosts/${id}/actions?state=finished`)).toEqual([]);
    await t.post(`/api/actions/${action}/cancel`);
    expect(await idsOf(`/api/hosts/${id}/actions?state=finished`)).toEqual([action]);
  });

  test('an action of a workflow or batch names it', async () => {
    const device = await fakeDevice(t, { tags: ['named'] });
    const targets = { tags: ['named'] };
    const schedule = { at: new Date(t.clock().getTime() + 60_000).toISOString() };
    const body = { name: 'nightly', schedule, targets, action: { kind: 'X' } };
    const workflow = (await t.post('/api/workflows', body)).body;
    t.clock.advance(120_000);
    await t.engine.runDuty('begin-workflow-runs');
    await t.engine.runDuty('supply-workflow-runs');
    const batch = (await t.post('/api/batches', { targets, action: { kind: 'Y' } })).body;
    await expect.poll(async () => (await device.queue()).length).toBe(2);
    const [run] = (await t.get(`/api/workflows/${workflow.id}/runs`)).body.runs;
    const made = { workflow: { id: workflow.id, name: 'nightly', runId: run.id } };
    const [first, second] = await device.queue();
    expect([first, second]).toMatchObject([made, { batch: { id: batch.id } }]);
    expect((await t.get(`/api/actions/${first.id}`)).body).toMatchObject(made);
    expect((await t.get(`/api/devices/${device.id}/actions`)).body.actions[1]).toMatchObject(made);
    expect((await t.get(`/api/actions/${second.id}`)).body).not.toHaveProperty('workflow');
  });
});

describe('edit and run again', () => {
  test('a finished action of a lane', async () => {
    const body = {
      kind: 'print',
      payload: { copies: 2 },
      priority: 'urgent',
      tags: ['paper'],
      maxAttempts: 5,
    };
    const old = (await t.post('/api/lanes/desk/actions', body)).body;
    expect(await copy(old.id)).toMatchObject({ status: 409, body: { code: 'MUSTER_NOT_FINISHED' } });
    await t.post(`/api/actions/${old.id}/cancel`);
    const made = await copy(old.id, { payload: { copies: 3 }, priority: 'normal' });
    expect(made).toMatchObject({
      status: 201,
      body: {
        ...body,
        copiedFrom: old.id,
        lane: 'desk',
        payload: { copies: 3 },
        priority: 'normal',
        state: 'pending',
      },
    });
    expect((await t.get(`/api/actions/${old.id}`)).body.state).toBe('cancelled');
    expect((await t.get('/api/audit?limit=1')).body.audit).toMatchObject([
      { act: 'action.copy', target: `action ${made.body.id}`, detail: { copiedFrom: old.id } },
    ]);
    expect((await copy('999999')).status).toBe(404);
    expect((await copy(old.id, { deadline: '2001-01-01T00:00:00Z' })).status).toBe(400);
    const viewer = await t.token({ kind: 'operator', role: 'viewer', name: 'looks' });
    const refused = await t.post(`/api/actions/${old.id}/copy`, {}, { token: viewer.token });
    expect(refused.status).toBe(403);
  });

  test('one of a device is assigned like any other', async () => {
    const device = await fakeDevice(t, { expiresAt: '2030-01-01T00:00:00.000Z' });
    const old = await device.assign('LICENSE', { moreDays: 10, maxAttempts: 1 });
    await device.report((await device.checkIn()).action, 'failed');
    const { body } = await copy(old, { payload: { key: 'new' } });
    expect(body).toMatchObject({
      kind: 'LICENSE',
      copiedFrom: old,
      maxAttempts: 1,
      payload: { key: '[hidden]' },
    });
    expect((await device.milestones()).at(-1)).toMatchObject({
      type: 'assigned',
      actionId: body.id,
      moreDays: 10,
    });
    const { action } = await device.checkIn();
    expect(action).toMatchObject({ id: body.id, payload: { key: 'new' }, source: 'assign' });
    await device.report(action);
    expect((await device.show()).expiresAt).toBe('2030-01-11T00:00:00.000Z');
    await t.del(`/api/devices/${device.id}`);
    expect(await copy(old)).toMatchObject({ status: 409, body: { code: 'MUSTER_TARGET_GONE' } });
  });

  test('one of a host keeps its service', async () => {
    const { id, service, action } = await host();
    await t.post(`/api/actions/${action}/cancel`);
    const { body } = await copy(action, { kind: 'restart' });
    expect((await t.get(`/api/hosts/${id}/actions/${body.id}`)).body).toMatchObject({
      kind: 'restart',
      serviceId: service,
      status: 'queued',
    });
    for (const changed of [{ kind: 'format' }, { payload: {} }])
      expect((await copy(action, changed)).status).toBe(400);
    await t.del(`/api/hosts/${id}/services/${service}`);
    expect(await copy(action)).toMatchObject({ status: 409, body: { code: 'MUSTER_TARGET_GONE' } });
  });

  test('one of a task belongs to its task', async () => {
    const pc = await fakePc(t, 1);
    await newTask(t, { pcIds: [pc.id] });
    const [held] = (await pc.claim()) as [Held];
    await pc.complete(held);
    expect(await copy(held.id)).toMatchObject({ status: 409, body: { code: 'MUSTER_NOT_COPIED' } });
  });
});
