import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { fakeDevice } from '../testing/fake-device.ts';
import { type TestServer, testServer } from '../testing/test-server.ts';

/** No stored change is answered as if it were not stored. */
let t: TestServer;
beforeAll(async () => {
  t = await testServer({ faults: true });
});
afterEach(() => vi.restoreAllMocks());
afterAll(() => t.close());

const sql = (text: string) => t.engine.db.query({ text });

async function service(): Promise<[path: string, body: object]> {
  const host = await t.post('/api/hosts', { name: `host ${Math.random()}` });
  const made = await t.post(`/api/hosts/${host.body.id}/services`, { unitName: 'x.service' });
  return [`/api/hosts/${host.body.id}/actions`, { serviceId: made.body.id, kind: 'start' }];
}

test('G64: an enqueue whose audit line cannot be written is answered 201, and the missing line is logged', async () => {
  const asked: [string, object][] = [['/api/lanes/a/actions', { kind: 'x' }], await service()];
  await sql('alter table muster.audit add constraint nothing check (false) not valid');
  for (const [path, body] of asked) {
    const answer = await t.post(path, body);
    expect(answer.status).toBe(201);
    expect(t.log()).toMatch(
      new RegExp(`"target":"action ${answer.body.id}".*A line of the audit log is missing`),
    );
  }
  await sql('alter table muster.audit drop constraint nothing');
});

/** Every read after the commit fails; `looks` reads of an action come before it. */
function away(looks = 0) {
  const { get } = t.engine;
  for (const read of ['explain', 'get', 'list'] as const)
    vi.spyOn(t.engine, read).mockRejectedValue(new Error('Connection terminated'));
  for (let n = 0; n < looks; n += 1) vi.mocked(t.engine.get).mockImplementationOnce(get);
}

test('G64: if a stored action cannot be read back, the answer says that it is stored, with its id', async () => {
  const queued = await t.post('/api/lanes/a/actions', { kind: 'x' });
  const asked: [string, object, looks?: number][] = [
    await service(),
    [`/api/actions/${queued.body.id}/move-to-front`, {}, 1],
  ];
  for (const [path, body, looks] of asked) {
    away(looks);
    const answer = await t.post(path, body);
    vi.restoreAllMocks();
    expect(answer).toMatchObject({ status: 503, body: { code: 'MUSTER_NO_ANSWER' } });
    const id = /^This was stored as action (\d+) /.exec(answer.body.error)?.[1];
    expect((await t.get(`/api/actions/${id}`)).body).toMatchObject({ id, state: 'pending' });
  }
});

test('G64: an enqueue into a lane reads nothing back; an enqueue for a device reads nothing after its commit', async () => {
  const device = await fakeDevice(t);
  away();
  expect(await t.post('/api/lanes/b/actions', { kind: 'x' })).toMatchObject({ status: 201 });
  expect(await t.post(`/api/devices/${device.id}/actions`, { kind: 'LOCK' })).toMatchObject({ status: 503 });
  vi.restoreAllMocks();
  expect((await t.get(`/api/devices/${device.id}/queue`)).body.actions).toEqual([]);
  expect((await t.post(`/api/devices/${device.id}/actions`, { kind: 'LOCK' })).body).toMatchObject({
    ...{ status: 'pending', position: 1 },
  });
});
