import { type Database, raiseIncarnation } from '@muster/engine';
import { Webhook as Verifier } from 'standardwebhooks';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { DoorEvents } from '../src/events/door-events.ts';
import { createPlaceQueries } from '../src/features/webhooks/place-queries.ts';
import { createWebhookQueries } from '../src/features/webhooks/queries.ts';
import { createQueueing } from '../src/features/webhooks/queueing.ts';
import { createReading } from '../src/features/webhooks/reading.ts';
import { type Arrived, type Destination, startDestination } from '../testing/destination.ts';
import { fakeDevice } from '../testing/fake-device.ts';
import { fakePc, newTask } from '../testing/fake-pc.ts';
import { type TestServer, testServer } from '../testing/test-server.ts';

/** Webhooks as real requests to a server of the test, verified as any receiver would. */
let t: TestServer;
let them: Destination;
const DAY_MS = 86_400_000;

/** A statement of a transaction that dies with it, and the transactions that have died. */
let failsAt: string | null = null;
/** As if a transaction older than all events were open: the feed ends before them. */
let isHeldBack = false;
const faults: string[] = [];
const failing = (db: Database): Database => ({
  ...db,
  transaction: (run, limits) =>
    db.transaction(
      (tx) =>
        run({
          query: async (query) => {
            const answer = await tx.query(query);
            if (isHeldBack && query.name === 'muster_feed_cursor')
              return { ...answer, rows: [{ ...answer.rows[0], xid: '0', eventId: '0' }] };
            if (query.name === undefined || query.name !== failsAt) return answer;
            faults.push(query.name);
            throw new Error('killed');
          },
          afterCommit: (then) => tx.afterCommit(then),
          ifInDoubt: (then) => tx.ifInDoubt(then),
        }),
      limits,
    ),
});

beforeAll(async () => {
  them = await startDestination();
  t = await testServer({
    ...{
      clock: true,
      database: failing,
      faults: true,
      resolve: async () => [{ address: '127.0.0.1', family: 4 }],
    },
    settings: { MUSTER_OUTGOING_ALLOW: '127.0.0.1', MUSTER_RETENTION_DAYS: '30' },
  });
});
afterAll(async () => {
  await t.close();
  await them.close();
});
afterEach(async () => {
  them.letGo();
  vi.useRealTimers();
  for (const { id } of (await t.get('/api/webhooks')).body.webhooks) await t.del(`/api/webhooks/${id}`);
});

const at = (path: string) => `http://them.example:${them.port}${path}`;

async function subscribe(path: string, events: string[], more: object = {}) {
  // earlier events are older than it, even while a transaction of another suite holds back the feed
  t.clock.advance(1);
  const { body, status } = await t.post('/api/webhooks', { url: at(path), events, ...more });
  expect(status).toBe(201);
  t.secret(body.secret);
  return body as { id: string; secret: string };
}
const enqueue = async (lane: string, kind = 'job', more: object = {}) =>
  (await t.post(`/api/lanes/${lane}/actions`, { kind, ...more })).body.id as string;
async function run(lane: string, status = 'succeeded') {
  const [action] = (await t.post(`/api/lanes/${lane}/claim`, { worker: 'w' })).body.actions;
  await t.post(`/api/actions/${action.id}/report`, { attempt: action.attempt, status });
}
const eventsAt = (path: string) => them.of(path).map(({ body }) => JSON.parse(body));
const typesAt = (path: string) => eventsAt(path).map(({ subject, type }) => `${subject} ${type}`);
const arrive = (path: string, count: number) => expect.poll(() => them.of(path).length).toBe(count);
const show = async (id: string) => (await t.get(`/api/webhooks/${id}`)).body;
const comesTo = (id: string, like: object) => expect.poll(() => show(id)).toMatchObject(like);
const log = async (id: string, query = '') =>
  (await t.get(`/api/webhooks/${id}/deliveries?limit=500${query}`)).body.deliveries;

function verify(secret: string, { body, headers }: Arrived) {
  vi.useFakeTimers({ toFake: ['Date'], now: t.clock() });
  const said = ['id', 'timestamp', 'signature'].map((name) => [
    `webhook-${name}`,
    String(headers[`webhook-${name}`]),
  ]);
  try {
    return new Verifier(secret).verify(body, Object.fromEntries(said));
  } finally {
    vi.useRealTimers();
  }
}

