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
let fleets = 0;

async function fleet(size: number): Promise<{ tag: string; devices: FakeDevice[] }> {
  fleets += 1;
  const tag = `fleet ${fleets}`;
  const devices: FakeDevice[] = [];
  for (let n = 0; n < size; n += 1)
    devices.push(await fakeDevice(t, { tags: [tag, n % 2 ? 'odd' : 'even'] }));
  return { tag, devices };
}

async function make(body: object): Promise<string> {
  const answer = await t.post('/api/batches', body);
  expect(answer.status).toBe(201);
  return answer.body.id;
}

/** The batch, after checking that its counts add up. */
async function look(id: string) {
  const { body } = await t.get(`/api/batches/${id}`);
  const sum = Object.values<number>(body.counts).reduce((all, one) => all + one, 0);
  expect(sum).toBe(body.total);
  return body;
}

/** Only the counts above zero. */
async function counts(id: string): Promise<Record<string, number>> {
  const all = Object.entries<number>((await look(id)).counts);
  return Object.fromEntries(all.filter(([, count]) => count > 0));
}

/** The server supplies on its own too: wait until it releases the batch, keep it out, and supply the rest. */
async function supplied(): Promise<void> {
  const { db, duties } = t.engine;
  const duty = duties.find(({ name }) => name === 'supply-batches');
  const open = { text: 'select 1 from muster.batches where closed_at is null order by batch_id for update' };
  const supply = () =>
    db.transaction(async (tx) => {
      const client = ofOne(db, tx, 1);
      await client.query(open);
      return duty?.runOnce(client);
    });
  while ((await supply())?.count !== 0);
}

test('a batch queues its action behind what each device already has, and its counts always add up', async () => {
  const { tag, devices } = await fleet(4);
  const [first, second, third, fourth] = devices as [FakeDevice, FakeDevice, FakeDevice, FakeDevice];
  const own = await first.assign('LOCK');
  const id = await make({
    name: 'update',
    targets: { tags: [tag] },
    action: { kind: 'UPDATE', maxAttempts: 1 },
  });
  await supplied();
  expect(await look(id)).toMatchObject({ id, name: 'update', status: 'running', total: 4, perMinute: null });
  expect(await counts(id)).toEqual({ pending: 4 });
  expect((await first.queue()).map(({ kind, source }) => [kind, source])).toEqual([
    ['LOCK', 'assign'],
    ['UPDATE', 'batch'],
  ]);

  const lock = await first.checkIn();
  expect(lock.action.id).toBe(own);
  const update = await first.report(lock.action);
  expect(update.action).toMatchObject({ kind: 'UPDATE', source: 'batch' });
  expect(await counts(id)).toEqual({ pending: 3, sent: 1 });
  await first.report(update.action);
  await second.report((await second.checkIn()).action, 'failed');
  expect(await counts(id)).toEqual({ pending: 2, done: 1, failed: 1 });
  await third.report((await third.checkIn()).action);
  await fourth.report((await fourth.checkIn()).action);
  expect(await counts(id)).toEqual({ done: 3, failed: 1 });
  expect((await look(id)).status).toBe('completed');
  const failed = await t.get(`/api/batches/${id}/targets?state=failed`);
  expect(failed.body.targets).toMatchObject([{ deviceId: second.id, state: 'failed' }]);
});

test('unknown and repeated targets do not fail the request; they are rows with an error code', async () => {
  const { devices } = await fleet(2);
  const [a, b] = devices.map(({ id }) => id) as [string, string];
  const id = await make({
    targets: { deviceIds: [a, '99999999', b, 'nonsense', a, '007', '99999999999999999999999'] },
    action: { kind: 'X' },
  });
  await supplied();
  expect(await look(id)).toMatchObject({ total: 6, counts: { pending: 2, refused: 4 } });
  const { body } = await t.get(`/api/batches/${id}/targets?limit=3`);
  const { body: rest } = await t.get(`/api/batches/${id}/targets?limit=3&cursor=${body.cursor}`);
  expect([...body.targets, ...rest.targets]).toMatchObject([
    { deviceId: a, state: 'pending' },
    { deviceId: null, target: '99999999', state: 'refused', error: 'UNKNOWN_DEVICE' },
    { deviceId: b, state: 'pending' },
    { deviceId: null, target: 'nonsense', error: 'UNKNOWN_DEVICE' },
    { deviceId: null, target: '007', error: 'UNKNOWN_DEVICE' },
    { deviceId: null, target: '99999999999999999999999', error: 'UNKNOWN_DEVICE' },
  ]);
  expect(rest.cursor).toBeNull();
});

