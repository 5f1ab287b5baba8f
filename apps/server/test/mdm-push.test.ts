import { pagesTouched } from '@muster/engine/testing';
import { afterAll, afterEach, beforeAll, expect, inject, test } from 'vitest';
import { createLedger, type Due, type Taken } from '../src/features/mdm/push/ledger.ts';
import { type PushNode, type PushStage, pushStage, TOPIC } from '../testing/push-stage.ts';

let stage: PushStage;
let node: PushNode;
const dead: string[] = [];
beforeAll(async () => {
  stage = await pushStage();
  node = await stage.node();
  node.pushes.onDead(async (_, tenantId, deviceId, reason) => {
    dead.push(`${tenantId}:${deviceId} ${reason}`);
  });
});
afterAll(() => stage.close());
afterEach(async () => {
  // a device of another test must not push in the next one
  await stage.db.query({ text: 'delete from muster.push_ledger' });
  await stage.db.query({ text: 'update muster.push_topics set stopped_until = null, stop_reason = null' });
  stage.apns.forget();
  stage.alerts.length = 0;
  dead.length = 0;
});

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const DAY = 24 * 60 * MINUTE;
const tokenOf = (deviceId: string, life = 0) => Buffer.alloc(32, `${life}token ${deviceId} `);
const hex = (deviceId: string, life = 0) => tokenOf(deviceId, life).toString('hex');
const magicOf = (deviceId: string) => `magic "${deviceId}"`;

function tokenIs(deviceId: string, { tenantId = 1, life = 0, on = node } = {}): Promise<void> {
  const token = { token: tokenOf(deviceId, life), magic: magicOf(deviceId), topic: TOPIC };
  return stage.db.transaction((tx) => on.pushes.tokenIs(tx, tenantId, deviceId, token));
}
const want = (deviceIds: readonly string[], { tenantId = 1, on = node } = {}): Promise<void> =>
  stage.db.transaction((tx) => on.pushes.want(tx, tenantId, deviceIds));
/** A device that has its token, and has connected after sending it. */
async function phone({ tenantId = 1 } = {}): Promise<string> {
  const deviceId = await stage.device(tenantId);
  await tokenIs(deviceId, { tenantId });
  await node.idle();
  await node.pushes.seen(tenantId, deviceId);
  return deviceId;
}
const ledger = async (deviceId: string) =>
  (
    await stage.db.query({
      text: 'select pushes, failures, due_at, turn from muster.push_ledger where device_id = $1',
      values: [deviceId],
    })
  ).rows[0];
const to = (deviceId: string) => stage.apns.pushes.filter(({ token }) => token === hex(deviceId)).length;

const certificateFor = async (topic: string, notAfter?: Date) => {
  const { certificate, key } = await stage.apns.pushCertificate(topic, notAfter);
  return `${key}\n${certificate}`;
};
const put = (text: string, { tenantId = 1, on = node } = {}) =>
  stage.db.transaction((tx) => on.certificates.put(tx, tenantId, text));

test('a push has the token, the topic, the magic and seven days, and is sent with the commit', async () => {
  const deviceId = await stage.device();
  await tokenIs(deviceId);
  await stage.apns.arrived(1);
  const [push] = stage.apns.pushes;
  expect(push).toMatchObject({ token: hex(deviceId), topic: TOPIC });
  expect(JSON.parse(push?.body ?? '')).toEqual({ mdm: magicOf(deviceId) });
  expect(push?.headers).toMatchObject({
    ':path': `/3/device/${hex(deviceId)}`,
    'apns-push-type': 'mdm',
    'apns-topic': TOPIC,
    'apns-expiration': String(Math.floor(stage.clock().getTime() / 1_000) + 7 * 86_400),
  });
});

test('G81: everything that waits causes one push, repeated after 30 s, 2, 8 and 30 min, then daily, until the device connects', async () => {
  const deviceId = await phone();
  const before = to(deviceId);
  await want([deviceId, deviceId]);
  await want([deviceId]);
  await stage.apns.arrived(before + 1);
  await node.idle();
  await want([deviceId]);
  expect(await node.look()).toBe(0);
  for (const [n, step] of [30 * SECOND, 2 * MINUTE, 8 * MINUTE, 30 * MINUTE, DAY, DAY].entries()) {
    await stage.pass(0.89 * step);
    expect(await node.look()).toBe(0);
    await stage.pass(0.22 * step);
    expect(await node.look()).toBe(1);
    await stage.apns.arrived(before + n + 2);
    await node.idle();
  }
  await node.pushes.seen(1, deviceId);
  await stage.pass(2 * DAY);
  expect(await node.look()).toBe(0);
  expect(to(deviceId)).toBe(before + 7);
});

