import type { Claim, NewAction, Report } from '@muster/contracts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestServer, testServer } from '../testing/test-server.ts';

/** For events without a promised time, on a busy machine. */
let t: TestServer;
let lanes = 0;
beforeAll(async () => {
  t = await testServer({ clock: true });
});
afterAll(() => t.close());

const aLane = () => `lane ${++lanes}`;
const at = (lane: string) => `/api/lanes/${encodeURIComponent(lane)}`;
const queue = async (lane: string, body: Partial<NewAction> = {}): Promise<string> =>
  (await t.client().actions.enqueue({ params: { lane }, body: { kind: 'print', ...body } })).body.id;
const claim = async (lane: string, body: Partial<Claim> = {}) =>
  (await t.client().actions.claim({ params: { lane }, body: { worker: 'worker', ...body } })).body.actions;
const report = (id: string, body: Report) => t.client().actions.report({ params: { id }, body });
const look = async (id: string) => (await t.client().actions.get({ params: { id } })).body;
const types = async (id: string) => (await look(id)).events.map(({ type }) => type);

test('an operator queues, a worker claims and reports, the operator reads the history', async () => {
  const lane = aLane();
  const queued = await t.post(`${at(lane)}/actions`, {
    kind: 'print',
    payload: { copies: 2 },
    tags: ['paper'],
  });
  expect(queued.status).toBe(201);
  expect(queued.body).toMatchObject({
    lane,
    kind: 'print',
    payload: { copies: 2 },
    state: 'pending',
    tags: ['paper'],
    attempt: 0,
    maxAttempts: 3,
    createdBy: 'MUSTER_OPERATOR_TOKEN',
    waitingFor: { code: 'NEXT_CONTACT' },
  });
  const { id } = queued.body;

  const claimed = await t.post(`${at(lane)}/claim`, { worker: 'printer-7', leaseSeconds: 30 });
  expect(claimed.status).toBe(200);
  expect(claimed.body.actions).toMatchObject([{ id, kind: 'print', payload: { copies: 2 }, attempt: 1 }]);
  expect(Date.parse(claimed.body.actions[0].leaseUntil)).toBe(t.clock().getTime() + 30_000);
  expect(await look(id)).toMatchObject({
    state: 'claimed',
    worker: 'printer-7',
    waitingFor: { code: 'RUNNING' },
  });

  const reported = await report(id, { attempt: 1, status: 'succeeded', result: { pages: 4 } });
  expect(reported).toMatchObject({ status: 200, body: { accepted: true, status: 'succeeded' } });
  expect(await look(id)).toMatchObject({ state: 'succeeded', result: { pages: 4 }, waitingFor: null });
  expect(await types(id)).toEqual(['CREATED', 'SENT', 'SUCCEEDED']);
});

test('a report returns the next action, and the same report again gets the same answer', async () => {
  const lane = aLane();
  const [first, second] = [await queue(lane), await queue(lane)];
  await claim(lane);
  const fused = await report(first, { attempt: 1, status: 'succeeded', next: {} });
  expect(fused.body).toMatchObject({ accepted: true, actions: [{ id: second, attempt: 1 }] });
  expect(await look(second)).toMatchObject({ worker: 'worker' });
  const again = await report(first, { attempt: 1, status: 'succeeded', next: {} });
  expect(again.body).toMatchObject({ accepted: true, status: 'succeeded' });
  expect(await types(first)).toEqual(['CREATED', 'SENT', 'SUCCEEDED']);
});

test('a waiting worker gets an action as it is queued, and an empty wait ends empty', async () => {
  const lane = aLane();
  const waiting = claim(lane, { wait: 20 });
  await expect.poll(() => t.engine.parkedWaiters).toBe(1);
  const id = await queue(lane);
  expect(await waiting).toMatchObject([{ id }]);
  expect(await claim(aLane(), { wait: 0.1 })).toEqual([]);
});

test('a report may also wait for the next action', async () => {
  const lane = aLane();
  const first = await queue(lane);
  await claim(lane, { worker: 'patient' });
  const waiting = report(first, { attempt: 1, status: 'succeeded', next: { wait: 20 } });
  await expect.poll(() => t.engine.parkedWaiters).toBe(1);
  const second = await queue(lane);
  expect((await waiting).body).toMatchObject({ accepted: true, actions: [{ id: second }] });
  expect(await look(second)).toMatchObject({ worker: 'patient' });
});

