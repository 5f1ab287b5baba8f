import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createEngine } from '../src/index.ts';
import { commands, type Table, table } from '../testing/model/game.ts';
import { DEPTH_LIMIT, Parted } from '../testing/model/play.ts';
import { cut, type Sabotage, sabotage, swap } from '../testing/sabotage.ts';

// On one database: this tests how sharp the model is, not what the database does.
let t: Table;
beforeAll(async () => {
  t = await table();
});
afterAll(() => t.close());

/**
 * Broken on purpose: within some hundred games the model differs from each of them. Any seed works; a fixed one is
 * equally fast each time.
 */
const SEED = 1;
const BROKEN: Record<string, Sabotage> = {
  'claims have no order': {
    muster_claim: (sql) => swap(sql, 'order by p.priority, p.seq', 'order by p.seq desc'),
  },
  'a report needs no fence': {
    muster_report: (sql) => cut(sql, 'and l.attempt = i.attempt'),
    muster_report_success: (sql) => cut(sql, 'and l.attempt = i.attempt'),
  },
  'nothing gives way to an urgent action elsewhere': {
    muster_claim: (sql) => swap(sql, 'where h.until >', 'where false and h.until >'),
  },
  'a late report leads to the same action again': {
    muster_claim: (sql) => swap(sql, 'i.except_actions', 'null::text'),
  },
  'a lease end forgets the policy': {
    muster_end_leases: (sql) => swap(sql, 'c.on_lease_end =', `'retry' =`),
  },
  'a requested cancel is forgotten': {
    muster_report: (sql) => swap(sql, 'when c.cancel_requested', 'when false'),
  },
  'a pool hands out in no order': {
    muster_claim_pool: (sql) => swap(sql, 'order by p.seq limit', 'order by p.seq desc limit'),
  },
  'a pool gives normal actions no share': {
    muster_claim_pool: (sql) => swap(sql, 'max(f.share) as share', '0 as share'),
  },
  'a released action stays with its worker': {
    muster_report: (sql) => swap(sql, 'lane_id = g.home_lane,', 'lane_id = g.lane_id,'),
  },
  'a redrive keeps the failures': {
    muster_redrive: (sql) =>
      swap(
        swap(sql, 'seq, attempt,', 'seq, failures, attempt,'),
        'x.attempt, x.lease_ms',
        '2, x.attempt, x.lease_ms',
      ),
  },
};

test.each(Object.entries(BROKEN))(
  'an engine where %s is found out',
  { timeout: 300_000 },
  async (_what, by) => {
    const engine = createEngine(sabotage(t.db, by), { clock: t.clock, depthLimit: DEPTH_LIMIT });
    const result = await fc.check(
      fc.asyncProperty(commands, (list) => t.play(list, engine)),
      { numRuns: 1_000, seed: SEED, endOnFailure: true },
    );
    expect(result.failed).toBe(true);
    expect(result.errorInstance).toBeInstanceOf(Parted);
  },
);
