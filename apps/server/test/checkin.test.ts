import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { deviceWith, fakeDevice } from '../testing/fake-device.ts';
import { type TestServer, testServer } from '../testing/test-server.ts';

let t: TestServer;
beforeAll(async () => {
  t = await testServer({ clock: true });
});
afterAll(() => t.close());

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const look = async (id: string) => (await t.get(`/api/actions/${id}`)).body;
const types = async (id: string) => (await look(id)).events.map((event: { type: string }) => event.type);

test('LOCK and LOCK_MSG were assigned while the device was offline: it needs two check-ins, oldest first', async () => {
  const device = await fakeDevice(t);
  const lock = await t.post(`/api/devices/${device.id}/actions`, { kind: 'LOCK', payload: { pin: '1234' } });
  expect(lock).toMatchObject({
    status: 201,
    body: {
      status: 'pending',
      position: 1,
      waitingFor: { code: 'OFFLINE', text: 'The device has never checked in.' },
    },
  });
  t.clock.advance(5 * MINUTE);
  const message = await t.post(`/api/devices/${device.id}/actions`, { kind: 'LOCK_MSG' });
  expect(message.body).toMatchObject({
    position: 2,
    waitingFor: { code: 'BEHIND', actionId: lock.body.id },
  });
  expect(await device.queue()).toMatchObject([
    {
      id: lock.body.id,
      kind: 'LOCK',
      source: 'assign',
      position: 1,
      status: 'pending',
      assignedBy: 'MUSTER_OPERATOR_TOKEN',
    },
    { id: message.body.id, kind: 'LOCK_MSG', source: 'assign', position: 2, status: 'pending' },
  ]);

  t.clock.advance(10 * MINUTE);
  const first = await device.checkIn();
  expect(first).toMatchObject({
    action: {
      id: lock.body.id,
      kind: 'LOCK',
      payload: { pin: '1234' },
      attempt: 1,
      source: 'assign',
      trigger: 'QUEUE',
      assignedAt: new Date(t.clock().getTime() - 15 * MINUTE).toISOString(),
      leaseUntil: new Date(t.clock().getTime() + 75 * MINUTE).toISOString(),
    },
    pending: 1,
  });
  expect(first.result).toBeUndefined();
  const [, assigned] = await device.milestones();
  expect(assigned).toMatchObject({ id: first.action.milestoneId, type: 'assigned', actionId: lock.body.id });
  expect(await device.show()).toMatchObject({
    online: true,
    lastSeenAt: t.clock().toISOString(),
    queueDepth: 1,
    current: { id: lock.body.id, kind: 'LOCK', attempt: 1 },
  });
  expect(await device.queue()).toMatchObject([
    { id: lock.body.id, status: 'sent', position: 0 },
    { id: message.body.id, status: 'pending', position: 1 },
  ]);

  t.clock.advance(5 * MINUTE);
  const second = await device.report(first.action, 'done', { data: { locked: true } });
  expect(second).toMatchObject({
    result: { accepted: true, status: 'done' },
    action: { id: message.body.id, kind: 'LOCK_MSG', attempt: 1 },
    pending: 0,
  });
  expect(await look(lock.body.id)).toMatchObject({ state: 'succeeded', result: { locked: true } });
  expect(await device.report(second.action)).toEqual({
    action: null,
    pending: 0,
    result: { accepted: true, status: 'done' },
  });
  expect(await device.checkIn()).toEqual({ action: null, pending: 0 });
  expect((await device.milestones()).map((m) => m.type)).toEqual([
    ...['enrolled', 'assigned', 'assigned', 'sent', 'done', 'sent', 'done'],
  ]);
});

test('the result of an action and the claim of the next one are one statement', async () => {
  const device = await fakeDevice(t);
  await device.assign('A');
  await device.assign('B');
  const { action } = await device.checkIn();
  const { action: next } = await device.report(action);
  const [done, sent] = (await device.milestones()).slice(-2);
  expect([done.type, sent.type]).toEqual(['done', 'sent']);
  const { rows } = await t.engine.db.query({
    text: 'select count(*)::int as n from muster.endings where action_id = $1 and next_action = $2',
    values: [action.id, next.id],
  });
  expect(rows[0].n).toBe(1);
});

