import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestEngine, testEngine } from '../testing/index.ts';

let t: TestEngine;
beforeAll(async () => {
  t = await testEngine();
});
afterAll(() => t.close());

const claimBy = (laneId: string, channel: string, worker = 'worker') =>
  t.engine.claim(t.db, { tenantId: 1, laneId, channel, worker, leaseMs: 60_000 });
const at = (ms: number) => new Date(t.clock().getTime() + ms);

test('many lanes are claimed in one transaction, each independently, and a rollback undoes all', async () => {
  const lanes = [(await t.lane()).laneId, (await t.lane()).laneId, (await t.lane()).laneId];
  const [first, , third] = lanes as [string, string, string];
  const ids = [await t.enqueue(first), await t.enqueue(third)];
  const by = { tenantId: 1, channel: 'any', worker: 'many', leaseMs: 60_000 };
  const claimMany = (client: Parameters<typeof t.engine.claimMany>[0]) =>
    t.engine.claimMany(
      client,
      lanes.map((laneId) => ({ ...by, laneId })),
    );
  await t.db
    .transaction(async (tx) => {
      expect((await claimMany(tx)).map((one) => one?.id)).toEqual([ids[0], undefined, ids[1]]);
      throw new Error('taken back');
    })
    .catch(() => {});
  const got = await t.db.transaction(claimMany);
  expect(got.map((one) => one && [one.id, one.attempt])).toEqual([[ids[0], 1], null, [ids[1], 1]]);
});

test('a claim brings the action with everything a worker needs', async () => {
  const { laneId } = await t.lane();
  const id = await t.enqueue(laneId, { kind: 'wipe', payload: { all: true }, tags: ['x'], createdBy: 'ada' });
  expect(await t.claim(laneId, 'w1', 5_000)).toEqual({
    id,
    tenantId: 1,
    laneId,
    channel: 'any',
    kind: 'wipe',
    payload: { all: true },
    tags: ['x'],
    priority: 'normal',
    attempt: 1,
    maxAttempts: 3,
    worker: 'w1',
    leasedAt: t.clock(),
    leaseUntil: at(5_000),
    createdAt: t.clock(),
    createdBy: 'ada',
    redelivered: false,
    cancelRequested: false,
  });
  expect((await t.engine.events(t.db, 1, id)).at(-1)).toEqual({
    type: 'SENT',
    attempt: 1,
    at: t.clock(),
    worker: 'w1',
    reason: null,
  });
});

test('an empty lane has nothing to claim', async () => {
  const { laneId } = await t.lane();
  expect(await t.claim(laneId)).toBeNull();
});

test('G11: while one action runs the lane hands out nothing else', async () => {
  const { laneId } = await t.lane();
  await t.enqueue(laneId);
  await t.enqueue(laneId, { priority: 'urgent' });
  await t.enqueue(laneId, { channel: 'other' });
  expect(await t.claim(laneId, 'a')).not.toBeNull();
  for (const channel of ['any', 'other']) expect(await claimBy(laneId, channel, 'b')).toBeNull();
});

test('G11 G35: of a hundred claims of one lane at once exactly one gets its action', async () => {
  const { laneId } = await t.lane();
  for (let n = 0; n < 3; n += 1) await t.enqueue(laneId);
  const got = await Promise.all(Array.from({ length: 100 }, (_, n) => t.claim(laneId, `worker ${n}`)));
  expect(got.filter((action) => action !== null)).toHaveLength(1);
});

test('G35: claims of many lanes at once each get their own action', async () => {
  const lanes = await Promise.all(Array.from({ length: 60 }, () => t.lane()));
  const ids = await Promise.all(lanes.map(({ laneId }) => t.enqueue(laneId)));
  const got = await Promise.all(lanes.map(({ laneId }) => t.claim(laneId)));
  expect(got.map((action) => action?.id)).toEqual(ids);
  expect(got.map((action) => action?.laneId)).toEqual(lanes.map(({ laneId }) => laneId));
});

