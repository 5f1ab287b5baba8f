import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ActionFilter, type ActionView, checkInstallation, type Queryable } from '../src/index.ts';
import { brokenInvariants, type TestEngine, testEngine } from '../testing/index.ts';

/**
 * Actions with a tag are found by an index of its own, beside the index for the rest of the filter: the result is the
 * same as without an index.
 */
let t: TestEngine;
let all: ActionView[];
const lanes: string[] = [];
const tenantId = 1;

beforeAll(async () => {
  t = await testEngine();
  for (let n = 0; n < 3; n += 1) lanes.push((await t.lane()).laneId);
  const put = (lane: number, more: object) => t.enqueue(lanes[lane] as string, more);
  const later = new Date(t.clock().getTime() + 9e9);
  for (let n = 0; n < 48; n += 1) {
    const tags = [
      n % 2 ? 'odd' : 'even',
      ...(n % 3 ? [] : ['third']),
      ...(n === 5 ? ['one'] : []),
      'twice',
      'twice',
    ];
    const id = await put(n % 3, {
      ...{ kind: n % 4 ? 'a' : 'b', tags, maxAttempts: 1 },
      ...(n % 12 === 7 ? { notBefore: later } : {}),
    });
    if (n % 12 === 7 || n > 40) continue;
    if (n % 5 === 0) await t.engine.cancel(t.db, { tenantId, actionId: id });
    else if (n < 36) {
      expect((await t.claim(lanes[n % 3] as string))?.id).toBe(id);
      await t.report(id, 1, n % 7 === 1 ? 'failed' : 'succeeded');
    }
  }
  for (let n = 0; n < 20; n += 1) await put(n % 3, { kind: 'a' });
  for (const laneId of lanes) await t.claim(laneId);
  all = (await t.engine.list(t.db, { tenantId }, { limit: 1_000 })).actions;
});
afterAll(() => t.close());

/** In a transaction that leaves nothing. */
async function takenBack(play: (tx: Queryable) => Promise<unknown>): Promise<void> {
  class TakenBack extends Error {}
  const run = t.db.transaction(async (tx) => {
    await play(tx);
    throw new TakenBack();
  });
  await expect(run).rejects.toBeInstanceOf(TakenBack);
}

const TAGS = ['even', 'odd', 'third', 'one', 'twice', 'none'];
const STATES = [
  ...[
    undefined,
    'pending',
    'claimed',
    'unfinished',
    'finished',
    'succeeded',
    'failed',
    'cancelled',
    'expired',
  ],
] as ActionFilter['state'][];

function expected(filter: Partial<ActionFilter>): string[] {
  const { kind, laneId, state, tag } = filter;
  return all
    .filter((one) => tag === undefined || one.tags.includes(tag))
    .filter((one) => laneId === undefined || one.laneId === laneId)
    .filter((one) => kind === undefined || one.kind === kind)
    .filter((one) => !filter.waitsForTime || one.notBefore !== null)
    .filter((one) => {
      if (state === undefined) return true;
      if (state === 'unfinished') return one.endedAt === null;
      return state === 'finished' ? one.endedAt !== null : one.state === state;
    })
    .map(({ id }) => id);
}

async function pages(filter: Partial<ActionFilter>, limit: number): Promise<string[]> {
  const found: string[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await t.engine.list(t.db, { tenantId, ...filter }, { limit, cursor });
    found.push(...page.actions.map(({ id }) => id));
    // no page is empty but the first
    if (found.length > 0) expect(page.actions.length).toBeGreaterThan(0);
    if (page.cursor === null) return found;
    cursor = page.cursor;
  }
}

test.each(TAGS)(
  'a search for the tag %s finds the same as a search without an index, with every other filter',
  async (tag) => {
    let seen = 0;
    for (const state of STATES)
      for (const laneId of [undefined, lanes[0], '0', 'no id'])
        for (const kind of [undefined, 'b']) {
          const filter = { tag, state, laneId, kind };
          const right = expected(filter);
          seen += right.length;
          expect([filter, await pages(filter, 100)]).toEqual([filter, right]);
          expect([filter, await t.engine.count(t.db, { tenantId, ...filter })]).toEqual([
            filter,
            { count: right.length, more: false },
          ]);
        }
    expect(seen > 0).toBe(tag !== 'none');
  },
);

test('in pages of any size each once, by ids too, and never of another tenant', async () => {
  for (const filter of [
    { tag: 'even' },
    { tag: 'twice', state: 'finished' },
    { tag: 'odd', kind: 'a' },
  ] as const)
    for (const limit of [1, 2, 7]) expect(await pages(filter, limit)).toEqual(expected(filter));
  const two = expected({ tag: 'even' }).slice(0, 2);
  const one = expected({ tag: 'odd' })[0] as string;
  expect(await pages({ tag: 'even', ids: [...two, one] }, 100)).toEqual(two);
  expect((await t.engine.list(t.db, { tenantId: 2, tag: 'even' })).actions).toEqual([]);
  expect(await t.engine.count(t.db, { tenantId, tag: 'even' }, { most: 5 })).toEqual({
    count: 5,
    more: true,
  });
  await expect(t.engine.list(t.db, { tenantId, tag: 'even' }, { cursor: 'x' })).rejects.toMatchObject({
    code: 'MUSTER_BAD_VALUE',
  });
});