test('events of an action are sent in order, as CloudEvents that the Standard Webhooks library verifies', async () => {
  await enqueue('before');
  const { id, secret } = await subscribe('/all', ['action.*'], { name: 'billing' });
  const action = await enqueue('printer', 'print', { tags: ['paper'] });
  await run('printer');
  await arrive('/all', 3);
  expect(typesAt('/all')).toEqual([
    `action/${action} action.created`,
    `action/${action} action.started`,
    `action/${action} action.succeeded`,
  ]);
  const [first] = them.of('/all') as [Arrived];
  expect(first.headers['content-type']).toBe('application/cloudevents+json');
  expect(verify(secret, first)).toEqual({
    ...{ specversion: '1.0', id: first.headers['webhook-id'], source: '/tenants/1', type: 'action.created' },
    ...{ subject: `action/${action}`, time: t.clock().toISOString(), datacontenttype: 'application/json' },
    data: {
      ...{
        actionId: action,
        target: 'generic:printer',
        kind: 'print',
        channel: 'generic',
        state: 'pending',
        tags: ['paper'],
        attempt: 0,
        createdAt: t.clock().toISOString(),
      },
    },
  });
  expect(() => verify(secret, { ...first, body: first.body.replace('printer', 'plotter') })).toThrow();
  await comesTo(id, {
    counts: { delivered: 3, failed: 0 },
    waiting: 0,
    state: 'active',
    failingSince: null,
    last: { status: 200 },
  });
  expect(await log(id)).toMatchObject([
    { event: 'action.succeeded', state: 'delivered', attempt: 1, last: { status: 200, error: null } },
    { event: 'action.started', state: 'delivered' },
    { event: 'action.created', state: 'delivered', subject: `action/${action}` },
  ]);
});

test('every part of a filter must match, and deliveries cause no events themselves', async () => {
  await subscribe('/kinds', ['action.created'], { filter: { kinds: ['print', 'fax'] } });
  await subscribe('/both', ['action.created'], { filter: { kinds: ['print'], tags: ['paper', 'ink'] } });
  await subscribe('/device', ['action.created'], { filter: { devices: ['999'] } });
  const { id: host, agentToken } = (await t.post('/api/hosts', { name: 'h' })).body;
  t.secret(agentToken);
  const service = (await t.post(`/api/hosts/${host}/services`, { unitName: 'nginx' })).body.id;
  await subscribe('/host', ['action.created'], { filter: { hosts: [host] } });
  await subscribe('/every', ['action.created']);
  await enqueue('f', 'print');
  await enqueue('f', 'fax', { tags: ['paper'] });
  await enqueue('f', 'print', { tags: ['ink', 'red'] });
  await t.post(`/api/hosts/${host}/actions`, { serviceId: service, kind: 'stop' });
  await arrive('/every', 4);
  await arrive('/kinds', 3);
  await arrive('/both', 1);
  await arrive('/host', 1);
  expect(eventsAt('/both')[0].data).toMatchObject({ kind: 'print', tags: ['ink', 'red'] });
  expect(eventsAt('/host')[0].data.target).toBe(`service:${service}`);
  // new events come after those of all these deliveries
  await enqueue('f', 'last');
  await arrive('/every', 5);
  expect(
    eventsAt('/every')
      .map(({ data }) => data.kind)
      .sort(),
  ).toEqual(['fax', 'last', 'print', 'print', 'stop']);
  expect(them.of('/device')).toEqual([]);
});

test('G86: an endpoint that does not answer delays no other', async () => {
  them.hold('/slow');
  const { id } = await subscribe('/slow', ['action.created']);
  await subscribe('/fast', ['action.created']);
  for (let n = 0; n < 20; n += 1) await enqueue('many');
  await arrive('/fast', 20);
  // a fixed number at once, however many wait
  await arrive('/slow', 8);
  expect((await show(id)).waiting).toBe(20);
  them.on('/slow', (response) => response.end());
  them.letGo();
  await arrive('/slow', 20);
  await comesTo(id, { waiting: 0, counts: { delivered: 20, failed: 0 } });
});

test('G86: a refused delivery is retried with growing pauses, and later ones of the same action wait behind it', async () => {
  let isOpen = false;
  const { id } = await subscribe('/shy', ['action.*']);
  const poor = await enqueue('poor');
  await arrive('/shy', 1);
  them.on('/shy', (response, { body }) =>
    response.writeHead(isOpen || !body.includes(`"action/${poor}"`) ? 204 : 503).end('not now'),
  );
  await run('poor');
  await comesTo(id, { last: { status: 503 } });
  const other = await enqueue('other');
  await arrive('/shy', 3);
  expect(typesAt('/shy').slice(1)).toEqual([
    `action/${poor} action.started`,
    `action/${other} action.created`,
  ]);
  expect(await log(id, '&state=waiting')).toMatchObject([
    { event: 'action.succeeded', attempt: 0 },
    { event: 'action.started', attempt: 1, last: { status: 503, error: 'The endpoint answered 503.' } },
  ]);
  isOpen = true;
  await t.pass(12_100);
  await arrive('/shy', 5);
  expect(typesAt('/shy').slice(3)).toEqual([
    `action/${poor} action.started`,
    `action/${poor} action.succeeded`,
  ]);
  const [, tried] = them.of('/shy');
  expect(them.of('/shy')[3]?.headers['webhook-id']).toBe(tried?.headers['webhook-id']);
  await comesTo(id, { failingSince: null, counts: { delivered: 4, failed: 0 } });
  const [delivery] = await log(id, '&event=action.started');
  expect((await t.get(`/api/webhooks/${id}/deliveries/${delivery.id}`)).body).toMatchObject({
    ...{ state: 'delivered', attempt: 2, request: JSON.parse(tried?.body as string) },
    tries: [
      { attempt: 2, status: 204 },
      { attempt: 1, status: 503, body: 'not now', error: 'The endpoint answered 503.' },
    ],
  });
});

