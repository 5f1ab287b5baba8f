import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestEngine, testEngine } from '../testing/index.ts';

let t: TestEngine;
beforeAll(async () => {
  t = await testEngine();
});
afterAll(() => t.close());

test('G29: everything unfinished ends: running, pending, delayed, holding', async () => {
  const lane = await t.lane();
  const { laneId } = lane;
  const holds = await t.enqueue(laneId, { headOfLine: 'hold' });
  await t.claim(laneId);
  await t.report(holds, 1, 'failed');
  const urgent = await t.enqueue(laneId, { priority: 'urgent' });
  await t.claim(laneId);
  const waits = await t.enqueue(laneId, { channel: 'other' });
  const delayed = await t.enqueue(laneId, { notBefore: new Date('2027-01-01') });
  expect(await t.engine.raiseGeneration(t.db, lane)).toBe(2);
  for (const id of [holds, urgent, waits, delayed]) {
    expect(await t.engine.get(t.db, 1, id)).toMatchObject({ state: 'cancelled', reason: 'GENERATION' });
    expect((await t.eventTypes(id)).at(-1)).toBe('CANCELLED');
  }
  const fresh = await t.enqueue(laneId);
  expect(await t.claim(laneId)).toMatchObject({ id: fresh });
  expect(await t.engine.raiseGeneration(t.db, lane)).toBe(3);
});

test('G29: a lane with more than a thousand actions is cleared in several rounds, and none is handed out meanwhile', async () => {
  const lane = await t.lane();
  for (let n = 0; n < 1_200; n += 400)
    await t.db.query({
      text: `with a as (insert into muster.actions (tenant_id, action_id, lane_id, channel, kind, payload, priority, created_at, max_attempts,
            backoff_ms, backoff_max_ms, head_of_line, on_lease_end)
          select 1, nextval('muster.action_seq'), ${lane.laneId}, 'any', 'x', '{}', 1, now(), 3, 1, 1, 'skip', 'retry' from generate_series(1, 400)
          returning action_id),
        e as (insert into muster.events (tenant_id, action_id, lane_id, at, type, attempt) select 1, action_id, ${lane.laneId}, $1, 1, 0 from a),
        c as (insert into muster.count_changes values (1, 'any', 'pending', 400))
        insert into muster.pending (tenant_id, action_id, lane_id, generation, channel, priority, seq)
          select 1, action_id, ${lane.laneId}, 1, 'any', 1, action_id from a`,
      values: [t.clock()],
    });
  await t.engine.raiseGeneration(t.db, lane);
  expect(await t.claim(lane.laneId)).toBeNull();
  await t.pass(1_000);
  expect(
    (await t.engine.list(t.db, { tenantId: 1, laneId: lane.laneId, state: 'unfinished' })).actions,
  ).toEqual([]);
});

test('G29: a worker of the old generation is refused, one of the new one is not', async () => {
  const lane = await t.lane();
  await t.engine.raiseGeneration(t.db, lane);
  await t.enqueue(lane.laneId);
  const claim = (generation: number) =>
    t.engine.claim(t.db, { ...lane, channel: 'any', worker: 'w', leaseMs: 1_000, generation });
  await expect(claim(1)).rejects.toMatchObject({ code: 'MUSTER_WRONG_GENERATION' });
  await expect(claim(3)).rejects.toMatchObject({ code: 'MUSTER_WRONG_GENERATION' });
  expect(await claim(2)).not.toBeNull();
  await expect(claim(1)).rejects.toMatchObject({ code: 'MUSTER_WRONG_GENERATION' });
});

test('G29: a worker of the old generation gets nothing with its report either', async () => {
  const lane = await t.lane();
  const id = await t.enqueue(lane.laneId);
  await t.claim(lane.laneId, 'old');
  await t.engine.raiseGeneration(t.db, lane);
  const fresh = await t.enqueue(lane.laneId);
  const next = { channel: 'any', worker: 'old', leaseMs: 1_000, generation: 1 };
  expect(await t.report(id, 1, 'succeeded', { next })).toMatchObject({ accepted: false, next: null });
  expect(await t.state(fresh)).toBe('pending');
});

test('G29: other lanes and tenants keep their actions', async () => {
  const lane = await t.lane();
  const other = await t.lane();
  const id = await t.enqueue(other.laneId);
  await t.engine.raiseGeneration(t.db, lane);
  await t.pass(1_000);
  expect(await t.claim(other.laneId)).toMatchObject({ id });
});

test('G29 G26: an action of the old generation neither counts as the first nor blocks a new one', async () => {
  const lane = await t.lane();
  const put = () =>
    t.engine.enqueue(t.db, { ...lane, kind: 'x', supersede: { key: 'k', mode: 'keep-first' as const } });
  await put();
  await t.engine.raiseGeneration(t.db, lane);
  expect(await put()).toMatchObject({ outcome: 'created' });
});