test('G12: a channel gets its own actions and those for any, never those of another', async () => {
  const { laneId } = await t.lane();
  const a1 = await t.enqueue(laneId, { channel: 'a' });
  const b1 = await t.enqueue(laneId, { channel: 'b' });
  const any = await t.enqueue(laneId);
  const b2 = await t.enqueue(laneId, { channel: 'b' });
  const next = async (channel: string) => {
    const action = await claimBy(laneId, channel);
    if (action) await t.report(action.id, action.attempt);
    return action?.id ?? null;
  };
  expect(await next('b')).toBe(b1);
  expect(await next('c')).toBe(any);
  expect(await next('c')).toBeNull();
  expect(await next('any')).toBeNull();
  expect(await next('b')).toBe(b2);
  expect(await next('a')).toBe(a1);
});

test('G10 G12: an urgent action for any goes before a normal one of the channel', async () => {
  const { laneId } = await t.lane();
  await t.enqueue(laneId, { channel: 'a' });
  const urgent = await t.enqueue(laneId, { priority: 'urgent' });
  expect((await claimBy(laneId, 'a'))?.id).toBe(urgent);
});

test('G8: a lease never reaches past the deadline', async () => {
  const { laneId } = await t.lane();
  const deadline = at(2_000);
  await t.enqueue(laneId, { deadline });
  expect((await t.claim(laneId, 'w', 60_000))?.leaseUntil).toEqual(deadline);
});

test('G6 G8: an action past its deliver-by or deadline is not handed out, even before housekeeping ends it', async () => {
  const { laneId } = await t.lane();
  await t.enqueue(laneId, { deliverBy: at(1_000) });
  await t.enqueue(laneId, { deadline: at(1_000) });
  const good = await t.enqueue(laneId);
  t.clock.advance(1_000);
  expect((await t.claim(laneId))?.id).toBe(good);
});

test('an action is not handed out before its time, and then at its old place', async () => {
  const { laneId } = await t.lane();
  const delayed = await t.enqueue(laneId, { notBefore: at(5_000) });
  const first = await t.enqueue(laneId);
  const second = await t.enqueue(laneId);
  expect((await t.claim(laneId))?.id).toBe(first);
  await t.pass(5_000);
  await t.report(first, 1);
  expect((await t.claim(laneId))?.id).toBe(delayed);
  await t.report(delayed, 1);
  expect((await t.claim(laneId))?.id).toBe(second);
});

test('a not-before in the past counts as none', async () => {
  const { laneId } = await t.lane();
  const id = await t.enqueue(laneId, { notBefore: at(-1) });
  expect((await t.claim(laneId))?.id).toBe(id);
});

test('G51: the same lane number in another tenant is another lane', async () => {
  const { laneId } = await t.lane();
  await t.enqueue(laneId);
  await expect(
    t.engine.claim(t.db, { tenantId: 2, laneId, channel: 'any', worker: 'w', leaseMs: 1_000 }),
  ).rejects.toMatchObject({ code: 'MUSTER_UNKNOWN_LANE' });
});

test('a claim whose caller is gone, before or during it, is given back', async () => {
  const { laneId } = await t.lane();
  const id = await t.enqueue(laneId);
  const signal = AbortSignal.abort();
  for (const waitMs of [undefined, 0, 1_000]) {
    await t.engine.claim(t.db, {
      tenantId: 1,
      laneId,
      channel: 'any',
      worker: 'gone',
      leaseMs: 60_000,
      waitMs,
      signal,
    });
    expect(await t.state(id)).toBe('pending');
  }
  expect(await t.claim(laneId)).toMatchObject({ id });
});

test('G15: a caller that is gone does not end the attempt that its worker is running', async () => {
  const { laneId } = await t.lane();
  const id = await t.enqueue(laneId);
  await t.claim(laneId, 'w');
  await t.engine.claim(t.db, {
    tenantId: 1,
    laneId,
    channel: 'any',
    worker: 'w',
    leaseMs: 60_000,
    signal: AbortSignal.abort(),
  });
  expect(await t.state(id)).toBe('claimed');
});