test('targets are resolved when the batch is accepted; one that is deleted before its turn is refused', async () => {
  const { tag, devices } = await fleet(3);
  const id = await make({ targets: { tags: [tag] }, action: { kind: 'X' }, ratePerMinute: 1 });
  await fakeDevice(t, { tags: [tag] });
  await supplied();
  expect(await counts(id)).toEqual({ pending: 1, waiting: 2 });
  await t.del(`/api/devices/${devices[1]?.id}`);
  for (let n = 0; n < 3; n += 1) {
    await t.pass(MINUTE);
    await supplied();
  }
  expect(await counts(id)).toEqual({ pending: 2, refused: 1 });
});

test('a rate limits how many targets are queued within any minute', async () => {
  const { tag } = await fleet(7);
  const id = await make({ targets: { tags: [tag, 'odd'] }, action: { kind: 'X' }, ratePerMinute: 2 });
  await supplied();
  expect(await look(id)).toMatchObject({ status: 'supplying', total: 3, perMinute: 2 });
  expect(await counts(id)).toEqual({ pending: 2, waiting: 1 });
  await t.pass(59_000);
  await supplied();
  expect(await counts(id)).toEqual({ pending: 2, waiting: 1 });
  await t.pass(1_000);
  await supplied();
  expect(await look(id)).toMatchObject({ status: 'running', counts: { pending: 3 } });
});

test('a ramp speeds up after each given number of successes, never above the rate', async () => {
  const { tag, devices } = await fleet(8);
  const ramp = { basePerMinute: 1, factor: 2, everySuccesses: 1 };
  const id = await make({ targets: { tags: [tag] }, action: { kind: 'X' }, ramp, ratePerMinute: 3 });
  const paces: number[] = [];
  for (let n = 0; n < 8; n += 1) {
    await supplied();
    const { perMinute, counts: now } = await look(id);
    // within the same minute, a success may queue the next device, and that one may succeed too
    expect(perMinute).toBe(Math.min(3, 2 ** now.done));
    paces.push(perMinute);
    for (const device of devices) {
      const { action } = await device.checkIn();
      if (action) await device.report(action);
    }
    await t.pass(MINUTE);
  }
  expect([paces[0], paces.at(-1)]).toEqual([1, 3]);
  await supplied();
  expect(await counts(id)).toEqual({ done: 8 });
});

test('the abort rule stops all remaining targets, queued or not, once its sample is large enough', async () => {
  const { tag, devices } = await fleet(6);
  const id = await make({
    targets: { tags: [tag] },
    action: { kind: 'BREAK', maxAttempts: 1 },
    ratePerMinute: 5,
    abort: { failurePercent: 50, minimumSample: 3 },
  });
  await supplied();
  expect(await counts(id)).toEqual({ pending: 5, waiting: 1 });
  const end = async (n: number, status: 'done' | 'failed') => {
    const device = devices[n] as FakeDevice;
    await device.report((await device.checkIn()).action, status);
    await supplied();
  };
  await end(0, 'failed');
  await end(1, 'failed');
  expect((await look(id)).status).toBe('supplying');
  const { action: running } = await (devices[3] as FakeDevice).checkIn();
  await end(2, 'done');
  expect(await look(id)).toMatchObject({ status: 'aborted' });
  expect(await counts(id)).toEqual({ failed: 2, done: 1, sent: 1, cancelled: 1, stopped: 1 });
  await (devices[3] as FakeDevice).report(running);
  await t.pass(10 * MINUTE);
  await supplied();
  expect(await counts(id)).toEqual({ failed: 2, done: 2, cancelled: 1, stopped: 1 });
  const aborted = async () =>
    (await t.get('/api/overview')).body.problems.filter(
      ({ code, example }: { code: string; example: { id: string } }) =>
        code === 'BATCHES_ABORTED' && example.id === id,
    );
  const shown = [{ count: 1, example: { type: 'batch', id } }];
  expect(await aborted()).toMatchObject(shown);
  await t.post(`/api/batches/${id}/cancel`);
  await t.pass(2_000); // the overview is kept so long
  expect(await aborted()).toEqual([]);
  const { db, schema } = t.engine;
  await db.query({
    text: `update ${schema}.batches set cancelled_at = null where batch_id = $1`,
    values: [id],
  });
  await t.pass(2_000);
  expect(await aborted()).toMatchObject(shown);
  await t.pass(24 * 60 * MINUTE); // from then on it is history
  expect(await aborted()).toEqual([]);
});

