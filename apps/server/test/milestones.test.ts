import { ofOne } from '@muster/engine';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createMilestoneLog } from '../src/fleet/milestone-log.ts';
import { createPruneAssignments } from '../src/fleet/prune-assignments.ts';
import { deviceWith, type FakeDevice, fakeDevice } from '../testing/fake-device.ts';
import { fakePc, type Held, newTask } from '../testing/fake-pc.ts';
import { type TestServer, testServer } from '../testing/test-server.ts';

let t: TestServer;
beforeAll(async () => {
  t = await testServer({ clock: true });
});
afterAll(() => t.close());

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const START = '2026-05-01T00:00:00.000Z';
const plus = (days: number) => new Date(Date.parse(START) + days * DAY).toISOString();

test('days of all unfinished actions add up to the projection; a success moves the expiry; other endings take them back', async () => {
  const device = await fakeDevice(t, { expiresAt: START });
  const [first, second, third] = [
    await device.assign('A', { moreDays: 3 }),
    await device.assign('B', { moreDays: 7 }),
    await device.assign('C', { moreDays: -2 }),
  ];
  expect(await device.show()).toMatchObject({ expiresAt: START, projectedExpiresAt: plus(8) });
  const { action } = await device.checkIn();
  expect(await device.show()).toMatchObject({ expiresAt: START, projectedExpiresAt: plus(8) });
  await device.report(action);
  expect(await device.show()).toMatchObject({ expiresAt: plus(3), projectedExpiresAt: plus(8) });
  await t.post(`/api/actions/${third}/cancel`);
  expect(await device.show()).toMatchObject({ expiresAt: plus(3), projectedExpiresAt: plus(10) });
  const log = await device.milestones();
  expect(log.map((m) => [m.type, m.actionId, m.moreDays, m.expiresAt, m.projectedExpiresAt])).toEqual([
    ['enrolled', null, 0, START, START],
    ['assigned', first, 3, START, plus(3)],
    ['assigned', second, 7, START, plus(10)],
    ['assigned', third, -2, START, plus(8)],
    ['sent', first, 3, START, plus(8)],
    ['done', first, 3, plus(3), plus(8)],
    ['sent', second, 7, plus(3), plus(8)],
    ['cancelled', third, -2, plus(3), plus(10)],
  ]);
  expect(log[5]).toMatchObject({
    source: 'assign',
    by: 'MUSTER_OPERATOR_TOKEN',
    at: t.clock().toISOString(),
  });
});

test('every milestone is written in the transaction of its transition', async () => {
  const device = await fakeDevice(t, { expiresAt: START });
  await device.assign('A', { moreDays: 3, maxAttempts: 1 });
  await device.checkIn();
  await t.pass(76 * MINUTE); // housekeeping ends it
  expect((await device.milestones()).at(-1)).toMatchObject({ type: 'failed', projectedExpiresAt: START });
  const { rows } = await t.engine.db.query({
    text: `select m.type, e.xmin = m.xmin as same from muster.milestones m
      join (
        select tenant_id, action_id, type, xmin from muster.events union all select tenant_id, action_id, 1, xmin from muster.actions
      ) e on e.tenant_id = m.tenant_id and e.action_id = m.action_id
        and e.type = case m.type when 'assigned' then 1 when 'sent' then 2 when 'failed' then 10 end
      where m.device_id = $1 order by m.milestone_id`,
    values: [device.id],
  });
  expect(rows).toEqual(['assigned', 'sent', 'failed'].map((type) => ({ type, same: true })));
});

test('a device without an expiry never gets one, whatever days its actions have', async () => {
  const device = await fakeDevice(t);
  await device.assign('A', { moreDays: 3 });
  const { action } = await device.checkIn();
  await device.report(action);
  expect(await device.show()).toMatchObject({ expiresAt: null, projectedExpiresAt: null });
});

test('several endings of one device in one statement: each row has the expiry after it', async () => {
  const device = await fakeDevice(t, { expiresAt: START });
  for (const moreDays of [1, 2, 4]) await device.assign('A', { moreDays });
  await device.checkIn();
  await t.post(`/api/devices/${device.id}/re-enrol`);
  const ended = (await device.milestones()).filter((m) => m.type === 'cancelled');
  const left = ended.map((m) => Date.parse(m.projectedExpiresAt) - Date.parse(START));
  // the running one first, then the others; the projection shrinks by the days of each
  let sum = 7;
  const expected = ended.map((m) => {
    sum -= m.moreDays;
    return sum * DAY;
  });
  expect(left).toEqual(expected);
  expect(ended).toHaveLength(3);
});