test('everything with a tag: oldest first, in chunks, and nothing else', async () => {
  const waiting = expected({ tag: 'odd', state: 'pending', waitsForTime: true });
  expect(waiting.length).toBeGreaterThan(0);
  expect(await t.engine.makeDueMatching(t.db, { tenantId, tag: 'odd' })).toEqual({ due: waiting.length });
  const failed = expected({ tag: 'odd', state: 'failed' });
  expect(await t.engine.redriveMatching(t.db, { tenantId, tag: 'odd' })).toEqual({ redriven: failed.length });
  const pending = expected({ tag: 'third', state: 'pending' }).length;
  const redriven = expected({ tag: 'third', state: 'failed' }).filter((id) => failed.includes(id)).length;
  const { cancelled, requested } = await t.engine.cancelMatching(t.db, { tenantId, tag: 'third' });
  expect([cancelled, requested]).toEqual([
    pending + redriven,
    expected({ tag: 'third', state: 'claimed' }).length,
  ]);
  expect(await brokenInvariants(t.db)).toEqual([]);
});

test('few matches among many with the tag: the scan limit is reported, and the cursor continues', async () => {
  const laneId = lanes[0] as string;
  const wanted = await t.enqueue(laneId, { kind: 'wanted', tags: ['many'] });
  await takenBack(async (tx) => {
    await tx.query({
      text: `with a as (
        insert into muster.actions (tenant_id, action_id, lane_id, channel, kind, payload, priority, tags, created_at, max_attempts,
            backoff_ms, backoff_max_ms, head_of_line, on_lease_end)
          select 1, nextval('muster.action_seq'), $1, 'any', 'other', '{}', 1, array['many'], now(), 3, 0, 0, 'skip', 'retry'
          from generate_series(1, 10100) returning tenant_id, action_id
      ), z as (
        insert into muster.endings (tenant_id, action_id, state, attempt, reason, ended_at)
          select tenant_id, action_id, 'failed', 1, 'FAILED', now() from a
      )
      insert into muster.action_tags (tenant_id, action_id, tag) select tenant_id, action_id, 'many' from a`,
      values: [laneId],
    });
    const filter = { tenantId, tag: 'many', kind: 'wanted' };
    const first = await t.engine.list(tx, filter);
    expect(first).toMatchObject({ actions: [], looked: 10_000, cursor: expect.any(String) });
    const second = await t.engine.list(tx, filter, { cursor: first.cursor as string });
    expect(second).toMatchObject({ actions: [{ id: wanted }], cursor: null });
    expect(second.looked).toBeUndefined();
    // matches of another index are found at once, and so is a page
    expect((await t.engine.list(tx, { ...filter, state: 'pending' })).actions).toMatchObject([
      { id: wanted },
    ]);
    expect((await t.engine.list(tx, { tenantId, tag: 'many', state: 'failed' })).looked).toBeUndefined();
    const { count } = t.engine;
    expect(await count(tx, { tenantId, tag: 'many' })).toEqual({ count: 10_000, more: true });
    expect(await count(tx, filter)).toEqual({ count: 1, more: false });
    expect(await count(tx, filter, { within: 1_000 })).toEqual({ count: 0, more: true });
    expect(await t.engine.cancelMatching(tx, filter)).toEqual({ cancelled: 1, requested: 0 });
  });
});

test('G46: the index of tags is compared with the actions', async () => {
  // there the check has a transaction for each tenant, and this test only one for all
  if (t.db.isDistributed) return;
  const id = await t.enqueue(lanes[1] as string, { tags: ['seen', 'unseen'] });
  const violations = async (text: string) => {
    const told: string[] = [];
    await takenBack(async (tx) => {
      await tx.query({ text });
      // it has begun to write, so it cannot become read-only any more
      const query = (one: { text: string }) => tx.query(/^set /.test(one.text) ? { text: 'select 1' } : one);
      const inside = { ...t.db, transaction: (play: (tx: never) => unknown) => play({ query } as never) };
      await checkInstallation(inside as never, { onViolation: (found) => void told.push(found.text) });
    });
    return told.filter((one) => one.includes('tag'));
  };
  expect(await violations('select 1')).toEqual([]);
  expect(await violations(`delete from muster.action_tags where tag = 'unseen'`)).toEqual([
    `action ${id} has the tag unseen, which is missing in action_tags`,
  ]);
  expect(await violations(`insert into muster.action_tags values (1, ${id}, 'wrong')`)).toEqual([
    `action_tags has the tag wrong of action ${id}, which does not have it`,
  ]);
});
