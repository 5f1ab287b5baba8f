import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Query } from '../src/index.ts';
import { type TestEngine, testEngine } from '../testing/index.ts';
import { createSessions, type Sessions } from '../testing/sessions.ts';

let t: TestEngine;
let sessions: Sessions;
beforeAll(async () => {
  t = await testEngine();
  sessions = createSessions(t.url as string);
  await t.enqueue((await t.lane()).laneId);
});
afterAll(async () => {
  await sessions.end();
  await t.close();
});

test('G10 G26: an action behind a replacement in one call does not pass it while its lane is locked', async () => {
  const { tenantId, laneId } = await t.lane();
  const blocker = await sessions.open();
  await blocker.query('begin');
  await t.engine.pauseLane(sessions.queryable(blocker), { tenantId, laneId });
  const own = sessions.queryable(await sessions.open());
  let statements = 0;
  const client = {
    async query(query: Query) {
      if (query.name?.startsWith('muster_enqueue')) statements += 1;
      // it has found the lane locked twice
      if (statements === 3) await blocker.query('rollback');
      return own.query(query);
    },
  };
  await t.engine.enqueueMany(client, [
    { tenantId, laneId, kind: 'A', supersede: { key: 'k', mode: 'replace' } },
    { tenantId, laneId, kind: 'B' },
  ]);
  expect(statements).toBeGreaterThan(3);
  expect((await t.claim(laneId))?.kind).toBe('A');
});