test('G86: an endpoint that accepts nothing for a day is paused, with a reason and an alert; resumed, it gets everything it missed', async () => {
  await subscribe('/alerts', ['alert.raised']);
  const { id } = await subscribe('/dead', ['action.created'], { name: 'billing' });
  them.on('/dead', (response) => response.writeHead(500).end());
  const first = await enqueue('d');
  await comesTo(id, { last: { status: 500 }, failingSince: t.clock().toISOString() });
  const since = t.clock();
  const tried = them.of('/dead').length;
  await t.pass(DAY_MS);
  await comesTo(id, { state: 'paused', pausedBy: 'failures', pausedSince: t.clock().toISOString() });
  expect(them.of('/dead').length).toBe(tried + 1);
  expect((await show(id)).pausedReason).toContain(
    `The endpoint has accepted nothing since ${since.toISOString()}`,
  );
  const alerts = () => eventsAt('/alerts').filter(({ data }) => data.name === 'endpoint.dead');
  await expect.poll(() => alerts().length).toBe(1);
  expect(alerts()[0].data).toMatchObject({ webhookId: id, text: expect.stringContaining('billing') });

  const missed = [await enqueue('d'), await enqueue('d')];
  await subscribe('/witness', ['action.created']);
  missed.push(await enqueue('d'));
  await arrive('/witness', 1);
  await t.pass(DAY_MS);
  expect(them.of('/dead').length).toBe(tried + 1);
  them.on('/dead', (response) => response.end());
  expect((await t.post(`/api/webhooks/${id}/resume`)).body).toMatchObject({
    state: 'active',
    failingSince: null,
  });
  const after = await enqueue('d');
  await arrive('/dead', tried + 1 + 5);
  expect(
    typesAt('/dead')
      .slice(tried + 1)
      .sort(),
  ).toEqual([first, ...missed, after].map((one) => `action/${one} action.created`).sort());
  await comesTo(id, { catchingUp: false, counts: { delivered: 5, failed: 0 } });
});

test('one that answers 410 is paused at once; missed events can be skipped', async () => {
  const { id } = await subscribe('/gone', ['action.created']);
  them.on('/gone', (response) => response.writeHead(410).end());
  await enqueue('g');
  await comesTo(id, { state: 'paused', pausedBy: 'failures' });
  // its waiting deliveries say so, whatever else they wait for
  const waits = async () => (await t.get(`/api/actions?tag=webhook:${id}`)).body.actions[0].waitingFor;
  await expect.poll(waits).toMatchObject({
    ...{ code: 'WEBHOOK_PAUSED', tag: `webhook:${id}` },
    text: expect.stringMatching(/^The webhook .* is paused: The endpoint answered 410/),
  });
  const missed = await enqueue('g');
  await t.pass(12_100);
  them.on('/gone', (response) => response.end());
  isHeldBack = true;
  await t.post(`/api/webhooks/${id}/resume`, { skipMissed: true });
  isHeldBack = false;
  const last = await enqueue('g');
  await expect.poll(() => typesAt('/gone')).toContain(`action/${last} action.created`);
  expect((await log(id)).map(({ subject }: { subject: string }) => subject)).not.toContain(
    `action/${missed}`,
  );
  expect((await t.post(`/api/webhooks/${id}/pause`, { reason: 'new office' })).body).toMatchObject({
    ...{ state: 'paused', pausedBy: 'operator', pausedReason: 'new office' },
  });
  expect((await t.post(`/api/webhooks/${id}/ping`)).body).toMatchObject({
    status: 200,
    error: null,
    body: '',
  });
  expect(eventsAt('/gone').at(-1)).toMatchObject({ type: 'webhook.ping', subject: `webhook/${id}` });
});

test('secrets rotate without a gap: for a day requests carry both signatures', async () => {
  const { id, secret } = await subscribe('/turn', ['action.created']);
  const { body } = await t.post(`/api/webhooks/${id}/rotate-secret`);
  const next = t.secret(body.secret);
  await enqueue('r');
  await arrive('/turn', 1);
  const [both] = them.of('/turn') as [Arrived];
  verify(secret, both);
  verify(next, both);
  await t.pass(DAY_MS);
  await enqueue('r');
  await arrive('/turn', 2);
  const one = them.of('/turn')[1] as Arrived;
  verify(next, one);
  expect(() => verify(secret, one)).toThrow();
});

