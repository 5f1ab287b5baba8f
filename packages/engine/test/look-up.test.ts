import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ActionFilter, saysText } from '../src/index.ts';
import { type TestEngine, testEngine } from '../testing/index.ts';

let t: TestEngine;
beforeAll(async () => {
  t = await testEngine();
});
afterAll(() => t.close());

const ids = async (filter: Partial<ActionFilter>, page: object = {}) =>
  (await t.engine.list(t.db, { tenantId: 1, ...filter }, page)).actions.map((action) => action.id);
const waitingFor = async (id: string) => (await t.engine.get(t.db, 1, id))?.waitingFor;
const at = (ms: number) => new Date(t.clock().getTime() + ms);

describe('a list', () => {
  let laneId: string;
  const made: Record<string, string> = {};
  beforeAll(async () => {
    ({ laneId } = await t.lane());
    const inState = async (name: string, more: object, then: (id: string) => Promise<unknown>) => {
      made[name] = await t.enqueue(laneId, { kind: name, ...more });
      await then(made[name]);
      t.clock.advance(1_000);
    };
    const run = async (id: string) => expect((await t.claim(laneId))?.id).toBe(id);
    await inState('succeeded', { tags: ['x'] }, async (id) => run(id).then(() => t.report(id, 1)));
    await inState('failed', { maxAttempts: 1, tags: ['x', 'y'] }, async (id) =>
      run(id).then(() => t.report(id, 1, 'failed')),
    );
    await inState('cancelled', {}, (id) => t.engine.cancel(t.db, { tenantId: 1, actionId: id }));
    await inState('expired', { deliverBy: at(500) }, () => t.pass(500));
    await inState('claimed', {}, run);
    await inState('pending', { channel: 'other', tags: ['y'] }, async () => {});
    await inState('delayed', { notBefore: at(9e9) }, async () => {});
  });

  test.each<[string, Partial<ActionFilter>, string[]]>([
    [
      'everything, newest first',
      {},
      ['delayed', 'pending', 'claimed', 'expired', 'cancelled', 'failed', 'succeeded'],
    ],
    ['pending', { state: 'pending' }, ['delayed', 'pending']],
    ['claimed', { state: 'claimed' }, ['claimed']],
    ['unfinished', { state: 'unfinished' }, ['delayed', 'pending', 'claimed']],
    ['succeeded', { state: 'succeeded' }, ['succeeded']],
    ['failed', { state: 'failed' }, ['failed']],
    ['cancelled', { state: 'cancelled' }, ['cancelled']],
    ['expired', { state: 'expired' }, ['expired']],
    ['a kind', { kind: 'claimed' }, ['claimed']],
    ['a tag', { tag: 'x' }, ['failed', 'succeeded']],
    ['a tag and a state', { tag: 'y', state: 'failed' }, ['failed']],
    ['a channel', { channel: 'other' }, ['pending']],
    ['nothing', { kind: 'no such kind' }, []],
  ])('of %s', async (_name, filter, names) => {
    expect(await ids({ laneId, ...filter })).toEqual(names.map((name) => made[name]));
  });

  test('by time of creation and by ids', async () => {
    const { createdAt } = (await t.engine.get(t.db, 1, made.claimed as string)) as { createdAt: Date };
    expect(await ids({ laneId, createdAfter: createdAt })).toEqual([
      made.delayed,
      made.pending,
      made.claimed,
    ]);
    expect(await ids({ laneId, createdBefore: createdAt })).toHaveLength(4);
    expect(await ids({ ids: [made.failed as string, 'nonsense', made.claimed as string] })).toEqual([
      made.claimed,
      made.failed,
    ]);
    expect(await ids({ ids: [] })).toEqual([]);
  });

  test('by creator, end, error and payload: within a scan limit, which is reported', async () => {
    const { laneId: other } = await t.lane();
    const put = (n: number, more: object) => t.enqueue(other, { kind: `k${n}`, ...more });
    const first = await put(1, { createdBy: 'ana', payload: { text: 'Wall Clock' }, maxAttempts: 1 });
    const second = await put(2, { createdBy: 'ben', payload: { text: '100%' }, maxAttempts: 1 });
    const third = await put(3, { createdBy: 'ana' });
    await t.claim(other);
    await t.report(first, 1, 'failed', { error: 'No space left' });
    t.clock.advance(1_000);
    await t.claim(other);
    await t.report(second, 1, 'failed', { error: 'No cable' });
    const of = (filter: Partial<ActionFilter>, page: object = {}) =>
      t.engine.list(t.db, { tenantId: 1, laneId: other, ...filter }, page);
    const found = async (filter: Partial<ActionFilter>) => {
      const { actions, looked } = await of(filter);
      return [looked, ...actions.map(({ id }) => id)];
    };
    expect(await found({ createdBy: 'ana' })).toEqual([3, third, first]);
    expect(await found({ error: 'no space' })).toEqual([3, first]);
    expect(await found({ error: 'no', state: 'failed' })).toEqual([2, second, first]);
    expect(await found({ payloadText: 'wall clock' })).toEqual([3, first]);
    expect(await found({ payloadText: '%' })).toEqual([3, second]);
    expect(await found({ endedBefore: t.clock() })).toEqual([2, first]);
    expect(await found({ endedAfter: t.clock() })).toEqual([2, second]);
    expect(await found({ endedAfter: t.clock(), state: 'unfinished' })).toEqual([1]);
    const page = await of({ createdBy: 'ana' }, { limit: 1 });
    expect(page).toMatchObject({ actions: [{ id: third }], cursor: third, looked: 1 });
    const next = await of({ createdBy: 'ana' }, { limit: 1, cursor: page.cursor });
    expect(next.actions.map(({ id }) => id)).toEqual([first]);
    expect((await of({})).looked).toBeUndefined();
  });

  test('by its payload, however it is written and however it is searched for', async () => {
    const { laneId } = await t.lane();
    const sent = await t.enqueue(laneId, { payload: { copies: 2, sizes: ['A4', 'A5'] } });
    const { rows } = await t.db.query({
      text: `select muster.enqueue(1, $1::bigint, 'print', '{ "copies" : 2, "sizes": [ "A4","A5" ] }')::text as id`,
      values: [laneId],
    });
    const asked = ['"copies":2', '"COPIES": 2', 'copies: 2', '"sizes" : [\n  "A4",\n  "A5"\n]'];
    for (const payloadText of asked)
      expect(await ids({ laneId, payloadText }), payloadText).toEqual([rows[0].id, sent]);
    for (const payloadText of ['"copies":3', 'copies2', '"', '\\'])
      expect(await ids({ laneId, payloadText }), payloadText).toEqual([]);
    const odd = { note: 'Say "hi"\nto C:\\temp, [now]' };
    const quoted = await t.enqueue(laneId, { payload: odd });
    for (const payloadText of ['say "hi"', 'hi"\nto c:\\TEMP', 'temp, [now]', '"note": "Say']) {
      expect(await ids({ laneId, payloadText }), payloadText).toEqual([quoted]);
      expect(saysText(odd, payloadText), payloadText).toBe(true);
    }
    expect(saysText(odd, 'nothing')).toBe(false);
    expect(saysText(odd, '"')).toBe(false);
  });

  test('by kind and channel alone: in steps within a scan limit, and the cursor continues after them', async () => {
    const tenantId = 7;
    const busy = await t.engine.ensureLane(t.db, tenantId, 'test', 'busy');
    const put = (kind: string, channel: string) =>
      t.engine.enqueue(t.db, { tenantId, laneId: busy, kind, channel });
    const rare = (await put('rare', 'a')).id;
    await t.engine.enqueueMany(
      t.db,
      Array.from({ length: 250 }, () => ({ tenantId, laneId: busy, kind: 'common', channel: 'own' })),
    );
    const newest = (await put('rare', 'a')).id;
    const found = async (filter: Partial<ActionFilter>, page: object = {}) => {
      const { actions, cursor, looked } = await t.engine.list(t.db, { tenantId, ...filter }, page);
      return { looked, cursor, ids: actions.map(({ id }) => id) };
    };
    for (const filter of [{ kind: 'rare' }, { channel: 'a' }, { exceptChannels: ['own'] }]) {
      expect(await found(filter)).toEqual({ looked: 252, cursor: null, ids: [newest, rare] });
      expect(await found({ ...filter, state: 'pending' })).toMatchObject({ ids: [newest, rare] });
      expect(await found({ ...filter, state: 'unfinished' })).toMatchObject({ ids: [newest, rare] });
      const first = await found(filter, { limit: 1 });
      expect(first).toEqual({ looked: 1, cursor: newest, ids: [newest] });
      // the last of all has nothing after it
      expect(await found(filter, { limit: 1, cursor: first.cursor })).toEqual({
        ...{ looked: 251, cursor: null, ids: [rare] },
      });
      // actions named by a lane, a tag or ids are not scanned for
      expect((await found({ ...filter, laneId: busy })).looked).toBeUndefined();
      expect(await found({ ...filter, ids: [rare] })).toEqual({
        looked: undefined,
        cursor: null,
        ids: [rare],
      });
      expect(await t.engine.count(t.db, { tenantId, ...filter })).toEqual({ count: 2, more: false });
    }
    const { cancelled } = await t.engine.cancelMatching(t.db, { tenantId, exceptChannels: ['own'] });
    expect(cancelled).toBe(2);
    expect(await found({ kind: 'rare', state: 'finished' })).toMatchObject({
      looked: 2,
      ids: [newest, rare],
    });
  });

  test('a count is exact up to a limit, and scans only so many', async () => {
    const { laneId: other } = await t.lane();
    for (let n = 0; n < 6; n += 1) await t.enqueue(other, { kind: n % 2 ? 'odd' : 'even' });
    const count = (filter: Partial<ActionFilter>, limits?: object) =>
      t.engine.count(t.db, { tenantId: 1, laneId: other, ...filter }, limits);
    expect(await count({})).toEqual({ count: 6, more: false });
    expect(await count({ kind: 'odd', state: 'pending' })).toEqual({ count: 3, more: false });
    expect(await count({}, { most: 6 })).toEqual({ count: 6, more: false });
    expect(await count({}, { most: 5 })).toEqual({ count: 5, more: true });
    expect(await count({ kind: 'odd' }, { most: 2 })).toEqual({ count: 2, more: true });
    expect(await count({ kind: 'odd' }, { within: 4 })).toEqual({ count: 2, more: true });
    expect(await count({ state: 'failed' })).toEqual({ count: 0, more: false });
  });

  test('page by page, each action once, whatever is added meanwhile', async () => {
    const all = await ids({ laneId });
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const page: { actions: { id: string }[]; cursor: string | null } = await t.engine.list(
        t.db,
        { tenantId: 1, laneId },
        { limit: 3, ...(cursor ? { cursor } : {}) },
      );
      seen.push(...page.actions.map((action) => action.id));
      cursor = page.cursor;
      await t.enqueue(laneId, { channel: 'later' });
    } while (cursor);
    expect(seen).toEqual(all);
  });

  test('a last page that is just full has no cursor', async () => {
    const { laneId: other } = await t.lane();
    for (let n = 0; n < 4; n += 1) await t.enqueue(other);
    const first = await t.engine.list(t.db, { tenantId: 1, laneId: other }, { limit: 2 });
    const second = await t.engine.list(
      t.db,
      { tenantId: 1, laneId: other },
      { limit: 2, cursor: first.cursor as string },
    );
    expect(second.actions).toHaveLength(2);
    expect(second.cursor).toBeNull();
  });

  test('G51: actions of another tenant are never shown', async () => {
    expect((await t.engine.list(t.db, { tenantId: 2 })).actions).toEqual([]);
    expect((await t.engine.list(t.db, { tenantId: 2, ids: Object.values(made) })).actions).toEqual([]);
    expect(await t.engine.get(t.db, 2, made.failed as string)).toBeNull();
    expect(await t.engine.events(t.db, 2, made.failed as string)).toEqual([]);
  });
});

