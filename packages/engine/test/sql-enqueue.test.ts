import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Queryable } from '../src/index.ts';
import { type TestEngine, testEngine } from '../testing/index.ts';

let t: TestEngine;
beforeAll(async () => {
  t = await testEngine();
  // plain SQL uses the database's own clock
  await t.db.query({ text: 'select muster.ensure_event_days(current_date - 1, current_date + 1)' });
});
afterAll(() => t.close());

async function enqueue(
  laneId: string,
  kind = 'sql',
  payload: unknown = {},
  options: object = {},
  client: Queryable = t.db,
) {
  const { rows } = await client.query({
    text: 'select muster.enqueue(1, $1, $2, $3, $4) as id',
    values: [laneId, kind, JSON.stringify(payload), JSON.stringify(options)],
  });
  return rows[0].id as string;
}

test('G48: plain SQL makes the lane and the action, with defaults', async () => {
  const { rows } = await t.db.query({
    text: `select muster.enqueue(1, muster.ensure_lane(1, 'generic', 'printer-7'), 'print') as id`,
  });
  expect(await t.engine.get(t.db, 1, rows[0].id)).toMatchObject({
    kind: 'print',
    payload: {},
    channel: 'any',
    laneName: 'printer-7',
    state: 'pending',
    maxAttempts: 3,
  });
  expect(await t.eventTypes(rows[0].id)).toEqual(['CREATED']);
});

test('G48: all options of the library work from plain SQL', async () => {
  const { laneId } = await t.lane();
  const id = await enqueue(
    laneId,
    'print',
    { copies: 2 },
    {
      channel: 'paper',
      priority: 'urgent',
      notBefore: '2090-01-01T00:00:00Z',
      deliverBy: '2091-01-01T00:00:00Z',
      deadline: '2092-01-01T00:00:00Z',
      maxAttempts: 7,
      headOfLine: 'hold',
      onLeaseEnd: 'fail',
      tags: ['a', 'b'],
      createdBy: 'sql',
    },
  );
  expect(await t.engine.get(t.db, 1, id)).toMatchObject({
    channel: 'paper',
    payload: { copies: 2 },
    priority: 'urgent',
    notBefore: new Date('2090-01-01'),
    deliverBy: new Date('2091-01-01'),
    deadline: new Date('2092-01-01'),
    maxAttempts: 7,
    headOfLine: 'hold',
    tags: ['a', 'b'],
    createdBy: 'sql',
  });
});

test('G48: rolled back it leaves nothing, committed it is there', async () => {
  const { laneId } = await t.lane();
  await expect(
    t.db.transaction(async (tx) => {
      await enqueue(laneId, 'sql', {}, {}, tx);
      throw new Error('undo');
    }),
  ).rejects.toThrow('undo');
  expect(await t.claim(laneId)).toBeNull();
  await t.db.transaction((tx) => enqueue(laneId, 'kept', {}, {}, tx));
  expect(await t.claim(laneId)).toMatchObject({ kind: 'kept' });
});

test('G25: the same key and body give the same action, another body an error', async () => {
  const { laneId } = await t.lane();
  const id = await enqueue(laneId, 'x', { a: 1 }, { idempotencyKey: 'sql' });
  expect(await enqueue(laneId, 'x', { a: 1 }, { idempotencyKey: 'sql' })).toBe(id);
  await expect(enqueue(laneId, 'x', { a: 2 }, { idempotencyKey: 'sql' })).rejects.toMatchObject({
    code: '23505',
  });
});

test('G26: supersede keys work, and return the id of the new or the kept action', async () => {
  const { laneId } = await t.lane();
  const old = await enqueue(laneId, 'x', {}, { supersedeKey: 'k' });
  const fresh = await enqueue(laneId, 'x', {}, { supersedeKey: 'k' });
  expect(fresh).not.toBe(old);
  expect(await t.state(old)).toBe('cancelled');
  expect(await enqueue(laneId, 'x', {}, { supersedeKey: 'k', supersedeMode: 'keep-first' })).toBe(fresh);
});

test('an unknown lane and a full lane give errors with a sentence', async () => {
  await expect(enqueue('999999')).rejects.toThrow('There is no lane 999999 in tenant 1.');
  const { laneId } = await t.lane();
  await enqueue(laneId, 'x', {}, { depthLimit: 1 });
  await expect(enqueue(laneId, 'x', {}, { depthLimit: 1 })).rejects.toThrow('The lane is full.');
});

test('G10: actions from SQL and from the library share one order', async () => {
  const { laneId } = await t.lane();
  const ids = [
    await enqueue(laneId),
    await t.enqueue(laneId),
    await enqueue(laneId),
    await t.enqueue(laneId),
  ];
  const order: string[] = [];
  for (let action = await t.claim(laneId); action; action = await t.claim(laneId)) {
    order.push(action.id);
    await t.report(action.id, 1);
  }
  expect(order).toEqual(ids);
});

test('G48: the example in docs/concepts.md does what it says', async () => {
  const page = readFileSync(new URL('../../../docs/concepts.md', import.meta.url), 'utf8');
  const [, example = ''] = /```sql\n([\s\S]+?)```/.exec(page) ?? [];
  const own = example.replace(/^(begin|commit);$/gm, '').replaceAll('create table', 'create temporary table');
  await t.db.transaction(async (tx) => {
    for (const text of own.split(/;$/m)) if (text.trim() !== '') await tx.query({ text });
  });
  const laneId = (await t.engine.findLane(t.db, 1, 'generic', 'printer-7')) as string;
  const { actions } = await t.engine.list(t.db, { tenantId: 1, laneId }, { limit: 1 });
  expect(actions).toMatchObject([
    { kind: 'print', payload: { order: 4711, copies: 2 }, priority: 'urgent', createdBy: 'shop' },
  ]);
  // every option that the page names
  const [, named = ''] =
    /The last argument may be left out\. It takes ([\s\S]+?)\. An invalid/.exec(page) ?? [];
  const options = [...named.matchAll(/`(\w+)`/g)].map(([, name]) => name as string);
  expect(options.length).toBeGreaterThan(10);
  for (const name of options) {
    const wrong = enqueue(laneId, 'x', {}, { [name]: [[]] });
    await expect(wrong).rejects.not.toThrow('There is no option');
  }
});