test('a device that has slept for days is pushed at once for something new', async () => {
  const deviceId = await phone();
  const before = to(deviceId);
  await want([deviceId]);
  await node.idle();
  await stage.pass(40 * SECOND);
  await node.look();
  await node.idle();
  await stage.pass(31 * SECOND);
  expect(await node.look()).toBe(0);
  await want([deviceId]);
  await stage.apns.arrived(before + 3);
});

test('a rolled-back action causes no push', async () => {
  const deviceId = await phone();
  const undone = stage.db.transaction(async (tx) => {
    await node.pushes.want(tx, 1, [deviceId]);
    throw new Error('undone');
  });
  await expect(undone).rejects.toThrow('undone');
  expect(await node.look()).toBe(0);
});

test('a contact ends only pushes requested before it, and a later request is a first push', async () => {
  const deviceId = await phone();
  const before = to(deviceId);
  await want([deviceId]);
  await node.idle();
  const looked = await wantOf(deviceId);
  await want([deviceId]); // after the look of the device, before its contact is written
  await node.idle();
  await node.pushes.seen(1, deviceId, looked);
  await stage.apns.arrived(before + 2); // at once: no housekeeping has looked
  await node.idle();
  await node.pushes.seen(1, deviceId);
  expect(await ledger(deviceId)).toBeUndefined();
});

const wantOf = async (deviceId: string): Promise<string> => {
  const text = 'select want from muster.push_ledger where device_id = $1';
  return (await stage.db.query({ text, values: [deviceId] })).rows[0].want;
};

test('G81: a device that came by an unanswered push and is needed again after it has looked is pushed at once', async () => {
  const deviceId = await phone();
  stage.apns.forget();
  const open = stage.apns.hold();
  await want([deviceId]);
  await stage.apns.arrived(1);
  const looked = await wantOf(deviceId);
  await want([deviceId]);
  await node.pushes.seen(1, deviceId, looked);
  await stage.apns.arrived(2);
  open();
  await node.idle();
  expect(await ledger(deviceId)).toMatchObject({ pushes: 1, turn: null });
});

