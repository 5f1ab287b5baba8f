import type { Phone } from '@muster/mdm/simulation';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type MdmStage, mdmStage } from '../testing/mdm-stage.ts';
import { nobodyCalls } from '../testing/phones/nobody-calls.ts';
import { Random } from '../testing/torture/random.ts';

/** Which phones are pushed, and when: phones that connected and did not get everything, or have not carried it out. */
let s: MdmStage;
beforeAll(async () => {
  s = await mdmStage({
    clock: true,
    settings: { MUSTER_MDM_HOLD_SECONDS: '0', MUSTER_EXECUTION_TIMEOUT_SECONDS: '10' },
  });
});
afterAll(() => s.close());

const [WATCH, PUSH, SECOND, MINUTE] = ['mdm-watch-phones', 'push-devices', 1_000, 60_000];
const LADDER = [30 * SECOND, 2 * MINUTE, 8 * MINUTE, 30 * MINUTE, 24 * 60 * MINUTE];
const [LOCK, UNLOCK] = ['5', '6'];

const rows = async (text: string, ...values: unknown[]) => (await s.t.engine.db.query({ text, values })).rows;
const queue = async (id: string, requestType: string) =>
  (await s.t.post(`/api/devices/${id}/mdm/commands`, { requestType })).body as {
    id: string;
    commandUuid: string;
  };
const action = async (id: string) => (await s.t.get(`/api/actions/${id}`)).body;
/** How often it was pushed since its last contact; null: nothing waits for it. */
async function pushes(id: string): Promise<number | null> {
  const [row] = await rows('select pushes, turn from muster.push_ledger where device_id = $1', id);
  return row ? (row.turn === null ? row.pushes : 0) : null;
}
/** Waits until every message on the bus has been processed. */
async function quiet(): Promise<void> {
  const { engine } = s.t;
  await expect
    .poll(async () => {
      const { actions } = await engine.list(engine.db, { tenantId: 1, channel: 'bus', state: 'unfinished' });
      return actions.length;
    })
    .toBe(0);
}
/** Time passes, and everything due has happened. */
async function pass(ms: number): Promise<void> {
  s.t.clock.advance(ms);
  if (ms > 30 * MINUTE) await s.t.engine.runDuty('keep-days');
  await s.t.engine.runDuty('mdm-expire-commands');
  await quiet();
  await s.t.pass(0);
  await s.t.engine.runDuty('dispatch-waiting');
  await quiet();
  await s.t.engine.runDuty(WATCH);
  await s.t.engine.runDuty(PUSH);
}
async function assign(deviceId: string, actionId: string | undefined): Promise<string> {
  const query = `mutation { assignAction(deviceId: ${deviceId}, actionId: ${actionId}) { executionId } }`;
  const { body } = await s.t.post('/graphql', { query });
  if (body.errors) throw new Error(JSON.stringify(body.errors));
  await quiet();
  return body.data.assignAction.executionId;
}
const execution = async (id: string) => {
  const query = `{ execution(id: "${id}") { status failedReason action { state } } }`;
  return (await s.t.post('/graphql', { query })).body.data.execution;
};
const policy = async (id: string) =>
  (await s.t.post('/graphql', { query: `{ device(id: ${id}) { policy } }` })).body.data.device.policy;
/** An enrolled phone that nothing waits for, so it needs no push. */
async function quietPhone() {
  const { phone, id } = await s.enrolled();
  await expect.poll(() => policy(id)).toBe('active');
  await quiet();
  await expect.poll(() => pushes(id)).toBe(1);
  await phone.connect();
  await quiet();
  await s.t.engine.runDuty(WATCH);
  expect(await pushes(id)).toBe(null);
  return { phone, id };
}
/** The pipeline learns of a contact: what it dispatches goes out in the same connection, or the phone is pushed for it. */
async function comes(phone: Phone, id: string) {
  const given = await phone.connect();
  if (given.length > 0) return given;
  await quiet();
  await expect.poll(() => pushes(id)).toBe(1);
  return phone.connect();
}
/** It is pushed at each of these steps of the ladder, and never earlier. */
async function isCalledOn(id: string, steps: number): Promise<void> {
  await expect.poll(() => pushes(id)).toBe(1);
  for (const [n, step] of LADDER.slice(0, steps).entries()) {
    await pass(step * 0.89);
    expect(await pushes(id)).toBe(n + 1);
    await pass(step * 0.22);
    await expect.poll(() => pushes(id)).toBe(n + 2);
  }
}