describe('why is it waiting?', () => {
  test('G44: the first match in a fixed order', async () => {
    const lane = await t.lane();
    const runnerId = await t.engine.createRunner(t.db, 1, 1);
    await t.engine.assignRunner(t.db, lane, runnerId);
    const busy = await t.lane();
    await t.engine.assignRunner(t.db, busy, runnerId);
    await t.enqueue(busy.laneId);
    await t.engine.claimSlots(t.db, {
      tenantId: 1,
      runnerId,
      channel: 'any',
      worker: 'pc',
      leaseMs: 9e8,
      max: 1,
    });

    const id = await t.enqueue(lane.laneId, { tags: ['stop'] });
    await t.claim(lane.laneId);
    await t.report(id, 1, 'notNow', { retryAfterMs: 1_000 });
    await t.pass(1_000);
    const ahead = await t.enqueue(lane.laneId);
    await t.engine.moveToFront(t.db, { tenantId: 1, actionId: ahead });
    await t.engine.pauseLane(t.db, lane);
    await t.engine.pause(t.db, { tenantId: 1 });
    await t.engine.pause(t.db, { tenantId: 1, tag: 'stop' });
    await t.engine.blockLane(t.db, lane, 'broken');

    expect(await waitingFor(id)).toMatchObject({ code: 'LANE_PAUSED' });
    await t.engine.resumeLane(t.db, lane);
    expect(await waitingFor(id)).toMatchObject({ code: 'TENANT_PAUSED' });
    await t.engine.resume(t.db, { tenantId: 1 });
    expect(await waitingFor(id)).toMatchObject({ code: 'TAG_PAUSED' });
    await t.engine.resume(t.db, { tenantId: 1, tag: 'stop' });
    expect(await waitingFor(id)).toMatchObject({ code: 'LANE_BLOCKED' });
    await t.engine.unblockLane(t.db, lane);
    expect(await waitingFor(id)).toMatchObject({ code: 'BEHIND', actionId: ahead });
    await t.engine.cancel(t.db, { tenantId: 1, actionId: ahead });
    expect(await waitingFor(id)).toMatchObject({ code: 'NO_FREE_SLOT', running: 1, slots: 1 });
    await t.engine.setSlots(t.db, 1, runnerId, 2);
    expect(await waitingFor(id)).toMatchObject({ code: 'NOT_NOW' });
  });

  test('G44: with no obstacle: the next contact', async () => {
    const { laneId } = await t.lane();
    expect(await waitingFor(await t.enqueue(laneId))).toMatchObject({ code: 'NEXT_CONTACT' });
  });

  test('G44: not-before, a retry, a NotNow, with the moment', async () => {
    const { laneId } = await t.lane();
    const notBefore = at(60_000);
    expect(await waitingFor(await t.enqueue(laneId, { notBefore }))).toMatchObject({
      code: 'NOT_BEFORE',
      until: notBefore,
    });
    const id = await t.enqueue(laneId, { maxAttempts: 4 });
    await t.claim(laneId);
    await t.report(id, 1, 'notNow', { retryAfterMs: 5_000 });
    expect(await waitingFor(id)).toMatchObject({ code: 'NOT_NOW', until: at(5_000) });
    await t.pass(5_000);
    await t.claim(laneId);
    await t.report(id, 2, 'failed');
    expect(await waitingFor(id)).toMatchObject({
      code: 'RETRY',
      text: expect.stringContaining('Retry 1 of 3'),
      attempt: 1,
      of: 3,
    });
  });

  test('G44: behind the running action, whatever its channel; running; cancel requested; nothing when it is over', async () => {
    const { laneId } = await t.lane();
    const runs = await t.enqueue(laneId);
    const behind = await t.enqueue(laneId, { channel: 'other', priority: 'urgent' });
    await t.claim(laneId, 'w7', 5_000);
    expect(await waitingFor(behind)).toMatchObject({ code: 'BEHIND', actionId: runs });
    expect(await waitingFor(runs)).toMatchObject({
      code: 'RUNNING',
      until: at(5_000),
      text: expect.stringContaining('w7'),
      since: t.clock(),
      by: 'w7',
      attempt: 1,
      of: 3,
    });
    await t.engine.cancel(t.db, { tenantId: 1, actionId: runs });
    expect(await waitingFor(runs)).toMatchObject({ code: 'CANCEL_REQUESTED' });
    await t.report(runs, 1, 'failed');
    expect(await waitingFor(runs)).toBeNull();
  });

  test('G13 G44: behind an action that holds the lane, not behind one that only waits for its retry', async () => {
    for (const headOfLine of ['hold', 'skip'] as const) {
      const { laneId } = await t.lane();
      const first = await t.enqueue(laneId, { headOfLine });
      const second = await t.enqueue(laneId);
      await t.claim(laneId);
      await t.report(first, 1, 'failed');
      expect((await waitingFor(second))?.code).toBe(headOfLine === 'hold' ? 'BEHIND' : 'NEXT_CONTACT');
    }
  });
});
