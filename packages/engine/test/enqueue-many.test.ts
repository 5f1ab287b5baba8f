import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { NewAction } from '../src/index.ts';
import { TENANT, type TestEngine, testEngine } from '../testing/index.ts';

/** One call for many actions, some with keys: their order, and what counts towards the lane's limit. */
let t: TestEngine;
beforeAll(async () => {
  t = await testEngine({ depthLimit: 4 });
});
afterAll(() => t.close());

type More = Omit<Partial<NewAction>, 'supersede'> & { readonly supersede?: `${string} ${Mode}` };
type Mode = 'keep-first' | 'replace' | 'append';

function action(laneId: string, kind: string, { supersede, ...more }: More = {}): NewAction {
  const [key = '', mode] = supersede?.split(' ') ?? [];
  return { tenantId: 1, laneId, kind, ...more, ...(mode ? { supersede: { key, mode: mode as Mode } } : {}) };
}

const put = async (...actions: NewAction[]) =>
  (await t.engine.enqueueMany(t.db, actions)).map((answer) =>
    answer instanceof Error ? answer.code : answer.outcome,
  );

async function taken(laneId: string): Promise<string> {
  const kinds: string[] = [];
  for (let got = await t.claim(laneId); got; got = await t.claim(laneId)) {
    kinds.push(got.kind);
    await t.report(got.id, got.attempt);
  }
  return kinds.join(' ');
}

describe('the order of one call', () => {
  test.each<[string, More[]]>([
    ['two replacements first', [{ supersede: 'x replace' }, { supersede: 'y replace' }, {}, {}]],
    ['a replacement twice', [{ supersede: 'x replace' }, {}, { supersede: 'y replace' }, {}]],
    ['keep-first among others', [{}, { supersede: 'x keep-first' }, { supersede: 'y keep-first' }, {}]],
    ['an idempotency key among them', [{ supersede: 'x replace' }, { idempotencyKey: 'ord' }, {}, {}]],
  ])('G10 G26: %s', async (_name, mores) => {
    const { laneId } = await t.lane();
    const other = (await t.lane()).laneId;
    const actions = mores.map((more, n) => action(laneId, 'ABCD'[n] as string, more));
    await put(...actions, action(other, 'elsewhere'));
    expect(await taken(laneId)).toBe('A B C D');
  });

  test.each<[string, More]>([
    ['without options', {}],
    ['with tags', { tags: ['x'] }],
  ])('G43: the feed shows them in the order of the list, %s', async (_name, more) => {
    const lanes = await Promise.all([1, 2, 3].map(async () => (await t.lane()).laneId));
    const list = Array.from({ length: 9 }, (_, n) => action(lanes[n % 3] as string, `${n}`, more));
    const made = await t.engine.enqueueMany(t.db, list);
    const ids = made.map((answer) => (answer instanceof Error ? answer.code : answer.id));
    const { rows } = await t.db.query({
      text: `select action_id::text as id from muster.history where action_id = any($1::bigint[]) order by event_id`,
      values: [ids],
    });
    expect(rows.map(({ id }) => id)).toEqual(ids);
  });

  test('G26: an earlier action of the same call is replaced or kept like any other', async () => {
    const { laneId } = await t.lane();
    expect(
      await put(
        action(laneId, 'old', { supersede: 'x append' }),
        action(laneId, 'new', { supersede: 'x replace' }),
        action(laneId, 'newer', { supersede: 'x keep-first' }),
        action(laneId, 'last'),
      ),
    ).toEqual(['created', 'created', 'kept', 'created']);
    expect(await taken(laneId)).toBe('new last');
  });
});

