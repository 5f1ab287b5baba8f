import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { DoorReason } from '../src/index.ts';
import { type TestEngine, testEngine } from '../testing/index.ts';

let t: TestEngine;
const asked: string[][] = [];
const given = new Map<string, DoorReason>();
beforeAll(async () => {
  t = await testEngine();
  t.engine.giveReasons('door', async (_client, waiting) => {
    asked.push(waiting.map((action) => action.id));
    return given;
  });
});
beforeEach(() => {
  asked.length = 0;
  given.clear();
});
afterAll(() => t.close());

const reason = (place: DoorReason['place']): DoorReason => ({
  place,
  code: `DOOR_${place}`,
  text: `By the door: ${place}.`,
});
const code = async (id: string) => (await t.engine.get(t.db, 1, id))?.waitingFor?.code;

test('G44: a door is asked once for a whole page, about its own waiting actions only', async () => {
  const lane = await t.lane();
  const ids = [
    await t.enqueue(lane.laneId, { channel: 'door' }),
    await t.enqueue(lane.laneId, { channel: 'door' }),
  ];
  const running = ids[0] as string;
  await t.engine.claim(t.db, { ...lane, channel: 'door', worker: 'w', leaseMs: 1_000 });
  ids.push(await t.enqueue(lane.laneId, { channel: 'door' }));
  await t.enqueue(lane.laneId, { channel: 'other' });
  const ended = await t.enqueue(lane.laneId, { channel: 'door' });
  await t.engine.cancel(t.db, { tenantId: 1, actionId: ended });
  await t.engine.list(t.db, { tenantId: 1, laneId: lane.laneId });
  expect(asked).toEqual([ids.filter((id) => id !== running).reverse()]);
});

test.each<[DoorReason['place'], string[]]>([
  ['held', ['LANE_PAUSED', 'DOOR_held', 'DOOR_held']],
  ['unreachable', ['LANE_PAUSED', 'BEHIND', 'DOOR_unreachable']],
  ['push', ['LANE_PAUSED', 'BEHIND', 'DOOR_push']],
  ['offline', ['LANE_PAUSED', 'BEHIND', 'DOOR_offline']],
])('G44: a reason of the place "%s" stands where it belongs', async (place, codes) => {
  const lane = await t.lane();
  const ahead = await t.enqueue(lane.laneId, { channel: 'door' });
  const id = await t.enqueue(lane.laneId, { channel: 'door' });
  given.set(id, reason(place));
  await t.engine.pauseLane(t.db, lane);
  const seen = [await code(id)];
  await t.engine.resumeLane(t.db, lane);
  seen.push(await code(id));
  await t.engine.cancel(t.db, { tenantId: 1, actionId: ahead });
  seen.push(await code(id));
  expect(seen).toEqual(codes);
  expect((await t.engine.get(t.db, 1, id))?.waitingFor).toEqual({
    code: `DOOR_${place}`,
    text: `By the door: ${place}.`,
  });
});

test('G44: running or ended actions are not the door’s to explain', async () => {
  const lane = await t.lane();
  const id = await t.enqueue(lane.laneId, { channel: 'door' });
  given.set(id, reason('held'));
  await t.engine.claim(t.db, { ...lane, channel: 'door', worker: 'w', leaseMs: 1_000 });
  expect(await code(id)).toBe('RUNNING');
  await t.report(id, 1);
  expect(await code(id)).toBeUndefined();
});

test('a channel can register reasons only once', () => {
  expect(() => t.engine.giveReasons('door', async () => new Map())).toThrow('already gives reasons');
});
