import { afterAll, beforeAll, expect, test } from 'vitest';
import { fakeDevice } from '../testing/fake-device.ts';
import { type TestServer, testServer } from '../testing/test-server.ts';

/** A deliverBy or deadline in the past is refused by every door alike. */
let t: TestServer;
let paths: Record<string, { path: string; body: object }>;
beforeAll(async () => {
  t = await testServer({ clock: true });
  const device = await fakeDevice(t);
  const host = (await t.post('/api/hosts', { name: 'web-1' })).body;
  t.secret(host.agentToken);
  const service = await t.post(`/api/hosts/${host.id}/services`, { unitName: 'nginx.service' });
  paths = {
    lane: { path: '/api/lanes/printer/actions', body: { kind: 'x' } },
    device: { path: `/api/devices/${device.id}/actions`, body: { kind: 'x' } },
    host: { path: `/api/hosts/${host.id}/actions`, body: { serviceId: service.body.id, kind: 'start' } },
    task: { path: '/api/tasks', body: { name: 'x', kind: 'x', targets: { all: true } } },
    batch: { path: '/api/batches', body: { targets: { all: true }, action: { kind: 'x' } } },
    workflow: {
      path: '/api/workflows',
      body: { name: 'x', schedule: { cron: '0 3 * * *' }, targets: { all: true }, action: { kind: 'x' } },
    },
  };
});
afterAll(() => t.close());

const at = (ms: number) => new Date(t.clock().getTime() + ms).toISOString();
/** The body with the time in its place. */
function timed(door: string, field: string, time: string): [string, object] {
  const { path, body } = paths[door] as { path: string; body: { action?: object } };
  const inside = field.split('.')[1];
  return [
    path,
    inside ? { ...body, action: { ...body.action, [inside]: time } } : { ...body, [field]: time },
  ];
}

test.each([
  ['lane', 'deliverBy'],
  ['lane', 'deadline'],
  ['device', 'deliverBy'],
  ['device', 'deadline'],
  ['host', 'deliverBy'],
  ['task', 'deadline'],
  ['batch', 'action.deliverBy'],
  ['batch', 'action.deadline'],
  ['workflow', 'action.deliverBy'],
  ['workflow', 'action.deadline'],
])('of a %s: %s must be in the future', async (door, field) => {
  for (const ms of [0, -1_000])
    expect(await t.post(...timed(door, field, at(ms)))).toMatchObject({
      status: 400,
      body: { code: 'MUSTER_BAD_BODY', error: `${field} is in the past.` },
    });
  expect((await t.post(...timed(door, field, at(1_000)))).status).toBe(201);
});

test('a changed workflow is refused alike', async () => {
  const { path, body } = paths.workflow as { path: string; body: { action: object } };
  const { id } = (await t.post(path, body)).body;
  const change = { action: { ...body.action, deadline: at(-1) } };
  expect((await t.send('PATCH', `${path}/${id}`, change)).body.error).toBe('action.deadline is in the past.');
});

test.each(['lane', 'device', 'host'])(
  'a repeated request of a %s gets the first answer, even when its time has passed',
  async (door) => {
    const [path, body] = timed(door, 'deliverBy', at(60_000));
    const headers = { 'idempotency-key': `once-${door}` };
    const first = await t.post(path, body, { headers });
    expect(first.status).toBe(201);
    t.clock.advance(120_000);
    expect(await t.post(path, body, { headers })).toMatchObject({ status: 200, body: { id: first.body.id } });
    expect((await t.post(path, body, { headers: { 'idempotency-key': 'another' } })).status).toBe(400);
  },
);
