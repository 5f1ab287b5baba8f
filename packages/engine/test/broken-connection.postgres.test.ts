import { afterAll, beforeAll, expect, test } from 'vitest';
import { TENANT, type TestEngine, testEngine } from '../testing/index.ts';
import { createSessions } from '../testing/sessions.ts';

let t: TestEngine;
beforeAll(async () => {
  t = await testEngine();
});
afterAll(() => t.close());

// Found by the crash suite: both nodes of an installation ended with "Unhandled 'error' event" after their database
// connections were cut.
test('G36 G48: a connection that breaks between two statements of a transaction fails that transaction and nothing else', async () => {
  const { laneId } = await t.lane();
  const sessions = createSessions(t.url as string);
  const other = await sessions.open();
  const faults: unknown[] = [];
  const note = (fault: unknown) => void faults.push(fault);
  process.on('uncaughtException', note);
  try {
    const broken = t.db.transaction(async (tx) => {
      await t.engine.enqueue(tx, { tenantId: TENANT, laneId, kind: 'test' });
      const { rows } = await tx.query({ text: 'select pg_backend_pid() as pid' });
      await other.query('select pg_terminate_backend($1, 10000)', [rows[0].pid]);
      await other.query('select 1'); // by its answer, the end of the other connection has arrived here too
      await tx.query({ text: 'select 1' });
    });
    await expect(broken).rejects.toThrow('connection error');
    expect(faults).toEqual([]);
  } finally {
    process.off('uncaughtException', note);
    await sessions.end();
  }
  expect(await t.claim(laneId)).toBeNull();
  const id = await t.enqueue(laneId);
  expect((await t.claim(laneId))?.id).toBe(id);
});
