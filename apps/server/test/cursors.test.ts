import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestServer, testServer } from '../testing/test-server.ts';

let t: TestServer;
beforeAll(async () => {
  t = await testServer({ resolve: () => Promise.reject(new Error('nothing is sent')) });
});
afterAll(() => t.close());

const workflow = {
  name: 'x',
  schedule: { cron: '0 3 * * *' },
  targets: { all: true },
  action: { kind: 'X' },
};

/** Every list with a cursor, each with at least two entries. */
async function lists(): Promise<string[]> {
  const ids: Record<string, string[]> = {};
  const add = async (path: string, body?: object) => {
    const { status, body: made } = await t.post(path, body);
    expect([200, 201]).toContain(status);
    for (const secret of [made.deviceToken, made.agentToken, made.runnerToken, made.botToken])
      if (secret) t.secret(secret);
    ids[path] = [...(ids[path] ?? []), made.id];
    return made.id as string;
  };
  for (const url of ['https://one.example/', 'https://two.example/']) {
    const { body: made } = await t.post('/api/webhooks', { url, events: ['action.created'] });
    t.secret(made.secret);
    ids['/api/webhooks'] = [...(ids['/api/webhooks'] ?? []), made.id];
  }
  for (const name of ['one', 'two']) {
    const pcId = await add('/api/pcs', { name });
    await add('/api/devices', { name, pcId });
    await add('/api/hosts', { name });
    await add('/api/tenants', { name });
    await add('/api/workflows', { ...workflow, name });
    await add('/api/lanes/printer/actions', { kind: 'X' });
    await add('/api/orders', { type: 'NORMAL' });
    await add('/api/bots');
    await t.token({ kind: 'worker', name });
  }
  const [device] = ids['/api/devices'] as [string];
  const [host] = ids['/api/hosts'] as [string];
  const [pc] = ids['/api/pcs'] as [string];
  const [cron] = ids['/api/workflows'] as [string];
  const service = await add(`/api/hosts/${host}/services`, { unitName: 'nginx.service' });
  for (const kind of ['start', 'restart']) {
    await add(`/api/devices/${device}/actions`, { kind });
    await add(`/api/hosts/${host}/actions`, { serviceId: service, kind });
    await add('/api/batches', { targets: { all: true }, action: { kind } });
    await add(`/api/workflows/${cron}/run`, {});
    await add('/api/tasks', { name: kind, kind, targets: { all: true } });
  }
  const { db } = t.engine;
  const [assigned] = ids[`/api/devices/${device}/actions`] as [string];
  const { laneId } = (await t.engine.get(db, 1, assigned)) as { laneId: string };
  for (const kind of ['A', 'B']) await t.engine.enqueue(db, { tenantId: 1, laneId, channel: 'runner', kind });
  // enrolling a phone takes seconds, and only its row matters here
  for (const id of ids['/api/devices'] ?? [])
    await db.query({
      text: `insert into muster.mdm_devices (tenant_id, udid, device_id, lane_id, enrolment_id, byod, topic, facts, authenticated_at)
        values (1, 'udid ' || $1, $1::bigint, 1, 'x', false, 'x', '{}', now())`,
      values: [id],
    });
  const deliveries = `/api/webhooks/${ids['/api/webhooks']?.[0]}/deliveries`;
  await expect.poll(async () => (await t.get(deliveries)).body.deliveries.length).toBeGreaterThan(2);
  return [
    '/api/actions',
    '/api/audit',
    '/api/batches',
    `/api/batches/${ids['/api/batches']?.[0]}/targets`,
    '/api/bots',
    '/api/devices',
    `/api/devices/${device}/actions`,
    `/api/devices/${device}/milestones`,
    '/api/hosts',
    '/api/hosts/load',
    `/api/hosts/${host}/actions`,
    '/api/orders',
    '/api/pcs',
    '/api/phones',
    `/api/pcs/${pc}/actions`,
    '/api/tasks',
    `/api/tasks/${ids['/api/tasks']?.[0]}/devices`,
    '/api/tenants',
    '/api/tokens',
    '/api/webhooks',
    deliveries,
    '/api/workflows',
    `/api/workflows/${cron}/runs`,
  ];
}

