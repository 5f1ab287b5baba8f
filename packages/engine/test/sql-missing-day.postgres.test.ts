import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestEngine, testEngine } from '../testing/index.ts';
import { createSessions, type Sessions } from '../testing/sessions.ts';

let t: TestEngine;
let sessions: Sessions;
beforeAll(async () => {
  t = await testEngine({}, { days: false });
  sessions = createSessions(t.url as string);
});
afterAll(async () => {
  await sessions.end();
  await t.close();
});

/** Resolves when a session waits for the lock under which days are made. */
async function waiting(): Promise<void> {
  for (;;) {
    const { rows } = await t.db.query({
      text: `select 1 from pg_locks where relation = 'muster.events'::regclass and not granted`,
    });
    if (rows.length > 0) return;
  }
}

test('G41 G48: of two transactions that miss the day, the second waits for the first and goes on, whether that commits or not', async () => {
  const { laneId } = await t.lane();
  const enqueue = (client: Awaited<ReturnType<Sessions['open']>>) =>
    client.query(`select muster.enqueue(1, $1, 'sql') as id`, [laneId]);
  const [one, two, three] = [await sessions.open(), await sessions.open(), await sessions.open()];
  await one.query('begin');
  await enqueue(one);
  // readers and writers of other days go on meanwhile
  await three.query('select 1 from muster.events');
  await two.query('begin');
  const second = enqueue(two);
  await waiting();
  await one.query('rollback');
  await second;
  const third = enqueue(three);
  await waiting();
  await two.query('commit');
  await third;
  // nothing is missing any more: an open transaction that asks for its days blocks no other
  await one.query('begin');
  await one.query('select muster.ensure_event_days(current_date, current_date + 1)');
  const { rows } = await one.query(
    `select mode from pg_locks where pid = pg_backend_pid() and relation = 'muster.events'::regclass`,
  );
  expect(rows).toEqual([]);
  await one.query('rollback');
});