test.each(['says nothing', 'refuses for now'] as const)(
  'G81: a phone that fetched a lock and %s is pushed on the ladder until it connects, and gets it then',
  async (what) => {
    const { phone, id } = await quietPhone();
    const executionId = await assign(id, LOCK);
    const command = await phone.channel.idle();
    expect(command).toMatchObject({ requestType: 'DeviceLock' });
    if (what === 'refuses for now') await phone.channel.report(command as never, { status: 'NotNow' });
    await expect.poll(() => pushes(id)).toBe(null);
    // the command times out before the execution: jumping past both would leave it to chance which one is reported
    await pass(9 * SECOND);
    await pass(SECOND);
    await expect.poll(() => execution(executionId)).toMatchObject({ status: 'ACTION_FAILED' });
    const failedReason = what === 'says nothing' ? 'device_timeout' : 'not_now';
    expect(await execution(executionId)).toMatchObject({ failedReason, action: { state: 'pending' } });
    expect(await pushes(id)).toBe(null); // it connected a moment ago, and another contact now would not be reported
    await pass(20 * SECOND);
    await isCalledOn(id, what === 'says nothing' ? LADDER.length : 1);
    expect(await comes(phone, id)).toMatchObject([{ requestType: 'DeviceLock' }]);
    await expect.poll(() => policy(id)).toBe('locked');
    await pass(LADDER[4] as number);
    expect(await pushes(id)).toBe(null);
  },
);

test('G81: a phone whose contact was not processed is pushed when it is', async () => {
  const { phone, id } = await quietPhone(); // told of a moment ago
  await assign(id, LOCK);
  expect(await phone.channel.idle()).toMatchObject({ requestType: 'DeviceLock' });
  await pass(11 * SECOND);
  expect(await phone.connect()).toEqual([]);
  await pass(18 * SECOND);
  expect(await pushes(id)).toBe(null);
  await pass(SECOND);
  await expect.poll(() => pushes(id)).toBe(1);
  expect(await comes(phone, id)).toMatchObject([{ requestType: 'DeviceLock' }]);
});

test('G81: a phone that left before its retry was due is pushed when it is', async () => {
  const { phone, id } = await quietPhone();
  const { id: raw, commandUuid } = await queue(id, 'SecurityInfo');
  await phone.channel.idle();
  await pass(30 * SECOND);
  await expect.poll(() => pushes(id)).toBe(1); // what it was given may have got lost
  await pass(270 * SECOND + 1);
  await expect.poll(async () => (await action(raw)).state).toBe('pending');
  expect(await phone.connect()).toEqual([]); // between its lease and its retry
  await s.t.engine.runDuty(WATCH);
  expect(await pushes(id)).toBe(null);
  await pass(3 * SECOND);
  await expect.poll(() => pushes(id)).toBe(1);
  expect(await phone.connect()).toMatchObject([{ commandUuid }]);
});

test('G81: a phone that refuses again and again is pushed more and more rarely', async () => {
  const { phone, id } = await quietPhone();
  const raw = await queue(id, 'InstalledApplicationList');
  phone.busyFor.add('InstalledApplicationList');
  await phone.connect();
  for (const step of LADDER) {
    await pass(step - SECOND);
    expect(await pushes(id)).toBe(null);
    await pass(SECOND);
    await expect.poll(() => pushes(id)).toBe(1);
    expect(await phone.connect()).toHaveLength(1);
  }
  // other commands that it has got meanwhile are not refusals
  await queue(id, 'SecurityInfo');
  expect(await phone.channel.idle()).toMatchObject({ requestType: 'SecurityInfo' });
  await pass(30 * SECOND);
  await expect.poll(() => pushes(id)).toBe(1);
  phone.busyFor.clear();
  await phone.connect();
  expect(await action(raw.id)).toMatchObject({ state: 'failed', attempt: LADDER.length + 2 }); // it does not know it
});