test('a report without a name claims for the holder of its own attempt', async () => {
  const lane = aLane();
  const [lost, other] = [await queue(lane), await queue(lane)];
  await claim(lane, { worker: 'first', leaseSeconds: 10 });
  await t.pass(11_000); // the lease ends, and its retry is not due yet
  await claim(lane, { worker: 'second' });
  await t.pass(10_000);
  const fused = await report(other, { attempt: 1, status: 'succeeded', next: { worker: 'second' } });
  expect(fused.body.actions).toMatchObject([{ id: lost, attempt: 2 }]);
  const next = await queue(lane);
  await report(lost, { attempt: 2, status: 'succeeded', next: {} });
  expect(await look(next)).toMatchObject({ worker: 'second' });
});

test('a failed action is retried, then a dead letter, then redriven', async () => {
  const lane = aLane();
  const id = await queue(lane, { maxAttempts: 2 });
  await claim(lane);
  expect((await report(id, { attempt: 1, status: 'failed', error: 'no paper' })).body.status).toBe('pending');
  expect(await look(id)).toMatchObject({ waitingFor: { code: 'RETRY' }, failures: 1 });
  await t.pass(10_000);
  expect(await claim(lane)).toMatchObject([{ id, attempt: 2 }]);
  expect((await report(id, { attempt: 2, status: 'failed', error: 'no paper' })).body.status).toBe('failed');
  expect(await look(id)).toMatchObject({ state: 'failed', error: 'no paper' });

  expect(await t.post(`/api/actions/${id}/redrive`)).toMatchObject({
    status: 200,
    body: { outcome: 'redriven', state: 'pending' },
  });
  expect(await t.post(`/api/actions/${id}/redrive`)).toMatchObject({
    status: 409,
    body: { code: 'MUSTER_NOT_FAILED' },
  });
  expect(await claim(lane)).toMatchObject([{ id, attempt: 3 }]);
});

test('a late report is recorded and changes nothing', async () => {
  const lane = aLane();
  const id = await queue(lane);
  await claim(lane, { worker: 'slow', leaseSeconds: 10 });
  await t.pass(11_000);
  await t.pass(10_000);
  expect(await claim(lane, { worker: 'quick' })).toMatchObject([{ id, attempt: 2 }]);
  const late = await report(id, { attempt: 1, status: 'failed' });
  expect(late).toMatchObject({ status: 200, body: { accepted: false, status: 'claimed', reason: 'LATE' } });
  expect(await types(id)).toContain('LATE');
  const fromTheFuture = await report(id, { attempt: 99, status: 'succeeded' });
  expect(fromTheFuture.body).toMatchObject({ accepted: false, reason: 'LATE' });
});

test('a lease is extended and released, and the worker learns of a cancel', async () => {
  const lane = aLane();
  const id = await queue(lane);
  await claim(lane, { leaseSeconds: 10 });
  const extended = await t.post(`/api/actions/${id}/extend`, { attempt: 1, leaseSeconds: 100 });
  expect(extended.body).toMatchObject({ accepted: true, status: 'claimed' });
  expect(Date.parse(extended.body.leaseUntil)).toBe(t.clock().getTime() + 100_000);
  expect(await t.post(`/api/actions/${id}/release`, { attempt: 1, reason: 'busy' })).toMatchObject({
    status: 200,
    body: { accepted: true, status: 'pending' },
  });
  expect((await t.post(`/api/actions/${id}/extend`, { attempt: 1 })).body).toMatchObject({
    accepted: false,
    status: 'pending',
  });

  await claim(lane);
  expect((await t.post(`/api/actions/${id}/cancel`, { reason: 'wrong lane' })).body).toMatchObject({
    outcome: 'requested',
    state: 'claimed',
  });
  expect((await t.post(`/api/actions/${id}/extend`, { attempt: 2 })).body).toMatchObject({
    cancelRequested: true,
  });
  expect((await report(id, { attempt: 2, status: 'failed' })).body).toMatchObject({ status: 'cancelled' });
  expect(await t.post(`/api/actions/${id}/cancel`)).toMatchObject({
    status: 200,
    body: { outcome: 'finished' },
  });
});