test('G81: a device that is needed again while its contact is written is pushed at once', async () => {
  const deviceId = await phone();
  await want([deviceId]);
  await node.idle();
  stage.apns.forget();
  const looked = await wantOf(deviceId);
  let [isWanted, commit] = [() => {}, () => {}];
  const wanted = new Promise<void>((resolve) => (isWanted = resolve));
  const mayCommit = new Promise<void>((resolve) => (commit = resolve));
  const wanting = stage.db.transaction(async (tx) => {
    await node.pushes.want(tx, 1, [deviceId]);
    isWanted();
    await mayCommit;
  });
  await wanted;
  const seen = node.pushes.seen(1, deviceId, looked);
  // on PGlite it waits for the transaction, on a server for the row
  if (inject('database') === 'postgres')
    await expect.poll(async () => (await stage.db.query({ text: WAITING })).rows.length).toBe(1);
  commit();
  await wanting;
  await seen;
  await stage.apns.arrived(1);
});
const WAITING = inject('isDistributed')
  ? 'select 1 from citus_lock_waits'
  : `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;

test('G81: a new token is pushed at once if its device is needed: the fate of the old push is unknown', async () => {
  const deviceId = await phone();
  await want([deviceId]);
  await node.idle();
  await tokenIs(deviceId);
  expect(await node.look()).toBe(0); // the same again says nothing
  await tokenIs(deviceId, { life: 1 });
  await expect.poll(() => stage.apns.pushes.some(({ token }) => token === hex(deviceId, 1))).toBe(true);
  // one that is on its way to the old token does not count
  await node.idle();
  await node.pushes.seen(1, deviceId);
  const open = stage.apns.hold();
  stage.apns.pushes.length = 0;
  await want([deviceId]);
  await stage.apns.arrived(1);
  await tokenIs(deviceId, { life: 2 });
  await stage.apns.arrived(2);
  open();
  expect(stage.apns.pushes[1]).toMatchObject({ token: hex(deviceId, 2) });
});

test('the outcome of a push does not affect a device that has connected meanwhile and is needed again', async () => {
  const [deviceId, other] = [await phone(), await phone()];
  stage.apns.forget();
  const open = stage.apns.hold();
  await want([deviceId]);
  await stage.apns.arrived(1);
  await node.pushes.seen(1, deviceId);
  const openSecond = stage.apns.hold();
  await want([deviceId]);
  await stage.apns.arrived(2);
  open();
  // sent after the first was answered, and written after it
  await want([other]);
  await expect.poll(async () => (await ledger(other)).pushes).toBe(1);
  expect(await ledger(deviceId)).toMatchObject({ pushes: 0, turn: expect.any(String) });
  openSecond();
  await node.idle();
  expect(await ledger(deviceId)).toMatchObject({ pushes: 1, turn: null });
});

test.each([
  [400, 'BadDeviceToken', 'apns_bad_token'],
  [410, 'Unregistered', 'apns_unregistered'],
  [410, 'ExpiredToken', 'apns_unregistered'],
])('%i %s marks the token as dead; what waits needs the next one', async (status, reason, told) => {
  const deviceId = await phone();
  stage.apns.answer(hex(deviceId), { status, reason, timestamp: stage.clock().getTime() + 1 });
  await want([deviceId]);
  await expect.poll(() => dead).toEqual([`1:${deviceId} ${told}`]);
  await want([deviceId]);
  await stage.pass(2 * DAY);
  expect(await node.look()).toBe(0);
  expect(stage.alerts).toEqual([]);

  await tokenIs(deviceId, { life: 1 });
  await expect.poll(() => stage.apns.pushes.at(-1)?.token).toBe(hex(deviceId, 1));
});

test('a 410 from before the last TokenUpdate, or for another token, changes nothing', async () => {
  const deviceId = await phone();
  stage.apns.answer(hex(deviceId), {
    ...{ status: 410, reason: 'Unregistered', timestamp: stage.clock().getTime() - 1 },
  });
  await want([deviceId]);
  await node.idle();
  expect(await ledger(deviceId)).toMatchObject({ pushes: 0, failures: 1 });

  const open = stage.apns.hold();
  stage.apns.answer(hex(deviceId), { status: 400, reason: 'BadDeviceToken' });
  await stage.pass(MINUTE);
  expect(await node.look()).toBe(1);
  await tokenIs(deviceId, { life: 1 });
  open();
  await node.idle();
  await stage.pass(5 * MINUTE);
  await node.look();
  await expect.poll(() => stage.apns.pushes.at(-1)?.token).toBe(hex(deviceId, 1));
  expect(dead).toEqual([]);
});

test.each([
  [429, 'TooManyRequests'],
  [500, 'InternalServerError'],
  [503, 'ServiceUnavailable'],
  [503, 'Shutdown'],
])('%i %s repeats the push, and nothing is counted', async (status, reason) => {
  const deviceId = await phone();
  const before = to(deviceId);
  stage.apns.answer(hex(deviceId), { status, reason, retryAfter: 20 });
  await want([deviceId]);
  await node.idle();
  await want([deviceId]); // APNs has asked for patience
  expect(await ledger(deviceId)).toMatchObject({ pushes: 0, failures: 1 });
  expect(await node.look()).toBe(0);
  stage.apns.answer(hex(deviceId), null);
  await stage.pass(20 * SECOND);
  expect(await node.look()).toBe(1);
  await node.idle();
  expect(await ledger(deviceId)).toMatchObject({ pushes: 1, failures: 0 });
  expect(to(deviceId)).toBe(before + 2);
  expect(stage.alerts).toEqual([]);
});

const FAULTS: readonly (readonly [number, string])[] = [
  ...['DeviceTokenNotForTopic', 'MissingTopic', 'BadTopic', 'TopicDisallowed', 'BadMessageId'].map(
    (reason) => [400, reason] as const,
  ),
  ...['BadExpirationDate', 'BadPriority', 'InvalidPushType', 'PayloadEmpty', 'DuplicateHeaders'].map(
    (reason) => [400, reason] as const,
  ),
  ...['BadCertificate', 'BadCertificateEnvironment', 'Forbidden', 'ExpiredProviderToken'].map(
    (reason) => [403, reason] as const,
  ),
  [404, 'BadPath'],
  [405, 'MethodNotAllowed'],
  [413, 'PayloadTooLarge'],
];
test.each(FAULTS)(
  'G81: %i %s is a configuration problem: it stops the pushes and harms no device',
  async (status, reason) => {
    const deviceId = await phone();
    stage.apns.answer('all', { status, reason });
    await want([deviceId]);
    await node.idle();
    expect(stage.alerts).toEqual([expect.stringContaining(`have stopped: APNs says ${reason}.`)]);
    expect(await ledger(deviceId)).toMatchObject({ pushes: 0, failures: 0, turn: null });
    expect(dead).toEqual([]);
  },
);

test('G81: stopped pushes have one alert, are tested by one push every 5 minutes, and continue when it is accepted', async () => {
  const other = await phone({ tenantId: 2 });
  const devices = [await phone(), await phone(), await phone()];
  const fault = { status: 403, reason: 'BadCertificate' };
  stage.apns.forget();
  stage.apns.answer('all', fault);
  await want(devices);
  await node.idle();
  expect(stage.alerts).toEqual([
    `push.stopped: Pushes for ${TOPIC} have stopped: APNs says BadCertificate. They are tried again every five minutes.`,
  ]);
  stage.apns.forget();
  stage.apns.answer('all', fault);
  await want(devices);
  await node.idle();
  await stage.pass(299 * SECOND);
  expect(await node.look()).toBe(0);
  await stage.pass(SECOND);
  expect(await node.look()).toBe(1);
  expect(await node.look()).toBe(0);
  await node.idle();
  expect(stage.apns.pushes).toHaveLength(1);
  expect(stage.alerts).toHaveLength(1); // it is no news

  stage.apns.answer('all', null);
  await want([other], { tenantId: 2 }); // its own topic is not stopped
  await stage.apns.arrived(2);
  await stage.pass(300 * SECOND);
  expect(await node.look()).toBe(1);
  await stage.apns.arrived(5); // with the first that is accepted all go
  await node.idle();
  for (const deviceId of devices) expect(await ledger(deviceId)).toMatchObject({ pushes: 1, failures: 0 });
  expect(dead).toEqual([]);
});

test('an answer of APNs for a certificate that was renewed meanwhile stops nothing', async () => {
  const topic = 'com.apple.mgmt.meanwhile';
  await put(await certificateFor(topic), { tenantId: 5 });
  const deviceId = await stage.device(5);
  const open = stage.apns.hold();
  stage.apns.answer('all', { status: 403, reason: 'BadCertificate' });
  const token = { token: tokenOf(deviceId), magic: 'magic', topic };
  await stage.db.transaction((tx) => node.pushes.tokenIs(tx, 5, deviceId, token));
  await stage.apns.arrived(1);
  await stage.pass(SECOND);
  await put(await certificateFor(topic), { tenantId: 5 });
  open();
  const openAgain = stage.apns.hold();
  await stage.apns.arrived(2); // at once, with the new one
  stage.apns.answer('all', null);
  openAgain();
  await node.idle();
  expect(await ledger(deviceId)).toMatchObject({ pushes: 1 });
  expect(stage.alerts).toEqual([]);
});

test('tokens that are all unknown mean a wrong certificate: at most ten are marked as dead', async () => {
  const devices: string[] = [];
  for (let n = 0; n < 14; n += 1) devices.push(await phone());
  stage.apns.answer('all', { status: 400, reason: 'BadDeviceToken' });
  await want(devices);
  await expect.poll(() => stage.alerts).toHaveLength(1);
  await node.idle();
  expect(dead).toHaveLength(10);
});

test('G81: sleeping devices never delay those that are awake', async () => {
  const awake = await phone();
  const { rows } = await stage.db.query({
    text: `with d as (
        insert into muster.devices (tenant_id, device_id, lane_id, name, created_at)
          select 1, n, n, 'sleeper ' || n, $1 from generate_series(10001, 10450) n returning device_id
      ), t as (
        insert into muster.push_tokens (tenant_id, device_id, app, token, magic, topic, updated_at)
          select 1, device_id, 'mdm', decode(lpad(device_id::text, 64, '0'), 'hex'), 'magic', $2, $1 from d returning device_id
      ) insert into muster.push_ledger (tenant_id, device_id, topic, pushes, due_at) select 1, device_id, $2, 3, $1 from t returning 1`,
    values: [stage.clock(), TOPIC],
  });
  expect(rows).toHaveLength(450);
  stage.apns.forget();
  const open = stage.apns.hold();
  await node.look();
  await expect.poll(() => stage.apns.pushes.length).toBeGreaterThan(100);
  await want([awake]);
  await expect.poll(() => to(awake)).toBe(1); // and nothing was answered yet
  open();
  await expect
    .poll(async () => {
      await node.look();
      return new Set(stage.apns.pushes.map(({ token }) => token)).size;
    })
    .toBe(451);
});

test('G81: a push reads as many pages with 10,000 sleeping phones as with ten', async () => {
  const one = await phone();
  const tokens = createLedger('muster', stage.clock, stage.db);
  const sleepers = (count: number) =>
    stage.db.query({
      text: `insert into muster.push_ledger (tenant_id, device_id, topic, pushes, pushed_at, due_at)
        select 1, 1000000 + n, $2, 4, $3, $3::timestamptz + n * interval '1 second' from generate_series(1, $1::int) n on conflict do nothing`,
      values: [count, TOPIC, stage.clock()],
    });
  const pages = async () => {
    await stage.db.query({ text: 'analyze muster.push_ledger' });
    return pagesTouched(stage.db, async (tx) => {
      await tokens.want(tx, 1, [one]);
      const [due] = await tokens.due(tx, null, 400);
      const [taken] = await tokens.take(tx, [due as Due]);
      const { tenantId, deviceId, turn } = taken as Taken;
      const dueAt = new Date(stage.clock().getTime() + 30 * SECOND);
      await tokens.settle(tx, [{ tenantId, deviceId, turn, isAccepted: true, failures: 0, dueAt }]);
      await tokens.seen(tx, [{ tenantId, deviceId, want: null }]);
    });
  };
  await sleepers(10);
  await pages(); // what a session reads once
  const few = await pages();
  await sleepers(10_000);
  expect(await pages()).toBeLessThanOrEqual(few + 30); // an index is a level deeper
});

test('GOAWAY and broken connections are not counted: the push is sent on the next connection', async () => {
  const devices = [await phone(), await phone(), await phone()];
  const pushes = async () => Promise.all(devices.map(async (deviceId) => (await ledger(deviceId))?.pushes));
  stage.apns.forget();
  const open = stage.apns.hold();
  await want(devices);
  await stage.apns.arrived(3);
  stage.apns.goAway('Shutdown', { lastStreamId: 1 }); // the others were never looked at
  await stage.apns.arrived(5);
  open();
  await node.idle();
  expect(await pushes()).toEqual([1, 1, 1]);

  stage.apns.hold();
  await stage.pass(MINUTE);
  expect(await node.look()).toBe(3);
  await stage.apns.arrived(8);
  stage.apns.cut();
  await node.idle();
  expect(await pushes()).toEqual([1, 1, 1]); // what is not known to have arrived is not counted
  stage.apns.forget();
  await stage.pass(5 * SECOND);
  expect(await node.look()).toBe(3);
  await node.idle();
  expect(await pushes()).toEqual([2, 2, 2]);
});

test('two nodes send one push, and a node that stops gives back what it has not sent', async () => {
  const other = await stage.node();
  const devices = [await phone(), await phone()];
  stage.apns.forget();
  await want(devices);
  await node.idle();
  await stage.pass(40 * SECOND);
  const looks = await Promise.all([node.look(), other.look(), node.look(), other.look()]);
  expect(looks.reduce((sum, taken) => sum + taken)).toBe(2);
  await Promise.all([node.idle(), other.idle()]);
  expect(stage.apns.pushes).toHaveLength(4);

  await Promise.all(devices.map((deviceId) => node.pushes.seen(1, deviceId)));
  stage.apns.hold();
  await want(devices, { on: other });
  await stage.apns.arrived(6);
  const stopped = other.stop();
  expect(await node.look()).toBe(0);
  await stopped;
  stage.apns.forget();
  expect(await node.look()).toBe(2);
  await stage.apns.arrived(2);
});

test('G81: the pushes of a dead node are due again at the end of its turn', async () => {
  const deviceId = await phone();
  await stage.db.transaction((tx) => node.pushes.want(tx, 1, [deviceId]));
  await node.idle();
  await stage.db.query({
    text: `update muster.push_ledger set turn = 999999, due_at = $1::timestamptz + interval '120 seconds'`,
    values: [stage.clock()],
  });
  stage.apns.forget();
  await want([deviceId]); // as far as is known, it is being sent
  await stage.pass(119 * SECOND);
  expect(await node.look()).toBe(0);
  await stage.pass(SECOND);
  expect(await node.look()).toBe(1);
});

test('a device that has left or is deleted is not pushed', async () => {
  const [left, deleted] = [await phone(), await phone()];
  await want([left, deleted]);
  await node.idle();
  await stage.db.transaction((tx) => node.pushes.forget(tx, 1, left));
  await stage.db.query({
    text: 'update muster.devices set deleted_at = $1 where device_id = $2',
    values: [stage.clock(), deleted],
  });
  await want([left]); // whatever still wants it
  await node.idle();
  await stage.pass(2 * DAY);
  expect(await node.look()).toBe(0);
});

test('without a certificate for its topic nothing is sent; there is an alert, and an operator can test it at once', async () => {
  const deviceId = await stage.device();
  const token = { token: tokenOf(deviceId), magic: 'magic', topic: 'com.apple.mgmt.other' };
  await stage.db.transaction((tx) => node.pushes.tokenIs(tx, 1, deviceId, token));
  await node.idle();
  expect(stage.alerts).toEqual([
    'push.stopped: Pushes for com.apple.mgmt.other have stopped: there is no push certificate for it. They are tried again every five minutes.',
  ]);
  const outcomes = await node.pushes.now(1, [deviceId, '987654321']);
  expect([...outcomes]).toEqual([
    [deviceId, { kind: 'provider-fault', status: null, reason: 'NoCertificate' }],
  ]);
  expect(await node.pushes.topicOf(stage.db, 1)).toBe(TOPIC);
});

test('a certificate uploaded at one node is used on every node with the next push, and ends a stop', async () => {
  const other = await stage.node();
  const topic = 'com.apple.mgmt.renewed';
  const deviceId = await stage.device(3);
  const token = { token: tokenOf(deviceId), magic: 'magic', topic };
  await stage.db.transaction((tx) => other.pushes.tokenIs(tx, 3, deviceId, token));
  await other.idle();
  expect(stage.alerts).toHaveLength(1);
  expect(stage.apns.pushes).toEqual([]);
  for (const life of [1, 2]) {
    const text = await certificateFor(topic);
    await put(text, { tenantId: 3 });
    await expect
      .poll(async () => {
        await stage.pass(2 * DAY);
        await other.look();
        await other.idle();
        return stage.apns.pushes.length;
      })
      .toBeGreaterThanOrEqual(life);
    expect(stage.apns.pushes.at(-1)).toMatchObject({ topic, token: hex(deviceId) });
    const { rows } = await stage.db.query({ text: 'select * from muster.push_topics where tenant_id = 3' });
    const key = text.split('-----')[2] as string;
    expect(rows[0].certificate).not.toContain(key);
    expect(rows[0].sealed_key.includes(Buffer.from(key.replaceAll('\n', ''), 'base64'))).toBe(false);
    expect(stage.log.join()).not.toContain(key);
  }
  expect(await other.pushes.topicOf(stage.db, 3)).toBe(topic);
  expect(stage.alerts).toHaveLength(1);
});

test('anything but a push certificate for device management is refused, and changes nothing', async () => {
  const good = await certificateFor(TOPIC);
  const [other] = (await certificateFor(TOPIC)).split('\n\n');
  for (const [text, sentence] of [
    ['', 'The body has no certificate in PEM.'],
    [good.slice(good.indexOf('-----BEGIN CERT')), 'The body has no key without a password in PEM.'],
    [
      await certificateFor('com.example.app'),
      'The certificate is for com.example.app, not for device management.',
    ],
    [
      `${other}\n${good.slice(good.indexOf('-----BEGIN CERT'))}`,
      'The key does not belong to the push certificate.',
    ],
  ] as const)
    await expect(put(text)).rejects.toMatchObject({
      code: 'MUSTER_PUSH_CERTIFICATE_UNUSABLE',
      message: sentence,
    });
});

test('the expiry of a certificate is in the metrics, with alerts 30, 7 and 1 days before and on the day', async () => {
  const notAfter = new Date(Math.floor(stage.clock().getTime() / 1_000) * 1_000 + 40 * DAY);
  await put(await certificateFor('com.apple.mgmt.ending', notAfter), { tenantId: 4 });
  const gauge = await node.registry.getSingleMetric('muster_push_certificate_not_after_seconds')?.get();
  expect(gauge?.values).toContainEqual({
    labels: { tenant: '4', topic: 'com.apple.mgmt.ending' },
    value: notAfter.getTime() / 1_000,
  });
  const told: number[] = [];
  let day = 0;
  for (const next of [9, 10, 11, 32, 33, 38, 39, 40, 41]) {
    await stage.pass((next - day) * DAY);
    day = next;
    await node.engine.runDuty('warn-of-push-certificates');
    await node.engine.runDuty('warn-of-push-certificates');
    for (const text of stage.alerts.splice(0)) if (text.includes('.ending')) told.push(day);
  }
  expect(told).toEqual([10, 33, 39, 40]);
});

test('a message goes to the companion app, and its outcome is reported once', async () => {
  const app = 'com.example.companion';
  const { certificate, key } = await stage.apns.pushCertificate(app);
  const settings = { APNS_MESSAGE_TOPIC: app, APNS_MESSAGE_CERT: certificate, APNS_MESSAGE_KEY: key };
  const sender = await stage.node(settings);
  const outcomes: string[] = [];
  for (const one of [sender, node])
    one.pushes.onMessage(async (_, tenantId, deviceId, id, outcome) => {
      outcomes.push(`${tenantId}:${deviceId} ${id} ${'code' in outcome ? outcome.code : outcome.kind}`);
    });
  const deviceId = await stage.device();
  const send = async (id: string, { text = 'Call us', until = null as Date | null, on = sender } = {}) => {
    await stage.db.transaction((tx) => on.pushes.message(tx, 1, deviceId, { id, text, until }));
    await on.idle();
    return outcomes.splice(0);
  };
  const tokenOfApp = Buffer.alloc(32, 7);
  const putToken = () =>
    stage.db.query({
      text: `insert into muster.push_tokens (tenant_id, device_id, app, token, topic, updated_at) values (1, $1, 'message', $2, $3, $4)
        on conflict (tenant_id, device_id, app) do update set dead_at = null`,
      values: [deviceId, tokenOfApp, app, stage.clock()],
    });
  expect(await send('no token')).toEqual([`1:${deviceId} no token MESSAGE_PUSH_NOT_CONFIGURED`]);
  await putToken();
  expect(await send('not set', { on: node })).toEqual([`1:${deviceId} not set MESSAGE_PUSH_NOT_CONFIGURED`]);
  expect(await send('first')).toEqual([`1:${deviceId} first accepted`]);
  expect(stage.apns.pushes).toHaveLength(1);
  expect(stage.apns.pushes[0]).toMatchObject({ topic: app, token: tokenOfApp.toString('hex') });
  expect(stage.apns.pushes[0]?.headers).toMatchObject({ 'apns-push-type': 'alert', 'apns-topic': app });
  expect(JSON.parse(stage.apns.pushes[0]?.body ?? '')).toEqual({ aps: { alert: { body: 'Call us' } } });
  expect(await send('long', { text: 'x'.repeat(5_000) })).toEqual([`1:${deviceId} long MESSAGE_TOO_LARGE`]);

  stage.apns.answer('all', { status: 503, reason: 'ServiceUnavailable' });
  expect(await send('later')).toEqual([]);
  stage.apns.answer('all', null);
  await stage.pass(5 * MINUTE);
  await sender.look();
  await sender.idle();
  expect(outcomes.splice(0)).toEqual([`1:${deviceId} later accepted`]);

  stage.apns.answer('all', { status: 403, reason: 'BadCertificate' });
  const until = new Date(stage.clock().getTime() + MINUTE);
  expect(await send('stopped', { until })).toEqual([]);
  await stage.pass(MINUTE);
  await sender.look();
  await sender.idle();
  expect(outcomes.splice(0)).toEqual([`1:${deviceId} stopped TOO_LATE`]);
  expect(stage.alerts).toHaveLength(1);

  stage.apns.answer('all', { status: 410, reason: 'Unregistered', timestamp: stage.clock().getTime() });
  await stage.pass(5 * MINUTE);
  expect(await send('gone')).toEqual([`1:${deviceId} gone apns_unregistered`]);
  expect(await send('still gone')).toEqual([`1:${deviceId} still gone apns_unregistered`]);
});