test.each([
  ['everything', () => s.t.post('/api/pause', {}), () => s.t.post('/api/resume', {})],
  [
    'its lane',
    (lane: object) => s.t.engine.pauseLane(s.t.engine.db, lane as never),
    (lane: object) => s.t.engine.resumeLane(s.t.engine.db, lane as never),
  ],
] as const)(
  'G81: a phone that left while %s was paused is pushed when it is resumed',
  async (_, pause, resume) => {
    const { phone, id } = await quietPhone();
    const laneId = await s.shell.fleet.laneOf(s.t.engine.db, 1, id);
    await pause({ tenantId: 1, laneId });
    const { commandUuid } = await queue(id, 'ProfileList');
    await expect.poll(() => pushes(id)).toBe(1);
    expect(await phone.connect()).toEqual([]);
    await s.t.engine.runDuty(WATCH);
    expect(await pushes(id)).toBe(null);
    await resume({ tenantId: 1, laneId });
    await s.t.engine.runDuty(WATCH);
    await expect.poll(() => pushes(id)).toBe(1);
    expect(await phone.connect()).toMatchObject([{ commandUuid }]);
    await s.t.engine.runDuty(WATCH);
    expect(await pushes(id)).toBe(null);
    expect(
      await rows('select 1 from muster.mdm_devices where device_id = $1 and watched_at is not null', id),
    ).toEqual([]);
  },
);

test('G81: a redriven action causes a push', async () => {
  const { phone, id } = await quietPhone();
  const raw = await queue(id, 'Nonsense');
  await phone.connect();
  expect(await action(raw.id)).toMatchObject({ state: 'failed' });
  await s.t.engine.runDuty(WATCH);
  expect((await s.t.post(`/api/actions/${raw.id}/redrive`)).status).toBe(200);
  await s.t.engine.runDuty(WATCH);
  await expect.poll(() => pushes(id)).toBe(1);
});

test('G81: whatever happens, no phone has something to fetch without a push to announce it', async () => {
  const random = new Random('nobody calls');
  const { phone, id } = await quietPhone();
  const laneId = await s.shell.fleet.laneOf(s.t.engine.db, 1, id);
  const lane = { tenantId: 1, laneId };
  const made: string[] = [];
  const come = async (mood: 'obeys' | 'refuses' | 'is silent') => {
    if (mood === 'is silent') return void (await phone.channel.idle());
    phone.answer = () => ({ status: mood === 'obeys' ? 'Acknowledged' : 'NotNow' });
    await phone.connect();
  };
  /** Connects only when it is pushed. */
  const isCalled = async () => ((await pushes(id)) ?? 0) > 0;
  const acts: (() => Promise<unknown>)[] = [
    async () => made.push((await queue(id, random.pick(['ProfileList', 'SecurityInfo']))).id),
    async () => assign(id, (await policy(id)) === 'locked' ? UNLOCK : LOCK).catch(() => {}),
    async () => (await isCalled()) && come(random.pick(['obeys', 'refuses', 'is silent'])),
    async () => (await isCalled()) && come(random.pick(['refuses', 'is silent'])),
    () => pass(random.pick([SECOND, 11 * SECOND, 31 * SECOND, 3 * MINUTE, 31 * MINUTE])),
    () => s.t.engine.pauseLane(s.t.engine.db, lane),
    () => s.t.engine.resumeLane(s.t.engine.db, lane),
    async () => made.length > 0 && s.t.post(`/api/actions/${random.pick(made)}/cancel`, {}),
  ];
  for (let n = 0; n < 40; n += 1) {
    await random.pick(acts)();
    expect({ n, nobody: await nobodyCalls(s.t.engine.db, s.t.engine.schema) }).toEqual({ n, nobody: [] });
  }
  // so everything gets done by a phone that connects only when it is pushed
  await s.t.engine.resumeLane(s.t.engine.db, lane);
  const left = async () =>
    (await s.t.get(`/api/devices/${id}`)).body as { current: unknown; queueDepth: number };
  for (let n = 0; n < 40; n += 1) {
    const { current, queueDepth } = await left();
    if (current === null && queueDepth === 0) break;
    await pass(LADDER[n % 5] as number);
    // what the pipeline learns from it is a reason to push it again
    for (let again = 0; again < 3 && (await isCalled()); again += 1) {
      await come('obeys');
      await quiet();
      await s.t.engine.runDuty(PUSH);
      await expect.poll(() => pushes(id)).not.toBe(0);
    }
  }
  expect(await left()).toMatchObject({ current: null, queueDepth: 0 });
});
