import { once } from 'node:events';
import { createServer } from 'node:http2';
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { choosePushes } from '../src/apns/choose.ts';
import { ApnsClient, type ApnsOptions } from '../src/apns/client.ts';
import { nextPushInMs, nextTryInMs } from '../src/apns/ladder.ts';
import { outcomeOf } from '../src/apns/outcome.ts';
import { alertPush, mdmPush } from '../src/apns/push.ts';
import { readPushCertificate } from '../src/apns/push-certificate.ts';
import { testCertificate } from '../src/simulation/certificates.ts';
import { FakeApns } from '../src/simulation/fake-apns.ts';

const NOW = new Date('2026-05-01T12:00:00Z');
const APNS_ID = '0d7b1d2a-31c5-4f0a-9a39-0b2f4c1f6c11';
const TOPIC = 'com.apple.mgmt.External.test';
let apns: FakeApns;
let client: ApnsClient | null;

beforeAll(async () => {
  apns = await FakeApns.start({ maxConcurrentStreams: 3 });
});
beforeEach(() => apns.forget());
afterEach(async () => {
  await client?.close(0);
  client = null;
});
afterAll(() => apns.close());

async function open(more: Partial<ApnsOptions> = {}): Promise<ApnsClient> {
  client = new ApnsClient({ url: apns.url, ca: apns.ca, ...(await apns.pushCertificate()), ...more });
  return client;
}
const token = (byte: number) => Uint8Array.of(0xab, byte);
const wake = (byte: number, topic = TOPIC) =>
  mdmPush({ token: token(byte), pushMagic: 'ma"gic', topic, now: NOW, apnsId: APNS_ID });
const hex = (byte: number) => Buffer.from(token(byte)).toString('hex');

test('the exact bytes of a wake-up', async () => {
  const pushes = await open();
  expect(await pushes.push(wake(1))).toEqual({ kind: 'accepted', apnsId: APNS_ID });
  expect(apns.pushes[0]).toMatchObject({
    token: 'ab01',
    body: '{"mdm":"ma\\"gic"}',
    topic: TOPIC,
    headers: {
      ':method': 'POST',
      ':path': '/3/device/ab01',
      'apns-push-type': 'mdm',
      'apns-topic': TOPIC,
      'apns-priority': '10',
      'apns-expiration': String(NOW.getTime() / 1_000 + 7 * 86_400),
      'apns-id': APNS_ID,
    },
  });
});

test('a message goes out as an alert for its app', () => {
  const { body, headers } = alertPush({
    token: token(1),
    topic: 'com.x.app',
    message: 'Hi',
    now: NOW,
    apnsId: APNS_ID,
  });
  expect(body.toString()).toBe('{"aps":{"alert":{"body":"Hi"}}}');
  expect(headers).toMatchObject({ 'apns-push-type': 'alert', 'apns-topic': 'com.x.app' });
  const long = { token: token(1), topic: 'com.x.app', message: 'x'.repeat(5_000), now: NOW, apnsId: APNS_ID };
  expect(() => alertPush(long)).toThrow(expect.objectContaining({ code: 'PUSH_TOO_LARGE' }));
});

test.each([
  [200, undefined, 'accepted'],
  [400, 'BadDeviceToken', 'bad-token'],
  [400, 'DeviceTokenNotForTopic', 'provider-fault'],
  [400, 'TopicDisallowed', 'provider-fault'],
  [400, 'IdleTimeout', 'provider-fault'],
  [403, 'BadCertificate', 'provider-fault'],
  [404, 'BadPath', 'provider-fault'],
  [405, 'MethodNotAllowed', 'provider-fault'],
  [410, 'Unregistered', 'unregistered'],
  [410, 'ExpiredToken', 'expired-token'],
  [413, 'PayloadTooLarge', 'provider-fault'],
  [429, 'TooManyRequests', 'again'],
  [500, 'InternalServerError', 'again'],
  [503, 'ServiceUnavailable', 'again'],
  [503, 'Shutdown', 'again'],
] as const)('%i %s is %s', async (status, reason, kind) => {
  const pushes = await open();
  apns.answer(hex(1), { status, ...(reason && { reason }), timestamp: NOW.getTime(), retryAfter: 7 });
  const outcome = await pushes.push(wake(1));
  expect(outcome).toMatchObject({ kind, ...(reason && { reason }) });
  if (status === 410) expect(outcome).toMatchObject({ at: NOW });
  if (kind === 'again') expect(outcome).toMatchObject({ status, retryAfterMs: 7_000 });
});

