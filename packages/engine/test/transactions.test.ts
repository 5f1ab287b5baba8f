import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Engine, Queryable } from '../src/index.ts';
import { enqueueAndClaim, type TestEngine, testEngine } from '../testing/index.ts';

let t: TestEngine;
beforeAll(async () => {
  t = await testEngine();
  await t.enqueue((await t.lane()).laneId); // makes today's partition of the history
});
afterAll(() => t.close());

interface Scene {
  readonly lane: { tenantId: number; laneId: string };
  readonly other: { tenantId: number; laneId: string };
  readonly runnerId: string;
  readonly running: string;
  readonly waiting: string;
  readonly dead: string;
}

async function scene(): Promise<Scene> {
  const [lane, other, third] = [await t.lane(), await t.lane(), await t.lane()];
  const runnerId = await t.engine.createRunner(t.db, 1, 3);
  await t.engine.assignRunner(t.db, third, runnerId);
  const dead = await t.enqueue(lane.laneId, { maxAttempts: 1 });
  await t.claim(lane.laneId);
  await t.report(dead, 1, 'failed');
  const running = await t.enqueue(lane.laneId);
  await t.claim(lane.laneId);
  const waiting = await t.enqueue(lane.laneId);
  await t.enqueue(other.laneId);
  return { lane, other: third, runnerId, running, waiting, dead };
}

const claimer = { channel: 'any', worker: 'w', leaseMs: 60_000 };
/** Every operation that changes something. */
const OPERATIONS: Record<string, (engine: Engine, client: Queryable, s: Scene) => Promise<unknown>> = {
  enqueue: (e, c, s) => e.enqueue(c, { ...s.lane, kind: 'x', idempotencyKey: `k${s.running}` }),
  enqueueMany: (e, c, s) => e.enqueueMany(c, [{ ...s.lane, kind: 'x' }]),
  'enqueue superseding': (e, c, s) =>
    e.enqueue(c, { ...s.lane, kind: 'x', supersede: { key: 'k', mode: 'replace' } }),
  enqueueAndClaim: (e, c, s) =>
    enqueueAndClaim(e, c, {
      ...{ tenantId: 1, runnerId: s.runnerId, worker: 'w', leaseMs: 1_000 },
      actions: [{ laneId: s.other.laneId, kind: 'x' }],
    }),
  claim: async (e, c, s) => {
    await e.enqueue(c, { ...s.other, kind: 'x' });
    return e.claim(c, { ...s.other, ...claimer });
  },
  claimSlots: async (e, c, s) => {
    await e.enqueue(c, { ...s.other, kind: 'x' });
    return e.claimSlots(c, { tenantId: 1, runnerId: s.runnerId, ...claimer, max: 3 });
  },
  redelivery: (e, c, s) => e.claim(c, { ...s.lane, ...claimer, worker: 'worker' }),
  report: (e, c, s) => e.report(c, { tenantId: 1, actionId: s.running, attempt: 1, status: 'failed' }),
  'report and claim': (e, c, s) =>
    e.report(c, { tenantId: 1, actionId: s.running, attempt: 1, status: 'succeeded', next: claimer }),
  'late report': (e, c, s) => e.report(c, { tenantId: 1, actionId: s.running, attempt: 7, status: 'failed' }),
  extend: (e, c, s) => e.extend(c, { tenantId: 1, actionId: s.running, attempt: 1, leaseMs: 99_000 }),
  acknowledge: (e, c, s) => e.acknowledge(c, { tenantId: 1, actionId: s.running, attempt: 1 }),
  release: (e, c, s) => e.release(c, { tenantId: 1, actionId: s.running, attempt: 1 }),
  cancel: (e, c, s) => e.cancel(c, { tenantId: 1, actionId: s.waiting }),
  'cancel running': (e, c, s) => e.cancel(c, { tenantId: 1, actionId: s.running }),
  cancelMatching: (e, c, s) => e.cancelMatching(c, { tenantId: 1, laneId: s.lane.laneId }),
  redrive: (e, c, s) => e.redrive(c, { tenantId: 1, actionId: s.dead }),
  redriveMatching: (e, c, s) => e.redriveMatching(c, { tenantId: 1, laneId: s.lane.laneId }),
  makeDue: async (e, c, s) => {
    const later = new Date(t.clock().getTime() + 60_000);
    const { id } = await e.enqueue(c, { ...s.lane, kind: 'x', notBefore: later });
    return e.makeDue(c, { tenantId: 1, actionId: id });
  },
  moveToFront: (e, c, s) => e.moveToFront(c, { tenantId: 1, actionId: s.waiting }),
  pauseLane: (e, c, s) => e.pauseLane(c, s.lane),
  resumeLane: (e, c, s) => e.resumeLane(c, s.lane),
  blockLane: (e, c, s) => e.blockLane(c, s.lane, 'x'),
  unblockLane: (e, c, s) => e.unblockLane(c, s.lane),
  raiseGeneration: (e, c, s) => e.raiseGeneration(c, s.lane),
  assignRunner: (e, c, s) => e.assignRunner(c, s.lane, s.runnerId),
  createRunner: (e, c) => e.createRunner(c, 1, 2),
  setSlots: (e, c, s) => e.setSlots(c, 1, s.runnerId, 9),
  pause: (e, c) => e.pause(c, { tenantId: 1 }),
  'pause tag': (e, c) => e.pause(c, { tenantId: 1, tag: 'x' }),
  resume: (e, c) => e.resume(c, { tenantId: 1 }),
  ensureLane: (e, c) => e.ensureLane(c, 1, 'test', 'made inside'),
};
const READS: Record<string, (engine: Engine, client: Queryable, s: Scene) => Promise<unknown>> = {
  get: (e, c, s) => e.get(c, 1, s.running),
  list: (e, c) => e.list(c, { tenantId: 1 }),
  events: (e, c, s) => e.events(c, 1, s.running),
  counts: (e, c) => e.counts(c, 1),
  oldest: (e, c) => e.oldest(c),
  held: (e, c, s) => e.held(c, { tenantId: 1, runnerId: s.runnerId }),
  findLane: (e, c) => e.findLane(c, 1, 'test', 'x'),
  listPauses: (e, c) => e.listPauses(c, 1),
};

