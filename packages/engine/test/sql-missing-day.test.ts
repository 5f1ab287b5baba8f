import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestEngine, testEngine } from '../testing/index.ts';

/** No node has run for a week, so the day of the history that plain SQL writes to does not exist. */
let t: TestEngine;
let laneId: string;
beforeAll(async () => {
  t = await testEngine({}, { days: false });
  laneId = (await t.lane()).laneId;
});
afterAll(() => t.close());

const days = async () =>
  (
    await t.db.query({
      text: `select count(*)::int as n from pg_inherits where inhparent = 'muster.events'::regclass`,
    })
  ).rows[0].n as number;
const ENQUEUE = `select muster.enqueue(1, $1, 'sql') as id`;

test('G41 G48: plain SQL makes the missing day, and a rollback undoes that', async () => {
  expect(await days()).toBe(0);
  const undone = t.db.transaction(async (tx) => {
    await tx.query({ text: ENQUEUE, values: [laneId] });
    throw new Error('undo');
  });
  await expect(undone).rejects.toThrow('undo');
  expect(await days()).toBe(0);
  const { rows } = await t.db.query({ text: ENQUEUE, values: [laneId] });
  expect(await t.eventTypes(rows[0].id)).toEqual(['CREATED']);
  // yesterday, today, a week ahead, and the partition for older events
  expect(await days()).toBe(10);
});

test('G41 G48: it needs no right to make tables for that', async () => {
  // there nobody changes a table in the middle of another role's transaction
  if (t.db.isDistributed) return;
  const role = `app_${randomBytes(6).toString('hex')}`;
  const undone = t.db.transaction(async (tx) => {
    const run = (text: string, ...values: unknown[]) => tx.query({ text, values });
    await run(`create role ${role}`);
    await run(`grant usage on schema muster to ${role}`);
    await run(`grant select, insert, update, delete on all tables in schema muster to ${role}`);
    await run(`grant usage on all sequences in schema muster to ${role}`);
    const { rows: made } = await run(
      `select inhrelid::regclass::text as name from pg_inherits where inhparent = 'muster.events'::regclass`,
    );
    for (const { name } of made) await run(`drop table ${name}`);
    await run(`set local role ${role}`);
    const { rows } = await run(ENQUEUE, laneId);
    expect(rows[0].id).toMatch(/^\d+$/);
    await expect(run('create table muster.mine ()')).rejects.toMatchObject({ code: '42501' });
    throw new Error('undo');
  });
  await expect(undone).rejects.toThrow('undo');
});
