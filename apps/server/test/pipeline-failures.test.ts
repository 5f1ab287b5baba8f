import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { StateNote } from '../src/features/pipeline/state-note.ts';
import { completed, connected, failed, released, tokenUpdate } from '../testing/echo-fleet.ts';
import { type PipelineStage, pipelineStage } from '../testing/pipeline-stage.ts';

let p: PipelineStage;
beforeAll(async () => {
  p = await pipelineStage({ faults: true });
});
afterAll(() => p.t.close());
afterEach(() => {
  p.echo.answer = completed;
});

const LOCK = 5;
const UNLOCK = 6;
const RELEASE = 9;
const command = async (udid: string, nth = 0) => {
  await expect.poll(() => p.commandsOf(udid).length).toBeGreaterThan(nth);
  const found = p.commandsOf(udid)[nth];
  if (!found) throw new Error('no command');
  return found;
};
const chain = [{ ErrorCode: 12021, ErrorDomain: 'MCMDMErrorDomain' }];
const outcomes = async (executionId: string) =>
  (await p.execution(executionId)).action.executions.map(
    (one: { status: string; failedReason: string | null }) => one.failedReason ?? one.status,
  );
/** Waits until every message on the bus has been processed. */
async function quiet(): Promise<void> {
  await expect
    .poll(async () => {
      const { actions } = await p.t.engine.list(p.t.engine.db, {
        tenantId: 1,
        channel: 'bus',
        state: 'unfinished',
      });
      return actions.length;
    })
    .toBe(0);
}

test('G77: a command that was fetched and never answered times out with its lease, and is dispatched again at the next contact', async () => {
  p.echo.answer = () => null;
  const { id, udid } = await p.active();
  const { executionId } = await p.assign(id, LOCK);
  await command(udid);
  await p.t.pass(59_000);
  expect(await p.execution(executionId)).toMatchObject({
    status: 'ACTION_PENDING',
    action: { state: 'claimed' },
  });
  await p.t.pass(1_000);
  expect(await p.execution(executionId)).toMatchObject({
    ...{ status: 'ACTION_FAILED', failedReason: 'device_timeout', action: { state: 'pending' } },
  });
  // not by the clock, however long it takes
  await p.t.pass(3_600_000);
  await p.t.engine.runDuty('dispatch-waiting');
  await quiet();
  expect(p.commandsOf(udid)).toHaveLength(1);

  p.echo.answer = completed;
  await p.echo.say(connected(udid));
  await expect.poll(() => p.policy(id)).toBe('locked');
  expect(await outcomes(executionId)).toEqual(['device_timeout', 'ACTION_COMPLETED']);
  const [first, second] = p.commandsOf(udid);
  expect(second?.command_uuid).not.toBe(first?.command_uuid);
  // nothing is left for it: the next contact dispatches nothing
  await p.echo.say(connected(udid));
  await quiet();
  expect(p.commandsOf(udid)).toHaveLength(2);
});

test('G77: after three timeouts the action is a dead letter, and a redrive dispatches it at once', async () => {
  p.echo.answer = () => null;
  const { id, udid } = await p.active();
  const { executionId } = await p.assign(id, LOCK);
  for (let nth = 0; nth < 3; nth += 1) {
    await command(udid, nth);
    await quiet();
    await p.t.pass(60_000);
    await p.echo.say(connected(udid));
    await quiet();
  }
  const { action } = await p.execution(executionId);
  expect(action).toMatchObject({ state: 'failed' });
  expect(await outcomes(executionId)).toEqual(['device_timeout', 'device_timeout', 'device_timeout']);
  expect(p.commandsOf(udid)).toHaveLength(3);

  p.echo.answer = completed;
  expect((await p.t.post(`/api/actions/${action.id}/redrive`)).status).toBe(200);
  await p.t.pass(5_000);
  await p.t.engine.runDuty('dispatch-waiting');
  await expect.poll(() => p.policy(id)).toBe('locked');
});

test('G77: a command that was never fetched does not count as an attempt, however often', async () => {
  p.echo.answer = (one) => failed(one, { reason: 'device_timeout', fetched: false });
  const { id, udid } = await p.active();
  const { executionId } = await p.assign(id, LOCK);
  for (let nth = 0; nth < 12; nth += 1) {
    await command(udid, nth);
    await quiet();
    await p.echo.say(connected(udid));
  }
  await quiet();
  expect((await p.execution(executionId)).action.state).toBe('pending');
  p.echo.answer = completed;
  await p.echo.say(connected(udid));
  await expect.poll(() => p.policy(id)).toBe('locked');
});

