import type { TestEngine } from './test-engine.ts';

type Lane = { tenantId: number; laneId: string };

/**
 * Everything that can make something claimable in a lane: `prepare` makes a lane in which a claim finds nothing, `act`
 * changes that and returns which action comes then.
 */
export interface WakeUpAct {
  readonly name: string;
  prepare(t: TestEngine, lane: Lane): Promise<string>;
  act(t: TestEngine, lane: Lane, id: string): Promise<unknown>;
}

const soon = (t: TestEngine) => new Date(t.clock().getTime() + 1_000);
const waiting = (t: TestEngine, lane: Lane) => t.enqueue(lane.laneId, { tags: [`tag of ${lane.laneId}`] });
/** Another action runs in the lane; the one behind it is expected. */
async function behindRunning(t: TestEngine, lane: Lane, more: Parameters<TestEngine['enqueue']>[1] = {}) {
  await t.enqueue(lane.laneId, { maxAttempts: 1, ...more });
  await t.claim(lane.laneId, 'other', 1_000);
  return t.enqueue(lane.laneId);
}
const runningId = async (t: TestEngine, lane: Lane) =>
  (await t.engine.list(t.db, { tenantId: 1, laneId: lane.laneId, state: 'claimed' })).actions[0]
    ?.id as string;

export const WAKE_UP_ACTS: readonly WakeUpAct[] = [
  {
    name: 'the end of the running action by its report',
    prepare: (t, lane) => behindRunning(t, lane),
    act: async (t, lane) => t.report(await runningId(t, lane), 1),
  },
  {
    name: 'a release',
    async prepare(t, lane) {
      const id = await t.enqueue(lane.laneId);
      await t.claim(lane.laneId, 'other');
      return id;
    },
    act: (t, _lane, id) => t.engine.release(t.db, { tenantId: 1, actionId: id, attempt: 1 }),
  },
  { name: 'the end of a lease', prepare: (t, lane) => behindRunning(t, lane), act: (t) => t.pass(1_000) },
  {
    name: 'a not-before that has come',
    prepare: (t, lane) => t.enqueue(lane.laneId, { notBefore: soon(t) }),
    act: (t) => t.pass(1_000),
  },
  {
    name: 'a retry that is due',
    async prepare(t, lane) {
      const id = await t.enqueue(lane.laneId, { backoffMs: 1_000 });
      await t.claim(lane.laneId, 'other');
      await t.report(id, 1, 'failed');
      return id;
    },
    act: (t) => t.pass(2_000),
  },
  {
    name: 'the resumed lane',
    async prepare(t, lane) {
      await t.engine.pauseLane(t.db, lane);
      return waiting(t, lane);
    },
    act: (t, lane) => t.engine.resumeLane(t.db, lane),
  },
  {
    name: 'the resumed tag',
    async prepare(t, lane) {
      await t.engine.pause(t.db, { tenantId: 1, tag: `tag of ${lane.laneId}` });
      return waiting(t, lane);
    },
    act: (t, lane) => t.engine.resume(t.db, { tenantId: 1, tag: `tag of ${lane.laneId}` }),
  },
  {
    name: 'the resumed tenant',
    async prepare(t, lane) {
      await t.engine.pause(t.db, { tenantId: 1 });
      return waiting(t, lane);
    },
    act: (t) => t.engine.resume(t.db, { tenantId: 1 }),
  },
  {
    name: 'the unblocked lane',
    async prepare(t, lane) {
      await t.engine.blockLane(t.db, lane, 'x');
      return waiting(t, lane);
    },
    act: (t, lane) => t.engine.unblockLane(t.db, lane),
  },
  {
    name: 'the cancel of an action that held the lane',
    async prepare(t, lane) {
      const holds = await t.enqueue(lane.laneId, { headOfLine: 'hold', kind: 'holds' });
      await t.claim(lane.laneId, 'other');
      await t.report(holds, 1, 'failed');
      return t.enqueue(lane.laneId);
    },
    act: (t, lane) => t.engine.cancelMatching(t.db, { tenantId: 1, laneId: lane.laneId, kind: 'holds' }),
  },
  {
    name: 'a move before an action that held the lane',
    async prepare(t, lane) {
      const holds = await t.enqueue(lane.laneId, { headOfLine: 'hold' });
      await t.claim(lane.laneId, 'other');
      await t.report(holds, 1, 'failed');
      return t.enqueue(lane.laneId);
    },
    act: (t, _lane, id) => t.engine.moveToFront(t.db, { tenantId: 1, actionId: id }),
  },
  {
    name: 'the end of a wait for a time',
    prepare: (t, lane) => t.enqueue(lane.laneId, { notBefore: new Date(t.clock().getTime() + 3_600_000) }),
    act: (t, _lane, id) => t.engine.makeDue(t.db, { tenantId: 1, actionId: id }),
  },
  {
    name: 'the deadline of an action that held the lane',
    async prepare(t, lane) {
      const holds = await t.enqueue(lane.laneId, {
        headOfLine: 'hold',
        backoffMs: 600_000,
        deadline: soon(t),
      });
      await t.claim(lane.laneId, 'other');
      await t.report(holds, 1, 'failed');
      return t.enqueue(lane.laneId);
    },
    act: (t) => t.pass(1_000),
  },
  {
    name: 'a redrive',
    async prepare(t, lane) {
      const id = await t.enqueue(lane.laneId, { maxAttempts: 1 });
      await t.claim(lane.laneId, 'other');
      await t.report(id, 1, 'failed');
      return id;
    },
    act: (t, _lane, id) => t.engine.redrive(t.db, { tenantId: 1, actionId: id }),
  },
  {
    name: 'a late success of an action that held the lane',
    async prepare(t, lane) {
      const holds = await t.enqueue(lane.laneId, { headOfLine: 'hold', backoffMs: 600_000, kind: 'holds' });
      await t.claim(lane.laneId, 'other', 1_000);
      await t.pass(1_000);
      await t.enqueue(lane.laneId);
      return holds;
    },
    act: (t, _lane, id) => t.report(id, 1),
  },
];
