import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Engine, EngineError, type NewAction, type ReportRequest } from '../src/index.ts';
import { type TestEngine, testEngine } from '../testing/index.ts';

/**
 * Every text and every number of every operation: refused with a clear error before any statement, or plainly unknown.
 */
let t: TestEngine;
let lane: { tenantId: number; laneId: string };
let runnerId: string;
let running: string;
let queries = 0;
const counting = {
  query(query: never) {
    queries += 1;
    return t.db.query(query);
  },
};
beforeAll(async () => {
  t = await testEngine();
  lane = await t.lane();
  runnerId = await t.engine.createRunner(t.db, 1, 3);
  running = await t.enqueue(lane.laneId);
  await t.claim(lane.laneId);
});
afterAll(() => t.close());

const BAD_TEXTS = { 'a NUL': 'a\u0000b', 'half a pair': 'a\ud83d', 'the other half': '\ude00b' };
const NUL = 'a\u0000b';
const LONG = 'ß'.repeat(513);

type Call = (engine: Engine, client: typeof counting, bad: never) => Promise<unknown>;
const enqueue =
  (field: (bad: never) => Partial<NewAction>): Call =>
  (engine, client, bad) =>
    engine.enqueue(client, { ...lane, kind: 'x', ...field(bad) });
const claim =
  (field: (bad: never) => object): Call =>
  (engine, client, bad) =>
    engine.claim(client, { ...lane, channel: 'any', worker: 'w', leaseMs: 1_000, ...field(bad) });
const claimMany =
  (field: (bad: never) => object): Call =>
  (engine, client, bad) =>
    engine.claimMany(client, [{ ...lane, channel: 'any', worker: 'w', leaseMs: 1_000, ...field(bad) }]);
const claimSlots =
  (field: (bad: never) => object): Call =>
  (engine, client, bad) =>
    engine.claimSlots(client, {
      tenantId: 1,
      runnerId,
      channel: 'any',
      worker: 'w',
      leaseMs: 1_000,
      max: 1,
      ...field(bad),
    });
const enqueueAndClaim =
  (field: (bad: never) => object): Call =>
  (engine, client, bad) =>
    engine.enqueueAndClaimMany(client, [
      {
        tenantId: 1,
        runnerId,
        worker: 'w',
        leaseMs: 1_000,
        actions: [{ laneId: lane.laneId, kind: 'x' }],
        ...field(bad),
      },
    ]);
const report =
  (field: (bad: never) => Partial<ReportRequest>): Call =>
  (engine, client, bad) =>
    engine.report(client, { tenantId: 1, actionId: running, attempt: 1, status: 'failed', ...field(bad) });
const next = { channel: 'any', worker: 'w', leaseMs: 1_000 };

