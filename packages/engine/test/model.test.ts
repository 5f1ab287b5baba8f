import fc from 'fast-check';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { createEngine, EVENT_TYPES } from '../src/index.ts';
import { type Contacts, keepContacts, type TestEngine, testEngine } from '../testing/index.ts';
import { type Command, command } from '../testing/model/commands.ts';
import { clearWorld, createWorld, DEPTH_LIMIT, Parted, play, seen } from '../testing/model/play.ts';
import { cut, type Sabotage, sabotage, swap } from '../testing/sabotage.ts';

// Every run of the suites plays other games; MUSTER_TEST_RUNS plays more of them (thousands before a release), and
// MUSTER_TEST_SEED repeats a run: the seed of a failure is in its message.
const RUNS = Number(process.env.MUSTER_TEST_RUNS ?? (inject('database') === 'pglite' ? 20 : 50));
/** So few games as on the embedded database need not show everything. */
const SHOWS_ALL = inject('database') === 'postgres' || RUNS >= 400;
const MOST_ROUNDS = 40;
const SEED = Number(process.env.MUSTER_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));
const commands = fc.array(command, { minLength: 1, maxLength: 60, size: 'max' });

let t: TestEngine;
let contacts: Contacts;
let tenants = 100;
beforeAll(async () => {
  t = await testEngine({ depthLimit: DEPTH_LIMIT });
  contacts = await keepContacts(t.db);
});
afterAll(() => t.close());

async function playOnce(
  list: readonly Command[],
  on: Pick<TestEngine, 'engine' | 'clock'> = t,
): Promise<void> {
  tenants += 1;
  const world = await createWorld(on.engine, on.clock, contacts, tenants);
  try {
    await play(world, list);
  } finally {
    await clearWorld(world);
  }
}

test('G1 G3 G4 G5 G9 G10 G13 G15 G16 G20 G44 G45: whatever is done, the engine answers and stands as the model does', {
  timeout: 900_000,
}, async () => {
  let played = 0;
  console.log(`model: ${RUNS} runs, MUSTER_TEST_SEED=${SEED}`);
  const games = fc.asyncProperty(commands, async (list) => {
    played += list.length;
    await playOnce(list);
  });
  const missing = () => MUST_BE_SEEN.filter((word) => !seen.has(word));
  await fc.assert(games, { numRuns: RUNS, seed: SEED });
  // once in many runs the dice leave something out: then more is played, not given up
  if (SHOWS_ALL)
    for (let more = 1; more <= MOST_ROUNDS && missing().length > 0; more += 1)
      await fc.assert(games, { numRuns: RUNS, seed: SEED + more });
  console.log(`model: ${played} commands`);
  if (SHOWS_ALL) expect(missing()).toEqual([]);
});

const MUST_BE_SEEN = [
  ...Object.keys(EVENT_TYPES).filter((type) => type !== 'NOTED'), // of no action
  ...['created', 'present', 'mismatch', 'kept', 'full'],
  ...'LANE_PAUSED TENANT_PAUSED TAG_PAUSED LANE_BLOCKED RETRY NOT_NOW NOT_BEFORE BEHIND BEHIND_URGENT NO_FREE_SLOT NEXT_CONTACT RUNNING CANCEL_REQUESTED'
    .split(' ')
    .map((code) => `waiting for ${code}`),
  ...'SUCCEEDED FAILED TIMEOUT DEADLINE DELIVER_BY CANCELLED GENERATION SUPERSEDED LEASE_END'
    .split(' ')
    .map((reason) => `ended by ${reason}`),
  ...['pool claimed', 'pool held', 'pool empty', 'went home'],
];

test('G16: a release is answered the same way again, even after the deadline has ended the action', async () => {
  const enqueue: Command = {
    op: 'enqueue',
    ...{
      lane: 0,
      channel: 'any',
      urgent: false,
      tagged: false,
      hold: false,
      maxAttempts: 3,
      onLeaseEnd: 'retry',
    },
    ...{ notBeforeIn: null, deliverByIn: null, deadlineIn: 40_000, supersede: null, key: null },
  };
  const claim: Command = { op: 'claim', lane: 0, worker: 0, channel: 'a', oldGeneration: false };
  const of = { action: 0, running: false, older: 0 };
  const release: Command = { op: 'report', ...of, outcome: 'released', delayMs: undefined, next: null };
  await playOnce([enqueue, claim, release, { op: 'pass', ms: 60_000 }, release]);
});

/**
 * Broken on purpose: within some hundred runs the model parts from each of them. Any seed does; with this one the dice come to it
 * soon, after 731 commands for all seven. Whoever changes the commands looks for another.
 */
const FINDS_SOON = 1;
const BROKEN: Record<string, Sabotage> = {
  'hands out in no order': {
    muster_claim: (sql) => swap(sql, 'order by p.priority, p.seq', 'order by p.seq desc'),
  },
  'a report needs no fence': {
    muster_report: (sql) => cut(sql, 'and l.attempt = i.attempt'),
    muster_report_success: (sql) => cut(sql, 'and l.attempt = i.attempt'),
  },
  'nothing gives way to what is urgent elsewhere': {
    muster_claim: (sql) => swap(sql, 'where h.until >', 'where false and h.until >'),
  },
  'a late report leads to the same action again': {
    muster_claim: (sql) => swap(sql, 'i.except_action', 'null::bigint'),
  },
  'a lease end forgets the policy': {
    muster_end_leases: (sql) => swap(sql, 'c.on_lease_end =', `'retry' =`),
  },
  'a cancel that was requested is forgotten': {
    muster_report: (sql) => swap(sql, 'when c.cancel_requested', 'when false'),
  },
  'a pool hands out in no order': {
    muster_claim_pool: (sql) => swap(sql, 'order by p.seq limit', 'order by p.seq desc limit'),
  },
  'a pool gives the normal ones no share': {
    muster_claim_pool: (sql) => swap(sql, 'max(f.share) as share', '0 as share'),
  },
  'what a worker gives back stays with him': {
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
      fc.asyncProperty(commands, (list) => playOnce(list, { engine, clock: t.clock })),
      { numRuns: 1_000, seed: FINDS_SOON, endOnFailure: true },
    );
    expect(result.failed).toBe(true);
    expect(result.errorInstance).toBeInstanceOf(Parted);
  },
);