test.each([
  ['device_timeout', { reason: 'device_timeout', fetched: false }],
  ['apns_unregistered', { reason: 'apns_unregistered' }],
] as const)('G77: assigned with offline: FAIL, %s ends the action', async (reason, payload) => {
  p.echo.answer = (one) => failed(one, payload);
  const { id } = await p.active();
  const { executionId } = await p.assign(id, LOCK, { offline: 'FAIL' });
  await p.settled(executionId, 'ACTION_FAILED');
  expect(await p.execution(executionId)).toMatchObject({ failedReason: reason, action: { state: 'failed' } });
});

test('G77: a dead push token ends the execution; the action waits for the next token', async () => {
  p.echo.answer = (one) => failed(one, { reason: 'apns_bad_token' });
  const { id, udid } = await p.active();
  const { executionId } = await p.assign(id, LOCK);
  await p.settled(executionId, 'ACTION_FAILED');
  expect(await p.execution(executionId)).toMatchObject({
    ...{ failedReason: 'apns_bad_token', action: { state: 'pending' } },
  });
  p.echo.answer = completed;
  await p.echo.say(tokenUpdate(udid));
  await expect.poll(() => p.policy(id)).toBe('locked');
  expect(await outcomes(executionId)).toEqual(['apns_bad_token', 'ACTION_COMPLETED']);
});

test("an error of the device ends the action without a retry, with the device's message", async () => {
  p.echo.answer = (one) => failed(one, { reason: 'device_error', error_chain: chain });
  const { id } = await p.active();
  const { executionId } = await p.assign(id, LOCK);
  await p.settled(executionId, 'ACTION_FAILED');
  expect(await p.execution(executionId)).toMatchObject({
    ...{ failedReason: 'device_error', errorChain: chain, action: { state: 'failed' } },
  });
  expect(await p.policy(id)).toBe('active');
});

/** The latest event that subscribers got about the device. */
async function lastNote(deviceId: string) {
  const { events } = await p.t.engine.feed.read(p.t.engine.db, { tenantId: 1, limit: 100_000 });
  const notes = events.flatMap(({ reason, note }) => (reason === 'device.state' ? [note as StateNote] : []));
  return notes.findLast((note) => note.deviceId === deviceId);
}

test('G77: a late answer completes a waiting action and moves the policy in any case; the execution stays failed', async () => {
  p.echo.answer = () => null;
  const { id, udid } = await p.active();
  const { executionId } = await p.assign(id, LOCK);
  const first = await command(udid);
  await quiet();
  await p.t.pass(60_000);
  await p.echo.say(completed(first));
  await expect.poll(() => p.policy(id)).toBe('locked');
  expect(await p.execution(executionId)).toMatchObject({
    ...{ status: 'ACTION_FAILED', failedReason: 'device_timeout', action: { state: 'succeeded' } },
  });
  // subscribers get the status of the execution, and the new policy
  const late = { status: 'ACTION_FAILED', failedReason: 'device_timeout' };
  await expect
    .poll(() => lastNote(id))
    .toMatchObject({ ...late, executionId, policy: 'locked', previousPolicy: 'active' });

  // one that comes while the next attempt runs is late for good, and yet the phone is unlocked
  const unlock = await p.assign(id, UNLOCK);
  const second = await command(udid, 1);
  await quiet();
  await p.t.pass(60_000);
  await p.echo.say(connected(udid));
  await command(udid, 2);
  await p.echo.say(completed(second));
  await expect.poll(() => p.policy(id)).toBe('active');
  await expect
    .poll(() => lastNote(id))
    .toMatchObject({ ...late, executionId: unlock.executionId, policy: 'active', previousPolicy: 'locked' });
  const { action } = await p.execution(unlock.executionId);
  expect(action.state).toBe('claimed');
  const events = await p.t.engine.events(p.t.engine.db, 1, action.id);
  expect(events.map(({ type }) => type)).toContain('LATE');
  // repeated, it changes nothing
  await p.echo.say(completed(p.commandsOf(udid)[2] as never));
  await p.settled((await p.execution(unlock.executionId)).action.executions[1].id);
  const lock = await p.assign(id, LOCK);
  await p.echo.say(completed(await command(udid, 3)));
  await p.settled(lock.executionId);
  await p.echo.say(completed(second));
  await quiet();
  expect(await p.policy(id)).toBe('locked');
});

