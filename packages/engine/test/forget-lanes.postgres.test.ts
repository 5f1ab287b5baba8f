import type pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Duty, Queryable } from '../src/index.ts';
import { createGate, type Gate } from '../testing/gate.ts';
import { brokenInvariants, type TestEngine, testEngine } from '../testing/index.ts';
import { createSessions, type Sessions } from '../testing/sessions.ts';

/** Whatever happens at the moment a lane is deleted, no action is left without its lane. */
const DAY = 86_400_000;
let t: TestEngine;
let gate: Gate;
let sessions: Sessions;
let made = 0;
const opened: pg.Client[] = [];
beforeAll(async () => {
  t = await testEngine({ forgetLanes: { of: ['ownerless'] } });
  gate = await createGate(t.url as string);
  sessions = createSessions(t.url as string);
});
beforeEach(() => t.engine.runDuty('keep-days'));
// a transaction left open by a failed test would keep the next test from ever seeing a lane deleted
afterEach(async () => {
  for (const client of opened) await client.query('rollback');
});
afterAll(async () => {
  await gate.end();
  await sessions.end();
  await t.close();
});

async function lane() {
  made += 1;
  const name = `lane ${made}`;
  const laneId = await t.engine.ensureLane(t.db, 1, 'ownerless', name);
  await t.db.query({ text: 'delete from muster.lanes_to_forget where lane_id <> $1', values: [laneId] });
  await t.db.query({ text: 'update muster.lanes_to_forget set look_at = $1', values: [t.clock()] });
  return { laneId, name };
}
const duty = () => t.engine.duties.find((one) => one.name === 'forget-lanes') as Duty;
const look = async (after = 0) => {
  t.clock.advance(after);
  return t.engine.runDuty('forget-lanes');
};
const ensure = (name: string, on: Queryable = t.db) => t.engine.ensureLane(on, 1, 'ownerless', name);
const enqueue = async (laneId: string, on: Queryable = t.db) =>
  (await t.engine.enqueue(on, { tenantId: 1, laneId, kind: 'x' })).id;
async function session(begin?: string) {
  const client = await sessions.open();
  opened.push(client);
  if (begin) await client.query(begin);
  return { client, db: sessions.queryable(client) };
}
/** Closed, seen to be closed, and its day is over: the next look deletes it. */
async function close(othersRun = false): Promise<void> {
  await look();
  await look();
  t.clock.advance(DAY);
  // transactions of other tests on the same server are older than its closing, too
  for (;;) {
    const { rows } = await t.db.query({
      text: `select 1 from muster.lanes_to_forget where safe_from <= pg_snapshot_xmin(pg_current_snapshot()) or $1`,
      values: [othersRun],
    });
    if (rows.length > 0) return;
  }
}
/** A worker that knows its name arrives. */
async function claimed(name: string): Promise<string | undefined> {
  const laneId = await ensure(name);
  return (await t.claim(laneId))?.id;
}

test('G69: a transaction that saw the lane open and commits later loses nothing', async () => {
  const { laneId, name } = await lane();
  const user = await session('begin');
  const id = await enqueue(laneId, user.db); // not yet visible to others
  await close(true);
  for (let n = 0; n < 3; n += 1) expect(await look(DAY)).toBe(0);
  await user.client.query('commit');
  expect(await look(DAY)).toBe(0);
  expect(await claimed(name)).toBe(id);
  expect(await ensure(name)).toBe(laneId);
  expect(await brokenInvariants(t.db)).toEqual([]);
});

test('G69: nor does one that began before the lane was closed and enqueues after it was deleted', async () => {
  const { laneId } = await lane();
  const user = await session('begin isolation level repeatable read');
  await user.client.query('select 1 from muster.lanes limit 1'); // what it sees from now on
  await close();
  expect(await look()).toBe(1);
  await expect(enqueue(laneId, user.db)).rejects.toMatchObject({ code: '40001' });
  await user.client.query('rollback');
  expect(await brokenInvariants(t.db)).toEqual([]);
});

test('G69: nor does one that begins when the lane is closed: it is told so, and opens it first', async () => {
  const { laneId, name } = await lane();
  await close();
  const user = await session('begin');
  await expect(enqueue(laneId, user.db)).rejects.toMatchObject({ code: 'MUSTER_UNKNOWN_LANE' });
  const id = await enqueue(await ensure(name, user.db), user.db);
  expect(await look()).toBe(0);
  await user.client.query('commit');
  expect(await look(DAY)).toBe(0);
  expect(await claimed(name)).toBe(id);
});

test('G69: nor does one that keeps its snapshot and enqueues while the lane is closed', async () => {
  const { laneId, name } = await lane();
  const user = await session('begin isolation level repeatable read');
  await user.client.query('select 1 from muster.lanes limit 1');
  await close();
  const id = await enqueue(laneId, user.db);
  expect(await look()).toBe(0);
  // an action of another session does not wait for this session's lock on the lane
  const other = await enqueue(await ensure(name));
  expect(await t.claim(laneId)).toMatchObject({ id: other });
  await t.report(other, 1);
  await user.client.query('commit');
  expect(await look(DAY)).toBe(0);
  expect(await claimed(name)).toBe(id);
});

test('G69: a lane that is opened and used at the moment of its deletion stays', async () => {
  const { laneId, name } = await lane();
  await close();
  const leader = await session('begin');
  await gate.close();
  const looking = duty().runOnce(gate.before(leader.db, 'muster_forget_lock'));
  await gate.reached(looking); // it has read that the lane is closed and empty, and has not locked it yet
  const id = await enqueue(await ensure(name));
  await gate.open();
  expect((await looking).count).toBe(0);
  await leader.client.query('commit');
  expect(await claimed(name)).toBe(id);
  expect(await ensure(name)).toBe(laneId);
});

test('G69: ensuring a lane that is being deleted gives a new one', async () => {
  const { laneId, name } = await lane();
  await close();
  const leader = await session('begin');
  expect((await duty().runOnce(leader.db)).count).toBe(1);
  const user = await session();
  const ensured = ensure(name, user.db);
  for (;;) {
    const { rows } = await t.db.query({
      text: `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    });
    if (rows.length > 0) break;
  }
  await leader.client.query('commit');
  const again = await ensured;
  expect(again).not.toBe(laneId);
  const id = await enqueue(again);
  expect(await claimed(name)).toBe(id);
});

test('G40 G69: two leaders that look at the same moment delete each lane once', async () => {
  await lane();
  await close();
  const [first, second] = [await session('begin'), await session('begin')];
  expect((await duty().runOnce(first.db)).count).toBe(1);
  expect((await duty().runOnce(second.db)).count).toBe(0);
  await first.client.query('commit');
  await second.client.query('commit');
});