test('a paused batch hands out nothing; resumed, it continues where it stopped', async () => {
  const { tag, devices } = await fleet(3);
  const id = await make({ targets: { tags: [tag] }, action: { kind: 'X' }, ratePerMinute: 2 });
  await supplied();
  expect((await t.post(`/api/batches/${id}/pause`)).body).toMatchObject({ status: 'paused' });
  const device = devices[0] as FakeDevice;
  const own = await device.assign('LOCK');
  expect((await device.checkIn()).action).toMatchObject({ id: own });
  expect(await device.report({ id: own, attempt: 1 })).toMatchObject({ action: null, pending: 1 });
  expect((await device.queue())[0]).toMatchObject({ waitingFor: { code: 'TAG_PAUSED' } });
  await t.pass(5 * MINUTE);
  await supplied();
  expect(await counts(id)).toEqual({ pending: 2, waiting: 1 });
  expect((await t.post(`/api/batches/${id}/resume`)).body).toMatchObject({
    status: expect.stringMatching(/running|supplying/),
  });
  await supplied();
  expect(await counts(id)).toEqual({ pending: 3 });
  expect((await device.checkIn()).action).toMatchObject({ kind: 'X' });
});

test('cancel ends waiting actions and asks running ones to stop; retry takes failed and never started ones', async () => {
  const { tag, devices } = await fleet(5);
  const [a, b, c] = devices as [FakeDevice, FakeDevice, FakeDevice];
  const id = await make({
    targets: { tags: [tag] },
    action: { kind: 'X', maxAttempts: 1 },
    ratePerMinute: 4,
  });
  await supplied();
  await a.report((await a.checkIn()).action);
  await b.report((await b.checkIn()).action, 'failed');
  const { action } = await c.checkIn();
  expect((await t.post(`/api/batches/${id}/cancel`)).body.status).toBe('cancelled');
  await supplied();
  expect(await counts(id)).toEqual({ done: 1, failed: 1, sent: 1, cancelled: 1, stopped: 1 });
  const stopped = await t.get(`/api/batches/${id}/targets?state=stopped`);
  expect(stopped.body.targets).toEqual([
    { deviceId: devices[4]?.id, deviceName: expect.any(String), state: 'stopped' },
  ]);
  expect((await t.get(`/api/batches/${id}/targets?state=waiting`)).body.targets).toEqual([]);
  const { targets } = (await t.get(`/api/batches/${id}/targets`)).body;
  expect(targets.map(({ state }: { state: string }) => state)).toEqual([
    'done',
    'failed',
    'sent',
    'cancelled',
    'stopped',
  ]);
  expect((await c.checkIn()).action).toMatchObject({ id: action.id, cancelRequested: true });
  await c.report(action, 'failed');
  expect(await counts(id)).toEqual({ done: 1, failed: 1, cancelled: 2, stopped: 1 });
  expect((await t.post(`/api/batches/${id}/pause`)).body).toMatchObject({ code: 'MUSTER_FINISHED' });

  expect((await t.post(`/api/batches/${id}/retry`)).body).toEqual({ id, redriven: 1, again: 2, refused: 0 });
  expect((await t.get(`/api/batches/${id}/targets?state=stopped`)).body.targets).toEqual([]);
  await t.pass(MINUTE);
  await supplied();
  // c was stopped while it ran: it had started, so it is not retried
  expect(await counts(id)).toEqual({ done: 1, cancelled: 1, pending: 3 });
  for (const device of devices) {
    const { action: next } = await device.checkIn();
    if (next) await device.report(next);
  }
  expect(await look(id)).toMatchObject({ status: 'completed', counts: { done: 4, cancelled: 1 } });
});

test('actions that expired before they were handed out are retried too', async () => {
  const { tag } = await fleet(2);
  const deliverBy = new Date(t.clock().getTime() + MINUTE).toISOString();
  const id = await make({ targets: { tags: [tag] }, action: { kind: 'X', deliverBy } });
  await supplied();
  await t.pass(2 * MINUTE);
  expect(await look(id)).toMatchObject({ status: 'completed', counts: { expired: 2 } });
  expect((await t.post(`/api/batches/${id}/retry`)).body).toEqual({ id, redriven: 0, again: 2, refused: 0 });
});

