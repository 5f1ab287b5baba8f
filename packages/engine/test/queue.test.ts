import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestEngine, testEngine } from '../testing/index.ts';

let t: TestEngine;
beforeAll(async () => {
  t = await testEngine();
});
afterAll(() => t.close());

test('a lane is read in delivery order: running, urgent, ready, waiting for their time', async () => {
  const { laneId, tenantId } = await t.lane();
  const later = await t.enqueue(laneId, { notBefore: new Date(t.clock().getTime() + 60_000) });
  const soon = await t.enqueue(laneId, { notBefore: new Date(t.clock().getTime() + 30_000) });
  const first = await t.enqueue(laneId);
  const second = await t.enqueue(laneId);
  await t.claim(laneId);
  const urgent = await t.enqueue(laneId, { priority: 'urgent' });
  const order = [first, urgent, second, soon, later];
  const queue = await t.engine.queue(t.db, { tenantId, laneId });
  expect(queue.map((action) => action.id)).toEqual(order);
  expect(queue[0]).toMatchObject({ state: 'claimed', waitingFor: { code: 'RUNNING' } });
  const positions = await t.engine.positions(t.db, tenantId, [...order, '999999', 'x']);
  expect(order.map((id) => positions.get(id))).toEqual([0, 1, 2, 3, 4]);
  expect(positions.size).toBe(order.length);
  expect((await t.engine.queue(t.db, { tenantId, laneId }, 2)).map((action) => action.id)).toEqual(
    order.slice(0, 2),
  );
});

test('the load of a lane is what waits in it, up to a limit, and what is leased', async () => {
  const { laneId, tenantId } = await t.lane();
  const empty = await t.lane();
  for (let n = 0; n < 4; n += 1) await t.enqueue(laneId);
  const claimed = await t.claim(laneId);
  const lanes = [{ tenantId, laneId }, empty, { tenantId: 2, laneId }];
  const loads = await t.engine.laneLoads(t.db, lanes);
  expect(loads.find((load) => load.laneId === laneId)).toMatchObject({
    waiting: 3,
    leased: { id: claimed?.id, attempt: 1, worker: 'worker', cancelRequested: false },
  });
  expect(loads.find((load) => load.laneId === empty.laneId)).toEqual({
    laneId: empty.laneId,
    generation: 1,
    waiting: 0,
    leased: null,
    paused: null,
  });
  expect(loads).toHaveLength(2);
  expect((await t.engine.laneLoads(t.db, lanes, 2))[0]?.waiting).toBe(2);
});

test('a report limited to a lane leaves the actions of others alone, and the next one still comes', async () => {
  const [own, other] = [await t.lane(), await t.lane()];
  await t.enqueue(other.laneId);
  const foreign = await t.claim(other.laneId, 'other');
  const mine = await t.enqueue(own.laneId);
  const next = { channel: 'any', worker: 'me', leaseMs: 1_000 };
  const foreignId = foreign?.id as string;
  expect(await t.report(foreignId, 1, 'succeeded', { laneId: own.laneId, next })).toMatchObject({
    accepted: false,
    reason: 'UNKNOWN_ACTION',
    laneId: null,
    next: { id: mine, attempt: 1 },
  });
  expect(await t.state(foreignId)).toBe('claimed');
  expect(await t.eventTypes(foreignId)).toEqual(['CREATED', 'SENT']);
  // late or an invalid id: the same
  expect(await t.report(foreignId, 7, 'failed', { laneId: own.laneId })).toMatchObject({
    reason: 'UNKNOWN_ACTION',
  });
  expect(await t.report('nonsense', 1, 'succeeded', { laneId: own.laneId, next })).toMatchObject({
    accepted: false,
    next: { id: mine, attempt: 1, redelivered: true },
  });
  expect(await t.eventTypes(foreignId)).toEqual(['CREATED', 'SENT']);
});

test('a worker of an older generation gets no next action with its report', async () => {
  const lane = await t.lane();
  const old = await t.enqueue(lane.laneId);
  await t.claim(lane.laneId);
  await t.engine.raiseGeneration(t.db, lane);
  const fresh = await t.enqueue(lane.laneId);
  const next = { channel: 'any', worker: 'worker', leaseMs: 1_000 };
  expect(await t.report(old, 1, 'succeeded', { next: { ...next, generation: 1 } })).toMatchObject({
    accepted: false,
    next: null,
  });
  expect(await t.report(old, 1, 'succeeded', { next: { ...next, generation: 2 } })).toMatchObject({
    next: { id: fresh },
  });
});

test('the views show states that others can join with', async () => {
  const { laneId } = await t.lane();
  const done = await t.enqueue(laneId);
  await t.claim(laneId);
  await t.report(done, 1);
  const running = await t.enqueue(laneId);
  await t.claim(laneId);
  const waiting = await t.enqueue(laneId);
  const { rows } = await t.db.query({
    text: 'select action_id, state, attempt from muster.action_states where lane_id = $1 order by action_id',
    values: [laneId],
  });
  expect(rows).toEqual([
    { action_id: done, state: 'succeeded', attempt: 1 },
    { action_id: running, state: 'claimed', attempt: 1 },
    { action_id: waiting, state: 'pending', attempt: 0 },
  ]);
  const unfinished = await t.db.query({
    text: 'select action_id from muster.unfinished_actions where lane_id = $1 order by action_id',
    values: [laneId],
  });
  expect(unfinished.rows.map((row) => row.action_id)).toEqual([running, waiting]);
});

test('many lanes are made at once, and existing ones keep their ids', async () => {
  const known = await t.engine.ensureLane(t.db, 1, 'many', 'b');
  const ids = await t.engine.ensureLanes(t.db, 1, 'many', ['a', 'b', 'c', 'a']);
  expect(ids[1]).toBe(known);
  expect(ids[0]).toBe(ids[3]);
  expect(new Set(ids).size).toBe(3);
  expect(await t.engine.ensureLanes(t.db, 1, 'many', ['c', 'a'])).toEqual([ids[2], ids[0]]);
  for (const laneId of new Set(ids)) await t.enqueue(laneId);
});

test('a worker that claims by a channel may also report and extend actions for any channel, and nothing else', async () => {
  const { laneId } = await t.lane();
  for (const channel of ['any', 'own', 'other']) await t.enqueue(laneId, { channel });
  const claim = (channel: string) =>
    t.engine.claim(t.db, { tenantId: 1, laneId, channel, worker: channel, leaseMs: 60_000 });
  for (let n = 0; n < 2; n += 1) {
    const action = await claim('own');
    const ref = { tenantId: 1, actionId: action?.id as string, attempt: 1, channel: 'own' };
    expect(await t.engine.extend(t.db, { ...ref, leaseMs: 90_000 })).toMatchObject({ extended: true });
    expect(await t.engine.report(t.db, { ...ref, status: 'succeeded' })).toMatchObject({ accepted: true });
    expect(await t.engine.report(t.db, { ...ref, status: 'succeeded' })).toMatchObject({
      accepted: true,
      repeated: true,
    });
  }
  const other = await claim('other');
  const ref = { tenantId: 1, actionId: other?.id as string, attempt: 1, channel: 'own' };
  expect(await t.engine.extend(t.db, { ...ref, leaseMs: 90_000 })).toMatchObject({ extended: false });
  expect(await t.engine.report(t.db, { ...ref, status: 'succeeded' })).toMatchObject({
    reason: 'UNKNOWN_ACTION',
  });
});