test('nothing is lost when the device is offline for days', async () => {
  const device = await fakeDevice(t);
  const id = await device.assign('LOCK');
  await t.pass(30 * DAY);
  expect(await look(id)).toMatchObject({ state: 'pending', attempt: 0, failures: 0 });
  const { action } = await device.checkIn();
  expect(action).toMatchObject({ id, attempt: 1 });
  // and again, this time while it holds the action: the lease ends and the action is retried
  await t.pass(3 * DAY);
  await t.pass(MINUTE);
  expect((await device.checkIn()).action).toMatchObject({ id, attempt: 2 });
  expect(await types(id)).toEqual(['CREATED', 'SENT', 'TIMEOUT', 'RETRY_SCHEDULED', 'SENT']);
});

test('an unreported action comes again with the same attempt, and its lease does not change', async () => {
  const device = await fakeDevice(t);
  const id = await device.assign('LOCK');
  const { action: first } = await device.checkIn();
  t.clock.advance(MINUTE);
  const { action: again, pending } = await device.checkIn();
  expect(again).toMatchObject({
    id,
    attempt: 1,
    leaseUntil: first.leaseUntil,
    redelivered: true,
    source: 'assign',
  });
  expect(again.milestoneId).toBe(first.milestoneId);
  expect(pending).toBe(0);
  expect((await device.milestones()).map((m) => m.type)).toEqual(['enrolled', 'assigned', 'sent', 'resent']);
});

test('repeating a result gets the same answer and changes nothing', async () => {
  const device = await fakeDevice(t);
  const id = await device.assign('LOCK', { moreDays: 3 });
  await t.send('PATCH', `/api/devices/${device.id}`, { expiresAt: '2026-06-01T00:00:00Z' });
  const { action } = await device.checkIn();
  const behind = await device.assign('LOCK_MSG');
  expect((await device.report(action)).action).toMatchObject({ id: behind, attempt: 1 });
  const twice = await device.report(action);
  expect(twice).toMatchObject({
    result: { accepted: true, status: 'done' },
    action: { id: behind, attempt: 1, redelivered: true },
  });
  expect(await types(id)).toEqual(['CREATED', 'SENT', 'SUCCEEDED']);
  expect(await device.show()).toMatchObject({ expiresAt: '2026-06-04T00:00:00.000Z' });
});

test('a late success is accepted and the action does not run again; a late failure changes nothing', async () => {
  const device = await fakeDevice(t);
  const id = await device.assign('LOCK');
  const { action } = await device.checkIn();
  await t.pass(76 * MINUTE);
  expect((await look(id)).state).toBe('pending');
  expect(await device.report(action)).toMatchObject({
    result: { accepted: true, status: 'done' },
    action: null,
  });
  await t.pass(DAY);
  expect(await device.checkIn()).toEqual({ action: null, pending: 0 });
  expect((await look(id)).state).toBe('succeeded');

  const other = await device.assign('UNLOCK');
  const { action: attempt1 } = await device.checkIn();
  await t.pass(76 * MINUTE);
  await t.pass(MINUTE);
  const { action: attempt2 } = await device.checkIn();
  expect(attempt2).toMatchObject({ id: other, attempt: 2 });
  const behind = await device.assign('NEXT');
  const late = await device.report(attempt1, 'failed', { error: 'too late' });
  expect(late).toMatchObject({
    result: { accepted: false, status: 'sent', reason: 'LATE' },
    action: null,
    pending: 1,
  });
  expect(await device.report(attempt2)).toMatchObject({ result: { accepted: true }, action: { id: behind } });
});

test('an unknown result, or one of another device, gets 200, and the next action still comes', async () => {
  const [mine, other] = [await fakeDevice(t), await fakeDevice(t)];
  const foreign = await other.assign('LOCK');
  const { action } = await other.checkIn();
  const own = await mine.assign('LOCK');
  const unknown = { accepted: false, status: 'unknown', reason: 'UNKNOWN_ACTION' };
  expect(await mine.report({ id: foreign, attempt: 1 })).toMatchObject({
    result: unknown,
    action: { id: own },
  });
  expect(await mine.report({ id: '99999999', attempt: 1 })).toMatchObject({
    result: unknown,
    action: { id: own, attempt: 1, redelivered: true },
  });
  expect(await mine.report({ id: 'nonsense', attempt: 7 }, 'failed')).toMatchObject({ result: unknown });
  expect(await types(foreign)).toEqual(['CREATED', 'SENT']);
  expect(await other.report(action)).toMatchObject({ result: { accepted: true } });
});