const TEXTS: Record<string, Call> = {
  'enqueue kind': enqueue((kind) => ({ kind })),
  'enqueue channel': enqueue((channel) => ({ channel })),
  'enqueue tag': enqueue((tag) => ({ tags: ['good', tag] })),
  'enqueue payload': enqueue((text) => ({ payload: { deep: [text] } })),
  'enqueue payload name': enqueue((text) => ({ payload: { [text]: 1 } })),
  'enqueue payload with its own JSON': enqueue((text) => ({ payload: { toJSON: () => ({ text }) } })),
  'enqueue idempotency key': enqueue((idempotencyKey) => ({ idempotencyKey })),
  'enqueue supersede key': enqueue((key) => ({ supersede: { key, mode: 'replace' } })),
  'enqueue creator': enqueue((createdBy) => ({ createdBy })),
  'claim channel': claim((channel) => ({ channel })),
  'claim worker': claim((worker) => ({ worker })),
  'claim slots channel': claimSlots((channel) => ({ channel })),
  'claim slots worker': claimSlots((worker) => ({ worker })),
  'enqueue and claim worker': enqueueAndClaim((worker) => ({ worker })),
  'enqueue and claim kind': enqueueAndClaim((kind) => ({ actions: [{ laneId: lane.laneId, kind }] })),
  'report error': report((error) => ({ error })),
  'report result': report((result) => ({ result: [result] })),
  'report worker': report((worker) => ({ worker })),
  'report channel': report((channel) => ({ channel })),
  'report next channel': report((channel) => ({ next: { ...next, channel } })),
  'report next worker': report((worker) => ({ next: { ...next, worker } })),
  'release worker': (engine, client, worker) =>
    engine.release(client, { tenantId: 1, actionId: running, attempt: 1, worker }),
  'release reason': (engine, client, reason) =>
    engine.release(client, { tenantId: 1, actionId: running, attempt: 1, reason }),
  'release channel': (engine, client, channel) =>
    engine.release(client, { tenantId: 1, actionId: running, attempt: 1, channel }),
  'extend channel': (engine, client, channel) =>
    engine.extend(client, { tenantId: 1, actionId: running, attempt: 1, leaseMs: 1, channel }),
  'cancel reason': (engine, client, reason) =>
    engine.cancel(client, { tenantId: 1, actionId: running, reason }),
  'cancel by filter reason': (engine, client, reason) =>
    engine.cancelMatching(client, { tenantId: 1, laneId: lane.laneId }, reason),
  'redrive reason': (engine, client, reason) =>
    engine.redrive(client, { tenantId: 1, actionId: running, reason }),
  'move reason': (engine, client, reason) =>
    engine.moveToFront(client, { tenantId: 1, actionId: running, reason }),
  'make due reason': (engine, client, reason) =>
    engine.makeDue(client, { tenantId: 1, actionId: running, reason }),
  'list kind': (engine, client, kind) => engine.list(client, { tenantId: 1, kind }),
  'list channel': (engine, client, channel) => engine.list(client, { tenantId: 1, channel }),
  'list tag': (engine, client, tag) => engine.list(client, { tenantId: 1, tag }),
  'lane name': (engine, client, name) => engine.ensureLane(client, 1, 'test', name),
  'lane space': (engine, client, space) => engine.ensureLane(client, 1, space, 'x'),
  'found lane name': (engine, client, name) => engine.findLane(client, 1, 'test', name),
  'found lane space': (engine, client, space) => engine.findLane(client, 1, space, 'x'),
  'block reason': (engine, client, reason) => engine.blockLane(client, lane, reason),
  'paused tag': (engine, client, tag) => engine.pause(client, { tenantId: 1, tag }),
  'resumed tag': (engine, client, tag) => engine.resume(client, { tenantId: 1, tag }),
};

test.each(
  Object.entries(TEXTS).flatMap(([name, call]) =>
    Object.entries(BAD_TEXTS).map(([what, text]) => ({ name, what, call, text })),
  ),
)('G28: $name with $what is refused before any statement', async ({ call, text }) => {
  queries = 0;
  await expect(call(t.engine, counting, text as never)).rejects.toMatchObject({ code: 'MUSTER_BAD_TEXT' });
  expect(queries).toBe(0);
});

test.each(
  [
    'enqueue kind',
    'enqueue channel',
    'enqueue tag',
    'enqueue idempotency key',
    'enqueue supersede key',
    'lane name',
    'lane space',
    'paused tag',
    'claim worker',
  ].map((name) => ({ name, call: TEXTS[name] as Call })),
)('G28: $name is limited in length to fit into an index', async ({ call }) => {
  queries = 0;
  await expect(call(t.engine, counting, LONG as never)).rejects.toMatchObject({ code: 'MUSTER_BAD_VALUE' });
  expect(queries).toBe(0);
});