describe('G27: only added actions fill a lane', () => {
  test('repeats of known keys do not', async () => {
    const { laneId } = await t.lane();
    const known = ['p', 'q', 'r'].map((key) => action(laneId, key, { idempotencyKey: `known ${key}` }));
    await put(...known);
    expect(await put(...known, action(laneId, 's'), action(laneId, 't'))).toEqual([
      'present',
      'present',
      'present',
      'created',
      'MUSTER_LANE_FULL',
    ]);
  });

  test('nor do those of other callers in the same statement', async () => {
    const { laneId } = await t.lane();
    const known = ['a', 'b', 'c'].map((key) => action(laneId, key, { idempotencyKey: `other ${key}` }));
    await put(...known);
    const fresh = action(laneId, 'd', { idempotencyKey: 'other d' });
    const answers = await Promise.all([...known, fresh].map((one) => t.engine.enqueue(t.db, one)));
    expect(answers.map(({ outcome }) => outcome)).toEqual(['present', 'present', 'present', 'created']);
  });

  test('nor does one that is not added because an earlier one is kept', async () => {
    const { laneId } = await t.lane();
    const keep = (kind: string) => action(laneId, kind, { supersede: 'k keep-first' });
    await put(keep('first'), action(laneId, 'a'), action(laneId, 'b'));
    expect(await put(keep('again'), action(laneId, 'c'), action(laneId, 'd'))).toEqual([
      'kept',
      'created',
      'MUSTER_LANE_FULL',
    ]);
  });

  test('nor a replacement in a full lane; what it removes makes room', async () => {
    const { laneId } = await t.lane();
    const append = () => action(laneId, 'old', { supersede: 'k append' });
    const replace = () => action(laneId, 'new', { supersede: 'k replace' });
    expect(await put(append(), append(), append(), action(laneId, 'a'))).not.toContain('MUSTER_LANE_FULL');
    expect(await put(action(laneId, 'too many'), replace())).toEqual(['MUSTER_LANE_FULL', 'created']);
    expect(await put(action(laneId, 'b'), action(laneId, 'c'), replace(), action(laneId, 'd'))).toEqual([
      'created',
      'created',
      'created',
      'MUSTER_LANE_FULL',
    ]);
    expect(await taken(laneId)).toBe('a b c new');
  });

  test('a replacement that finds nothing to replace adds one', async () => {
    const { laneId } = await t.lane();
    await put(...['a', 'b', 'c', 'd'].map((kind) => action(laneId, kind)));
    expect(await put(action(laneId, 'e', { supersede: 'k replace' }))).toEqual(['MUSTER_LANE_FULL']);
  });
});

describe('actions with the same options', () => {
  const options: More = {
    priority: 'urgent',
    ...{ maxAttempts: 5, backoffMs: 0, backoffMaxMs: 7_000, createdBy: 'someone' },
    headOfLine: 'hold',
    onLeaseEnd: 'fail',
  };
  async function stored(id: string) {
    const { rows } = await t.db.query({
      text: `select a.priority, p.priority as waits_with, a.tags, (select array_agg(g.tag order by g.tag) from muster.action_tags g where g.action_id = a.action_id) as tagged, a.max_attempts, a.backoff_ms, a.backoff_max_ms, a.head_of_line, a.on_lease_end, a.created_by
        from muster.actions a join muster.pending p using (tenant_id, action_id) where a.tenant_id = $1 and a.action_id = $2`,
      values: [TENANT, id],
    });
    return rows[0];
  }

  test.each([
    ['', []],
    [', beside one that has none', [{}]],
  ])('they have them%s', async (_name, others: More[]) => {
    const { laneId } = await t.lane();
    const made = await t.engine.enqueueMany(t.db, [
      action(laneId, 'tagged', { ...options, tags: ['b', 'a', 'b'] }),
      action(laneId, 'not tagged', options),
      ...others.map((more) => action(laneId, 'other', more)),
    ]);
    const ids = made.map((answer) => (answer as { id: string }).id);
    const tags = [
      { tags: ['b', 'a', 'b'], tagged: ['a', 'b'] },
      { tags: null, tagged: null },
    ];
    for (const n of [0, 1])
      expect(await stored(ids[n] as string)).toEqual({
        ...tags[n],
        ...{ priority: 0, waits_with: 0, max_attempts: 5, backoff_ms: 0, backoff_max_ms: 7_000 },
        ...{ head_of_line: 'hold', on_lease_end: 'fail', created_by: 'someone' },
      });
    for (const id of ids.slice(2)) expect(await stored(id)).toMatchObject({ waits_with: 1, max_attempts: 3 });
  });

  test('G26: tags of what a full lane refuses are not kept', async () => {
    const { laneId } = await t.lane();
    const list = Array.from({ length: 5 }, (_, n) => action(laneId, `${n}`, { tags: ['only here'] }));
    expect((await put(...list)).at(-1)).toBe('MUSTER_LANE_FULL');
    const { rows } = await t.db.query({ text: `select 1 from muster.action_tags where tag = 'only here'` });
    expect(rows).toHaveLength(4);
  });

  test('G26: those without a limit enter a full lane, and others know that it is full', async () => {
    const { laneId } = await t.lane();
    const more = { unbounded: true, maxAttempts: 2 };
    expect(await put(action(laneId, 'a'))).toEqual(['created']);
    expect(await put(...[1, 2, 3, 4].map((n) => action(laneId, `${n}`, more)))).toEqual(
      Array.from({ length: 4 }, () => 'created'),
    );
    expect(await put(action(laneId, 'b'))).toEqual(['MUSTER_LANE_FULL']);
    // such a transaction takes another way
    const answers = await t.db.transaction(async (tx) => {
      await tx.query({ text: 'set transaction isolation level repeatable read' });
      return t.engine.enqueueMany(tx, [action(laneId, 'c', { ...more, tags: ['x'] })]);
    });
    const [made] = answers;
    expect(await stored((made as { id: string }).id)).toMatchObject({
      max_attempts: 2,
      tags: ['x'],
      tagged: ['x'],
    });
    expect(await taken(laneId)).toBe('a 1 2 3 4 c');
  });
});
