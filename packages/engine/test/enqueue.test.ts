import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createEngine, EngineError, type Query, type Queryable } from '../src/index.ts';
import { type TestEngine, testEngine } from '../testing/index.ts';

let t: TestEngine;
beforeAll(async () => {
  t = await testEngine();
});
afterAll(() => t.close());

test('G48: the first call on a fresh database may be one for many actions', async () => {
  const { laneId } = await t.lane();
  const answers = await t.engine.enqueueMany(t.db, [{ tenantId: 1, laneId, kind: 'first' }]);
  expect(answers).toMatchObject([{ id: expect.any(String), outcome: 'created' }]);
});

test('all options are stored as given', async () => {
  const { laneId } = await t.lane('printer 7');
  const at = (ms: number) => new Date(t.clock().getTime() + ms);
  const payload = { text: 'ünïcödé 🚚 \u2028', deep: [{ a: [1, 2.5, -0.1, null, true] }], big: 2 ** 53 - 1 };
  const id = await t.enqueue(laneId, {
    kind: 'print',
    payload,
    channel: 'paper',
    priority: 'urgent',
    tags: ['a', 'ü'],
    notBefore: at(1_000),
    deliverBy: at(2_000),
    deadline: at(3_000),
    maxAttempts: 7,
    headOfLine: 'hold',
    createdBy: 'ada',
  });
  expect(await t.engine.get(t.db, 1, id)).toMatchObject({
    laneName: 'printer 7',
    space: 'test',
    kind: 'print',
    payload,
    channel: 'paper',
    priority: 'urgent',
    tags: ['a', 'ü'],
    state: 'pending',
    attempt: 0,
    failures: 0,
    maxAttempts: 7,
    headOfLine: 'hold',
    createdAt: t.clock(),
    createdBy: 'ada',
    notBefore: at(1_000),
    deliverBy: at(2_000),
    deadline: at(3_000),
  });
  expect(await t.engine.events(t.db, 1, id)).toEqual([
    { type: 'CREATED', attempt: 0, at: t.clock(), worker: null, reason: null },
  ]);
});

test('an action has an empty payload, three attempts and no clocks by default', async () => {
  const { laneId } = await t.lane();
  expect(await t.engine.get(t.db, 1, await t.enqueue(laneId))).toMatchObject({
    payload: {},
    channel: 'any',
    priority: 'normal',
    maxAttempts: 3,
    headOfLine: 'skip',
    tags: [],
    notBefore: null,
    deliverBy: null,
    deadline: null,
    createdBy: null,
    copiedFrom: null,
  });
});

test.each([
  ['null', null],
  ['a number', 0],
  ['a text', 'text'],
  ['false', false],
  ['a list', [[]]],
  ['five megabytes', 'x'.repeat(5_000_000)],
])('a payload may be any JSON value: %s', async (_name, payload) => {
  const { laneId } = await t.lane();
  await t.enqueue(laneId, { payload });
  expect((await t.claim(laneId))?.payload).toEqual(payload);
});

test('G10: actions come out in the order in which they were added, urgent ones first', async () => {
  const { laneId } = await t.lane();
  const normal = await t.enqueue(laneId);
  const urgent = await t.enqueue(laneId, { priority: 'urgent' });
  const [a, b] = (
    await t.engine.enqueueMany(t.db, [
      { tenantId: 1, laneId, kind: 'a' },
      { tenantId: 1, laneId, kind: 'b', priority: 'urgent' },
    ])
  ).map((answer) => (answer as { id: string }).id);
  const order: (string | undefined)[] = [];
  for (let n = 0; n < 4; n += 1) {
    const action = await t.claim(laneId);
    order.push(action?.id);
    await t.report(action?.id as string, 1);
  }
  expect(order).toEqual([urgent, b, normal, a]);
});