test('two supplying servers never queue a target twice', async () => {
  const { tag, devices } = await fleet(6);
  const id = await make({ targets: { tags: [tag] }, action: { kind: 'X' } });
  const { db, duties } = t.engine;
  const duty = duties.find(({ name }) => name === 'supply-batches');
  await Promise.all(
    Array.from({ length: 5 }, () =>
      db.transaction((tx) => duty?.runOnce(ofOne(db, tx, 1)) as Promise<unknown>),
    ),
  );
  await supplied();
  expect(await counts(id)).toEqual({ pending: 6 });
  for (const device of devices) expect(await device.queue()).toHaveLength(1);
});

test('a full lane refuses its own target and no other', async () => {
  const { tag, devices } = await fleet(2);
  const full = devices[0] as FakeDevice;
  const { rows } = await t.engine.db.query({
    text: 'select lane_id from muster.devices where device_id = $1',
    values: [full.id],
  });
  await t.engine.enqueueMany(
    t.engine.db,
    Array.from({ length: 1_000 }, () => ({
      tenantId: 1,
      laneId: rows[0].lane_id,
      kind: 'FILL',
      channel: 'checkin',
    })),
  );
  const id = await make({ targets: { tags: [tag] }, action: { kind: 'X' } });
  await supplied();
  expect(await counts(id)).toEqual({ pending: 1, refused: 1 });
  expect((await t.get(`/api/batches/${id}/targets?state=refused`)).body.targets).toMatchObject([
    { deviceId: full.id, error: 'LANE_FULL' },
  ]);
  expect((await full.checkIn()).pending).toBe(100);
});

test('batches are listed newest first; unknown ids and invalid input are refused', async () => {
  const id = await make({ targets: { all: true }, action: { kind: 'X' }, ratePerMinute: 1 });
  expect((await t.get('/api/batches?limit=1')).body).toMatchObject({ batches: [{ id }], cursor: id });
  expect((await t.post(`/api/batches/${id}/cancel`)).status).toBe(200);
  for (const path of ['/api/batches/999999', '/api/batches/x', '/api/batches/999999/targets'])
    expect(await t.get(path)).toMatchObject({ status: 404, body: { code: 'MUSTER_UNKNOWN_BATCH' } });
  for (const act of ['pause', 'resume', 'cancel', 'retry'])
    expect((await t.post(`/api/batches/999999/${act}`)).status).toBe(404);
  for (const body of [
    {},
    { targets: {}, action: { kind: 'X' } },
    { targets: { all: true, tags: ['a'] }, action: { kind: 'X' } },
    { targets: { deviceIds: [] }, action: { kind: 'X' } },
    { targets: { all: true }, action: {} },
    { targets: { all: true }, action: { kind: 'X' }, ratePerMinute: 0 },
  ])
    expect((await t.post('/api/batches', body)).status).toBe(400);
});

test('a batch accepts a body of several megabytes, other routes do not', async () => {
  const { devices } = await fleet(1);
  const deviceIds = [devices[0]?.id, ...Array.from({ length: 20_000 }, (_, n) => `${'x'.repeat(60)}${n}`)];
  const answer = await t.post('/api/batches', { targets: { deviceIds }, action: { kind: 'X' } });
  expect(answer).toMatchObject({ status: 201, body: { total: 20_001 } });
  await supplied();
  expect(await counts(answer.body.id)).toEqual({ pending: 1, refused: 20_000 });
  expect(await t.post('/api/devices', { name: 'x'.repeat(2_000_000) })).toMatchObject({
    status: 413,
    body: { error: 'The body is too large: at most 1 MiB is read.' },
  });
});

test('a batch is deleted some days after its end, but not while one of its devices is unfinished', async () => {
  const { tag, devices } = await fleet(2);
  const [here, away] = devices as [FakeDevice, FakeDevice];
  const targets = { targets: { tags: [tag] }, action: { kind: 'UPDATE' } };
  const id = await make(targets);
  await supplied();
  const { action } = await here.checkIn();
  await here.report(action);
  t.clock.advance(15 * 24 * 60 * MINUTE);
  await t.engine.runDuty('prune-batches');
  expect((await t.get(`/api/batches/${id}`)).body).toMatchObject({ id, total: 2 });
  await away.report((await away.checkIn()).action);
  // the server's own housekeeping may hold the row at this moment
  const pruned = async () => {
    await t.engine.runDuty('prune-batches');
    return (await t.get(`/api/batches/${id}`)).status;
  };
  await expect.poll(pruned).toBe(404);
  const { rows } = await t.engine.db.query({
    text: `select 1 from muster.targets t where not exists (select 1 from muster.batches b where b.tenant_id = t.tenant_id and b.set_id = t.set_id)`,
  });
  expect(rows).toEqual([]);
});
