import { testEngine } from '@muster/engine/testing';
import { expect, test } from 'vitest';
import { Views } from '../src/features/actions/views.ts';

// A page has 10,000 actions at most, and one look-up too many made all of them fail.
test('G64: twelve thousand look-ups of one tenant at once are all answered', async () => {
  const t = await testEngine();
  try {
    const { laneId } = await t.lane();
    const id = await t.enqueue(laneId);
    // nothing times out here, however slow the machine is
    const views = new Views({ ...t.engine, db: { ...t.db, deadlineMs: 600_000 } });
    const wanted = Array.from({ length: 12_000 }, (_, n) => String(n + 1));
    const found = await Promise.all(wanted.map((one) => views.get(1, one)));
    expect(found.flatMap((action) => (action ? [action.id] : []))).toEqual([id]);
    expect((await views.get(2, id))?.id).toBeUndefined();
  } finally {
    await t.close();
  }
});
