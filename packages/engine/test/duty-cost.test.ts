import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createEngine, type Engine } from '../src/index.ts';
import { BY_INDEX } from '../src/perform-duty.ts';
import { keepContacts, pagesTouched, testClock, testDatabase } from '../testing/index.ts';

/** The pages that housekeeping reads beside few lanes and little history, and beside ten times as much. */
const FEW = 2_000;
const MANY = 20_000;
/** One more level of an index or two, not another full scan. */
const SAME = 40;

let d: Awaited<ReturnType<typeof testDatabase>>;
let engine: Engine;
const clock = testClock();
beforeAll(async () => {
  d = await testDatabase();
  engine = createEngine(d.db, { clock, retentionDays: 14 });
  await engine.runDuty('keep-days');
});
afterAll(async () => {
  await engine.stop();
  await d.drop();
});
const query = async (text: string) => (await d.db.query({ text })).rows;
const TABLES = ['lanes', 'actions', 'pending', 'endings'];
beforeEach(() => query(`truncate ${TABLES.map((table) => `muster.${table}`).join(', ')}`));
const at = (ms: number) => `timestamptz '${new Date(clock().getTime() + ms).toISOString()}'`;

/** Lanes with one action each, handed out for the first time, inserted straight into the tables. */
async function running(from: number, to: number, on: { lease: string; deliverBy?: string }): Promise<void> {
  await query(`
    with n as (select generate_series(${from}, ${to}) as n), a as (
      insert into muster.actions (tenant_id, action_id, lane_id, channel, kind, payload, priority, created_at, max_attempts, backoff_ms,
          backoff_max_ms, head_of_line, on_lease_end)
        select 1, n, n, 'any', 'x', '{}', 1, ${at(0)}, 3, 2000, 300000, 'skip', 'retry' from n
    ), p as (
      insert into muster.pending (tenant_id, action_id, lane_id, generation, channel, priority, seq, deliver_by)
        select 1, n, n, 1, 'any', 1, n, ${on.deliverBy ?? 'null::timestamptz'} from n
    )
    insert into muster.lanes (tenant_id, lane_id, action_id, attempt, channel, leased_at, lease_until, check_at, worker)
      select 1, n, n, 1, 'any', ${at(0)}, ${on.lease}, ${on.lease}, 'w' from n`);
}
async function finished(from: number, to: number, endedAt: string): Promise<void> {
  await query(`
    with n as (select generate_series(${from}, ${to}) as n), a as (
      insert into muster.actions (tenant_id, action_id, lane_id, channel, kind, payload, priority, created_at, max_attempts, backoff_ms,
          backoff_max_ms, head_of_line, on_lease_end)
        select 1, n, n, 'any', 'x', '{}', 1, ${at(0)}, 3, 2000, 300000, 'skip', 'retry' from n
    )
    insert into muster.endings (tenant_id, action_id, state, attempt, reason, ended_at)
      select 1, n, 'succeeded', 1, 'SUCCEEDED', ${endedAt} from n`);
}
async function settled(): Promise<void> {
  for (const table of TABLES) await query(`analyze muster.${table}`);
}

/** One round of a duty, as housekeeping runs it. */
async function pagesOf(name: string): Promise<{ pages: number; count: number }> {
  const duty = engine.duties.find((one) => one.name === name);
  if (!duty) throw new Error(`There is no duty ${name}.`);
  let count = 0;
  const pages = await pagesTouched(d.db, async (client) => {
    if (duty.byIndex) await client.query({ text: BY_INDEX });
    count = (await duty.runOnce(client)).count;
  });
  return { pages, count };
}
/** The question that an idle leader asks once a second. */
async function pagesOfDue(): Promise<{ pages: number; due: string[] }> {
  const asked = engine.duties.filter((duty) => duty.due && !duty.isOutside);
  let due: string[] = [];
  const pages = await pagesTouched(d.db, async (client) => {
    const { rows } = await client.query({
      text: `select ${asked.map((duty, n) => `(${duty.due}) as due_${n}`).join(', ')}`,
      values: [clock()],
    });
    due = asked.filter((_, n) => rows[0][`due_${n}`]).map((duty) => duty.name);
  });
  return { pages, due };
}