test('every list takes its own cursor and refuses any other with the same sentence', async () => {
  const paths = await lists();
  const described = Object.entries((await t.get('/openapi.json')).body.paths)
    .filter(([, path]) => JSON.stringify(path).includes('"name":"cursor"'))
    .filter(([path]) => path !== '/api/events' && path !== '/api/live') // the feed has cursors of its own, see events.test.ts
    .filter(([path]) => !path.startsWith('/v2/')) // in the words of QStash, see callbacks.test.ts
    .map(([path]) => path.replaceAll(/\{\w+\}/g, '1'));
  expect(
    paths.map((path) => path.replaceAll(/\d+/g, '1')).sort(),
    'a list that is new belongs into lists()',
  ).toEqual(described.sort());

  // deleted ones have an order of their own
  const deleted: string[] = [];
  for (const path of ['/api/orders', '/api/bots'] as const) {
    const [name] = Object.keys((await t.get(path)).body) as [string];
    for (const { id } of (await t.get(path)).body[name]) await t.del(`${path}/${id}`);
    deleted.push(`${path}?deleted=true&`);
    for (let n = 0; n < 2; n += 1) {
      const { body } = await t.post(path, path === '/api/orders' ? { type: 'NORMAL' } : undefined);
      if (body.botToken) t.secret(body.botToken);
    }
  }

  for (const path of [...paths.map((one) => `${one}?`), ...deleted]) {
    for (const cursor of [
      'zzz',
      '',
      '0',
      '-1',
      '1e3',
      '01',
      '9'.repeat(19),
      '9'.repeat(200),
      "1'--",
      '%F0%9F%9A%80',
    ])
      expect(await t.get(`${path}cursor=${cursor}`), `${path} ${cursor}`).toMatchObject({
        status: 400,
        body: { error: 'cursor must be a cursor from this list.', code: 'MUSTER_BAD_QUERY' },
      });
    const first = await t.get(`${path}limit=1`);
    expect(first.body.cursor, path).toMatch(/^\d+$/);
    const second = await t.get(`${path}limit=1&cursor=${first.body.cursor}`);
    expect(second.status, path).toBe(200);
    const [name] = Object.keys(first.body).filter((key) => key !== 'cursor') as [string];
    expect(second.body[name], path).toHaveLength(1);
    expect(second.body[name], path).not.toEqual(first.body[name]);
    for (const limit of [0, 501])
      expect((await t.get(`${path}limit=${limit}`)).body.error, path).toBe('limit must be from 1 to 500.');
    expect((await t.get(`${path}limit=500`)).status, path).toBe(200);
    // a cursor far past the end is valid
    expect((await t.get(`${path}cursor=999999999`)).status, path).toBe(200);
  }
});

test('a cursor of batch targets has no more digits than a number of a target', async () => {
  const { id } = (await t.post('/api/batches', { targets: { all: true }, action: { kind: 'X' } })).body;
  for (const cursor of ['2147483648', '9'.repeat(18)])
    expect(await t.get(`/api/batches/${id}/targets?cursor=${cursor}`)).toMatchObject({
      status: 400,
      body: { error: 'cursor must be a cursor from this list.', code: 'MUSTER_BAD_QUERY' },
    });
});

test('a page has a hundred entries unless the request sets limit', async () => {
  const rows = Array.from({ length: 101 }, (_, n) => `till ${n}`);
  const imported = await t.send('POST', '/api/devices/import', ['name', ...rows, ''].join('\n'), {
    headers: { 'content-type': 'text/csv' },
  });
  for (const line of imported.body.split('\n').filter(Boolean)) t.secret(JSON.parse(line).deviceToken);
  await t.post('/api/batches', { targets: { all: true }, action: { kind: 'X' } });
  const { id } = (await t.get('/api/batches?limit=1')).body.batches[0];
  for (const [path, name] of [
    ['/api/devices', 'devices'],
    [`/api/batches/${id}/targets`, 'targets'],
  ] as const) {
    const { body } = await t.get(path);
    expect(body[name], path).toHaveLength(100);
    expect(body.cursor, path).not.toBeNull();
  }
  for (let n = 0; n < 21; n += 1)
    await t.post('/api/batches', { targets: { deviceIds: ['1'] }, action: { kind: 'X' } });
  expect((await t.get('/api/batches')).body.batches.length).toBeGreaterThan(20);
});
