import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createEngine, type Database, type Query } from '../src/index.ts';
import { type TestEngine, testEngine } from '../testing/index.ts';
import { createSessions, type Sessions } from '../testing/sessions.ts';

/** Shown by the order of events, not by a clock: the other calls finish while the one in the way still runs. */
let t: TestEngine;
let sessions: Sessions;
const tenantId = 1;
let blocker: Awaited<ReturnType<Sessions['open']>>;

beforeAll(async () => {
  t = await testEngine();
  sessions = createSessions(t.url as string);
  await t.enqueue((await t.lane()).laneId);
});
afterAll(async () => {
  await sessions.end();
  await t.close();
});
beforeEach(async () => {
  blocker = await sessions.open();
  await blocker.query('begin');
});

/** Resolves to whether the promise is settled by now, after everything that is ready had its turn. */
async function settled(promise: Promise<unknown>): Promise<boolean> {
  let done = false;
  promise.then(
    () => {
      done = true;
    },
    () => {
      done = true;
    },
  );
  await new Promise((resolve) => setImmediate(resolve));
  return done;
}

/** The same database; every error of a gathered statement is recorded. */
function telling(db: Database, errors: unknown[]): Database {
  const query = (config: Query) =>
    db.gathered.query(config).catch((error) => {
      errors.push(error);
      throw error;
    });
  return { ...db, gathered: { ...db.gathered, query } };
}

async function lanesWithWork(many: number): Promise<string[]> {
  const lanes = await Promise.all(Array.from({ length: many }, async () => (await t.lane()).laneId));
  await Promise.all(lanes.map((laneId) => t.enqueue(laneId)));
  return lanes;
}