test('a device that checks out is released: its release is complete, everything else ends', async () => {
  p.echo.answer = () => null;
  const { id, udid } = await p.active();
  const release = await p.assign(id, RELEASE);
  await command(udid);
  await quiet();
  await p.echo.say(released(udid));
  await p.settled(release.executionId);
  expect(await p.policy(id)).toBe('released');

  const other = await p.active();
  const lock = await p.assign(other.id, LOCK);
  await command(other.udid);
  const behind = await p.assign(other.id, UNLOCK, { whenBusy: 'QUEUE' });
  await quiet();
  await p.echo.say(released(other.udid));
  await p.settled(lock.executionId, 'ACTION_FAILED');
  await p.settled(behind.executionId, 'ACTION_FAILED');
  expect(await p.policy(other.id)).toBe('released');
  expect(await p.refusal(other.id, LOCK)).toBe('INVALID_TRANSITION');
  expect(await p.assign(other.id, 10)).toMatchObject({ status: 'COMPLETED' });
  expect(await p.policy(other.id)).toBe('deregistered');
});

test('#12: a device that checks out completes every open release: one that waits after its timeout, and one behind another action', async () => {
  p.echo.answer = () => null;
  const { id, udid } = await p.active();
  const release = await p.assign(id, RELEASE);
  await p.echo.say(failed(await command(udid), { reason: 'device_timeout', fetched: false }));
  await p.settled(release.executionId, 'ACTION_FAILED');
  expect((await p.execution(release.executionId)).action.state).toBe('pending');
  await p.echo.say(released(udid));
  await expect.poll(() => p.policy(id)).toBe('released');
  expect((await p.execution(release.executionId)).action.state).toBe('succeeded');

  const other = await p.active();
  const lock = await p.assign(other.id, LOCK);
  await command(other.udid);
  const behind = await p.assign(other.id, RELEASE, { whenBusy: 'QUEUE' });
  await p.echo.say(released(other.udid));
  await p.settled(behind.executionId);
  expect((await p.execution(behind.executionId)).action.state).toBe('succeeded');
  expect((await p.execution(lock.executionId)).action.state).toBe('cancelled');
  expect(await p.policy(other.id)).toBe('released');
});

test('an action that is no longer allowed when its turn comes ends with INVALID_TRANSITION, and the next one continues', async () => {
  p.echo.answer = () => null;
  const { id, udid } = await p.active();
  const again = await p.assign(id, LOCK);
  const waiting = await command(udid);
  const unlock = await p.assign(id, UNLOCK, { whenBusy: 'QUEUE' });
  const last = await p.assign(id, LOCK, { whenBusy: 'QUEUE' });
  await quiet();
  p.echo.answer = completed;
  await p.echo.say(failed(waiting, { reason: 'device_error' }));
  await p.settled(again.executionId, 'ACTION_FAILED');
  await p.settled(unlock.executionId, 'ACTION_FAILED');
  expect((await p.execution(unlock.executionId)).failedReason).toBe('INVALID_TRANSITION');
  await p.settled(last.executionId);
  expect(await p.policy(id)).toBe('locked');
});

test('a lane that another door had leased is looked at again when the lease ends', async () => {
  const { id } = await p.active();
  await p.t.post(`/api/devices/${id}/actions`, { kind: 'ring', payload: {} });
  const { laneId } = (
    await p.t.engine.db.query({
      text: `select lane_id as "laneId" from muster.devices where device_id = ${id}`,
    })
  ).rows[0];
  const ring = await p.t.engine.claim(p.t.engine.db, {
    ...{ tenantId: 1, laneId, channel: 'checkin' },
    ...{ worker: 'x', leaseMs: 60_000 },
  });
  expect(await p.refusal(id, LOCK)).toBe('DEVICE_BUSY');
  const { executionId } = await p.assign(id, LOCK, { whenBusy: 'QUEUE' });
  await quiet();
  expect((await p.execution(executionId)).dispatchedAt).toBeNull();
  await p.t.engine.report(p.t.engine.db, {
    ...{ tenantId: 1, actionId: ring?.id as string },
    ...{ attempt: 1, status: 'succeeded' },
  });
  await p.t.pass(3_000);
  await p.t.engine.runDuty('dispatch-waiting');
  await p.settled(executionId);
});