test('a succeeded action cannot be cancelled, and a running one cannot be moved', async () => {
  const lane = aLane();
  const [first, second, third] = [await queue(lane), await queue(lane), await queue(lane)];
  expect((await t.post(`/api/actions/${third}/move-to-front`)).body).toMatchObject({ outcome: 'moved' });
  expect(await look(first)).toMatchObject({ waitingFor: { code: 'BEHIND', actionId: third } });
  expect(await claim(lane)).toMatchObject([{ id: third }]);
  expect(await t.post(`/api/actions/${third}/move-to-front`)).toMatchObject({
    status: 409,
    body: { code: 'MUSTER_ALREADY_RUNNING' },
  });
  await report(third, { attempt: 1, status: 'succeeded' });
  expect(await t.post(`/api/actions/${third}/cancel`)).toMatchObject({
    status: 409,
    body: { code: 'MUSTER_FINISHED', error: 'This action has already succeeded.' },
  });
  expect((await t.post(`/api/actions/${second}/cancel`)).body).toMatchObject({ outcome: 'cancelled' });
  expect(await claim(lane)).toMatchObject([{ id: first }]);
});

test('G14: actions that wait for their time are made due, singly and by filter; those that wait for none, run or have ended are not', async () => {
  const lane = aLane();
  const notBefore = new Date(t.engine.now().getTime() + 3_600_000).toISOString();
  const [first, second, ready] = [
    await queue(lane, { notBefore }),
    await queue(lane, { notBefore }),
    await queue(lane),
  ];
  const makeDue = (id: string) => t.post(`/api/actions/${id}/make-due`, { reason: 'now' });
  expect(await look(first)).toMatchObject({ waitingFor: { code: 'NOT_BEFORE' } });
  expect((await makeDue(first)).body).toMatchObject({
    ...{ outcome: 'due', state: 'pending', waitingFor: { code: 'NEXT_CONTACT' } },
  });
  for (const id of [first, ready])
    expect(await makeDue(id)).toMatchObject({ status: 409, body: { code: 'MUSTER_NOT_DELAYED' } });
  for (const [state, due] of [
    ['claimed', 0],
    ['failed', 0],
    ['pending', 1],
  ] as const)
    expect([state, (await t.post('/api/actions/make-due', { lane, state })).body]).toEqual([state, { due }]);
  expect((await look(second)).events.at(-1)).toMatchObject({ type: 'MADE_DUE' });
  expect(await t.post('/api/actions/make-due', {})).toMatchObject({ body: { code: 'MUSTER_EMPTY_FILTER' } });
  expect(await claim(lane)).toMatchObject([{ id: first }]);
  expect(await makeDue(first)).toMatchObject({ status: 409, body: { code: 'MUSTER_ALREADY_RUNNING' } });
  await report(first, { attempt: 1, status: 'succeeded' });
  expect(await makeDue(first)).toMatchObject({ status: 409, body: { code: 'MUSTER_FINISHED' } });
});

test('the same Idempotency-Key returns the action in its current state; another body is refused', async () => {
  const lane = aLane();
  const ask = (body: object) =>
    t.post(
      `${at(lane)}/actions`,
      { kind: 'print', ...body },
      { headers: { 'idempotency-key': `key of ${lane}` } },
    );
  const first = await ask({ payload: { n: 1 } });
  expect(first.status).toBe(201);
  await claim(lane);
  const second = await ask({ payload: { n: 1 } });
  expect(second).toMatchObject({ status: 200, body: { id: first.body.id, state: 'claimed' } });
  expect(await ask({ payload: { n: 2 } })).toMatchObject({
    status: 409,
    body: { code: 'MUSTER_IDEMPOTENCY_MISMATCH' },
  });
  const long = { headers: { 'idempotency-key': 'k'.repeat(256) } };
  expect(await t.post(`${at(lane)}/actions`, { kind: 'x' }, long)).toMatchObject({
    status: 400,
    body: { code: 'MUSTER_BAD_HEADER' },
  });
});

test('a supersede key replaces an action that was never handed out, or keeps it', async () => {
  const lane = aLane();
  const lock = { supersede: { key: 'lock' } };
  const first = await queue(lane, lock);
  const second = await queue(lane, lock);
  expect(await look(first)).toMatchObject({ state: 'cancelled', reason: 'SUPERSEDED' });
  const kept = await t.post(`${at(lane)}/actions`, {
    kind: 'print',
    supersede: { key: 'lock', mode: 'keep-first' },
  });
  expect(kept).toMatchObject({ status: 200, body: { id: second } });
});

