import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Queryable } from '../src/index.ts';
import {
  type Contacts,
  enqueueAndClaim,
  keepContacts,
  pagesTouched,
  type TestEngine,
  testEngine,
} from '../testing/index.ts';

/** What plain SQL is told of a lane must match what a claim does with it: both are made of one text. */
let t: TestEngine;
let contacts: Contacts;
beforeAll(async () => {
  t = await testEngine();
  contacts = await keepContacts(t.db);
});
afterAll(() => t.close());

const CHANNEL = 'road';
type Lane = { tenantId: number; laneId: string };

async function runnersLane(): Promise<Lane & { runnerId: string }> {
  const lane = await t.lane();
  const runnerId = await t.engine.createRunner(t.db, 1, null);
  await t.engine.assignRunner(t.db, lane, runnerId);
  return { ...lane, runnerId };
}

async function front(laneId: string) {
  const { rows } = await t.db.query({
    text: `select * from muster.lane_front($1, 1, $2, $3, array['stopped'])`,
    values: [t.clock(), laneId, CHANNEL],
    tenantId: 1,
  });
  return rows[0];
}

/** What a claim and a new action really get; all of it is undone. */
async function really({ laneId, runnerId }: { laneId: string; runnerId: string }) {
  const undo = new Error('undo');
  const got: { claimed?: string | null; made?: boolean } = {};
  const trying = (act: (client: Queryable) => Promise<void>) =>
    t.db
      .transaction(async (tx) => {
        await act(tx);
        throw undo;
      })
      .catch((error) => {
        if (error !== undo) throw error;
      });
  const by = { tenantId: 1, worker: 'w', leaseMs: 1_000 };
  await trying(async (tx) => {
    got.claimed = (await t.engine.claim(tx, { ...by, laneId, channel: CHANNEL }))?.id ?? null;
  });
  await trying(async (tx) => {
    const actions = [{ laneId, kind: 'x', channel: CHANNEL, tags: ['stopped'] }];
    got.made = (await enqueueAndClaim(t.engine, tx, { ...by, runnerId, actions }))[0] !== null;
  });
  return got;
}

const soon = () => new Date(t.clock().getTime() + 60_000);
const situations: Record<string, (lane: Lane) => Promise<unknown>> = {
  'is empty': async () => undefined,
  'has one waiting': ({ laneId }) => t.enqueue(laneId, { channel: CHANNEL }),
  'has one for any channel': ({ laneId }) => t.enqueue(laneId, { channel: 'any' }),
  'has one of another channel': ({ laneId }) => t.enqueue(laneId, { channel: 'river' }),
  'has one that is not due': ({ laneId }) => t.enqueue(laneId, { channel: CHANNEL, notBefore: soon() }),
  'has an urgent one behind': async ({ laneId }) => {
    await t.enqueue(laneId, { channel: 'any' });
    await t.enqueue(laneId, { channel: CHANNEL, priority: 'urgent' });
  },
  'has an urgent one of another channel that was heard of': async (lane) => {
    await t.enqueue(lane.laneId, { channel: CHANNEL });
    await t.enqueue(lane.laneId, { channel: 'river', priority: 'urgent' });
    await contacts.heard(lane, 'river', soon());
  },
  'has nothing but an urgent one of another channel that was heard of': async (lane) => {
    await t.enqueue(lane.laneId, { channel: 'river', priority: 'urgent' });
    await contacts.heard(lane, 'river', soon());
  },
  'has an urgent one of another channel': async ({ laneId }) => {
    await t.enqueue(laneId, { channel: CHANNEL });
    await t.enqueue(laneId, { channel: 'river', priority: 'urgent' });
  },
  'has one of a paused tag': async ({ laneId }) => {
    await t.enqueue(laneId, { channel: CHANNEL, tags: ['stopped'] });
    await t.engine.pause(t.db, { tenantId: 1, tag: 'stopped' });
  },
  'is paused': (lane) => t.engine.pauseLane(t.db, lane),
  'is blocked': async (lane) => {
    await t.enqueue(lane.laneId, { channel: CHANNEL });
    await t.engine.blockLane(t.db, lane, 'x');
  },
  'is of a tenant where everything is paused': async ({ laneId }) => {
    await t.enqueue(laneId, { channel: CHANNEL });
    await t.engine.pause(t.db, { tenantId: 1 });
  },
  'is leased': async ({ laneId }) => {
    await t.enqueue(laneId, { channel: 'any' });
    await t.enqueue(laneId, { channel: 'any' });
    await t.claim(laneId);
  },
  'is held by a retry': async ({ laneId }) => {
    const id = await t.enqueue(laneId, { channel: 'any', headOfLine: 'hold', backoffMs: 5_000 });
    await t.enqueue(laneId, { channel: 'any' });
    await t.claim(laneId);
    await t.report(id, 1, 'failed');
  },
  'has one of an older generation': async (lane) => {
    await t.enqueue(lane.laneId, { channel: CHANNEL });
    await t.engine.raiseGeneration(t.db, lane);
  },
};

