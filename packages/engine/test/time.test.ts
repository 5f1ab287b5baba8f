import { afterAll, beforeAll, expect, test } from 'vitest';
import { createEngine, type Database, type Engine, type Query, type Queryable } from '../src/index.ts';
import { type TestDatabase, testDatabase } from '../testing/test-database.ts';

/** A node whose time is an hour ahead of the database's clock: every written time shows which clock was used. */
const HOUR = 3_600_000;
let database: TestDatabase;
let engine: Engine;

beforeAll(async () => {
  database = await testDatabase();
  engine = createEngine(anHourAhead(database.db));
  await createEngine(database.db).runDuty('keep-days');
});
afterAll(() => database.drop());

function anHourAhead(db: Database): Database {
  const lie = <C extends Queryable>(client: C): C => ({
    ...client,
    async query(query: Query) {
      const answer = await client.query(query);
      return query.name === 'muster_clock' ? { rows: [{ ms: answer.rows[0].ms + HOUR }] } : answer;
    },
  });
  return { ...lie(db), gathered: { ...db.gathered, ...lie(db.gathered) } };
}

async function minutesAhead(at: Date | null | undefined): Promise<number> {
  const { rows } = await database.db.query({ text: 'select clock_timestamp() as now' });
  return Math.round(((at?.getTime() ?? 0) - rows[0].now.getTime()) / 60_000);
}

test('G7: a lease counts from its statement by the node’s time, in a transaction of the caller’s too', async () => {
  const laneId = await engine.ensureLane(engine.db, 1, 'test', 'in a transaction');
  await engine.enqueue(engine.db, { tenantId: 1, laneId, kind: 'test' });
  const claimed = await engine.db.transaction((tx) =>
    engine.claim(tx, { tenantId: 1, laneId, channel: 'any', worker: 'w', leaseMs: 120_000 }),
  );
  expect(await minutesAhead(claimed?.leasedAt)).toBe(60);
  expect(await minutesAhead(claimed?.leaseUntil)).toBe(62);
});

test('reads, writes and decisions use the same time', async () => {
  const laneId = await engine.ensureLane(engine.db, 1, 'test', 'one time');
  const notBefore = new Date(Date.now() + 30 * 60_000);
  const { id } = await engine.enqueue(engine.db, { tenantId: 1, laneId, kind: 'test', notBefore });
  const action = await engine.get(engine.db, 1, id);
  expect(await minutesAhead(action?.createdAt)).toBe(60);
  expect(action?.waitingFor?.code).toBe('NEXT_CONTACT');
  await engine.cancel(engine.db, { tenantId: 1, actionId: id });
  expect(await minutesAhead((await engine.get(engine.db, 1, id))?.endedAt)).toBe(60);
});

test('G48: plain SQL uses the clock of its statement, not of its transaction', async () => {
  const laneId = await engine.ensureLane(engine.db, 1, 'test', 'plain');
  const { began, at } = await engine.db.transaction(async (tx) => {
    const { rows } = await tx.query({ text: 'select now() as began, pg_sleep(0.005)' });
    const { rows: made } = await tx.query({
      text: `select muster.enqueue(1, $1, 'test') as id`,
      values: [laneId],
    });
    const { rows: action } = await tx.query({
      text: 'select created_at from muster.actions where tenant_id = 1 and action_id = $1',
      values: [made[0].id],
    });
    return { began: rows[0].began as Date, at: action[0].created_at as Date };
  });
  expect(at.getTime()).toBeGreaterThan(began.getTime());
});