test('G10: the actions of one call keep their order', async () => {
  const { laneId } = await t.lane();
  const answers = await t.engine.enqueueMany(
    t.db,
    Array.from({ length: 700 }, (_, n) => ({ tenantId: 1, laneId, kind: 'x', payload: n })),
  );
  const ids = answers.map((answer) => Number((answer as { id: string }).id));
  expect(ids).toEqual([...ids].sort((a, b) => a - b));
  const page = await t.engine.list(t.db, { tenantId: 1, laneId }, { limit: 1_000 });
  expect(page.actions.map((action) => action.payload)).toEqual(
    Array.from({ length: 700 }, (_, n) => 699 - n),
  );
});

test.each<[string, unknown]>([
  ['beyond 2^53', { deep: [{ n: 2 ** 53 }] }],
  ['below -2^53', [-(2 ** 53)]],
  ['with an exponent', { n: 1e300 }],
  ['a bigint', { n: 5n }],
])('G67: a payload with a number that cannot be exact is refused: %s', async (_name, payload) => {
  const { tenantId, laneId } = await t.lane();
  const refused = { code: 'MUSTER_BAD_VALUE' };
  await expect(t.engine.enqueue(t.db, { tenantId, laneId, kind: 'x', payload })).rejects.toMatchObject(
    refused,
  );
  const exact = { n: Number.MAX_SAFE_INTEGER, f: 0.1234567890123456, text: '1e+300 12345678901234567' };
  const { id } = await t.engine.enqueue(t.db, { tenantId, laneId, kind: 'x', payload: exact });
  expect((await t.claim(laneId))?.payload).toEqual(exact);
  await expect(t.report(id, 1, 'succeeded', { result: payload })).rejects.toMatchObject(refused);
});

test('an unknown lane gives a clear error', async () => {
  for (const laneId of ['999999999', 'no id', '0', '-1', '99999999999999999999'])
    await expect(t.enqueue(laneId)).rejects.toMatchObject({ code: 'MUSTER_UNKNOWN_LANE' });
});

test('G36: of many, each has its own answer or error, and none fails another', async () => {
  const { laneId } = await t.lane();
  const answers = await t.engine.enqueueMany(t.db, [
    { tenantId: 1, laneId, kind: 'good' },
    { tenantId: 1, laneId: '999999999', kind: 'no lane' },
    { tenantId: 1, laneId, kind: 'bad \u0000' },
    { tenantId: 1, laneId, kind: 'bad', payload: '\ud800' },
    { tenantId: 1, laneId, kind: 'good' },
  ]);
  expect(answers.map((answer) => (answer instanceof EngineError ? answer.code : answer.outcome))).toEqual([
    'created',
    'MUSTER_UNKNOWN_LANE',
    'MUSTER_BAD_TEXT',
    'MUSTER_BAD_TEXT',
    'created',
  ]);
});

test('an edited copy of a dead letter names it', async () => {
  const { laneId } = await t.lane();
  const dead = await t.enqueue(laneId, { maxAttempts: 1 });
  await t.claim(laneId);
  await t.report(dead, 1, 'failed');
  const copy = await t.enqueue(laneId, { copiedFrom: dead, payload: { edited: true } });
  expect(await t.engine.get(t.db, 1, copy)).toMatchObject({ copiedFrom: dead, state: 'pending' });
  expect(await t.state(dead)).toBe('failed');
});