describe('G36: no caller is delayed', () => {
  test('by a transaction that has locked a lane: claims, reports, extensions, cancels of others go on', async () => {
    const errors: unknown[] = [];
    const db = telling(t.db, errors);
    const engine = createEngine(db, { clock: t.clock });
    const claim = (laneId: string) =>
      engine.claim(db, { tenantId, laneId, channel: 'any', worker: 'w', leaseMs: 60_000 });
    const lanes = await lanesWithWork(16);
    const [locked = '', running = '', ...others] = lanes;
    const held = await claim(running);
    const of = { tenantId, actionId: held?.id as string, attempt: 1 };
    for (const laneId of [locked, running])
      await t.engine.pauseLane(sessions.queryable(blocker), { tenantId, laneId });
    const stuck = [
      claim(locked),
      engine.extend(db, { ...of, leaseMs: 1_000 }),
      engine.acknowledge(db, of),
      engine.cancel(db, of),
      engine.report(db, { ...of, status: 'succeeded' }),
    ];
    const ended = Promise.allSettled(stuck);
    // the locks are held until all of these are done
    await Promise.all(
      others.map(async (laneId, n) => {
        const claimed = await claim(laneId);
        if (!claimed) throw new Error('There was something to claim.');
        const base = { tenantId, actionId: claimed.id, attempt: claimed.attempt };
        await engine.acknowledge(db, base);
        await engine.extend(db, { ...base, leaseMs: 1_000 });
        if (n % 2 === 0) await engine.cancel(db, base);
        await engine.report(db, { ...base, status: 'succeeded' });
        await engine.enqueue(db, { tenantId, laneId, kind: 'a' });
      }),
    );
    // none waited for a lane either: losing patience and being run again alone would be a delay too
    expect(errors).toEqual([]);
    await blocker.query('rollback');
    for (const answer of await ended)
      if (answer.status === 'rejected') expect(answer.reason).toMatchObject({ code: 'MUSTER_LANE_BUSY' });
    await engine.stop();
  });

  test('by an idempotency key that is not committed yet', async () => {
    const { laneId } = await t.lane();
    await t.engine.enqueue(sessions.queryable(blocker), {
      tenantId,
      laneId,
      kind: 'a',
      idempotencyKey: 'open',
    });
    const same = t.engine.enqueue(t.db, { tenantId, laneId, kind: 'a', idempotencyKey: 'open' });
    const others = Array.from({ length: 20 }, (_, n) =>
      t.engine.enqueue(t.db, {
        tenantId,
        laneId,
        kind: 'a',
        idempotencyKey: n % 2 === 0 ? `other ${n}` : undefined,
      }),
    );
    await Promise.all(others);
    expect(await settled(same)).toBe(false);
    await blocker.query('commit');
    expect((await same).outcome).toBe('present');
  });

  test('by a supersede in an open transaction', async () => {
    const [one, two] = [(await t.lane()).laneId, (await t.lane()).laneId];
    const supersede = { key: 'lock', mode: 'replace' } as const;
    await t.engine.enqueue(sessions.queryable(blocker), { tenantId, laneId: one, kind: 'a', supersede });
    const same = t.engine.enqueue(t.db, { tenantId, laneId: one, kind: 'a', supersede });
    await Promise.all([
      t.engine.enqueue(t.db, { tenantId, laneId: two, kind: 'a', supersede }),
      t.engine.enqueue(t.db, { tenantId, laneId: one, kind: 'a' }),
    ]);
    expect(await settled(same)).toBe(false);
    await blocker.query('commit');
    expect((await same).outcome).toBe('created');
  });

  test('nor failed by a row that the database refuses', async () => {
    await blocker.query('rollback');
    const lanes = await lanesWithWork(10);
    // an error that cannot be foreseen
    await t.db.query({
      text: `alter table muster.actions add constraint refused check (kind <> 'refused')`,
    });
    const batches: number[] = [];
    const engine = createEngine(t.db, {
      clock: t.clock,
      observer: { batch: (_, size) => batches.push(size) },
    });
    const calls = lanes.map((laneId, n) =>
      engine.enqueue(t.db, { tenantId, laneId, kind: n === 4 ? 'refused' : 'a' }),
    );
    const answers = await Promise.allSettled(calls);
    expect(answers.map((answer) => (answer.status === 'rejected' ? answer.reason.code : 'created'))).toEqual(
      lanes.map((_, n) => (n === 4 ? '23514' : 'created')),
    );
    // all ten were in one statement, which failed; so each of the good ones was run again alone
    expect(batches).toEqual(Array(9).fill(1));
    await engine.stop();
  });

  test('by a locked lane, if all matching actions are made due: the others are due while it waits', async () => {
    const lanes = await Promise.all(Array.from({ length: 20 }, async () => (await t.lane()).laneId));
    const notBefore = new Date(t.clock().getTime() + 3_600_000);
    const ids = await Promise.all(lanes.map((laneId) => t.enqueue(laneId, { kind: 'timed', notBefore })));
    await t.engine.pauseLane(sessions.queryable(blocker), { tenantId, laneId: lanes[7] as string });
    const makeDue = () =>
      t.engine.makeDueMatching(t.db, { tenantId, kind: 'timed' }, 'now', async (_, found) => found);
    const made = Promise.allSettled([makeDue()]);
    const due = async () =>
      (await Promise.all(ids.map((id) => t.eventTypes(id)))).map((types) => types.includes('MADE_DUE'));
    await expect.poll(due).toEqual(ids.map((_, n) => n !== 7));
    await blocker.query('rollback');
    await made;
    // whether or not the first call was in time for it
    await makeDue();
    expect(await due()).toEqual(ids.map(() => true));
  });

  test('by as many rows of a locked lane as housekeeping takes at a time: retries come due', async () => {
    const [locked, free] = [(await t.lane()).laneId, (await t.lane()).laneId];
    const soon = new Date(t.clock().getTime() + 1_000);
    await t.engine.enqueueMany(
      t.db,
      Array.from({ length: 1_000 }, () => ({ tenantId, laneId: locked, kind: 'a', notBefore: soon })),
    );
    const id = await t.enqueue(free, { notBefore: new Date(soon.getTime() + 1) });
    await t.engine.pauseLane(sessions.queryable(blocker), { tenantId, laneId: locked });
    t.clock.advance(2_000);
    await t.engine.runDuty('make-due');
    expect((await t.claim(free))?.id).toBe(id);
    await blocker.query('rollback');
  });

  test('by as many rows of a locked lane as housekeeping takes at a time: actions expire', async () => {
    const [locked, free] = [(await t.lane()).laneId, (await t.lane()).laneId];
    const soon = new Date(t.clock().getTime() + 1_000);
    await t.engine.enqueueMany(
      t.db,
      Array.from({ length: 1_000 }, () => ({ tenantId, laneId: locked, kind: 'a', deliverBy: soon })),
    );
    const id = await t.enqueue(free, { deliverBy: new Date(soon.getTime() + 1) });
    await t.engine.pauseLane(sessions.queryable(blocker), { tenantId, laneId: locked });
    t.clock.advance(2_000);
    await t.engine.runDuty('expire');
    expect(await t.state(id)).toBe('expired');
    await blocker.query('rollback');
  });

  test('by as many locked lanes as housekeeping takes at a time: leases end', async () => {
    const lanes = await lanesWithWork(501);
    const claimed = await Promise.all(lanes.map((laneId) => t.claim(laneId, 'worker', 1_000)));
    const [free = ''] = lanes.toSorted((a, b) => Number(b) - Number(a));
    const id = claimed.find((action) => action?.laneId === free)?.id as string;
    await blocker.query(
      `update muster.lanes set paused = paused where lane_id = any($1::bigint[]) and lane_id <> $2`,
      [lanes, free],
    );
    t.clock.advance(2_000);
    await t.engine.runDuty('end-leases');
    expect(await t.state(id)).toBe('pending');
    await blocker.query('rollback');
    await t.pass(0);
  });
});