test('one delivery or those of a time range are sent again, with their ids', async () => {
  const { id } = await subscribe('/again', ['action.created']);
  const from = t.clock();
  await enqueue('a');
  t.clock.advance(1_000);
  const to = t.clock();
  await enqueue('a');
  await arrive('/again', 2);
  await comesTo(id, { waiting: 0 });
  const [late, early] = await log(id);
  const again = await t.post(`/api/webhooks/${id}/deliveries/${late.id}/replay`);
  expect(again).toMatchObject({ status: 201, body: { replayOf: late.id, eventId: late.eventId } });
  await arrive('/again', 3);
  await comesTo(id, { waiting: 0 });
  const range = { from: from.toISOString(), to: to.toISOString() };
  expect((await t.post(`/api/webhooks/${id}/replay`, { ...range, failed: true })).body).toEqual({
    replayed: 0,
    cursor: null,
  });
  expect((await t.post(`/api/webhooks/${id}/replay`, range)).body).toEqual({ replayed: 1, cursor: null });
  await arrive('/again', 4);
  expect(await t.post(`/api/webhooks/${id}/replay`, { from: range.to, to: range.from })).toMatchObject({
    status: 400,
    body: { error: 'from must not be after to.' },
  });
  expect((await t.post(`/api/webhooks/${id}/replay`, { ...range, cursor: 'x' })).body.error).toBe(
    'cursor must be a cursor from this list.',
  );
  const ids = them.of('/again').map(({ headers }) => headers['webhook-id']);
  expect(ids.slice(0, 2).sort()).toEqual([early.eventId, late.eventId].sort());
  expect(ids.slice(2)).toEqual([late.eventId, early.eventId]);
  const of = (query: string) => log(id, query).then((found) => found.map((one: { id: string }) => one.id));
  expect(await of(`&to=${range.to}`)).toEqual([expect.any(String), early.id]);
  expect(await of(`&from=${range.to}`)).toEqual([again.body.id, late.id]);
  // replays are not replayed themselves
  await comesTo(id, { waiting: 0 });
  const all = { from: range.from, to: new Date(to.getTime() + 1).toISOString() };
  expect((await t.post(`/api/webhooks/${id}/replay`, all)).body).toEqual({ replayed: 2, cursor: null });
});

test('a delivery cannot be copied: a client cannot get its own event signed', async () => {
  const { id } = await subscribe('/forged', ['action.created']);
  await enqueue('a');
  await arrive('/forged', 1);
  await comesTo(id, { waiting: 0 });
  const [delivery] = await log(id);
  const { payload } = (await t.get(`/api/actions/${delivery.id}`)).body;
  const forged = { ...payload, event: { ...payload.event, id: 'evt_forged', type: 'order.completed' } };
  for (const body of [{}, { payload: null }, { payload: forged }])
    expect(await t.post(`/api/actions/${delivery.id}/copy`, body)).toMatchObject({
      ...{ status: 409, body: { code: 'MUSTER_NOT_COPIED', error: expect.stringContaining('Replay') } },
    });
  expect(await log(id)).toHaveLength(1);
});

