import { afterAll, beforeAll, expect, test } from 'vitest';
import { runnerLoad, type TestEngine, testEngine } from '../testing/index.ts';

let t: TestEngine;
beforeAll(async () => {
  t = await testEngine();
});
afterAll(() => t.close());

/** Chooses the given lanes in their order, as many as slots are free, and tells how many that were. */
const choose = `chosen as materialized (
    select f.ord as of, x.nth, x.lane_id::bigint as lane_id, 'task' as channel, 'x' as kind, json_build_object('nth', x.nth) as payload,
      '{"tags": ["chosen"]}'::jsonb as o, 60000 as lease_ms, null::jsonb as told
    from f cross join lateral json_array_elements_text(f.given) with ordinality x(lane_id, nth)
    union all
    select f.ord, null, null, null, null, null, null, null, jsonb_build_object('free', f.free, 'running', f.running) from f
  )`;
let choices = 0;
const choosing = (note = 'noted as (select 1 from k)') => {
  choices += 1;
  return t.engine.choosing<{ free: number; running: number }>({
    name: `choice_${choices}`,
    channel: 'task',
    choose,
    note,
  });
};

async function runner(slots: number | null, lanes: number) {
  const runnerId = await t.engine.createRunner(t.db, 1, slots);
  const laneIds: string[] = [];
  for (let n = 0; n < lanes; n += 1) {
    const lane = await t.lane();
    await t.engine.assignRunner(t.db, lane, runnerId);
    laneIds.push(lane.laneId);
  }
  return { runnerId, laneIds };
}
const wish = ({ runnerId, laneIds }: Awaited<ReturnType<typeof runner>>, most = 100) => ({
  ...{ tenantId: 1, runnerId, worker: 'pc', most },
  given: laneIds,
});

test('G32: what is chosen is created and handed out, for each runner within its own slots, and what is told is returned', async () => {
  const [small, large, busy] = [await runner(2, 3), await runner(null, 3), await runner(1, 1)];
  const choice = choosing();
  expect((await choice(t.db, [wish(busy)]))[0]?.actions).toHaveLength(1);
  const got = await choice(t.db, [wish(small), wish(large, 1), wish(busy)]);
  expect(got.map(({ actions }) => actions.map(({ laneId }) => laneId))).toEqual([
    small.laneIds.slice(0, 2),
    large.laneIds.slice(0, 1),
    [],
  ]);
  expect(got.map(({ told }) => told)).toEqual([
    { free: 2, running: 0 },
    { free: 1, running: 0 },
    { free: 0, running: 1 },
  ]);
  const [first] = got[0]?.actions ?? [];
  expect(first).toMatchObject({ attempt: 1, channel: 'task', tags: ['chosen'], payload: { nth: 1 } });
  expect(first?.leaseUntil.getTime()).toBe(t.clock().getTime() + 60_000);
  expect(await t.eventTypes(first?.id as string)).toEqual(['CREATED', 'SENT']);
  expect(await t.report(first?.id as string, 1)).toMatchObject({ accepted: true, state: 'succeeded' });
});

test('G31 G32: many at once fill the slots exactly', async () => {
  const one = await runner(3, 9);
  const choice = choosing();
  const got = await Promise.all(
    one.laneIds.map((laneId) => choice(t.db, [wish({ ...one, laneIds: [laneId] })])),
  );
  expect(got.flat().flatMap(({ actions }) => actions)).toHaveLength(3);
  expect(await runnerLoad(t.engine, 1, one.runnerId)).toEqual({ slots: 3, running: 3 });
});

test('nothing is handed out that its caller does not note', async () => {
  const one = await runner(null, 2);
  const forgetful = choosing(`noted as (select 1 from k where k.payload->>'nth' = '1')`);
  await expect(forgetful(t.db, [wish(one)])).rejects.toThrow('was noted');
  expect(await runnerLoad(t.engine, 1, one.runnerId)).toMatchObject({ running: 0 });
  expect((await choosing()(t.db, [wish(one)]))[0]?.actions).toHaveLength(2);
});

test('a runner is named once, and must exist', async () => {
  const one = await runner(null, 1);
  await expect(choosing()(t.db, [wish(one), wish(one)])).rejects.toMatchObject({ code: 'MUSTER_BAD_VALUE' });
  await expect(choosing()(t.db, [wish({ ...one, runnerId: '999999' })])).rejects.toMatchObject({
    code: 'MUSTER_UNKNOWN_RUNNER',
  });
});