test('G28: the longest allowed names fit into their indexes', async () => {
  // three bytes a character, and no two alike, so that compression does not help
  const name = (seed: number) =>
    String.fromCharCode(
      ...Array.from({ length: 512 }, (_, n) => 0x4e00 + ((n * 7919 + seed * 104_729) % 20_000)),
    );
  const laneId = await t.engine.ensureLane(t.db, 1, name(1).slice(0, 100), name(2));
  const id = await t.enqueue(laneId, {
    idempotencyKey: name(3),
    supersede: { key: name(4), mode: 'replace' },
    tags: [name(5)],
    kind: name(6),
    channel: name(7),
  });
  await t.engine.pause(t.db, { tenantId: 1, tag: name(5) });
  expect((await t.engine.get(t.db, 1, id))?.waitingFor?.code).toBe('TAG_PAUSED');
  await t.engine.resume(t.db, { tenantId: 1, tag: name(5) });
});

const NUMBERS: Record<string, [Call, unknown[]]> = {
  'enqueue tenant': [enqueue((tenantId) => ({ tenantId })), [-1, 1.5, Number.NaN, 2 ** 31, '1']],
  'enqueue attempts': [enqueue((maxAttempts) => ({ maxAttempts })), [0, -1, 1001, 1.5, Number.NaN, '3']],
  'enqueue backoff': [enqueue((backoffMs) => ({ backoffMs })), [-1, 0.5, 2 ** 31, Number.POSITIVE_INFINITY]],
  'enqueue longest backoff': [enqueue((backoffMaxMs) => ({ backoffMaxMs })), [-1, 0.5, 2 ** 31]],
  'enqueue priority': [enqueue((priority) => ({ priority })), ['high', '', 0]],
  'enqueue head of line': [enqueue((headOfLine) => ({ headOfLine })), ['stay', '']],
  'enqueue lease end': [enqueue((onLeaseEnd) => ({ onLeaseEnd })), ['explode', '']],
  'enqueue supersede mode': [enqueue((mode) => ({ supersede: { key: 'k', mode } })), ['drop', '', undefined]],
  'enqueue not-before': [enqueue((notBefore) => ({ notBefore })), [new Date('x'), new Date(8.64e15), 'now']],
  'enqueue deliver-by': [enqueue((deliverBy) => ({ deliverBy })), [new Date(Number.NaN), new Date(-8e15)]],
  'enqueue deadline': [enqueue((deadline) => ({ deadline })), [new Date('+010000-01-01T00:00:00Z')]],
  'enqueue copied from': [enqueue((copiedFrom) => ({ copiedFrom })), ['x', '', '1e3']],
  'enqueue tag': [enqueue((tag) => ({ tags: [tag] })), ['', 7, null]],
  'enqueue payload': [enqueue((payload) => ({ payload })), [() => 1, 1n, circular(), Symbol('x')]],
  'claim tenant': [claim((tenantId) => ({ tenantId })), [-1, 1.5, 2 ** 31]],
  'claim lease': [claim((leaseMs) => ({ leaseMs })), [0, -1, 1.5, Number.NaN, 2 ** 31]],
  'claim generation': [claim((generation) => ({ generation })), [0, -1, 1.5, 2 ** 31]],
  'claim many generation': [claimMany((generation) => ({ generation })), [0, -1, 1.5, Number.NaN, 2 ** 31]],
  'claim wait': [claim((waitMs) => ({ waitMs })), [-1, Number.NaN, Number.POSITIVE_INFINITY]],
  'claim slots lease': [claimSlots((leaseMs) => ({ leaseMs })), [0, -1, 1.5, 2 ** 31]],
  'claim slots most': [claimSlots((max) => ({ max })), [-1, 1.5, Number.NaN, 2 ** 31]],
  'enqueue and claim lease': [enqueueAndClaim((leaseMs) => ({ leaseMs })), [0, 0.5, 2 ** 31]],
  'enqueue and claim not-before': [
    enqueueAndClaim((notBefore) => ({ actions: [{ laneId: lane.laneId, kind: 'x', notBefore }] })),
    [new Date('2099-01-01')],
  ],
  'enqueue and claim keys': [
    enqueueAndClaim((key) => ({ actions: [{ laneId: lane.laneId, kind: 'x', ...(key as object) }] })),
    [{ idempotencyKey: 'k' }, { supersede: { key: 'k', mode: 'replace' } }],
  ],
  'report attempt': [report((attempt) => ({ attempt })), [0, -1, 1.5, Number.NaN, '1']],
  'report status': [report((status) => ({ status })), ['done', '', undefined]],
  'report retry': [report((retryAfterMs) => ({ status: 'notNow', retryAfterMs })), [-1, 0.5, 2 ** 31]],
  'report next lease': [report((leaseMs) => ({ next: { ...next, leaseMs } })), [0, -1, 2 ** 31]],
  'extend lease': [
    (engine, client, leaseMs) =>
      engine.extend(client, { tenantId: 1, actionId: running, attempt: 1, leaseMs }),
    [0, -5, 1.5, 2 ** 31],
  ],
  'extend most': [
    (engine, client, mostMs) =>
      engine.extend(client, { tenantId: 1, actionId: running, attempt: 1, leaseMs: 1, mostMs }),
    [-5, 1.5, 2 ** 31],
  ],
  slots: [(engine, client, slots) => engine.createRunner(client, 1, slots), [0, -1, 1.5, 2 ** 31]],
  'new slots': [
    (engine, client, slots) => engine.setSlots(client, 1, runnerId, slots),
    [0, -1, 1.5, 2 ** 31],
  ],
  'list limit': [
    (engine, client, limit) => engine.list(client, { tenantId: 1 }, { limit }),
    [0, -1, 1.5, Number.NaN],
  ],
  'list state': [(engine, client, state) => engine.list(client, { tenantId: 1, state }), ['lost', '']],
  'list created before': [
    (engine, client, createdBefore) => engine.list(client, { tenantId: 1, createdBefore }),
    [new Date('x'), new Date(8.64e15)],
  ],
  'list cursor': [
    (engine, client, cursor) => engine.list(client, { tenantId: 1 }, { cursor }),
    ['x', '-1', ''],
  ],
};