test('invalid webhooks are refused, and viewers only read', async () => {
  const wrong = { events: ['action.created'] };
  for (const url of ['http://10.0.0.1/', 'ftp://x/', 'http://a:b@them.example/', 'no address'])
    expect((await t.post('/api/webhooks', { ...wrong, url })).body.code).toBe('MUSTER_BAD_WEBHOOK_URL');
  for (const body of [{ url: at('/') }, { url: at('/'), events: [] }, { url: at('/'), events: ['device.*'] }])
    expect((await t.post('/api/webhooks', body)).status).toBe(400);
  const { id } = await subscribe('/x', ['action.created']);
  expect((await t.send('PATCH', `/api/webhooks/${id}`, { url: 'http://10.0.0.1/' })).status).toBe(400);
  const changed = { url: at('/y'), events: ['order.*'], name: 'n', filter: { kinds: ['order'] } };
  for (const filter of [{ kinds: ['k'] }, { tags: ['a'] }, { devices: ['1'] }, { hosts: ['1'] }]) {
    const vain = { url: at('/'), events: ['order.created'], filter };
    expect((await t.post('/api/webhooks', vain)).body.error).toContain('No event of an order');
    expect((await t.send('PATCH', `/api/webhooks/${id}`, vain)).status).toBe(400);
  }
  // together with other events it is useful
  const both = { events: ['order.created', 'action.created'], filter: { tags: ['a'] } };
  expect((await t.send('PATCH', `/api/webhooks/${id}`, both)).body).toMatchObject(both);
  expect((await t.send('PATCH', `/api/webhooks/${id}`, changed)).body).toMatchObject(changed);
  const viewer = { token: (await t.token({ kind: 'operator', role: 'viewer', name: 'v' })).token };
  expect((await t.get(`/api/webhooks/${id}`, viewer)).body).not.toHaveProperty('secret');
  for (const verb of ['pause', 'resume', 'ping', 'rotate-secret'])
    expect((await t.post(`/api/webhooks/${id}/${verb}`, {}, viewer)).status).toBe(403);
  for (const path of ['0', '999', 'x'])
    expect((await t.get(`/api/webhooks/${path}`)).body.code).toBe('MUSTER_UNKNOWN_WEBHOOK');
  for (const path of ['0', '999', 'x'])
    expect((await t.post(`/api/webhooks/${id}/deliveries/${path}/replay`)).body.code).toBe(
      'MUSTER_UNKNOWN_DELIVERY',
    );
  await t.engine.db.query({
    text: `insert into ${t.engine.schema}.webhooks (tenant_id, url, events, filter, secret, runner_id, lane_ids, created_at, from_at)
      select 1, '', '{}', '{}', '', 0, '{}', now(), now() from generate_series(1, 99)`,
  });
  expect((await t.post('/api/webhooks', { url: at('/x'), events: ['order.*'] })).body.code).toBe(
    'MUSTER_TOO_MANY_WEBHOOKS',
  );
  await t.engine.db.query({ text: `delete from ${t.engine.schema}.webhooks where url = ''` });
});

test('G86: a node that dies between its read of the feed and the end of its transaction makes no difference: everything is queued once', async () => {
  const { id } = await subscribe('/once', ['action.created']);
  await subscribe('/beside', ['action.created']);
  const dieAt = async (statement: string) => {
    const before = faults.length;
    failsAt = statement;
    const made = [await enqueue('x'), await enqueue('y')];
    await expect.poll(() => faults.length).toBeGreaterThan(before);
    failsAt = null;
    return made;
  };
  const made = [...(await dieAt('muster_webhook_deliveries')), ...(await dieAt('muster_webhook_place_on'))];
  await arrive('/once', 4);
  await t.post(`/api/webhooks/${id}/pause`);
  made.push(await enqueue('z'));
  await arrive('/beside', 5);
  failsAt = 'muster_webhook_behind_on';
  await t.post(`/api/webhooks/${id}/resume`);
  await expect.poll(() => faults).toContain(failsAt);
  // paused again before it has caught up, it keeps its place
  await t.post(`/api/webhooks/${id}/pause`);
  failsAt = null;
  await t.post(`/api/webhooks/${id}/resume`);
  await arrive('/once', 5);
  await comesTo(id, { catchingUp: false, waiting: 0, counts: { delivered: 5 } });
  expect(typesAt('/once').sort()).toEqual(made.map((one) => `action/${one} action.created`).sort());
});

test('G86: however many nodes read the feed at the same time, everything is queued once', async () => {
  const { id } = await subscribe('/nodes', ['action.created']);
  const { engine } = t;
  const places = createPlaceQueries(engine.schema, engine.now);
  const queries = createWebhookQueries(engine.schema, engine.now);
  const reading = (more: Partial<typeof places> = {}) =>
    createReading({
      ...{ doors: new DoorEvents(), engine, queue: createQueueing(engine), queries },
      places: { ...places, ...more },
    });
  let isOver = false;
  const nodes = [reading(), reading()].map(async (node) => {
    while (!isOver) {
      await node.readOn();
      await node.catchUpNext(null);
    }
  });
  const made: string[] = [];
  try {
    for (let n = 0; n < 30; n += 1) {
      made.push(await enqueue(`n${n % 7}`));
      if (n % 10 === 4) await t.post(`/api/webhooks/${id}/pause`);
      if (n % 10 === 8) await t.post(`/api/webhooks/${id}/resume`);
    }
    await expect.poll(() => new Set(typesAt('/nodes')).size).toBe(30);
  } finally {
    isOver = true;
    await Promise.all(nodes);
  }
  const queued = (await log(id)).map(({ subject }: { subject: string }) => subject);
  expect(queued.sort()).toEqual(made.map((one) => `action/${one}`).sort());

  // a node that comes too late with events that another has queued
  await t.post(`/api/webhooks/${id}/pause`);
  await enqueue('late');
  const { cursor } = (await queries.get(engine.db, { tenantId: 1, webhookId: id })) as { cursor: string };
  await t.post(`/api/webhooks/${id}/resume`);
  await expect.poll(() => new Set(typesAt('/nodes')).size).toBe(31);
  await comesTo(id, { catchingUp: false });
  const late = { tenantId: 1, webhookId: id, cursor };
  expect(await reading({ behind: async () => late }).catchUpNext(null)).toMatchObject({ isMore: true });
  expect(await log(id)).toHaveLength(31);
});

