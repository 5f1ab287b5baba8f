import { testDatabase } from '@muster/engine/testing';
import { expect, test } from 'vitest';
import { LINES } from '../src/database/migrations.ts';
import { playTasks } from '../testing/task-game/play.ts';

/** All invariants are checked after every random step; tasks-broken.postgres.test.ts shows that violations are detected. */
const SEED = Number(process.env.MUSTER_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));
const GAMES = Number(process.env.MUSTER_TEST_TASK_GAMES ?? 1);
const STEPS = Number(process.env.MUSTER_TEST_TASK_STEPS ?? 200);

test.each(Array.from({ length: GAMES }, (_, n) => SEED + n))(
  'G55 G56 G57 G58 G59 G60 G61: whatever is done to tasks, PCs and devices, everything that must hold does, and every task ends (seed %i)',
  async (seed) => {
    const database = await testDatabase({ lines: LINES });
    expect(await playTasks(database.db, { seed, steps: STEPS })).toEqual([]);
    await database.drop();
  },
  300_000,
);
