import { expect, test } from 'vitest';
import { testEngine } from '../testing/index.ts';

test('G53: the embedded database reuses the space of deleted rows', async () => {
  const t = await testEngine();
  const pages = async (): Promise<number> => {
    const { rows } = await t.db.query({ text: `select pg_relation_size('muster.pending') / 8192 as n` });
    return Number(rows[0].n);
  };
  const lane = await t.lane();
  const actions = Array.from({ length: 900 }, () => ({ ...lane, kind: 'x' }));
  await t.engine.enqueueMany(t.db, actions);
  const once = await pages();
  for (let round = 0; round < 12; round += 1) {
    await t.engine.cancelMatching(t.db, { tenantId: 1, laneId: lane.laneId });
    await t.engine.enqueueMany(t.db, actions);
    await t.engine.runDuty('keep-tables');
  }
  expect(await pages()).toBeLessThan(3 * once + 9);
  await t.close();
});
