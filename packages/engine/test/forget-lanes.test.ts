import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type TestEngine, testEngine } from '../testing/index.ts';

const DAY = 86_400_000;
let t: TestEngine;
let made = 0;
beforeAll(async () => {
  t = await testEngine({ forgetLanes: { of: ['ownerless'] }, retentionDays: 14 });
});
afterAll(() => t.close());
beforeEach(() => t.engine.runDuty('keep-days'));

async function lane(space = 'ownerless') {
  made += 1;
  const name = `lane ${made}`;
  const laneId = await t.engine.ensureLane(t.db, 1, space, name);
  // its entry is made by the database's own clock
  await t.db.query({
    text: 'update muster.lanes_to_forget set look_at = $1 where lane_id = $2',
    values: [new Date(t.clock().getTime() + DAY), laneId],
  });
  return { tenantId: 1, laneId, name, space };
}
const find = (one: { space: string; name: string }) => t.engine.findLane(t.db, 1, one.space, one.name);
/** A day passes; two rounds, because a closed lane is first seen to be closed. */
async function days(count: number): Promise<void> {
  for (let n = 0; n < count; n += 1) {
    t.clock.advance(DAY);
    await t.engine.runDuty('prune');
    await t.engine.runDuty('forget-lanes');
    await t.engine.runDuty('forget-lanes');
  }
}
/** It is deleted once all older transactions are over, those of other tests on the same server too. */
async function untilGone(...laneIds: string[]): Promise<void> {
  for (const laneId of laneIds) while ((await rowsOf(laneId)) > 0) await days(1);
}
const rowsOf = async (laneId: string) =>
  (
    await t.db.query({
      text: `select (select count(*) from muster.lanes where lane_id = $1)::int + (select count(*) from muster.lane_names where lane_id = $1)::int
        + (select count(*) from muster.lanes_to_forget where lane_id = $1)::int as n`,
      values: [laneId],
    })
  ).rows[0].n;

describe('G69: a lane without an owner', () => {
  test('is deleted when it is empty and unused, and made anew on its next use', async () => {
    const one = await lane();
    await days(1);
    expect(await find(one)).toBe(one.laneId);
    await untilGone(one.laneId);
    expect(await find(one)).toBeNull();
    await expect(t.enqueue(one.laneId)).rejects.toMatchObject({ code: 'MUSTER_UNKNOWN_LANE' });
    const again = await t.engine.ensureLane(t.db, 1, one.space, one.name);
    expect(again).not.toBe(one.laneId);
    const id = await t.enqueue(again);
    expect(await t.claim(again)).toMatchObject({ id });
  });

  test('is deleted after its last action, even with many at once', async () => {
    const ids = await t.engine.ensureLanes(t.db, 1, 'ownerless', ['a', 'b', 'c']);
    await t.db.query({ text: 'update muster.lanes_to_forget set look_at = $1', values: [t.clock()] });
    for (const laneId of ids) {
      const id = await t.enqueue(laneId);
      await t.engine.cancel(t.db, { tenantId: 1, actionId: id });
    }
    await days(15);
    for (const laneId of ids) expect(await rowsOf(laneId)).toBe(3);
    await untilGone(...ids);
  });

  test.each<[string, (one: { tenantId: number; laneId: string }) => Promise<unknown>]>([
    ['an unfinished action', (one) => t.enqueue(one.laneId)],
    [
      'a running action',
      async (one) => {
        await t.enqueue(one.laneId);
        await t.claim(one.laneId, 'w', 20 * DAY);
      },
    ],
    ['a pause', (one) => t.engine.pauseLane(t.db, one)],
    ['a block', (one) => t.engine.blockLane(t.db, one, 'error')],
    ['a raised generation', (one) => t.engine.raiseGeneration(t.db, one)],
    ['a runner', async (one) => t.engine.assignRunner(t.db, one, await t.engine.createRunner(t.db, 1, null))],
  ])('stays as long as it has %s, also one that comes when it is closed', async (_name, comes) => {
    const before = await lane();
    await comes(before);
    const after = await lane();
    await days(1);
    await expect(t.claim(after.laneId)).rejects.toMatchObject({ code: 'MUSTER_UNKNOWN_LANE' });
    expect(await t.engine.ensureLane(t.db, 1, after.space, after.name)).toBe(after.laneId);
    await comes(after);
    await days(6);
    expect(await find(before)).toBe(before.laneId);
    expect(await find(after)).toBe(after.laneId);
  });

  test('stays as long as workers claim from it, however rarely it has work', async () => {
    const one = await lane();
    for (let n = 0; n < 4; n += 1) {
      await days(1);
      const claimed = await t.claim(one.laneId).catch(async () => {
        expect(await t.engine.ensureLane(t.db, 1, one.space, one.name)).toBe(one.laneId);
        return t.claim(one.laneId);
      });
      expect(claimed).toBeNull();
    }
    await untilGone(one.laneId);
  });

  test('that is closed while a claim waits in it still wakes that claim', async () => {
    const one = await lane();
    const waiting = t.engine.claim(t.db, {
      ...{ tenantId: 1, laneId: one.laneId, channel: 'any', worker: 'w', leaseMs: DAY, waitMs: 60_000 },
    });
    await expect.poll(() => t.engine.parkedWaiters).toBe(1);
    await days(1);
    const laneId = await t.engine.ensureLane(t.db, 1, one.space, one.name);
    const id = await t.enqueue(laneId);
    expect(await waiting).toMatchObject({ id });
  });

  test('that is closed takes what plain SQL enqueues by its number', async () => {
    const one = await lane();
    await days(1);
    await t.db.query({ text: 'select muster.ensure_event_days(current_date - 1, current_date + 1)' });
    const { rows } = await t.db.query({
      text: `select muster.enqueue(1, $1, 'x') as id`,
      values: [one.laneId],
    });
    await days(3);
    expect(await t.claim(one.laneId)).toMatchObject({ id: rows[0].id });
  });
});

test('G69: lanes of other spaces are never deleted, and not looked at again', async () => {
  const one = await lane('mine');
  await days(4);
  expect(await find(one)).toBe(one.laneId);
  expect(await rowsOf(one.laneId)).toBe(2);
});