/** All rows of all tables, to detect any change. */
async function everything(client: Queryable): Promise<string> {
  const parts: string[] = [];
  for (const table of ['actions', 'pending', 'endings', 'events', 'lanes', 'lane_names', 'runners', 'pauses'])
    parts.push(
      (
        await client.query({
          text: `select coalesce(string_agg(x.row, e'\n' order by x.row), '') as rows from (select t::text as row from muster.${table} t) x`,
        })
      ).rows[0].rows,
    );
  for (const table of ['idempotency_keys', 'stale_lanes'])
    parts.push((await client.query({ text: `select count(*)::text as n from muster.${table}` })).rows[0].n);
  parts.push(
    JSON.stringify(
      (
        await client.query({
          text: 'select tenant_id, channel, state, sum(change)::text from muster.count_changes group by 1, 2, 3 order by 1, 2, 3',
        })
      ).rows,
    ),
  );
  return parts.join('\n---\n');
}

describe.each(Object.entries(OPERATIONS))('%s', (_name, operate) => {
  test('G48: inside a transaction that is rolled back leaves nothing', async () => {
    const s = await scene();
    const before = await everything(t.db);
    await expect(
      t.db.transaction(async (tx) => {
        await operate(t.engine, tx, s);
        throw new Error('undo');
      }),
    ).rejects.toThrow('undo');
    expect(await everything(t.db)).toBe(before);
  });

  test('G48: inside a transaction that is committed does what it does outside', async () => {
    const s = await scene();
    const before = await everything(t.db);
    await t.db.transaction((tx) => operate(t.engine, tx, s));
    if (!/resume|unblock/.test(_name)) expect(await everything(t.db)).not.toBe(before);
    await t.engine.resume(t.db, { tenantId: 1 });
  });

  test('G49: on the database itself from inside an open transaction is refused at once', async () => {
    const s = await scene();
    const before = await everything(t.db);
    await t.db.transaction(async () => {
      await expect(operate(t.engine, t.db, s)).rejects.toMatchObject({ code: 'MUSTER_OUTSIDE_TRANSACTION' });
    });
    expect(await everything(t.db)).toBe(before);
  });
});

describe.each(Object.entries(READS))('%s', (_name, read) => {
  test('G46: changes nothing', async () => {
    const s = await scene();
    const before = await everything(t.db);
    await read(t.engine, t.db, s);
    expect(await everything(t.db)).toBe(before);
  });

  test('G49: on the database itself from inside an open transaction is refused at once', async () => {
    const s = await scene();
    await t.db.transaction(async (tx) => {
      await expect(read(t.engine, t.db, s)).rejects.toMatchObject({ code: 'MUSTER_OUTSIDE_TRANSACTION' });
      await read(t.engine, tx, s);
    });
  });
});

test('G49: a transaction in a transaction is refused; after its end everything works again', async () => {
  await t.db.transaction(async () => {
    await expect(t.db.transaction(async () => {})).rejects.toMatchObject({
      code: 'MUSTER_OUTSIDE_TRANSACTION',
    });
    await expect(t.engine.runDuty('end-leases')).rejects.toMatchObject({
      code: 'MUSTER_OUTSIDE_TRANSACTION',
    });
  });
  expect(await t.engine.runDuty('make-due')).toBeGreaterThanOrEqual(0);
});

test('G48: a transaction that swallowed a failed statement reports that it was rolled back', async () => {
  await expect(
    t.db.transaction(async (tx) => {
      await tx.query({ text: 'select 1 / 0' }).catch(() => {});
    }),
  ).rejects.toThrow('An earlier error');
});

test('G48: a transaction can claim and report what it has enqueued itself', async () => {
  const lane = await t.lane();
  const id = await t.db.transaction(async (tx) => {
    const made = await t.engine.enqueue(tx, { ...lane, kind: 'x' });
    const claimed = await t.engine.claim(tx, { ...lane, ...claimer });
    expect(claimed).toMatchObject({ id: made.id, attempt: 1 });
    await t.engine.report(tx, { tenantId: 1, actionId: made.id, attempt: 1, status: 'succeeded' });
    return made.id;
  });
  expect(await t.eventTypes(id)).toEqual(['CREATED', 'SENT', 'SUCCEEDED']);
});