test('after the third failed attempt an action is a dead letter that can be redriven; other actions continue meanwhile', async () => {
  const device = await fakeDevice(t);
  const id = await device.assign('LOCK');
  const second = await device.assign('LOCK_MSG');
  let { action } = await device.checkIn();
  const failed = await device.report(action, 'failed', { error: 'no battery' });
  expect(failed).toMatchObject({ result: { accepted: true, status: 'pending' }, action: { id: second } });
  expect(await device.report(failed.action)).toMatchObject({ action: null, pending: 1 });
  for (const attempt of [2, 3]) {
    await t.pass(10 * MINUTE);
    ({ action } = await device.checkIn());
    expect(action).toMatchObject({ id, attempt });
    await device.report(action, 'failed', { error: 'no battery' });
  }
  expect(await look(id)).toMatchObject({ state: 'failed', error: 'no battery', reason: 'FAILED' });
  expect((await t.post(`/api/actions/${id}/redrive`)).status).toBe(200);
  ({ action } = await device.checkIn());
  expect(action).toMatchObject({ id, attempt: 4, source: 'assign' });
  expect(await device.report(action)).toMatchObject({ result: { status: 'done' } });
  expect((await device.milestones()).map((m) => m.type).slice(3)).toEqual([
    ...['sent', 'retrying', 'sent', 'done', 'sent', 'retrying', 'sent', 'failed', 'redriven', 'sent', 'done'],
  ]);
});

test('with hold, nothing passes an action that waits for its retry', async () => {
  const device = await fakeDevice(t);
  const lock = await device.assign('LOCK', { headOfLine: 'hold' });
  const message = await device.assign('LOCK_MSG');
  const { action } = await device.checkIn();
  const failed = await device.report(action, 'failed');
  expect(failed).toMatchObject({ action: null, pending: 2, result: { status: 'pending' } });
  await t.pass(10 * MINUTE);
  const { action: again } = await device.checkIn();
  expect(again).toMatchObject({ id: lock, attempt: 2 });
  expect(await device.report(again)).toMatchObject({ action: { id: message } });
});

test('"not now" does not count as a failure: the action comes again later', async () => {
  const device = await fakeDevice(t);
  const id = await device.assign('UPDATE');
  const { action } = await device.checkIn();
  expect(await device.report(action, 'notNow')).toMatchObject({
    action: null,
    result: { accepted: true, status: 'pending' },
  });
  await t.pass(10 * MINUTE);
  expect((await device.checkIn()).action).toMatchObject({ id, attempt: 2 });
  expect(await look(id)).toMatchObject({ failures: 0 });
});

test('the next check-in says that the running action was cancelled', async () => {
  const device = await fakeDevice(t);
  const id = await device.assign('WIPE');
  const waiting = await device.assign('LOCK');
  const { action } = await device.checkIn();
  expect((await t.post(`/api/actions/${waiting}/cancel`, { reason: 'not needed' })).body.state).toBe(
    'cancelled',
  );
  expect((await t.post(`/api/actions/${id}/cancel`)).body).toMatchObject({ outcome: 'requested' });
  const { action: told } = await device.checkIn();
  expect(told).toMatchObject({ id, attempt: 1, cancelRequested: true });
  expect(await device.report(action, 'failed', { error: 'stopped' })).toEqual({
    action: null,
    pending: 0,
    result: { accepted: true, status: 'cancelled' },
  });
  expect((await look(id)).state).toBe('cancelled');
});

test('an operator moves an action to the front; urgent ones still go first', async () => {
  const device = await fakeDevice(t);
  const [first, second] = [await device.assign('A'), await device.assign('B')];
  const urgent = await device.assign('C', { priority: 'urgent' });
  await t.post(`/api/actions/${second}/move-to-front`);
  expect((await device.queue()).map(({ id, position }) => [id, position])).toEqual([
    [urgent, 1],
    [second, 2],
    [first, 3],
  ]);
});

test('a waiting device gets its action at once, with the trigger DIRECT', async () => {
  const device = await fakeDevice(t);
  const waiting = device.checkIn({ wait: 25 });
  await until(() => t.engine.parkedWaiters > 0);
  const id = await device.assign('LOCK');
  const { action } = await waiting;
  expect(action).toMatchObject({ id, trigger: 'DIRECT', attempt: 1, source: 'assign' });
  const behind = await device.assign('LOCK_MSG');
  expect((await device.report(action)).action).toMatchObject({ id: behind, trigger: 'QUEUE' });
});