test('nonsensical answers are judged by their status', () => {
  expect(outcomeOf({ status: 410, body: 'gone' })).toEqual({
    kind: 'unregistered',
    reason: 'Unknown',
    at: null,
  });
  expect(outcomeOf({ status: 502, body: '<html>' })).toMatchObject({ kind: 'again', reason: 'Unknown' });
  expect(outcomeOf({ status: 418, body: 'null' })).toMatchObject({
    kind: 'provider-fault',
    reason: 'Unknown',
  });
});

test('many pushes share one connection, with at most as many in flight as APNs allows', async () => {
  const pushes = await open();
  const release = apns.hold();
  const outcomes = Promise.all(Array.from({ length: 20 }, (_, at) => pushes.push(wake(at))));
  await apns.arrived(3);
  expect([pushes.inFlight, pushes.waiting]).toEqual([3, 17]);
  release();
  expect((await outcomes).map(({ kind }) => kind)).toEqual(Array(20).fill('accepted'));
  expect([apns.connections, apns.pushes.length]).toEqual([1, 20]);
});

test('the queue is bounded in number and in bytes', async () => {
  const pushes = await open({ maxWaiting: 2, maxStreams: 1 });
  const release = apns.hold();
  const first = pushes.push(wake(1));
  await apns.arrived(1);
  const others = [pushes.push(wake(2)), pushes.push(wake(3))];
  expect(await pushes.push(wake(4))).toMatchObject({ kind: 'again', reason: 'overloaded' });
  release();
  expect((await Promise.all([first, ...others])).map(({ kind }) => kind)).toEqual(Array(3).fill('accepted'));
  await pushes.close(0);
  const small = await open({ maxWaitingBytes: 10 });
  expect(await small.push(wake(1))).toMatchObject({ kind: 'again', reason: 'overloaded' });
});

test('after a GOAWAY, pushes that APNs has not processed go out again on a new connection', async () => {
  const pushes = await open();
  const release = apns.hold();
  const outcomes = [wake(1), wake(2), wake(3)].map((push) => pushes.push(push));
  await apns.arrived(3);
  // streams of a client are odd: the first was processed, the others not
  apns.goAway('Shutdown', { lastStreamId: 1 });
  await apns.arrived(5);
  release();
  expect((await Promise.all(outcomes)).map(({ kind }) => kind)).toEqual(['accepted', 'accepted', 'accepted']);
  expect(apns.pushes.map(({ connection }) => connection)).toEqual([1, 1, 1, 2, 2]);
  expect(apns.connections).toBe(2);
});

test('a GOAWAY with an error gives its reason to the pushes it ended', async () => {
  const pushes = await open();
  apns.hold();
  const outcome = pushes.push(wake(1));
  await apns.arrived(1);
  apns.goAway('InternalServerError', { code: 2, lastStreamId: 1 });
  expect(await outcome).toMatchObject({ kind: 'again', reason: 'InternalServerError' });
});

test('Shutdown in an answer: the next push has another connection', async () => {
  const pushes = await open();
  apns.answer(hex(1), { status: 503, reason: 'Shutdown' });
  await pushes.push(wake(1));
  expect(await pushes.push(wake(2))).toMatchObject({ kind: 'accepted' });
  expect(apns.pushes.map(({ connection }) => connection)).toEqual([1, 2]);
});

test('a broken connection loses no push: it is returned to be tried again, and the next has a new connection', async () => {
  const pushes = await open();
  apns.hold();
  const outcome = pushes.push(wake(1));
  await apns.arrived(1);
  apns.cut();
  expect(await outcome).toMatchObject({ kind: 'again' });
  apns.hold()();
  expect(await pushes.push(wake(2))).toMatchObject({ kind: 'accepted' });
});

