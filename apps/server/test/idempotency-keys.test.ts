import { api } from '@muster/contracts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fakeDevice } from '../testing/fake-device.ts';
import { type MdmStage, mdmStage } from '../testing/mdm-stage.ts';
import type { TestServer } from '../testing/test-server.ts';

/** Every request that queues something can be repeated (issue 11). */
let t: TestServer;
let phones: MdmStage;
beforeAll(async () => {
  phones = await mdmStage({ clock: true });
  ({ t } = phones);
});
afterAll(() => phones.close());

interface Asked {
  readonly path: string;
  readonly body: object;
  /** Another request on the same route. */
  readonly other: { readonly path: string; readonly body: object };
  /** How many of them exist. */
  count(): Promise<number>;
  /** Deletes its target. */
  remove?(): Promise<unknown>;
}

const inPath = async (path: string, list: string) => (await t.get(`${path}?limit=500`)).body[list].length;
const workflow = () => ({
  name: 'nightly',
  schedule: { cron: '0 3 * * *' },
  targets: { tags: ['none'] },
  action: { kind: 'X' },
});

const requests: Readonly<Record<string, () => Promise<Asked>>> = {
  async 'actions.enqueue'() {
    const path = '/api/lanes/keys/actions';
    const count = () => inPath('/api/actions', 'actions');
    return { path, body: { kind: 'a' }, other: { path, body: { kind: 'b' } }, count };
  },
  async 'actions.copy'() {
    const device = await fakeDevice(t);
    const id = await device.assign('LOCK');
    await t.post(`/api/actions/${id}/cancel`);
    const path = `/api/actions/${id}/copy`;
    const count = () => inPath('/api/actions', 'actions');
    const remove = () => t.del(`/api/devices/${device.id}`);
    return { path, body: { payload: 1 }, other: { path, body: { payload: 2 } }, count, remove };
  },
  async 'checkin.assign'() {
    const [one, two] = [await fakeDevice(t), await fakeDevice(t)];
    const path = `/api/devices/${one.id}/actions`;
    const body = { kind: 'LOCK' };
    const other = { path: `/api/devices/${two.id}/actions`, body };
    const remove = () => t.del(`/api/devices/${one.id}`);
    return { path, body, other, count: async () => (await one.queue()).length, remove };
  },
  async 'hostActions.enqueue'() {
    const { id, agentToken } = (await t.post('/api/hosts', { name: 'keys' })).body;
    t.secret(agentToken);
    const service = (await t.post(`/api/hosts/${id}/services`, { unitName: 'nginx' })).body;
    const path = `/api/hosts/${id}/actions`;
    const body = { serviceId: service.id, kind: 'stop' };
    return {
      path,
      body,
      other: { path, body: { ...body, kind: 'start' } },
      count: () => inPath(path, 'actions'),
      remove: () => t.del(`/api/hosts/${id}`),
    };
  },
  async 'orders.create'() {
    const path = '/api/orders';
    const count = () => inPath(path, 'orders');
    return { path, body: { type: 'VIP' }, other: { path, body: { type: 'NORMAL' } }, count };
  },
  async 'batches.create'() {
    const path = '/api/batches';
    const body = { targets: { tags: ['none'] }, action: { kind: 'X' } };
    return {
      path,
      body,
      other: { path, body: { ...body, name: 'x' } },
      count: () => inPath(path, 'batches'),
    };
  },
  async 'tasks.create'() {
    const path = '/api/tasks';
    const device = await fakeDevice(t);
    const body = { name: 'one', kind: 'X', targets: { deviceIds: [device.id] } };
    return {
      path,
      body,
      other: { path, body: { ...body, name: 'two' } },
      count: () => inPath(path, 'tasks'),
      remove: () => t.del(`/api/devices/${device.id}`),
    };
  },
  async 'mdm.command'() {
    const [one, two] = [await phones.enrolled(), await phones.enrolled()];
    const path = (id: string) => `/api/devices/${id}/mdm/commands`;
    const body = { requestType: 'ProfileList' };
    const count = () => inPath(`/api/devices/${one.id}/actions`, 'actions');
    return { path: path(one.id), body, other: { path: path(two.id), body }, count };
  },
  async 'workflows.run'() {
    const [one, two] = [
      await t.post('/api/workflows', workflow()),
      await t.post('/api/workflows', workflow()),
    ];
    const path = (id: string) => `/api/workflows/${id}/run`;
    return {
      path: path(one.body.id),
      body: {},
      other: { path: path(two.body.id), body: {} },
      count: () => inPath(`/api/workflows/${one.body.id}/runs`, 'runs'),
      remove: () => t.del(`/api/workflows/${one.body.id}`),
    };
  },
};

