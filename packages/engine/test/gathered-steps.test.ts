import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestEngine, testEngine } from '../testing/index.ts';

let t: TestEngine;
beforeAll(async () => {
  t = await testEngine();
});
afterAll(() => t.close());

test('G35: steps of a door are gathered into one transaction, and equal keys never share one', async () => {
  const { laneId } = await t.lane();
  await t.enqueue(laneId); // the day of the history is there now: what finds it missing is run a second time
  const batches: string[][] = [];
  const call = t.engine.gathered<string, string>({
    name: 'steps',
    key: (kind) => kind,
    async run(tx, kinds) {
      batches.push([...kinds]);
      const made: string[] = [];
      for (const kind of kinds) made.push((await t.engine.enqueue(tx, { tenantId: 1, laneId, kind })).id);
      return made;
    },
  });
  const ids = await Promise.all(['a', 'b', 'c', 'a'].map((kind) => call(kind)));
  expect(batches.flat().sort()).toEqual(['a', 'a', 'b', 'c']);
  expect(Math.max(...batches.map((batch) => batch.length))).toBe(3);
  for (const batch of batches) expect(new Set(batch).size).toBe(batch.length);
  const kinds = await Promise.all(ids.map(async (id) => (await t.engine.get(t.db, 1, id))?.kind));
  expect(kinds).toEqual(['a', 'b', 'c', 'a']);
});

test('G35: steps that fail leave nothing behind, and their callers hear why', async () => {
  const { laneId } = await t.lane();
  const call = t.engine.gathered<string, null>({
    name: 'failing-steps',
    key: () => null,
    async run(tx, kinds) {
      for (const kind of kinds) await t.engine.enqueue(tx, { tenantId: 1, laneId, kind });
      throw new Error('not today');
    },
  });
  await expect(call('x')).rejects.toThrow('not today');
  expect(await t.engine.list(t.db, { tenantId: 1, laneId })).toMatchObject({ actions: [] });
});
