import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { fakeDevice } from '../testing/fake-device.ts';
import { type TestServer, testServer } from '../testing/test-server.ts';

/** What was stored is never answered as if it were not. */
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

test('G64: an enqueue whose audit line cannot be written is answered 201, and the log has the line', async () => {
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

test('G64: what was stored and cannot be read back is said to be stored, with its id', async () => {
  const device = await fakeDevice(t);
  const queued = await t.post('/api/lanes/a/actions', { kind: 'x' });
  const asked: [string, object][] = [
    ['/api/lanes/a/actions', { kind: 'x' }],
    [`/api/devices/${device.id}/actions`, { kind: 'LOCK' }],
    await service(),
    [`/api/actions/${queued.body.id}/move-to-front`, {}],
  ];
  for (const [path, body] of asked) {
    const away = vi.spyOn(t.engine, 'get').mockRejectedValue(new Error('Connection terminated'));
    const answer = await t.post(path, body);
    away.mockRestore();
    expect(answer).toMatchObject({ status: 503, body: { code: 'MUSTER_NO_ANSWER' } });
    const id = /^This was stored \(action (\d+)\)/.exec(answer.body.error)?.[1];
    expect((await t.get(`/api/actions/${id}`)).body).toMatchObject({ id, state: 'pending' });
  }
});