const withKey = Object.entries(api).flatMap(([door, calls]) =>
  Object.entries(calls).flatMap(([name, one]) =>
    'headers' in one && 'Idempotency-Key' in one.headers ? [`${door}.${name}`] : [],
  ),
);

test('every route that takes a key is tested here', () => {
  expect(Object.keys(requests).sort()).toEqual(withKey.sort());
});

describe.each(withKey)('%s', (name) => {
  test('G25: the same request creates nothing new; another request with the key is refused', async () => {
    const asked = await (requests[name] as () => Promise<Asked>)();
    const send = (key: string, { path, body } = asked as Asked['other']) =>
      t.post(path, body, { headers: { 'idempotency-key': key } });
    const before = await asked.count();
    const lines = await inPath('/api/audit', 'audit');
    // of two at the same moment, one creates it and the other gets it
    const both = await Promise.all([send('one'), send('one')]);
    expect(both.map(({ status }) => status).sort()).toEqual([200, 201]);
    expect(both[0]?.body.id).toBe(both[1]?.body.id);
    t.clock.advance(3_600_000);
    expect(await send('one')).toMatchObject({ status: 200, body: { id: both[0]?.body.id } });
    expect(await asked.count()).toBe(before + 1);
    expect(await inPath('/api/audit', 'audit')).toBe(lines + 1);
    expect(await send('one', asked.other)).toMatchObject({
      status: 409,
      body: { code: 'MUSTER_IDEMPOTENCY_MISMATCH' },
    });
    expect((await send('two')).status).toBe(201);
    expect((await t.post(asked.path, asked.body)).status).toBe(201);
    expect(await asked.count()).toBe(before + 3);
    expect((await send('x'.repeat(256))).body.code).toBe('MUSTER_BAD_HEADER');
    if (!asked.remove) return;
    // its target is deleted: the first answer is given again, and nothing new is created
    expect((await asked.remove()) as object).toMatchObject({ status: 204 });
    expect(await send('one')).toMatchObject({ status: 200, body: { id: both[0]?.body.id } });
    expect((await send('three')).status).toBeGreaterThanOrEqual(404);
  });
});

test('a refused request does not use up its key', async () => {
  const headers = { 'idempotency-key': 'refused' };
  const task = { name: 'x', kind: 'X', targets: { tags: ['none'] } };
  const past = { ...task, deadline: '2001-01-01T00:00:00Z' };
  expect((await t.post('/api/tasks', past, { headers })).status).toBe(400);
  expect((await t.post('/api/tasks', task, { headers })).status).toBe(201);
});

test('a repetition after the times in the request have passed gets the first answer', async () => {
  const headers = { 'idempotency-key': 'in time' };
  const deadline = new Date(t.clock().getTime() + 60_000).toISOString();
  const batch = { targets: { tags: ['none'] }, action: { kind: 'X', deadline } };
  const first = await t.post('/api/batches', batch, { headers });
  expect(first.status).toBe(201);
  t.clock.advance(3_600_000);
  expect(await t.post('/api/batches', batch, { headers })).toMatchObject({ status: 200, body: first.body });
  expect((await t.post('/api/batches', batch)).status).toBe(400);
});

test('G25: a key is deleted with what it named', async () => {
  const headers = { 'idempotency-key': 'old' };
  const task = { name: 'x', kind: 'X', targets: { tags: ['none'] } };
  const first = await t.post('/api/tasks', task, { headers });
  t.clock.advance(6 * 86_400_000);
  await t.engine.runDuty('prune-request-keys');
  expect((await t.post('/api/tasks', task, { headers })).body.id).toBe(first.body.id);
  t.clock.advance(100 * 86_400_000);
  await t.engine.runDuty('keep-days');
  expect(await t.engine.runDuty('prune-request-keys')).toBeGreaterThan(0);
  expect(await t.post('/api/tasks', task, { headers })).toMatchObject({ status: 201 });
});
