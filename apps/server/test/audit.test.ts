import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestServer, testServer } from '../testing/test-server.ts';

/** A change and its line in the audit log: both or neither, at every door. */
let t: TestServer;
beforeAll(async () => {
  t = await testServer({ faults: true });
  for (const [path, body] of changes) expect(await t.post(path, body)).toMatchObject({ status: 201 });
});
afterAll(() => t.close());

const sql = (text: string) => t.engine.db.query({ text });
const audit = async () => (await t.get('/api/audit?limit=100')).body.audit;

const lock = { kind: 'LOCK' };
const changes: [path: string, body: object][] = [
  ['/api/hosts', { name: 'a' }],
  ['/api/devices', { name: 'a', externalId: 'a' }],
  ['/api/pcs', { name: 'a' }],
  ['/api/tasks', { name: 'a', kind: 'x', targets: { all: true } }],
  ['/api/batches', { targets: { all: true }, action: lock }],
  ['/api/workflows', { name: 'a', schedule: { cron: '0 3 * * *' }, targets: { all: true }, action: lock }],
  ['/api/tokens', { kind: 'worker', name: 'a' }],
];

test('a change whose audit line cannot be written is not made', async () => {
  const paths = changes.map(([path]) => path);
  const read = async () => {
    const answers = [];
    for (const path of paths) answers.push((await t.get(path)).body);
    return answers;
  };
  // the server supplies the batch on its own
  await expect.poll(async () => (await t.get('/api/batches')).body.batches[0].counts.waiting).toBe(0);
  const before = await read();
  await sql('alter table muster.audit add constraint nothing check (false) not valid');
  const answers = [];
  for (const [path, body] of changes) {
    const other = { ...body, name: 'b', externalId: undefined };
    answers.push([path, (await t.post(path, other)).status]);
  }
  await sql('alter table muster.audit drop constraint nothing');
  expect(answers).toEqual(paths.map((path) => [path, 500]));
  expect(await read()).toEqual(before);
});

test('a refused change leaves no audit line', async () => {
  const before = await audit();
  const device = (await t.get('/api/devices')).body.devices[0].id;
  const refused: [method: string, path: string, body?: object][] = [
    ['POST', '/api/hosts', { name: 'a' }],
    ['POST', '/api/devices', { name: 'a', externalId: 'a' }],
    ['POST', '/api/pcs', { name: 'a' }],
    ['POST', '/api/tasks/999/cancel', {}],
    ['POST', '/api/batches/999/cancel', {}],
    ['DELETE', '/api/workflows/999'],
    ['DELETE', '/api/tokens/999'],
    ['POST', '/api/actions/999/cancel', {}],
    ['PATCH', `/api/devices/${device}`, { pcId: '999' }],
  ];
  for (const [method, path, body] of refused)
    expect([404, 409], path).toContain((await t.send(method, path, body)).status);
  expect(await audit()).toEqual(before);
});

test('a request repeated with its key changes nothing and leaves no second line', async () => {
  const device = (await t.get('/api/devices')).body.devices[0].id;
  const assign = () =>
    t.post(`/api/devices/${device}/actions`, lock, { headers: { 'Idempotency-Key': 'once' } });
  const first = await assign();
  const lines = await audit();
  expect(lines[0]).toMatchObject({ act: 'action.assign', target: `action ${first.body.id}` });
  expect((await assign()).body.id).toBe(first.body.id);
  expect(await audit()).toEqual(lines);
});