test.each(
  Object.entries(NUMBERS).flatMap(([name, [call, values]]) =>
    values.map((value) => ({ name, value, shown: shown(value), call })),
  ),
)('G28: $name of $shown is refused before any statement', async ({ call, value }) => {
  queries = 0;
  const error = await call(t.engine, counting, value as never).then(
    () => 'accepted',
    (thrown) => thrown,
  );
  expect(error).toBeInstanceOf(EngineError);
  expect(error).toMatchObject({ code: 'MUSTER_BAD_VALUE', message: expect.stringMatching(/\.$/) });
  expect(queries).toBe(0);
});

const NO_IDS = [
  '',
  'x',
  '0',
  '-1',
  '01',
  '1.5',
  '1e3',
  ' 1',
  ' 0x1 ',
  '9223372036854775808',
  NUL,
  '999999999999',
];

test.each(NO_IDS)('G28: an invalid id (%j) is unknown, never an error of the database', async (id) => {
  const { engine, db } = t;
  const ref = { tenantId: 1, actionId: id };
  expect(await engine.get(db, 1, id)).toBeNull();
  expect(await engine.events(db, 1, id)).toEqual([]);
  expect(await engine.cancel(db, ref)).toEqual({ outcome: 'unknown', state: null });
  expect(await engine.redrive(db, ref)).toEqual({ outcome: 'unknown', state: null });
  expect(await engine.moveToFront(db, ref)).toEqual({ outcome: 'unknown', state: null });
  expect(await engine.makeDue(db, ref)).toEqual({ outcome: 'unknown', state: null });
  expect(await engine.acknowledge(db, { ...ref, attempt: 1 })).toBe(false);
  expect(await engine.extend(db, { ...ref, attempt: 1, leaseMs: 1 })).toMatchObject({ extended: false });
  expect(await engine.report(db, { ...ref, attempt: 1, status: 'failed' })).toMatchObject({
    accepted: false,
    reason: 'UNKNOWN_ACTION',
  });
  expect(await engine.release(db, { ...ref, attempt: 1 })).toMatchObject({ reason: 'UNKNOWN_ACTION' });
  expect((await engine.list(db, { tenantId: 1, laneId: id })).actions).toEqual([]);
  expect((await engine.list(db, { tenantId: 1, ids: [id] })).actions).toEqual([]);
  expect(await engine.held(db, { tenantId: 1, runnerId: id })).toEqual([]);
  const noLane = { code: 'MUSTER_UNKNOWN_LANE' };
  const at = { tenantId: 1, laneId: id };
  await expect(engine.enqueue(db, { ...at, kind: 'x' })).rejects.toMatchObject(noLane);
  await expect(engine.claim(db, { ...at, channel: 'any', worker: 'w', leaseMs: 1 })).rejects.toMatchObject(
    noLane,
  );
  await expect(engine.pauseLane(db, at)).rejects.toMatchObject(noLane);
  await expect(engine.resumeLane(db, at)).rejects.toMatchObject(noLane);
  await expect(engine.blockLane(db, at, 'x')).rejects.toMatchObject(noLane);
  await expect(engine.unblockLane(db, at)).rejects.toMatchObject(noLane);
  await expect(engine.raiseGeneration(db, at)).rejects.toMatchObject(noLane);
  await expect(engine.assignRunner(db, at, null)).rejects.toMatchObject(noLane);
  const noRunner = { code: 'MUSTER_UNKNOWN_RUNNER' };
  await expect(engine.assignRunner(db, lane, id)).rejects.toMatchObject(noRunner);
  await expect(engine.setSlots(db, 1, id, 1)).rejects.toMatchObject(noRunner);
  const runner = { tenantId: 1, runnerId: id, worker: 'w', leaseMs: 1 };
  await expect(engine.claimSlots(db, { ...runner, channel: 'any', max: 1 })).rejects.toMatchObject(noRunner);
  await expect(
    engine.enqueueAndClaimMany(db, [{ ...runner, actions: [{ laneId: lane.laneId, kind: 'x' }] }]),
  ).rejects.toMatchObject(noRunner);
});