test('a missing answer is given up after a while', async () => {
  const pushes = await open({ answerWithinMs: 50 });
  const release = apns.hold();
  expect(await pushes.push(wake(1))).toMatchObject({ kind: 'again', reason: 'timeout' });
  release();
});

test('no server, or a silent one: all waiting pushes are told', async () => {
  const pushes = await open({ url: 'https://127.0.0.1:1' });
  const outcomes = await Promise.all([pushes.push(wake(1)), pushes.push(wake(2))]);
  expect(outcomes).toEqual(
    Array(2).fill({ kind: 'again', status: null, reason: 'ECONNREFUSED', retryAfterMs: null }),
  );

  const silent = createTcpServer().listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const port = (silent.address() as AddressInfo).port;
  const patient = await open({ url: `https://127.0.0.1:${port}`, connectWithinMs: 50 });
  expect(await patient.push(wake(1))).toMatchObject({ kind: 'again' });
  silent.close();
});

test('an untrusted server is a configuration error, and so is a certificate that APNs does not trust', async () => {
  const other = await testCertificate({ commonName: 'another', authority: true });
  const doubting = await open({ ca: other.pem });
  expect(await doubting.push(wake(1))).toMatchObject({ kind: 'provider-fault', status: null });
  await doubting.close(0);
  const foreign = await testCertificate({ commonName: 'APSP', userId: TOPIC });
  const doubted = await open({ certificate: foreign.pem, key: foreign.keyPem });
  expect(await doubted.push(wake(1))).toEqual({
    kind: 'provider-fault',
    status: 403,
    reason: 'BadCertificate',
  });
});

test('a renewed certificate is used from the next push on, and nothing is lost', async () => {
  const pushes = await open();
  expect(pushes.topic).toBe(TOPIC);
  const release = apns.hold();
  const before = pushes.push(wake(1));
  await apns.arrived(1);
  pushes.useCertificate(await apns.pushCertificate('com.apple.mgmt.other', new Date('2030-01-01T00:00:00Z')));
  expect([pushes.topic, pushes.notAfter]).toEqual(['com.apple.mgmt.other', new Date('2030-01-01T00:00:00Z')]);
  const after = pushes.push(wake(2, 'com.apple.mgmt.other'));
  await apns.arrived(2);
  release();
  expect([(await before).kind, (await after).kind]).toEqual(['accepted', 'accepted']);
  expect(apns.pushes.map(({ topic }) => topic)).toEqual([TOPIC, 'com.apple.mgmt.other']);
});

test('an unusable certificate changes nothing', async () => {
  const pushes = await open();
  expect(() => pushes.useCertificate({ certificate: 'x', key: 'y' })).toThrow(
    expect.objectContaining({ code: 'CERTIFICATE_UNREADABLE' }),
  );
  expect([pushes.topic, (await pushes.push(wake(1))).kind]).toEqual([TOPIC, 'accepted']);
});

test('close answers all pushes', async () => {
  const pushes = await open({ maxStreams: 1 });
  apns.hold();
  const outcomes = [pushes.push(wake(1)), pushes.push(wake(2))];
  await apns.arrived(1);
  await pushes.close(0);
  outcomes.push(pushes.push(wake(3)));
  for (const outcome of await Promise.all(outcomes))
    expect(outcome).toMatchObject({ kind: 'again', reason: 'closed' });
});

test('a connection that died without notice is found by a ping', async () => {
  const sockets: Socket[] = [];
  const relay = createTcpServer((socket) => {
    const on = connect(Number(new URL(apns.url).port), '127.0.0.1');
    sockets.push(socket, on);
    socket.pipe(on).pipe(socket);
    for (const one of [socket, on]) one.on('error', () => {});
  }).listen(0, '127.0.0.1');
  await once(relay, 'listening');
  const port = (relay.address() as AddressInfo).port;
  const pushes = await open({ url: `https://localhost:${port}`, pongWithinMs: 20 });
  await pushes.push(wake(1));
  const gone = once(sockets[0] as Socket, 'close');
  // everything sent is swallowed from now on
  for (const socket of sockets) socket.unpipe().resume();
  pushes.ping();
  await gone;
  expect(await pushes.push(wake(2))).toMatchObject({ kind: 'accepted' });
  expect(apns.connections).toBe(2);
  relay.close();
  for (const socket of sockets) socket.destroy();
});

