import fc from 'fast-check';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { EVENT_TYPES } from '../src/index.ts';
import type { Command } from '../testing/model/commands.ts';
import { commands, type Table, table } from '../testing/model/game.ts';
import { OPENINGS } from '../testing/model/openings.ts';
import { seen } from '../testing/model/play.ts';

// Every run of the suites plays other games; MUSTER_TEST_RUNS plays more of them (thousands before a release), and
// MUSTER_TEST_SEED repeats a run: a failure's message has its seed.
const RUNS = Number(process.env.MUSTER_TEST_RUNS ?? (inject('database') === 'pglite' ? 20 : 120));
const SEED = Number(process.env.MUSTER_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));

let t: Table;
beforeAll(async () => {
  t = await table();
});
afterAll(() => t.close());

test('G1 G3 G4 G5 G9 G10 G13 G15 G16 G20 G44 G45: the openings match the model, and cover all it knows of', async () => {
  for (const list of Object.values(OPENINGS)) await t.play(list);
  expect(MUST_BE_SEEN.filter((word) => !seen.has(word))).toEqual([]);
});

test('G1 G3 G4 G5 G9 G10 G13 G15 G16 G20 G44 G45: after any commands, the engine answers and stands as the model does', {
  timeout: 900_000,
}, async () => {
  let played = 0;
  console.log(`model: ${RUNS} runs, MUSTER_TEST_SEED=${SEED}`);
  const games = fc.asyncProperty(commands, async (list) => {
    played += list.length;
    await t.play(list);
  });
  await fc.assert(games, { numRuns: RUNS, seed: SEED });
  console.log(`model: ${played} commands`);
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

test('G16: a repeated release gets the same answer, even after the deadline has ended the action', async () => {
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
  await t.play([enqueue, claim, release, { op: 'pass', ms: 60_000 }, release]);
});