test.each(Object.keys(situations))('a lane that %s does what the view says', async (name) => {
  const lane = await runnersLane();
  await situations[name]?.(lane);
  const { claimed, made } = await really(lane);
  const told = await front(lane.laneId);
  await t.engine.resume(t.db, { tenantId: 1 });
  await t.engine.resume(t.db, { tenantId: 1, tag: 'stopped' });
  expect({ claimed: told.hands_out, made: told.takes_new }).toEqual({ claimed, made });
});

test('a lane says what holds it up and what is first in it', async () => {
  const lane = await runnersLane();
  const first = await t.enqueue(lane.laneId, { headOfLine: 'hold', backoffMs: 5_000 });
  expect(await front(lane.laneId)).toMatchObject({
    is_stopped: false,
    is_paused: false,
    first_action: first,
  });
  await t.claim(lane.laneId);
  expect(await front(lane.laneId)).toMatchObject({ leased_action: first, first_action: null });
  await t.report(first, 1, 'failed');
  expect(await front(lane.laneId)).toMatchObject({
    leased_action: null,
    first_action: first,
    hands_out: null,
  });
  await t.engine.pauseLane(t.db, lane);
  expect(await front(lane.laneId)).toMatchObject({ is_stopped: true, is_paused: false });
  await t.engine.pause(t.db, { tenantId: 1 });
  expect(await front(lane.laneId)).toMatchObject({ is_paused: true });
  await t.engine.resume(t.db, { tenantId: 1 });
  expect(await front('4711')).toBeUndefined();
});

test('G47: asking for many lanes reads a few pages of each, whatever is in them', async () => {
  const lanes: string[] = [];
  for (let n = 0; n < 10; n += 1) lanes.push((await t.lane()).laneId);
  for (const laneId of lanes) await t.enqueue(laneId);
  const pages = (column: string) =>
    pagesTouched(t.db, (client) =>
      client.query({
        text: `select i.lane_id from unnest((select $2::bigint[])) i(lane_id)
          cross join lateral muster.lane_front($1::timestamptz, 1, i.lane_id, 'any') f where f.${column} is not null`,
        values: [t.clock(), lanes],
      }),
    );
  const columns = ['hands_out', 'first_action', 'takes_new', 'is_stopped'];
  const few: number[] = [];
  for (const column of columns) few.push(await pages(column));
  await t.db.query({
    text: `insert into muster.pending (tenant_id, action_id, lane_id, generation, channel, seq, priority)
      select 1, 2000000 + n, $1, 1, 'any', 2000000 + n, 1 from generate_series(1, 20000) n`,
    values: [lanes[0]],
  });
  await t.db.query({ text: 'analyze muster.pending' });
  for (const [n, column] of columns.entries())
    expect(await pages(column), column).toBeLessThan((few[n] as number) + 60);
  await t.db.query({ text: 'delete from muster.pending where action_id > 2000000' });
});