test('a try that is never reported ends with its lease, and its late answer changes nothing', async () => {
  them.hold('/lost');
  const { id } = await subscribe('/lost', ['action.created']);
  await enqueue('l');
  await arrive('/lost', 1);
  them.on('/lost', (response) => response.end());
  await t.pass(45_001);
  await t.pass(12_100);
  await arrive('/lost', 2);
  await comesTo(id, { counts: { delivered: 1, failed: 0 } });
  them.letGo();
  const [{ id: delivery }] = await log(id);
  const history = async () =>
    (await t.get(`/api/actions/${delivery}`)).body.events.map(({ type }: { type: string }) => type);
  await expect.poll(history).toContain('LATE');
  expect(await show(id)).toMatchObject({ waiting: 0, counts: { delivered: 1, failed: 0 } });
});

test('after a restore of the database, which no cursor survives, nothing is missed', async () => {
  const { id } = await subscribe('/restored', ['action.created']);
  await subscribe('/other', ['action.created']);
  const first = await enqueue('before');
  await arrive('/restored', 1);
  await t.post(`/api/webhooks/${id}/pause`);
  const missed = await enqueue('between');
  await arrive('/other', 2);
  await raiseIncarnation(t.engine.db, t.engine.schema);
  const last = await enqueue('after');
  await expect.poll(() => new Set(typesAt('/other')).size).toBe(3);
  await t.post(`/api/webhooks/${id}/resume`);
  await expect.poll(() => new Set(typesAt('/restored')).size).toBe(3);
  expect([...new Set(typesAt('/restored'))].sort()).toEqual(
    [first, missed, last].map((one) => `action/${one} action.created`).sort(),
  );
  // events that came twice have the same id
  const ids = new Set(them.of('/restored').map(({ headers }) => headers['webhook-id']));
  expect(ids.size).toBe(3);
});

test('an event of an action needs no second call: it has its state, its error and its times', async () => {
  await subscribe('/told', ['action.*']);
  const createdAt = t.clock().toISOString();
  const action = await enqueue('told', 'weigh', { maxAttempts: 1 });
  t.clock.advance(2_000);
  const [{ attempt }] = (await t.post('/api/lanes/told/claim', { worker: 'scale' })).body.actions;
  const startedAt = t.clock().toISOString();
  t.clock.advance(3_000);
  await t.post(`/api/actions/${action}/report`, { attempt, status: 'failed', error: 'no weight' });
  const endedAt = t.clock().toISOString();
  await arrive('/told', 3);
  const about = { actionId: action, target: 'generic:told', kind: 'weigh', channel: 'generic', tags: [] };
  expect(eventsAt('/told').map(({ data }) => data)).toEqual([
    { ...about, attempt: 0, state: 'pending', createdAt },
    { ...about, attempt: 1, state: 'claimed', worker: 'scale', createdAt, startedAt },
    {
      ...{ ...about, attempt: 1, state: 'failed', createdAt, startedAt, endedAt },
      ...{ reason: 'FAILED', error: 'no weight' },
    },
  ]);
  // retried and succeeded: the event of the first ending describes only that
  await t.post(`/api/actions/${action}/redrive`, {});
  await run('told');
  await arrive('/told', 5);
  expect(eventsAt('/told')[4].data).toEqual({
    ...{ ...about, attempt: 2, state: 'succeeded', worker: 'w', createdAt },
    ...{ startedAt: endedAt, endedAt },
  });
});

test('G86: the events of an order are sent in order, also after it was restored', async () => {
  await subscribe('/restored', ['order.*']);
  const { id } = (await t.post('/api/orders', { type: 'VIP' })).body;
  await t.del(`/api/orders/${id}`);
  await t.send('PATCH', `/api/orders/${id}`, { deletedAt: null });
  const { db, schema } = t.engine;
  const lines = async () => {
    const { rows } = await db.query({
      text: `select a.payload->>'key' as line from ${schema}.action_states a
        where a.tenant_id = 1 and a.channel = 'webhooks' and a.payload->'event'->'data'->>'orderId' = $1`,
      values: [id],
    });
    return rows.map(({ line }) => line);
  };
  await expect.poll(async () => (await lines()).length).toBe(3);
  expect(await lines()).toEqual(Array(3).fill(`order/${id}`));
  await t.del(`/api/orders/${id}`);
});