test('a device that hangs up while it waits holds nothing', async () => {
  const device = await fakeDevice(t);
  const gone = new AbortController();
  const waiting = t
    .post('/api/checkin', { wait: 25 }, { token: device.token, signal: gone.signal })
    .catch(() => null);
  await until(() => t.engine.parkedWaiters > 0);
  gone.abort();
  await waiting;
  await until(() => t.engine.parkedWaiters === 0);
  const id = await device.assign('LOCK');
  expect(await look(id)).toMatchObject({ state: 'pending', attempt: 0 });
  expect((await device.checkIn()).action).toMatchObject({ id, attempt: 1, trigger: 'QUEUE' });
});

test('with onDelivery, of the action or of its device, an action ends when it is handed out', async () => {
  const device = await fakeDevice(t, { ack: 'onDelivery', expiresAt: '2026-05-01T00:00:00Z' });
  const [first, second] = [await device.assign('BEEP', { moreDays: 1 }), await device.assign('BLINK')];
  const reported = await device.assign('LOCK', { ack: 'onReport' });
  const { action, pending } = await device.checkIn();
  expect({ id: action.id, pending }).toEqual({ id: first, pending: 2 });
  expect(await types(first)).toEqual(['CREATED', 'SENT', 'SUCCEEDED']);
  expect(await device.show()).toMatchObject({ current: null, expiresAt: '2026-05-02T00:00:00.000Z' });
  expect((await device.checkIn()).action.id).toBe(second);
  expect((await device.checkIn()).action).toMatchObject({ id: reported });
  expect((await device.checkIn()).action).toMatchObject({ id: reported, attempt: 1, redelivered: true });
  expect((await device.milestones()).map((m) => m.type).slice(4)).toEqual([
    ...['sent', 'done', 'sent', 'done', 'sent', 'resent'],
  ]);
});

test('a device that enrols again while it holds actions gets none of them, and their history says why', async () => {
  const device = await fakeDevice(t);
  const [running, waiting] = [await device.assign('LOCK'), await device.assign('WIPE')];
  const { action } = await device.checkIn();
  const other = await fakeDevice(t);
  const parked = t.post('/api/checkin', { wait: 25 }, { token: other.token });
  await until(() => t.engine.parkedWaiters > 0);
  t.secret((await t.post(`/api/devices/${other.id}/re-enrol`)).body.deviceToken);
  expect((await parked).body).toMatchObject({ code: 'MUSTER_DEVICE_REPLACED' });

  const again = await t.post(`/api/devices/${device.id}/re-enrol`);
  expect(again.status).toBe(201);
  // it has had no contact in its new life
  expect(await device.show()).toMatchObject({ online: false, lastSeenAt: null, instances: [] });
  const result = { actionId: action.id, attempt: 1, status: 'done' };
  for (const body of [{}, { result }])
    expect(await t.post('/api/checkin', body, { token: device.token })).toMatchObject({
      status: 401,
      body: { code: 'MUSTER_DEVICE_REPLACED' },
    });
  const guessed = `${device.token.slice(0, -4)}aaaa`;
  expect((await t.post('/api/checkin', {}, { token: guessed })).body.code).toBe('MUSTER_UNAUTHORIZED');
  // at other doors it is refused like any expired token
  expect((await t.get('/api/devices', { token: device.token })).body.code).toBe('MUSTER_UNAUTHORIZED');
  for (const id of [running, waiting]) {
    expect(await look(id)).toMatchObject({ state: 'cancelled', reason: 'GENERATION' });
    expect((await types(id)).at(-1)).toBe('CANCELLED');
  }
  const anew = deviceWith(t, device.id, t.secret(again.body.deviceToken));
  const fresh = await anew.assign('HELLO');
  expect(await anew.report(action)).toMatchObject({
    result: { accepted: false, status: 'cancelled', reason: 'LATE' },
    action: { id: fresh },
  });
});

test('only devices can check in, without cookies and with a valid body', async () => {
  const device = await fakeDevice(t);
  expect((await t.post('/api/checkin', {})).status).toBe(403);
  const withCookie = { token: device.token, headers: { cookie: 'a=b' } };
  expect((await t.post('/api/checkin', {}, withCookie)).status).toBe(403);
  for (const body of [
    { wait: 26 },
    { result: {} },
    { extra: 1 },
    { result: { actionId: '1', attempt: 0, status: 'done' } },
  ])
    expect((await t.post('/api/checkin', body, { token: device.token })).status).toBe(400);
  const result = { actionId: '1', attempt: 1, status: 'failed', error: 'x'.repeat(70_000) };
  expect(await t.post('/api/checkin', { result }, { token: device.token })).toMatchObject({
    status: 413,
    body: { code: 'MUSTER_TOO_LARGE' },
  });
  expect((await t.get('/api/devices', { token: device.token })).status).toBe(403);
});

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
}