test('a success after a final failure adds its days to both, from its own row on', async () => {
  const device = await fakeDevice(t, { expiresAt: START });
  const late = await device.assign('LATE', { moreDays: 5, maxAttempts: 1 });
  await device.checkIn();
  await t.pass(76 * MINUTE);
  expect(await device.show()).toMatchObject({ projectedExpiresAt: START });
  const running = await device.assign('RUNNING', { moreDays: 3 });
  await device.checkIn();
  await t.engine.db.transaction(async (tx) => {
    for (const actionId of [running, late])
      await t.engine.report(tx, { tenantId: 1, actionId, attempt: 1, status: 'succeeded' });
  });
  const ends = (await device.milestones()).slice(-2);
  expect(ends.map((m) => [m.actionId, m.type, m.expiresAt, m.projectedExpiresAt])).toEqual([
    [running, 'done', plus(3), plus(3)],
    [late, 'done', plus(8), plus(8)],
  ]);
});

/** What the milestones of a device alone say about its expiry. */
function replayed(
  log: readonly { type: string; actionId: string | null; moreDays: number; expiresAt: string | null }[],
) {
  const open = new Map<string, number>();
  let expiry = 0;
  return log.map((m) => {
    const id = m.actionId as string;
    if (m.type === 'enrolled' || m.type === 'expirySet') expiry = Date.parse(m.expiresAt as string);
    else if (m.type === 'assigned' || m.type === 'redriven') open.set(id, m.moreDays);
    else if (['failed', 'cancelled', 'superseded', 'expired'].includes(m.type)) open.delete(id);
    else if (m.type === 'done') {
      open.delete(id);
      expiry += m.moreDays * DAY;
    }
    const projected = [...open.values()].reduce((sum, days) => sum + days * DAY, expiry);
    return [new Date(expiry).toISOString(), new Date(projected).toISOString()];
  });
}

type Step =
  | { do: 'assign'; days: number; tries: number; key: boolean }
  | { do: 'checkIn' | 'reEnrol' | 'redrive' | 'late' }
  | { do: 'report'; status: 'done' | 'failed' | 'notNow' }
  | { do: 'cancel'; which: number }
  | { do: 'pass'; minutes: number }
  | { do: 'setExpiry'; days: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('assign' as const),
      days: fc.integer({ min: -3, max: 9 }),
      tries: fc.integer({ min: 1, max: 2 }),
      key: fc.boolean(),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('checkIn' as const) }) },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('report' as const),
      status: fc.constantFrom<'done' | 'failed' | 'notNow'>('done', 'done', 'failed', 'notNow'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('cancel' as const), which: fc.nat(9) }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('pass' as const), minutes: fc.constantFrom(1, 10, 80) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constantFrom('redrive' as const, 'late' as const, 'late' as const) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('setExpiry' as const), days: fc.integer({ min: 0, max: 30 }) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('reEnrol' as const) }) },
);

class Life {
  device: FakeDevice;
  readonly ids: string[] = [];
  readonly given: { id: string; attempt: number }[] = [];

  constructor(device: FakeDevice) {
    this.device = device;
  }

  async live(one: Step): Promise<void> {
    const { device, given, ids } = this;
    const last = given.at(-1);
    switch (one.do) {
      case 'assign': {
        const supersede = one.key ? { supersede: { key: 'k' } } : {};
        ids.push(await device.assign('X', { moreDays: one.days, maxAttempts: one.tries, ...supersede }));
        break;
      }
      case 'checkIn':
        this.#take(await device.checkIn());
        break;
      case 'report':
        if (last) this.#take(await device.report(last, one.status));
        break;
      case 'late':
        for (const old of given.slice(-3)) this.#take(await device.report(old));
        break;
      case 'cancel':
        if (ids.length > 0) await t.post(`/api/actions/${ids[one.which % ids.length]}/cancel`);
        break;
      case 'redrive':
        for (const id of ids.slice(-5)) await t.post(`/api/actions/${id}/redrive`);
        break;
      case 'pass':
        await t.pass(one.minutes * MINUTE);
        break;
      case 'setExpiry':
        await t.send('PATCH', `/api/devices/${device.id}`, { expiresAt: plus(one.days) });
        break;
      case 'reEnrol': {
        const { body } = await t.post(`/api/devices/${device.id}/re-enrol`);
        this.device = deviceWith(t, device.id, t.secret(body.deviceToken));
        break;
      }
    }
  }

  #take(answer: { action: { id: string; attempt: number } | null }): void {
    if (answer.action) this.given.push(answer.action);
  }
}

test('whatever happens, the projection equals a replay of the milestones', async () => {
  const runs = t.kind === 'pglite' ? 12 : 20;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
      const life = new Life(await fakeDevice(t, { expiresAt: START }));
      for (const one of steps) await life.live(one);
      const log = await life.device.milestones();
      const expected = replayed(log);
      expect(log.map((m) => [m.expiresAt, m.projectedExpiresAt])).toEqual(expected);
      const { expiresAt, projectedExpiresAt } = await life.device.show();
      expect([expiresAt, projectedExpiresAt]).toEqual(expected.at(-1));
    }),
    { numRuns: runs },
  );
});