test('an action that waits for its trigger is not triggered again, however long it waits', async () => {
  const { bus } = p.echo.shell;
  const { id } = await p.active();
  await quiet();
  await bus.stop();
  const { executionId } = await p.assign(id, LOCK);
  await p.t.pass(60_000);
  await p.t.engine.runDuty('dispatch-waiting');
  const { actions } = await p.t.engine.list(p.t.engine.db, {
    ...{ tenantId: 1, channel: 'bus', state: 'unfinished' },
  });
  await bus.start();
  expect(actions.map(({ kind }) => kind)).toEqual(['action-trigger']);
  await p.settled(executionId);
});

test('a Register that had to wait issues no token, because it could not be shown; operators request one', async () => {
  const id = await p.device();
  const { db, pauseLane, resumeLane } = p.t.engine;
  const { rows } = await db.query({ text: `select lane_id from muster.devices where device_id = ${id}` });
  const lane = { tenantId: 1, laneId: rows[0].lane_id };
  await pauseLane(db, lane);
  const register = await p.assign(id, 2);
  expect(register).toMatchObject({ status: 'PENDING', enrolmentToken: null });
  await resumeLane(db, lane);
  await p.t.pass(3_000);
  await p.t.engine.runDuty('dispatch-waiting');
  await p.settled(register.executionId);
  expect(await p.policy(id)).toBe('registered');
  const tokens = async () =>
    (
      await db.query({
        text: `select 1 from muster.tokens where kind = 'mdm-enrolment' and owner = '${id}' and revoked_at is null`,
      })
    ).rows.length;
  expect(await tokens()).toBe(0);
  const enrolment = await p.t.post(`/api/devices/${id}/mdm/enrolment`);
  p.t.secret(enrolment.body.enrolmentToken);
  expect(await tokens()).toBe(1);
});

test('an unreadable message is a dead letter with an alert and fails no action', async () => {
  p.echo.answer = () => null;
  const { id, udid } = await p.active();
  const { executionId } = await p.assign(id, LOCK);
  await command(udid);
  await quiet();
  await p.echo.say({ event_type: 'NONSENSE', command_uuid: null, udid, payload: {} } as never);
  await expect
    .poll(async () => {
      await p.t.pass(5_000);
      await p.t.engine.runDuty('bus-dead-letters');
      return p.t.log();
    })
    .toContain('A checkin-handler message could not be consumed');
  expect((await p.execution(executionId)).action.state).toMatch(/claimed|pending/);
});

test('a trigger that cannot be processed fails its action, and the row of its batch says so', async () => {
  const { id } = await p.active();
  const { db, pauseLane, resumeLane } = p.t.engine;
  const { rows } = await db.query({ text: `select lane_id from muster.devices where device_id = ${id}` });
  const lane = { tenantId: 1, laneId: rows[0].lane_id };
  await pauseLane(db, lane);
  const { executionId, batchId } = await p.assign(id, LOCK);
  await quiet();
  const { action } = await p.execution(executionId);
  const body = { device_id: 'no device', action_id: action.id };
  await db.transaction((tx) =>
    p.echo.shell.bus.publish(tx, 'action-trigger', [{ tenantId: 1, key: id, body }]),
  );
  // tried three times, and again after 30 s, 2 and 8 minutes
  await expect
    .poll(async () => {
      await p.t.pass(60_000);
      await p.t.engine.runDuty('bus-dead-letters');
      return (await p.execution(executionId)).status;
    })
    .toBe('ACTION_FAILED');
  expect((await p.execution(executionId)).failedReason).toBe('dispatch_failed');
  const { batch } = await p.ask(
    `{ batch(id: ${batchId}) { status devices { nodes { status errorCode } } } }`,
  );
  expect(batch).toEqual({
    ...{ status: 'COMPLETED', devices: { nodes: [{ status: 'FAILED', errorCode: 'dispatch_failed' }] } },
  });
  await resumeLane(db, lane);
  p.echo.answer = completed;
  await p.settled((await p.assign(id, LOCK)).executionId);
});
