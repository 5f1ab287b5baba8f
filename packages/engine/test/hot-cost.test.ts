import { afterAll, beforeAll, expect, test } from 'vitest';
import { createEngine, type Engine, type Queryable } from '../src/index.ts';
import { pagesTouched, testClock, testDatabase } from '../testing/index.ts';

// Each hot statement touches as many pages among few lanes, actions and endings as among ten times as many.
const FEW = 2_000;
const MANY = 20_000;
/** One more level of the indexes that a call uses. */
const SAME = 25;
const RUNNER_LANES = 30;

let d: Awaited<ReturnType<typeof testDatabase>>;
let engine: Engine;
let runnerId: string;
const clock = testClock();
const query = async (text: string) => (await d.db.query({ text })).rows;

beforeAll(async () => {
  d = await testDatabase();
  engine = createEngine(d.db, { clock });
  await engine.runDuty('keep-days');
  runnerId = await engine.createRunner(d.db, 1, null);
  await query(`select setval('muster.action_seq', 10000000), setval('muster.lane_seq', 10000000)`);
});
afterAll(async () => {
  await engine.stop();
  await d.drop();
});

const BEHIND = 1_000_000;
const ENDED = 2_000_000;
const NOW = `timestamptz '${clock().toISOString()}'`;

/** Lanes, each with a running, a waiting and an ended action; every second lane is free. */
async function lanes(from: number, to: number): Promise<void> {
  await query(`
    with n as materialized (select generate_series(${from}, ${to}) as n), a as (
      insert into muster.actions (tenant_id, action_id, lane_id, channel, kind, payload, priority, created_at, max_attempts, backoff_ms,
          backoff_max_ms, head_of_line, on_lease_end)
        select 1, n + x.of, n, 'any', 'x', '{}', 1, ${NOW}, 3, 2000, 300000, 'skip', 'retry'
        from n cross join (values (0), (${BEHIND}), (${ENDED})) x(of)
    ), p as (
      insert into muster.pending (tenant_id, action_id, lane_id, generation, channel, priority, seq)
        select 1, n + x.of, n, 1, 'any', 1, n + x.of from n cross join (values (0), (${BEHIND})) x(of)
    ), z as (
      insert into muster.endings (tenant_id, action_id, state, attempt, reason, ended_at) select 1, n + ${ENDED}, 'succeeded', 1, 'SUCCEEDED', ${NOW} from n
    ), e as (
      insert into muster.events (tenant_id, action_id, lane_id, at, type, attempt) select 1, n + ${ENDED}, n, ${NOW}, 1, 0 from n
    )
    insert into muster.lanes (tenant_id, lane_id, action_id, attempt, channel, leased_at, lease_until, check_at, worker, runner_id)
      select 1, n, x.id, case when x.runs then 1 end, case when x.runs then 'any' end, case when x.runs then ${NOW} end, x.until, x.until,
        case when x.runs then 'w' end, case when n <= ${RUNNER_LANES} then ${runnerId}::bigint end
      from n cross join lateral (
        select n % 2 = 1 as runs, case when n % 2 = 1 then n end as id, case when n % 2 = 1 then ${NOW} + interval '1 hour' end as until
      ) x`);
  for (const table of ['lanes', 'actions', 'pending', 'endings', 'events'])
    await query(`analyze muster.${table}`);
}

const RUNNING = '1001';
const FREE = '1000';
const BY = { channel: 'any', worker: 'w', leaseMs: 60_000 };
const report = (c: Queryable, status: 'succeeded' | 'failed' | 'notNow') =>
  engine.report(c, { tenantId: 1, actionId: RUNNING, attempt: 1, status, next: BY });
const lane = { tenantId: 1, laneId: FREE };
const fifty = Array.from({ length: 50 }, () => ({ ...lane, kind: 'x' }));

const CALLS: Record<string, (client: Queryable) => Promise<unknown>> = {
  claim: (c) => engine.claim(c, { ...lane, ...BY }),
  'claim again': (c) => engine.claim(c, { tenantId: 1, laneId: RUNNING, ...BY }),
  'claim by slots': (c) => engine.claimSlots(c, { tenantId: 1, runnerId, max: 5, ...BY }),
  'report of a success, and claim': (c) => report(c, 'succeeded'),
  'report of a failure, and claim': (c) => report(c, 'failed'),
  'report of "not now", and claim': (c) => report(c, 'notNow'),
  'late report': (c) => engine.report(c, { tenantId: 1, actionId: FREE, attempt: 7, status: 'succeeded' }),
  extend: (c) => engine.extend(c, { tenantId: 1, actionId: RUNNING, attempt: 1, leaseMs: 90_000 }),
  acknowledge: (c) => engine.acknowledge(c, { tenantId: 1, actionId: RUNNING, attempt: 1 }),
  enqueue: (c) => engine.enqueue(c, { ...lane, kind: 'x' }),
  'enqueue with options': (c) =>
    engine.enqueue(c, {
      ...lane,
      kind: 'x',
      priority: 'urgent',
      idempotencyKey: 'k',
      supersede: { key: 's', mode: 'replace' },
    }),
  'enqueue of fifty': (c) => engine.enqueueMany(c, fifty),
  cancel: (c) => engine.cancel(c, { tenantId: 1, actionId: FREE }),
  'cancel of what runs': (c) => engine.cancel(c, { tenantId: 1, actionId: RUNNING }),
};
async function pagesOfAll(): Promise<Map<string, number>> {
  const pages = new Map<string, number>();
  for (const [name, call] of Object.entries(CALLS)) pages.set(name, await pagesTouched(d.db, call));
  return pages;
}

test('G47: every hot statement touches as few pages among ten times as many lanes, actions and endings', async () => {
  await lanes(1, FEW);
  const few = await pagesOfAll();
  await lanes(FEW + 1, MANY);
  const many = await pagesOfAll();
  const more = [...few].map(([name, before]) => ({ name, before, now: many.get(name) as number }));
  for (const { before } of more) expect(before).toBeGreaterThan(2);
  expect(more.filter(({ before, now }) => now > before * 1.2 + SAME)).toEqual([]);
});