test('events of orders have their own names', async () => {
  const { id } = await subscribe('/orders', ['order.*']);
  const { body: order } = await t.post('/api/orders', { type: 'VIP' });
  const { body: bot } = await t.post('/api/bots');
  t.secret(bot.botToken);
  const patch = (status: string) =>
    t.send('PATCH', `/api/orders/${order.id}`, {
      status,
      botId: status === 'PROCESSING' ? bot.id : undefined,
    });
  for (const status of ['PROCESSING', 'PENDING', 'PROCESSING', 'COMPLETE']) await patch(status);
  const { body: other } = await t.post('/api/orders', { type: 'NORMAL' });
  await t.del(`/api/orders/${other.id}`);
  await arrive('/orders', 7);
  const after = (ms: number) => new Date(t.clock().getTime() + ms).toISOString();
  const of = (id: string) => eventsAt('/orders').filter(({ subject }) => subject === `order/${id}`);
  expect(of(order.id).map(({ type }) => type)).toEqual(
    ['created', 'started', 'returned', 'started', 'completed'].map((word) => `order.${word}`),
  );
  const about = { orderId: order.id, orderNumber: order.orderNumber, type: 'VIP', userId: null };
  const { createdAt } = order;
  const times = { processingStartedAt: createdAt, processingEndsAt: after(10_000) };
  expect(of(order.id).map(({ data }) => data)).toEqual([
    { ...about, status: 'PENDING', createdAt },
    { ...about, status: 'PROCESSING', botId: bot.id, createdAt, ...times },
    { ...about, status: 'PENDING', createdAt },
    { ...about, status: 'PROCESSING', botId: bot.id, createdAt, ...times },
    {
      ...{ ...about, status: 'COMPLETE', botId: bot.id, createdAt, processingStartedAt: createdAt },
      ...{ completedAt: createdAt, completionReason: 'OPERATOR' },
    },
  ]);
  expect(of(other.id).map(({ type }) => type)).toEqual(['order.created', 'order.deleted']);
  expect(of(other.id)[1].data).toMatchObject({ orderId: other.id, status: 'PENDING', deletedAt: after(0) });
  // it was deleted and restored before the webhook read of it
  await t.post(`/api/webhooks/${id}/pause`, {});
  const { body: third } = await t.post('/api/orders', { type: 'NORMAL' });
  await t.del(`/api/orders/${third.id}`);
  await t.send('PATCH', `/api/orders/${third.id}`, { deletedAt: null });
  await t.post(`/api/webhooks/${id}/resume`, {});
  await arrive('/orders', 10);
  expect(of(third.id).map(({ type }) => type)).toEqual(['order.created', 'order.deleted', 'order.created']);
});

test('devices in error and the ends of tasks and batches are each sent once', async () => {
  await subscribe('/fleet', ['device.state_changed', 'batch.finished', 'task.finished']);
  const pc = await fakePc(t, 2, { slots: 2 });
  const [bad, good] = pc.devices.map(({ id }) => id) as [string, string];
  await subscribe('/bad', ['device.state_changed', 'task.finished'], { filter: { devices: [bad] } });
  const task = await newTask(t, { deviceIds: [bad, good] }, { maxAttempts: 1 });
  await t.engine.runDuty('advance-tasks');
  for (const held of await pc.claim({ max: 2 }))
    await (held.deviceId === bad ? pc.fail(held) : pc.complete(held));
  await arrive('/fleet', 2);
  await t.post(`/api/devices/${bad}/clear-error`);
  await t.post(`/api/devices/${bad}/clear-error`);
  await arrive('/fleet', 3);
  await arrive('/bad', 2);
  const state = { type: 'device.state_changed', subject: `device/${bad}` };
  expect(eventsAt('/bad')).toMatchObject([
    { ...state, data: { deviceId: bad, state: 'error', previousState: 'ok', reason: 'broken' } },
    { ...state, data: { state: 'ok', previousState: 'error', reason: null } },
  ]);
  expect(eventsAt('/fleet').find(({ type }) => type === 'task.finished')).toMatchObject({
    ...{ subject: `task/${task.id}`, data: { taskId: task.id, cancelled: false, total: 2 } },
  });

  const device = await fakeDevice(t, { tags: ['batched'] });
  await t.pass(1_000);
  const { body: batch } = await t.post('/api/batches', {
    targets: { deviceIds: [device.id, '999999'] },
    action: { kind: 'X', maxAttempts: 1 },
  });
  const finish = async () => {
    await t.engine.runDuty('supply-batches');
    await t.engine.runDuty('finish-batches');
  };
  await expect.poll(async () => (await device.queue()).length).toBe(1);
  const { action } = await device.checkIn();
  await finish();
  expect(them.of('/fleet')).toHaveLength(3);
  await device.report(action, 'failed');
  await finish();
  await finish();
  await arrive('/fleet', 4);
  const told = {
    type: 'batch.finished',
    subject: `batch/${batch.id}`,
    data: { batchId: batch.id, status: 'completed', total: 2 },
  };
  expect(eventsAt('/fleet')[3]).toMatchObject(told);
  // retried it is unfinished, and then finished again
  await t.post(`/api/batches/${batch.id}/retry`);
  await finish();
  await t.post(`/api/batches/${batch.id}/cancel`);
  await finish();
  await arrive('/fleet', 5);
  expect(eventsAt('/fleet')[4]).toMatchObject({ ...told, data: { status: 'cancelled' } });
});