test('a check-in that cannot be answered after its claim releases the action', async () => {
  const device = await fakeDevice(t);
  const other = await t.post(`/api/devices/${device.id}/actions`, { kind: 'OTHER' });
  const { laneId } = (await t.engine.get(t.engine.db, 1, other.body.id)) ?? {};
  await t.post(`/api/actions/${other.body.id}/cancel`);
  // not assigned through the door, so what waits behind it is looked up after the claim
  const { id } = await t.engine.enqueue(t.engine.db, {
    ...{ tenantId: 1, laneId: laneId as string, channel: 'checkin', kind: 'LOCK' },
  });
  const away = vi.spyOn(t.engine, 'laneLoads').mockRejectedValue(new Error('Connection terminated'));
  const answer = await t.post('/api/checkin', {}, { token: device.token });
  away.mockRestore();
  expect(answer).toMatchObject({ status: 503, body: { code: 'MUSTER_NO_ANSWER' } });
  await expect.poll(() => look(id)).toMatchObject({ state: 'pending' });
  expect(await types(id)).toContain('RELEASED');
});

test('the lane of a device is paused and resumed: nothing more is handed out, and the reason says by whom and since when', async () => {
  const device = await fakeDevice(t);
  const { cursor } = (await t.get('/api/events?cursor=end')).body;
  const running = await device.assign('LOCK');
  const waits = await device.assign('SYNC');
  const { action } = await device.checkIn();
  const since = t.clock().toISOString();
  const paused = await t.post(`/api/devices/${device.id}/pause`, { reason: 'it is being repaired' });
  expect(paused).toMatchObject({
    status: 200,
    body: { id: device.id, pausedAt: since, pausedBy: 'MUSTER_OPERATOR_TOKEN' },
  });
  t.clock.advance(MINUTE);
  // a second pause changes nothing: the first one counts
  expect((await t.post(`/api/devices/${device.id}/pause`)).body.pausedAt).toBe(since);
  // running actions continue
  expect(await device.report(action)).toMatchObject({ action: null });
  expect((await look(running)).state).toBe('succeeded');
  expect((await look(waits)).waitingFor).toEqual({
    ...{ code: 'LANE_PAUSED', text: 'The lane is paused.', since, by: 'MUSTER_OPERATOR_TOKEN' },
  });
  const assigned = await t.post(`/api/devices/${device.id}/actions`, { kind: 'LATER' });
  expect(assigned.body.waitingFor).toMatchObject({ code: 'LANE_PAUSED', since, by: 'MUSTER_OPERATOR_TOKEN' });
  const { body: listed } = await t.get(`/api/devices?text=${(await device.show()).name}`);
  expect(listed.devices).toContainEqual(expect.objectContaining({ id: device.id, pausedAt: since }));

  const resumed = await t.post(`/api/devices/${device.id}/resume`);
  expect(resumed.status).toBe(200);
  expect(resumed.body).not.toHaveProperty('pausedAt');
  expect(await device.checkIn()).toMatchObject({ action: { id: waits } });
  expect((await t.get('/api/audit?limit=3&act=device.pause')).body.audit[1]).toMatchObject({
    ...{ act: 'device.pause', target: `device ${device.id}`, detail: { reason: 'it is being repaired' } },
  });
  // open pages are notified; events that the feed could not show when this began may come pages earlier
  const noted = async () => {
    const found: boolean[] = [];
    for (let at = cursor, more = true; more; ) {
      const { body } = await t.get(`/api/events?cursor=${at}&target=device:${device.id}`);
      found.push(...body.events.flatMap(({ data }: { data?: { paused: boolean } }) => data?.paused ?? []));
      ({ cursor: at, more } = body);
    }
    return found;
  };
  await expect.poll(noted).toEqual([true, true, false]);

  for (const verb of ['pause', 'resume']) {
    expect((await t.post(`/api/devices/999999/${verb}`)).body.code).toBe('MUSTER_UNKNOWN_DEVICE');
    const viewer = await t
      .client()
      .tokens.create({ body: { kind: 'operator', role: 'viewer', name: 'eve' } });
    const as = { token: t.secret(viewer.body.token) };
    expect((await t.post(`/api/devices/${device.id}/${verb}`, {}, as)).status).toBe(403);
  }
});