test('simultaneous assignments and results keep the projection exact', async () => {
  const device = await fakeDevice(t, { expiresAt: START });
  await device.assign('A', { moreDays: 1 });
  const { action } = await device.checkIn();
  await Promise.all([
    ...Array.from({ length: 12 }, (_, n) => device.assign('B', { moreDays: n })),
    device.report(action),
  ]);
  const log = await device.milestones();
  expect(await device.show()).toMatchObject({ expiresAt: plus(1), projectedExpiresAt: plus(67) });
  expect(replayed(log).at(-1)).toEqual([plus(1), plus(67)]);
});

test('the steps of tasks are milestones too, whatever ends them, in their place among the others', async () => {
  const pc = await fakePc(t, 1);
  const [device] = pc.devices as [FakeDevice];
  await t.send('PATCH', `/api/devices/${device.id}`, { expiresAt: START, ack: 'onDelivery' });
  await device.assign('A', { moreDays: 3, notBefore: plus(0), ack: 'onReport' });
  await newTask(t, { pcIds: [pc.id] }, { maxAttempts: 2, timeoutSeconds: 60 });
  const [first] = await pc.claim();
  await pc.fail(first as Held);
  const [second] = await pc.claim();
  await t.pass(2 * MINUTE); // housekeeping ends it
  const id = (first as Held).id;
  // in this order: a task without eligible devices is given up
  await t.post(`/api/devices/${device.id}/clear-error`);
  await t.post(`/api/actions/${id}/redrive`);
  const [third] = await pc.claim();
  await t.post(`/api/actions/${id}/cancel`);
  await pc.complete(third as Held);
  expect([first, second, third].map((held) => held?.id)).toEqual([id, id, id]);
  const log = (await device.milestones()).filter((m) => m.actionId === id);
  expect(log.map((m) => m.type)).toEqual([
    ...['sent', 'retrying', 'sent', 'failed'],
    ...['redriven', 'sent', 'cancelRequested', 'done'],
  ]);
  for (const m of log)
    expect(m).toMatchObject({ source: 'task', moreDays: 0, expiresAt: START, projectedExpiresAt: plus(3) });
});

test('days that could move an expiry out of the supported years are refused', async () => {
  const device = await fakeDevice(t, { expiresAt: '2027-01-01T00:00:00Z' });
  const assign = (moreDays: number) => t.post(`/api/devices/${device.id}/actions`, { kind: 'x', moreDays });
  for (let n = 0; n < 20; n += 1) expect((await assign(n % 2 ? -36_500 : 36_500)).status).toBe(201);
  // each direction by itself: some may succeed and some may not
  for (const moreDays of [36_500, -36_500])
    expect(await assign(moreDays)).toMatchObject({ status: 400, body: { code: 'MUSTER_BAD_BODY' } });
  expect((await assign(0)).status).toBe(201);
});

test('an Idempotency-Key that is repeated with other days or another ack is refused', async () => {
  const device = await fakeDevice(t, { expiresAt: START });
  const assign = (body: object) =>
    t.post(
      `/api/devices/${device.id}/actions`,
      { kind: 'x', ...body },
      { headers: { 'idempotency-key': 'once' } },
    );
  expect((await assign({ moreDays: 3 })).status).toBe(201);
  expect((await assign({ moreDays: 3 })).status).toBe(200);
  for (const body of [{}, { moreDays: 4 }, { moreDays: 3, ack: 'onDelivery' }])
    expect(await assign(body)).toMatchObject({ status: 409, body: { code: 'MUSTER_IDEMPOTENCY_MISMATCH' } });
});

test('the data of pruned actions is deleted in rounds, each of which looks at a few only', async () => {
  const device = await fakeDevice(t);
  const ids: string[] = [];
  for (let n = 0; n < 5; n += 1) ids.push(await device.assign('LOCK'));
  const [first, , third] = ids;
  const duty = createPruneAssignments(createMilestoneLog('muster', t.engine.now), 2);
  // in one transaction, so that the server's own housekeeping does not see them
  await t.engine.db.transaction(async (tx) => {
    const rows = async (text: string, values: unknown[] = []) => (await tx.query({ text, values })).rows;
    const left = async () =>
      (
        await rows('select action_id from muster.assignments where action_id = any($1) order by action_id', [
          ids,
        ])
      ).map((row) => row.action_id);
    const pruneAction = async (id: string | undefined) => {
      await rows('delete from muster.pending where action_id = $1', [id]);
      await rows('delete from muster.actions where action_id = $1', [id]);
    };
    const [{ n: before }] = await rows('select count(*)::int as n from muster.assignments');
    const goRound = async () => {
      const counts: number[] = [];
      for (let n = 0; n <= Math.floor(before / 2); n += 1)
        counts.push((await duty.runOnce(ofOne(t.engine.db, tx, 1))).count);
      return counts;
    };
    await pruneAction(third);
    const counts = await goRound();
    expect(counts.filter((count) => count > 0)).toEqual([1]);
    expect(counts.indexOf(1)).toBe(Math.floor((before - 3) / 2)); // the rounds before did not look there
    expect(await left()).toEqual(ids.filter((id) => id !== third));
    await pruneAction(first);
    await goRound(); // it begins again
    expect(await left()).toEqual(ids.filter((id) => id !== third && id !== first));
  });
});