test('a server that allows no streams blocks no push for ever', async () => {
  const closed = createServer({ settings: { maxConcurrentStreams: 0 } }).listen(0, '127.0.0.1');
  await once(closed, 'listening');
  const port = (closed.address() as AddressInfo).port;
  const pushes = await open({ url: `http://127.0.0.1:${port}`, turnWithinMs: 50 });
  expect(await pushes.push(wake(1))).toMatchObject({ kind: 'again', reason: 'timeout' });
  closed.close();
});

test('a device receives its pushes, and of those it missed only the last', async () => {
  const pushes = await open();
  await pushes.push(wake(1));
  await pushes.push(wake(1));
  const heard: string[] = [];
  const stop = apns.listen(token(1), (push) => heard.push(push.token));
  expect(heard).toEqual(['ab01']);
  await pushes.push(wake(1));
  await pushes.push(wake(2));
  expect(heard).toEqual(['ab01', 'ab01']);
  stop();
});

test('a push certificate has a topic, an end and its own key', async () => {
  const files = await apns.pushCertificate(TOPIC, new Date('2027-02-03T00:00:00Z'));
  expect(readPushCertificate(files)).toMatchObject({
    topic: TOPIC,
    notAfter: new Date('2027-02-03T00:00:00Z'),
  });
  const other = await apns.pushCertificate();
  const refused = (code: string) => expect.objectContaining({ code });
  expect(() => readPushCertificate({ ...files, key: other.key })).toThrow(refused('KEY_DOES_NOT_MATCH'));
  expect(() => readPushCertificate({ ...files, key: 'x' })).toThrow(refused('KEY_UNREADABLE'));
  const nameless = await testCertificate({ commonName: 'x' });
  expect(() => readPushCertificate({ certificate: nameless.pem, key: nameless.keyPem })).toThrow(
    refused('TOPIC_MISSING'),
  );
});

test('the ladder: 30 s, 2, 8, 30 min, then daily, spread by a tenth', () => {
  const minutes = [1, 2, 3, 4, 5, 60].map((pushes) => nextPushInMs(pushes, () => 0.5) / 60_000);
  expect(minutes).toEqual([0.5, 2, 8, 30, 1_440, 1_440]);
  expect([nextPushInMs(1, () => 0), nextPushInMs(1, () => 1)]).toEqual([27_000, 33_000]);
});

test('retries to APNs come later and later, and not before it allows them', () => {
  expect([1, 2, 3, 30].map((failures) => nextTryInMs(failures, null, () => 1))).toEqual([
    1_000, 2_000, 4_000, 300_000,
  ]);
  expect(nextTryInMs(1, 60_000, () => 1)).toBe(60_000);
  expect(nextTryInMs(1, null, () => 0)).toBe(500);
});

test('sleeping devices never hold up awake ones, and are not forgotten', () => {
  const due = (tenantId: string, pushes: number, dueAt: number) => ({ tenantId, pushes, dueAt });
  const asleep = Array.from({ length: 1_000 }, (_, at) => due('a', 3, at));
  const awake = [due('a', 0, 5_000), due('b', 0, 6_000)];
  const chosen = choosePushes([...asleep, ...awake], 8);
  expect(chosen.slice(0, 2)).toEqual(awake);
  expect(chosen.slice(2)).toEqual(asleep.slice(0, 6));
  const busy = Array.from({ length: 100 }, (_, at) => due('a', 0, at));
  expect(choosePushes([...busy, ...asleep], 8).filter(({ pushes }) => pushes > 0)).toHaveLength(2);
  expect(choosePushes([...busy, due('b', 0, 9_999)], 2).map(({ tenantId }) => tenantId)).toEqual(['a', 'b']);
  expect(choosePushes(asleep, 8)).toHaveLength(8);
  expect(choosePushes([...busy, ...asleep], 1)).toHaveLength(1);
  expect(choosePushes([], 8)).toEqual([]);
});