describe('G68: housekeeping touches as few pages beside ten times as many', () => {
  test('lanes with running leases and one expired', async () => {
    await running(1, FEW, { lease: at(60_000) });
    await running(FEW + 1, FEW + 1, { lease: at(-1) });
    await settled();
    const few = await pagesOf('end-leases');
    const fewDue = await pagesOfDue();
    await running(FEW + 2, MANY, { lease: at(60_000) });
    await settled();
    const many = await pagesOf('end-leases');
    const manyDue = await pagesOfDue();
    expect([few.count, many.count]).toEqual([1, 1]);
    expect([fewDue.due, manyDue.due]).toEqual([['end-leases'], ['end-leases']]);
    expect(many.pages).toBeLessThan(few.pages + SAME);
    expect(manyDue.pages).toBeLessThan(fewDue.pages + SAME);
    expect(manyDue.pages).toBeLessThan(100);
  });

  test('urgent actions on a channel without recent contact: each round looks at the next of them', async () => {
    await keepContacts(d.db);
    const urgent = (from: number, to: number) =>
      query(`with n as (select generate_series(${from}, ${to}) as n), k as (
          insert into muster.test_contacts select 1, n, 'river', ${at(-1)} from n
        ), l as (insert into muster.lanes (tenant_id, lane_id) select 1, n from n)
        insert into muster.pending (tenant_id, action_id, lane_id, generation, channel, priority, seq)
          select 1, n, n, 1, 'river', 0, n from n`);
    await urgent(1, FEW);
    await query('analyze muster.test_contacts');
    await settled();
    const few = await pagesOf('end-precedence');
    const fewDue = await pagesOfDue();
    await urgent(FEW + 1, MANY);
    await query('analyze muster.test_contacts');
    await settled();
    const rounds: number[] = [];
    for (let round = 0; round <= MANY / FEW; round += 1) {
      const { pages, count } = await pagesOf('end-precedence');
      rounds.push(count);
      expect(pages).toBeLessThan(few.pages * 1.2 + 1_000);
    }
    // the first of them were visited before the others came
    expect(rounds.reduce((sum, count) => sum + count, few.count)).toBe(MANY);
    const manyDue = await pagesOfDue();
    expect([fewDue.due, manyDue.due]).toEqual([['end-precedence'], ['end-precedence']]);
    expect(manyDue.pages).toBeLessThan(fewDue.pages + SAME);
  });

  test('expired leases: each round ends the first of them and does not look at the rest', async () => {
    await running(1, FEW, { lease: at(-1) });
    await settled();
    const few = await pagesOf('end-leases');
    await running(FEW + 1, MANY, { lease: at(-1) });
    // not analysed: outdated statistics must not make it sort all of them
    const many = await pagesOf('end-leases');
    expect([few.count, many.count]).toEqual([500, 500]);
    expect(many.pages).toBeLessThan(few.pages * 1.2 + 1_000);
  });

  test('actions that run past their deliver-by: each is visited once', async () => {
    const past = { lease: at(60_000), deliverBy: at(-1) };
    await running(1, FEW, past);
    await settled();
    const few = await pagesOf('expire');
    await running(FEW + 1, MANY / 2, past);
    await settled();
    const many = await pagesOf('expire');
    expect([few.count, many.count]).toEqual([0, 0]);
    expect(many.pages).toBeLessThan(few.pages * 1.2 + 1_000);
    while (
      await engine.duties
        .find((duty) => duty.name === 'expire')
        ?.runOnce(d.db)
        .then((run) => run.more)
    );
    await query('vacuum muster.pending');
    expect((await pagesOfDue()).due).toEqual([]);
    expect((await pagesOf('expire')).pages).toBeLessThan(SAME);
    expect((await pagesOfDue()).pages).toBeLessThan(SAME);
  });

  test('finished actions, some of them old enough to be pruned', async () => {
    const old = at(-15 * 86_400_000);
    await finished(1, FEW, at(0));
    await finished(FEW + 1, FEW + 50, old);
    await settled();
    const few = await pagesOf('prune');
    await finished(FEW + 51, MANY, at(0));
    await settled();
    const many = await pagesOf('prune');
    expect([few.count, many.count]).toEqual([50, 50]);
    expect(many.pages).toBeLessThan(few.pages * 1.2 + SAME);
  });
});