test('urgent actions come first, and one that is not due waits', async () => {
  const lane = aLane();
  const later = new Date(t.clock().getTime() + 60_000).toISOString();
  const [delayed, normal, urgent] = [
    await queue(lane, { notBefore: later }),
    await queue(lane),
    await queue(lane, { priority: 'urgent' }),
  ];
  expect(await look(delayed)).toMatchObject({ notBefore: later, waitingFor: { code: 'NOT_BEFORE' } });
  expect(await claim(lane)).toMatchObject([{ id: urgent }]);
  expect((await report(urgent, { attempt: 1, status: 'succeeded', next: {} })).body.actions).toMatchObject([
    { id: normal },
  ]);
});

test('a paused lane, tag or tenant hands out nothing until it is resumed', async () => {
  const lane = aLane();
  const id = await queue(lane, { tags: ['floor-3'] });
  for (const [pause, resume, body, code] of [
    [`${at(lane)}/pause`, `${at(lane)}/resume`, {}, 'LANE_PAUSED'],
    ['/api/pause', '/api/resume', { tag: 'floor-3' }, 'TAG_PAUSED'],
    ['/api/pause', '/api/resume', {}, 'TENANT_PAUSED'],
  ] as const) {
    expect((await t.post(pause, body)).status).toBe(200);
    expect(await look(id)).toMatchObject({ waitingFor: { code } });
    expect(await claim(lane)).toEqual([]);
    expect((await t.post(resume, body)).status).toBe(200);
  }
  await t.post('/api/pause', { tag: 'floor-3' });
  expect((await t.get('/api/pauses')).body.pauses).toMatchObject([{ tag: 'floor-3' }]);
  const waiting = claim(lane, { wait: 20 });
  await expect.poll(() => t.engine.parkedWaiters).toBe(1);
  await t.post('/api/resume', { tag: 'floor-3' });
  expect(await waiting).toMatchObject([{ id }]);
});

test('actions are listed by filter, page by page, newest first', async () => {
  const lane = aLane();
  const ids: string[] = [];
  for (let n = 0; n < 5; n += 1)
    ids.unshift(await queue(lane, { kind: n % 2 ? 'odd' : 'even', tags: [`n${n}`] }));
  const list = async (query: string) =>
    (await t.get(`/api/actions?lane=${encodeURIComponent(lane)}&${query}`)).body;
  const first = await list('limit=2');
  expect(first.actions.map((a: { id: string }) => a.id)).toEqual(ids.slice(0, 2));
  const second = await list(`limit=3&cursor=${first.cursor}`);
  expect(second).toMatchObject({ actions: ids.slice(2).map((id) => ({ id })), cursor: null });
  expect((await list('kind=odd')).actions).toHaveLength(2);
  expect((await list('tag=n3')).actions).toMatchObject([{ id: ids[1] }]);
  await claim(lane);
  expect((await list('state=claimed')).actions).toMatchObject([{ id: ids[4] }]);
  expect((await list('state=pending')).actions).toHaveLength(4);
  expect((await t.get('/api/actions?lane=nowhere')).body).toEqual({ actions: [], cursor: null });
  expect(
    (await t.get('/api/counts')).body.counts.find((c: { state: string }) => c.state === 'pending').count,
  ).toBeGreaterThan(3);
});

test('many are cancelled and redriven by filter, never all by accident', async () => {
  const lane = aLane();
  for (let n = 0; n < 3; n += 1) await queue(lane, { kind: 'bulk', maxAttempts: 1 });
  const [running = { id: '' }] = await claim(lane);
  expect((await t.post('/api/actions/cancel', { lane, kind: 'bulk' })).body).toEqual({
    cancelled: 2,
    requested: 1,
  });
  await report(running.id, { attempt: 1, status: 'failed' });

  const dead = await queue(lane, { maxAttempts: 1 });
  await claim(lane);
  await report(dead, { attempt: 1, status: 'failed' });
  expect((await t.post('/api/actions/redrive', { lane })).body).toEqual({
    redriven: 1,
    refused: 0,
    refusals: [],
  });
  expect(await look(dead)).toMatchObject({ state: 'pending' });
  for (const empty of [{}, { reason: 'all of them' }, { space: 'generic' }])
    for (const act of ['cancel', 'redrive'])
      expect(await t.post(`/api/actions/${act}`, empty)).toMatchObject({
        status: 400,
        body: { code: 'MUSTER_EMPTY_FILTER' },
      });
  expect((await t.post('/api/actions/cancel', { lane: 'nowhere' })).body).toEqual({
    cancelled: 0,
    requested: 0,
  });
});

