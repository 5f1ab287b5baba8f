import { afterAll, beforeAll, expect, test } from 'vitest';
import { idArray, intArray, jsonArray, jsonbArray, textArray } from '../src/binary-array.ts';
import { types } from '../src/drivers/types.ts';
import type { Query } from '../src/index.ts';
import { enqueueAndClaim, type TestEngine, testEngine } from '../testing/index.ts';

let t: TestEngine;
beforeAll(async () => {
  t = await testEngine();
});
afterAll(() => t.close());

const TEXTS = ['', 'plain', '"{},\\', 'NULL', 'ß€😀', '\n\t', 'x'.repeat(100_000), null, ' '];

test('texts and nulls arrive unchanged, in order', async () => {
  const read = async (texts: (string | null)[]) =>
    (await t.db.query({ text: 'select $1::text[] as a', values: [textArray(texts)] })).rows[0].a;
  expect(await read(TEXTS)).toEqual(TEXTS);
  expect(await read(['', null])).toEqual(['', null]);
});

test('ids up to 18 digits and numbers arrive unchanged', async () => {
  const ids = [
    '1',
    '4294967295',
    '4294967296',
    '9007199254740991',
    '9007199254740993',
    '999999999999999999',
    null,
  ];
  const numbers = [0, -1, 2_147_483_647, null, -2_147_483_648, 7, 8];
  const { rows } = await t.db.query({
    text: 'select id, number from unnest($1::bigint[], $2::int[]) with ordinality x(id, number, ord) order by ord',
    values: [idArray(ids), intArray(numbers)],
  });
  expect(rows.map(({ id }) => id)).toEqual(ids);
  expect(rows.map(({ number }) => number)).toEqual(numbers);
});

test('a column without values is padded beside others', async () => {
  for (const array of [jsonArray, jsonbArray, textArray, intArray, idArray])
    expect(array([null, null])).toBeNull();
  const { rows } = await t.db.query({
    text: 'select n, text from unnest($1::int[], $2::text[]) with ordinality x(n, text, ord) order by ord',
    values: [intArray([1, 2]), textArray([null, null])],
  });
  expect(rows).toEqual([
    { n: 1, text: null },
    { n: 2, text: null },
  ]);
});

test('times keep their milliseconds, whatever the year', async () => {
  const times = {
    '2026-11-15 10:42:03.123456+00': '2026-11-15T10:42:03.123Z',
    '2026-11-15 10:42:03+00': '2026-11-15T10:42:03.000Z',
    '2026-11-15 10:42:03.1+00': '2026-11-15T10:42:03.100Z',
    '2026-02-28 23:59:59.98+00': '2026-02-28T23:59:59.980Z',
    '2026-11-15 10:42:03.5+05:30': '2026-11-15T05:12:03.500Z',
    '0044-03-15 12:00:00+00': '0044-03-15T12:00:00.000Z',
    '0044-03-15 12:00:00+00 BC': '-000043-03-15T12:00:00.000Z',
    '12345-01-01 00:00:00+00': '+012345-01-01T00:00:00.000Z',
    infinity: '9999-12-31T23:59:59.999Z',
    '-infinity': '0001-01-01T00:00:00.000Z',
  };
  const parse = types.getTypeParser(1184) as (value: string) => Date;
  for (const [written, meant] of Object.entries(times))
    expect(parse(written).toISOString(), written).toBe(meant);
});

test('JSON arrives as the values it stands for; a missing value is not the value null', async () => {
  const values = [...TEXTS, { a: [1, -2.5, 1e-7, true, null], 'k"\\': '\\u0041' }, [], {}, 0];
  for (const [type, array] of [
    ['json', jsonArray],
    ['jsonb', jsonbArray],
  ] as const) {
    const { rows } = await t.db.query({
      text: `select j, j is null as missing from unnest($1::${type}[]) with ordinality x(j, ord) order by ord`,
      values: [array([...values.map((value) => JSON.stringify(value)), null])],
    });
    expect(rows.map(({ j }) => j)).toEqual([...values, null]);
    expect(rows.map(({ missing }) => missing)).toEqual([...values.map(() => false), true]);
  }
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
  // late, and accepted: it takes another path
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