test.each(NO_IDS)(
  'G28: an invalid id (%j) among many reports is unknown, and the others are processed',
  async (id) => {
    const { laneId } = await t.lane();
    const good = await t.enqueue(laneId);
    await t.claim(laneId);
    const reports = [id, good, id].map((actionId) => ({
      ...{ tenantId: 1, actionId, attempt: 1 },
      status: 'succeeded' as const,
    }));
    expect(await t.engine.reportMany(t.db, reports)).toMatchObject([
      { accepted: false, reason: 'UNKNOWN_ACTION', laneId: null },
      { accepted: true, laneId },
      { accepted: false, reason: 'UNKNOWN_ACTION', laneId: null },
    ]);
  },
);

test('G17 G28: an attempt number out of range is late, not an error', async () => {
  const { laneId } = await t.lane();
  const id = await t.enqueue(laneId);
  for (const attempt of [2, 2 ** 31 - 1, 2 ** 31, 2 ** 53, 1e300])
    expect(await t.report(id, attempt)).toMatchObject({ accepted: false, reason: 'LATE', state: 'pending' });
});

test('none of this changed anything', async () => {
  expect(await t.engine.get(t.db, 1, running)).toMatchObject({ state: 'claimed', attempt: 1 });
  expect(await t.eventTypes(running)).toEqual(['CREATED', 'SENT']);
});

function circular(): object {
  const self: Record<string, unknown> = {};
  self.self = self;
  return self;
}

function shown(value: unknown): string {
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'no date' : value.toISOString();
  if (typeof value === 'object' && value !== null) return value === null ? 'null' : Object.keys(value).join();
  return typeof value === 'string' ? `"${value}"` : String(value);
}