test('deliveries are deleted a day after their actions and cannot be replayed then', async () => {
  const { id } = await subscribe('/old', ['action.created']);
  await enqueue('o');
  await arrive('/old', 1);
  await comesTo(id, { counts: { delivered: 1 } });
  const [delivery] = await log(id);
  t.clock.advance(30 * DAY_MS + 1);
  await t.engine.runDuty('prune');
  expect((await t.post(`/api/webhooks/${id}/deliveries/${delivery.id}/replay`)).body.code).toBe(
    'MUSTER_DELIVERY_FORGOTTEN',
  );
  expect(await log(id)).toMatchObject([{ state: 'delivered' }]);
  t.clock.advance(DAY_MS);
  await t.engine.runDuty('prune-webhooks');
  expect(await log(id)).toEqual([]);
});

test('a paused endpoint is shown in the overview, the metrics and the reports', async () => {
  const { id } = await subscribe('/closed', ['action.created'], { name: 'closed' });
  await subscribe('/open', ['action.created']);
  const line = async (start: string) =>
    ((await t.get('/metrics')).body as string).split('\n').find((one) => one.startsWith(start));
  const tries = async (outcome: string) =>
    Number(
      (await line(`muster_webhook_deliveries_total{tenant="1",outcome="${outcome}"}`))?.split(' ')[1] ?? 0,
    );
  const before = [await tries('delivered'), await tries('failed')];
  them.on('/closed', (response) => response.writeHead(410).end());
  await enqueue('c');
  await comesTo(id, { state: 'paused' });
  await arrive('/open', 1);
  const since = t.clock().toISOString();
  await t.pass(30_000);
  await expect
    .poll(async () => [await tries('delivered'), await tries('failed')])
    .toEqual(before.map((count) => count + 1));
  expect(await line('muster_webhooks_paused')).toBe('muster_webhooks_paused{tenant="1",by="failures"} 1');
  expect(await line('muster_webhook_oldest')).toBe('muster_webhook_oldest_waiting_seconds{tenant="1"} 30');
  const { problems } = (await t.get('/api/overview')).body;
  expect(problems.find(({ code }: { code: string }) => code === 'WEBHOOKS_PAUSED')).toMatchObject({
    ...{ count: 1, since, text: expect.stringMatching(/^closed: The endpoint answered 410/) },
    example: { type: 'webhook', id, name: 'closed' },
  });
  const { rows } = await t.engine.db.query({
    text: `select status, paused_by, failed_count::int, last_status from muster_reports.webhooks where tenant_id = 1 and id = $1`,
    values: [id],
  });
  expect(rows).toEqual([{ status: 'paused', paused_by: 'failures', failed_count: 0, last_status: 410 }]);
});

test('G86: deliveries claimed by one node while another pauses their webhook are released, and sent when it is resumed', async () => {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const claimed = vi.fn();
  const { claimSlots } = t.engine;
  const gate = vi.spyOn(t.engine, 'claimSlots').mockImplementation(async (...given) => {
    const actions = await claimSlots(...given);
    if (given[1].channel !== 'webhooks' || actions.length === 0) return actions;
    claimed(actions[0]?.id);
    await opened;
    return actions;
  });
  const { id } = await subscribe('/elsewhere', ['action.created']);
  await enqueue('e');
  await expect.poll(() => claimed.mock.calls.length).toBe(1);
  gate.mockRestore();
  await t.engine.db.transaction(async (tx) => {
    await tx.query({
      text: `update muster.webhooks w set paused_at = $2, paused_by = 'operator', paused_reason = 'elsewhere', cursor = f.cursor, cursor_at = f.read_at
        from muster.webhook_feed f where w.webhook_id = $1`,
      values: [id, t.clock()],
    });
    await tx.query({ text: 'update muster.webhook_feed set version = version + 1' });
  });
  open();
  const [[delivery]] = claimed.mock.calls as [[string]];
  const happened = async () =>
    (await t.get(`/api/actions/${delivery}`)).body.events.map(({ type }: { type: string }) => type);
  await expect.poll(happened).toContain('RELEASED');
  expect(them.of('/elsewhere')).toEqual([]);
  expect(await log(id)).toMatchObject([{ id: delivery, state: 'waiting' }]);
  await t.post(`/api/webhooks/${id}/resume`);
  await arrive('/elsewhere', 1);
});