test('a lane name can be any visible text, in any script', async () => {
  for (const lane of ['a/b', '?x=1#y', 'Halle 3 – Prüfstand', '打印机', '🚀'.repeat(200)]) {
    const id = await queue(lane);
    expect(await claim(lane)).toMatchObject([{ id }]);
    expect(await look(id)).toMatchObject({ lane });
  }
  expect(await t.post(`${at('🚀'.repeat(201))}/actions`, { kind: 'x' })).toMatchObject({ status: 400 });
});

test('G69: a deleted lane is created again by its next use, also by a caller who still knows its number', async () => {
  const lane = aLane();
  const DAY = 86_400_000;
  const MINUTE = 60_000;
  expect(await claim(lane)).toEqual([]);
  const { db } = t.engine;
  // the server's own housekeeping may have the entry at the same moment
  const lookUntil = async (condition: string) => {
    for (let done = false; !done; ) {
      await t.engine.runDuty('forget-lanes');
      t.clock.advance(60_000); // it is put off while older transactions run, of other tests too
      const { rows } = await db.query({
        text: `select 1 from (select 1) x left join muster.lane_names n on n.space = 'generic' and n.name = $1
          left join muster.lanes_to_forget f using (lane_id) left join muster.lanes l on l.lane_id = n.lane_id where ${condition}`,
        values: [lane],
      });
      done = rows.length > 0;
      if (!done) t.clock.advance(MINUTE); // put off, because another transaction on the server is still open
    }
  };
  const CLOSED = 'l.closing and f.safe_from is not null';
  await db.query({ text: 'update muster.lanes_to_forget set look_at = $1', values: [t.clock()] });
  await lookUntil(CLOSED);
  // the lane is closed: its worker opens it again, and nothing else says so
  expect(await claim(lane)).toEqual([]);
  const id = await queue(lane);
  expect(await claim(lane)).toMatchObject([{ id }]);
  await report(id, { attempt: 1, status: 'succeeded' });
  const found = await t.engine.findLane(db, 1, 'generic', lane);

  await db.query({ text: 'delete from muster.actions where lane_id = $1', values: [found] });
  await db.query({ text: 'delete from muster.endings where action_id = $1', values: [id] });
  await db.query({ text: 'update muster.lanes_to_forget set look_at = $1', values: [t.clock()] });
  await lookUntil(CLOSED);
  t.clock.advance(DAY);
  await lookUntil('n.lane_id is null');
  expect(await t.engine.findLane(db, 1, 'generic', lane)).toBeNull();
  expect((await t.get(`/api/actions?lane=${encodeURIComponent(lane)}`)).body.actions).toEqual([]);
  expect((await t.post(`${at(lane)}/pause`)).status).toBe(404);
  const second = await queue(lane);
  expect((await t.get(`/api/actions?lane=${encodeURIComponent(lane)}`)).body.actions).toMatchObject([
    { id: second },
  ]);
  expect(await claim(lane)).toMatchObject([{ id: second, attempt: 1 }]);
});

test('the same Idempotency-Key on another route is a different key', async () => {
  const headers = { 'idempotency-key': 'order 1' };
  const device = (await t.post('/api/devices', { name: 'd' })).body;
  t.secret(device.deviceToken);
  const host = (await t.post('/api/hosts', { name: aLane() })).body;
  t.secret(host.agentToken);
  const service = (await t.post(`/api/hosts/${host.id}/services`, { unitName: 'nginx' })).body;
  const asked = [
    [`${at(aLane())}/actions`, { kind: 'x' }],
    [`/api/devices/${device.id}/actions`, { kind: 'x' }],
    [`/api/hosts/${host.id}/actions`, { kind: 'restart', serviceId: service.id }],
  ] as const;
  for (const status of [201, 200])
    for (const [path, body] of asked)
      expect(await t.post(path, body, { headers }), path).toMatchObject({ status });
});
