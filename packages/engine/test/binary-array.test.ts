import { afterAll, beforeAll, expect, test } from 'vitest';
import { jsonArray, textArray } from '../src/binary-array.ts';
import type { Query } from '../src/index.ts';
import { enqueueAndClaim, type TestEngine, testEngine } from '../testing/index.ts';

let t: TestEngine;
beforeAll(async () => {
  t = await testEngine();
  await t.enqueue((await t.lane()).laneId); // makes the days of the history
});
afterAll(() => t.close());

const TEXTS = ['', 'plain', '"{},\\', 'NULL', 'ß€😀', '\n\t', 'x'.repeat(100_000), null, ' '];

test('texts and nulls arrive as they are, in their order', async () => {
  const read = async (texts: (string | null)[]) =>
    (await t.db.query({ text: 'select $1::text[] as a', values: [textArray(texts)] })).rows[0].a;
  expect(await read(TEXTS)).toEqual(TEXTS);
  expect(await read([])).toEqual([]);
  expect(await read([null])).toEqual([null]);
});

test('JSON arrives as the values it stands for; no value is not the value null', async () => {
  const values = [...TEXTS, { a: [1, -2.5, 1e-7, true, null], 'k"\\': '\\u0041' }, [], {}, 0];
  const { rows } = await t.db.query({
    text: 'select j, j is null as missing from unnest($1::jsonb[]) with ordinality x(j, ord) order by ord',
    values: [jsonArray([...values.map((value) => JSON.stringify(value)), null])],
  });
  expect(rows.map(({ j }) => j)).toEqual([...values, null]);
  expect(rows.map(({ missing }) => missing)).toEqual([...values.map(() => false), true]);
});

test('payloads, options, results and errors are never escaped into the text of an array', async () => {
  const { tenantId, laneId } = await t.lane();
  const runnerId = await t.engine.createRunner(t.db, tenantId, 1);
  await t.engine.assignRunner(t.db, { tenantId, laneId }, runnerId);
  const large = 'large "text"'.repeat(100);
  const escaped: string[] = [];
  const client = {
    query(query: Query) {
      if (JSON.stringify(query.values?.filter(Array.isArray) ?? []).includes('large'))
        escaped.push(query.name ?? query.text);
      return t.db.query(query);
    },
  };
  const put = async () =>
    (await t.engine.enqueue(client, { tenantId, laneId, kind: 'x', payload: { large }, tags: ['large'] })).id;
  const [first, second] = [await put(), await put()];
  await t.claim(laneId);
  await t.engine.report(client, {
    ...{ tenantId, actionId: first, attempt: 1, status: 'failed', error: large },
    result: { large },
  });
  await t.claim(laneId);
  await t.engine.release(client, { tenantId, actionId: second, attempt: 1 });
  // late, and accepted: it goes another way
  const late = { tenantId, actionId: second, attempt: 1, status: 'succeeded' as const, result: { large } };
  expect(await t.engine.report(client, late)).toMatchObject({ accepted: true, state: 'succeeded' });
  expect(await t.engine.get(t.db, 1, second)).toMatchObject({ payload: { large }, result: { large } });
  const empty = (await t.lane()).laneId;
  await t.engine.assignRunner(t.db, { tenantId, laneId: empty }, runnerId);
  const [made] = await enqueueAndClaim(t.engine, client, {
    ...{ tenantId, runnerId, worker: 'w', leaseMs: 1_000 },
    actions: [{ laneId: empty, kind: 'x', payload: { large } }],
  });
  expect(made?.payload).toEqual({ large });
  expect(escaped).toEqual([]);
});