describe('a lane that is full', () => {
  let small: TestEngine;
  beforeAll(async () => {
    small = await testEngine({ depthLimit: 3 });
  });
  afterAll(() => small.close());

  test('G27: a full lane refuses with a clear error and accepts again when there is room', async () => {
    const { laneId } = await small.lane();
    const first = await small.enqueue(laneId);
    await small.enqueue(laneId);
    await small.enqueue(laneId, { notBefore: new Date(small.clock().getTime() + 1_000) });
    await expect(small.enqueue(laneId)).rejects.toMatchObject({ code: 'MUSTER_LANE_FULL' });
    await small.claim(laneId);
    await expect(small.enqueue(laneId)).rejects.toMatchObject({ code: 'MUSTER_LANE_FULL' });
    await small.report(first, 1);
    await small.enqueue(laneId);
    await expect(small.enqueue(laneId)).rejects.toMatchObject({ code: 'MUSTER_LANE_FULL' });
  });

  test('G27: a single node never exceeds the limit, whatever the order of calls; a second one by half of it at most', async () => {
    const LIMIT = 20;
    const nodes = [0, 1].map(() => createEngine(small.db, { clock: small.clock, depthLimit: LIMIT }));
    const put = (node: (typeof nodes)[number] | undefined, laneId: string, more: object = {}) =>
      node?.enqueue(small.db, { tenantId: 1, laneId, kind: 'x', ...more });
    const fill = async (node: (typeof nodes)[number] | undefined, laneId: string, more: object = {}) => {
      for (let n = 0; n < 3 * LIMIT; n += 1) await put(node, laneId, more)?.catch(() => {});
      await expect(put(node, laneId)).rejects.toMatchObject({ code: 'MUSTER_LANE_FULL' });
      return (await small.engine.list(small.db, { tenantId: 1, laneId })).actions.length;
    };
    const alone = await small.lane();
    await put(nodes[0], alone.laneId); // has counted an empty lane, and the others take another path
    expect(await fill(nodes[0], alone.laneId, { maxAttempts: 2 })).toBe(LIMIT);
    expect(await fill(nodes[0], alone.laneId)).toBe(LIMIT);
    const shared = await small.lane();
    await put(nodes[0], shared.laneId);
    expect(await fill(nodes[1], shared.laneId)).toBe(LIMIT);
    // it counted when there was one
    expect(await fill(nodes[0], shared.laneId)).toBeLessThanOrEqual(LIMIT + LIMIT / 2);
    for (const node of nodes) await node.stop();
  });

  test('G27: a lane is not counted for each enqueue', async () => {
    const { laneId } = await t.lane();
    let counted = 0;
    const client: Queryable = {
      query(query: Query) {
        if (query.name === 'muster_enqueue_plain' && (query.values ?? [])[8] !== null) counted += 1;
        return t.db.query(query);
      },
    };
    for (let n = 0; n < 600; n += 1) await t.engine.enqueue(client, { tenantId: 1, laneId, kind: 'x' });
    expect(counted).toBe(2); // the first, and when half of 999 is used up
  });

  test('G27: the limit counts the actions of one call too, and each lane separately', async () => {
    const a = await small.lane();
    const b = await small.lane();
    const outcomes = (
      await small.engine.enqueueMany(
        small.db,
        [a, a, b, a, a, b].map((lane) => ({ ...lane, kind: 'x' })),
      )
    ).map((answer) => (answer instanceof EngineError ? answer.code : answer.outcome));
    expect(outcomes).toEqual(['created', 'created', 'created', 'created', 'MUSTER_LANE_FULL', 'created']);
  });

  test('G27: where room is known only for the first of a call, the others are counted behind it', async () => {
    const lane = await small.lane();
    const add = (many: number) =>
      small.engine.enqueueMany(
        small.db,
        Array.from({ length: many }, () => ({ ...lane, kind: 'x' })),
      );
    await add(1); // there is room for two, and the node gives away one without another count
    const outcomes = (await add(4)).map((answer) =>
      answer instanceof EngineError ? answer.code : answer.outcome,
    );
    expect(outcomes).toEqual(['created', 'created', 'MUSTER_LANE_FULL', 'MUSTER_LANE_FULL']);
  });

  test('G25: a repeated enqueue gets the present action even if the lane is full', async () => {
    const { laneId } = await small.lane();
    const id = await small.enqueue(laneId, { idempotencyKey: 'full' });
    await small.enqueue(laneId);
    await small.enqueue(laneId);
    expect(
      await small.engine.enqueue(small.db, { tenantId: 1, laneId, kind: 'test', idempotencyKey: 'full' }),
    ).toEqual({ id, outcome: 'present' });
  });
});
