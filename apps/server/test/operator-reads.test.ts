import { afterAll, beforeAll, expect, test } from 'vitest';
import { fakeDevice } from '../testing/fake-device.ts';
import { fakePc, type Held, newTask } from '../testing/fake-pc.ts';
import { type TestServer, testServer } from '../testing/test-server.ts';

/** What operators search for, and what is hidden from them (issue 14). */
let t: TestServer;
beforeAll(async () => {
  t = await testServer({ clock: true });
});
afterAll(() => t.close());

const HIDDEN = '[hidden]';
let lanes = 0;
const newLane = () => {
  lanes += 1;
  return `lane-${lanes}`;
};
const put = async (lane: string, body: object) =>
  (await t.post(`/api/lanes/${lane}/actions`, body)).body.id as string;
const idsOf = async (query: string) =>
  (await t.get(`/api/actions?${query}`)).body.actions.map(({ id }: { id: string }) => id) as string[];

async function fail(lane: string, body: object, error: string): Promise<string> {
  const id = await put(lane, { maxAttempts: 1, ...body });
  const { actions } = (await t.post(`/api/lanes/${lane}/claim`, { worker: 'w' })).body;
  expect(actions[0].id).toBe(id);
  await t.post(`/api/actions/${id}/report`, { attempt: 1, status: 'failed', error });
  return id;
}

test('fields named like secrets are hidden wherever operators read, and revealed with an audit line', async () => {
  const lane = newLane();
  const payload = {
    wifi: { ssid: 'office', password: 's3cret-wifi' },
    keyboard: 'de',
    apiKey: '',
    unlock_tokens: ['t-one'],
    list: [{ PIN: 4711 }],
    WIFIPassword: 'of the acronym',
  };
  const id = await put(lane, { kind: 'JOIN', payload });
  const shown = {
    wifi: { ssid: 'office', password: HIDDEN },
    keyboard: 'de',
    apiKey: '',
    unlock_tokens: HIDDEN,
    list: [{ PIN: HIDDEN }],
    WIFIPassword: HIDDEN,
  };
  const viewer = await t.token({ kind: 'operator', role: 'viewer', name: 'eve' });
  for (const token of [t.operator, viewer.token]) {
    expect((await t.get(`/api/actions/${id}`, { token })).body).toMatchObject({ payload: shown, hidden: 4 });
    const page = (await t.get(`/api/actions?lane=${lane}`, { token })).body;
    expect(page.actions[0]).toMatchObject({ payload: shown, hidden: 4 });
  }
  // the client that executes the action gets them in full
  const { actions } = (await t.post(`/api/lanes/${lane}/claim`, { worker: 'w' })).body;
  expect(actions[0].payload).toEqual(payload);
  const result = { token: 'one-time', ok: true };
  await t.post(`/api/actions/${id}/report`, { attempt: 1, status: 'succeeded', result });
  expect((await t.get(`/api/actions/${id}`)).body).toMatchObject({
    result: { token: HIDDEN, ok: true },
    hidden: 5,
  });

  expect(await t.post(`/api/actions/${id}/reveal`, {}, { token: viewer.token })).toMatchObject({
    status: 403,
  });
  expect((await t.post('/api/actions/999999/reveal')).status).toBe(404);
  const ana = await t.token({ kind: 'operator', role: 'operator', name: 'ana' });
  const revealed = await t.post(`/api/actions/${id}/reveal`, { reason: 'lost' }, { token: ana.token });
  expect(revealed.body).toEqual({ id, payload, result });
  const [line] = (await t.get('/api/audit?act=action.reveal')).body.audit;
  expect(line).toMatchObject({ actor: 'ana', target: `action ${id}`, detail: { reason: 'lost' } });
  expect(JSON.stringify(line)).not.toContain('s3cret');

  // edited and run again: a hidden field keeps its value
  const edited = { ...shown, keyboard: 'us', list: [{ PIN: 1 }], other: HIDDEN };
  const copy = (await t.post(`/api/actions/${id}/copy`, { payload: edited })).body;
  expect((await t.post(`/api/actions/${copy.id}/reveal`)).body.payload).toEqual({
    ...payload,
    keyboard: 'us',
    list: [{ PIN: 1 }],
    other: HIDDEN,
  });

  // and no search finds them, nor does a cursor reveal that there is a next page
  const found = async (text: string) => (await t.get(`/api/actions?lane=${lane}&limit=1&text=${text}`)).body;
  expect(await found('s3cret-wifi')).toEqual({ actions: [], cursor: null, looked: 2 });
  expect(await found('s3cret-wifi')).toEqual(await found('nothing-of-this-kind'));
  expect(await idsOf(`lane=${lane}&text=OFFICE`)).toEqual([copy.id, id]);
});

test('actions are found by source, error, text and end time; the answer says how many were searched', async () => {
  const lane = newLane();
  const first = await fail(lane, { kind: 'UPDATE', payload: { note: 'Say "hi"' } }, 'no space left');
  const end = t.clock().toISOString();
  await t.pass(60_000);
  const second = await fail(lane, { kind: 'LOCK' }, 'no cable');
  const q = `lane=${lane}`;
  expect(await idsOf(`${q}&error=SPACE`)).toEqual([first]);
  for (const text of ['say "hi"', '"note": "Say', 'note: say'])
    expect(await idsOf(`${q}&text=${encodeURIComponent(text)}`), text).toEqual([first]);
  expect(await idsOf(`${q}&endedAfter=${t.clock().toISOString()}`)).toEqual([second]);
  expect(await idsOf(`${q}&state=finished&endedBefore=${t.clock().toISOString()}`)).toEqual([first]);
  expect(await idsOf(`${q}&createdAfter=${t.clock().toISOString()}`)).toEqual([second]);
  expect(await idsOf(`${q}&source=nobody`)).toEqual([]);
  expect(await idsOf(`${q}&source=MUSTER_OPERATOR_TOKEN`)).toEqual([second, first]);
  expect((await t.get(`/api/actions?${q}&error=space`)).body).toMatchObject({ looked: 2, cursor: null });
  expect((await t.get(`/api/actions?${q}`)).body.looked).toBeUndefined();

  const alone = await t.get('/api/actions?text=x');
  expect(alone).toMatchObject({ status: 400, body: { code: 'MUSTER_TEXT_ALONE' } });
  const ago = (hours: number) => new Date(t.clock().getTime() - hours * 3_600_000).toISOString();
  expect((await t.get(`/api/actions?text=x&createdAfter=${ago(25)}`)).status).toBe(400);
  expect((await t.get(`/api/actions?text=x&createdAfter=${ago(23)}`)).status).toBe(200);

  // all that match, as of that time: later failures are not affected
  const count = (body: object) => t.post('/api/actions/count', { lane, ...body });
  expect((await count({ state: 'failed' })).body).toEqual({ count: 2, more: false });
  const before = { lane, state: 'failed', endedBefore: t.clock().toISOString() };
  expect((await count(before)).body).toEqual({ count: 1, more: false });
  expect((await count({ lane: 'no such lane' })).body).toEqual({ count: 0, more: false });
  expect((await t.post('/api/actions/redrive', before)).body).toMatchObject({ redriven: 1 });
  expect(await idsOf(`${q}&state=failed`)).toEqual([second]);
  expect(end < t.clock().toISOString()).toBe(true);
});

test("the server's own actions are left out on request, unless a filter names them", async () => {
  const { db } = t.engine;
  const laneId = await t.engine.ensureLane(db, 1, 'bus', 'of a test');
  const { id } = await t.engine.enqueue(db, { tenantId: 1, laneId, channel: 'bus', kind: 'message' });
  await t.post('/api/lanes/beside/actions', { kind: 'x' });
  const newest = async (query: string) =>
    (await t.get(`/api/actions?${query}`)).body.actions.some((one: { id: string }) => one.id === id);
  const queries = [
    '',
    'internal=true',
    'internal=false',
    'internal=false&state=pending',
    'internal=false&kind=message',
  ];
  expect(await Promise.all(queries.map(newest))).toEqual([true, true, false, false, true]);
  const { createdAt } = (await t.get(`/api/actions/${id}`)).body;
  const of = (internal: boolean) => ({ state: 'pending', internal, createdAfter: createdAt });
  const count = async (body: object) => (await t.post('/api/actions/count', body)).body.count;
  expect((await count(of(true))) - (await count(of(false)))).toBe(1);
  expect(await t.post('/api/actions/cancel', { internal: false })).toMatchObject({
    body: { code: 'MUSTER_EMPTY_FILTER' },
  });
  await t.post('/api/actions/cancel', of(false));
  expect((await t.get(`/api/actions/${id}`)).body.state).toBe('pending');
  await t.post('/api/actions/cancel', of(true));
  expect((await t.get(`/api/actions/${id}`)).body.state).toBe('cancelled');
});

test('dead letters are grouped by cause', async () => {
  const lane = newLane();
  const gone = [
    await fail(lane, { kind: 'UPDATE' }, 'no space left on /dev/sda1: 0 of 4096 bytes'),
    await fail(lane, { kind: 'UPDATE' }, 'no space left on /dev/sda1: 12 of 8192 bytes'),
  ];
  await t.pass(1_000);
  const other = await fail(lane, { kind: 'LOCK' }, 'no space left on /dev/sda1: 12 of 8192 bytes');
  const { groups, looked, more } = (await t.get('/api/actions/failures')).body;
  const own = groups.filter(({ example }: { example: { lane: string } }) => example.lane === lane);
  expect(own).toMatchObject([
    { kind: 'UPDATE', error: 'no space left on /dev/sda…: … of … bytes', count: 2, ids: gone.toReversed() },
    { kind: 'LOCK', count: 1, ids: [other], lastEndedAt: t.clock().toISOString() },
  ]);
  expect(looked).toBe(groups.reduce((sum: number, { count }: { count: number }) => sum + count, 0));
  expect(more).toBe(false);
});

test('a pause says by whom and since when', async () => {
  const ana = await t.token({ kind: 'operator', role: 'admin', name: 'ana' });
  const from = (await t.get('/api/events?cursor=end')).body.cursor;
  await t.post('/api/pause', { tag: 'red' }, { token: ana.token });
  const id = await put(newLane(), { kind: 'X', tags: ['red'] });
  const since = t.clock().toISOString();
  const { waitingFor } = (await t.get(`/api/actions/${id}`)).body;
  expect(waitingFor).toMatchObject({ code: 'TAG_PAUSED', tag: 'red', by: 'ana', since });
  expect((await t.get('/api/pauses')).body.pauses).toEqual([
    { tag: 'red', pausedAt: since, pausedBy: 'ana' },
  ]);
  await t.post('/api/resume', { tag: 'red' });
  // a pause is not an event of an action: open pages learn of it by a note
  const lane = newLane();
  await put(lane, { kind: 'X' });
  for (const verb of ['pause', 'resume']) await t.post(`/api/lanes/${lane}/${verb}`);
  const batch = await t.post('/api/batches', { targets: { all: true }, action: { kind: 'X' } });
  for (const verb of ['pause', 'resume']) await t.post(`/api/batches/${batch.body.id}/${verb}`);
  const noted = async () =>
    (await t.get(`/api/events?cursor=${from}&kind=pause.changed`)).body.events.map(
      ({ data, target }: { data: object; target: string | null }) => ({ ...data, target }),
    );
  const told = (tag: string | null, target: string | null) =>
    [true, false].map((paused) => ({ paused, tag, target }));
  await expect
    .poll(noted)
    .toEqual([
      ...told('red', null),
      ...told(null, `generic:${lane}`),
      ...told(`batch:${batch.body.id}`, null),
    ]);
});

test('the audit log is filtered by actor, act, target and time', async () => {
  const ben = await t.token({ kind: 'operator', role: 'admin', name: 'ben' });
  const id = await put(newLane(), { kind: 'X' });
  await t.post(`/api/actions/${id}/cancel`, {}, { token: ben.token });
  await t.post('/api/pause', { tag: 'ben' }, { token: ben.token });
  await t.post('/api/resume', { tag: 'ben' }, { token: ben.token });
  const acts = async (query: string) =>
    (await t.get(`/api/audit?${query}`)).body.audit.map(({ act }: { act: string }) => act);
  expect(await acts('actor=ben')).toEqual(['tag.resume', 'tag.pause', 'action.cancel']);
  expect(await acts('actor=ben&act=tag')).toEqual(['tag.resume', 'tag.pause']);
  expect(await acts('actor=ben&act=tag.pause')).toEqual(['tag.pause']);
  expect(await acts('act=ta')).toEqual([]);
  expect(await acts(`target=${encodeURIComponent(`action ${id}`)}`)).toEqual([
    'action.cancel',
    'action.enqueue',
  ]);
  expect(await acts('after=2100-01-01T00:00:00Z')).toEqual([]);
  expect(await acts('before=2000-01-01T00:00:00Z')).toEqual([]);
  expect(await acts('actor=ben&before=2100-01-01T00:00:00Z&limit=1')).toEqual(['tag.resume']);
});

const overview = async () => {
  await t.pass(2_000); // older answers are not shown any more
  return (await t.get('/api/overview')).body.problems as { code: string }[];
};

test('the overview lists problems, worst first, and is cached for two seconds', async () => {
  const codes = async () => (await overview()).map(({ code }) => code);
  expect(await codes()).toEqual(['DEAD_LETTERS']);
  await t.post('/api/actions/cancel', { createdAfter: '2000-01-01T00:00:00Z' });
  const tablet = await fakeDevice(t, { name: 'Tablet 0412' });
  const id = await tablet.assign('LOCK');
  await t.post('/api/pause', { tag: 'blue' });
  const pc = await fakePc(t, 1);
  const [device] = pc.devices as [(typeof pc.devices)[number]];
  await newTask(t, { deviceIds: [device.id] }, { maxAttempts: 1 });
  await pc.fail((await pc.claim())[0] as Held, { error: 'no cable' });
  const since = t.clock().toISOString();
  await t.pass(3_600_000);
  const problems = await overview();
  expect(problems.map(({ code }) => code)).toEqual([
    'DEAD_LETTERS',
    'DEVICES_IN_ERROR',
    'OLDEST_WAITING',
    'TAGS_PAUSED',
  ]);
  expect(problems[1]).toMatchObject({ count: 1, since, example: { type: 'device', id: device.id } });
  // by its display name
  expect(problems[2]).toMatchObject({
    text: expect.stringMatching(/^LOCK on Tablet 0412: /),
    example: { type: 'action', id, name: 'Tablet 0412', kind: 'LOCK' },
  });
  expect((await t.get(`/api/actions/${id}`)).body).toMatchObject({
    lane: tablet.id,
    targetName: 'Tablet 0412',
  });
  expect(problems[3]).toMatchObject({ count: 1, since, example: { type: 'tag', id: 'blue' } });
  // one that is behind another shows what that one waits for
  const first = await tablet.assign('WIPE');
  await t.post(`/api/actions/${first}/move-to-front`, {});
  await t.pass(2_000);
  expect((await overview())[2]).toMatchObject({
    text: expect.stringMatching(
      new RegExp(`^LOCK on Tablet 0412: Behind action ${first}\\. WIPE ${first}: \\S`),
    ),
  });
  await t.post(`/api/actions/${first}/cancel`);
  await t.pass(2_000);
  problems.splice(0, problems.length, ...(await overview()));

  await t.post('/api/pause');
  expect((await t.get('/api/overview')).body.problems).toEqual(problems);
  expect(await codes()).toContain('ALL_PAUSED');
  for (const body of [{}, { tag: 'blue' }]) await t.post('/api/resume', body);
  await t.post(`/api/actions/${id}/cancel`);
});

test('reasons of waiting lanes are counted over a sample', async () => {
  const before = (await t.get('/api/waiting')).body;
  const paused = [newLane(), newLane()];
  for (const lane of paused) {
    await put(lane, { kind: 'X' });
    await put(lane, { kind: 'BEHIND' });
    await t.post(`/api/lanes/${lane}/pause`);
  }
  const running = newLane();
  const id = await put(running, { kind: 'RUNS' });
  await t.post(`/api/lanes/${running}/claim`, { worker: 'w', leaseSeconds: 3_600 });
  expect((await t.get('/api/waiting')).body).toEqual(before); // kept for fifteen seconds
  await t.pass(15_000);
  const { groups, sampled, of } = (await t.get('/api/waiting')).body;
  const group = (code: string) => groups.find((one: { code: string }) => one.code === code);
  expect(group('LANE_PAUSED')).toMatchObject({ count: 2, example: { kind: 'X', lane: paused[0] } });
  expect(group('RUNNING')).toMatchObject({ count: 1, example: { actionId: id, lane: running } });
  expect(group('BEHIND')).toBeUndefined();
  expect([sampled, of]).toEqual([before.sampled + 3, before.of + 3]);
});

test('search finds by id, name or serial number', async () => {
  const found = async (q: string) =>
    (await t.get(`/api/search?q=${encodeURIComponent(q)}`)).body.found as {
      type: string;
      id: string;
      name: string;
    }[];
  const names = async (q: string) => (await found(q)).map(({ type, name }) => `${type} ${name}`);
  for (let n = 1; n <= 7; n += 1) {
    const made = await t.post('/api/devices', { name: `Tablet 000${n}`, externalId: `SN-%${n}` });
    t.secret(made.body.deviceToken);
  }
  const host = await t.post('/api/hosts', { name: 'tab-host' });
  t.secret(host.body.agentToken);
  const action = await put(newLane(), { kind: 'FOUND' });
  expect(await names('tab')).toEqual(
    [1, 2, 3, 4, 5].map((n) => `device Tablet 000${n}`).concat('host tab-host'),
  );
  expect(await names('TABLET 0007')).toEqual(['device Tablet 0007']);
  expect(await names('sn-%7')).toEqual(['device Tablet 0007']);
  expect(await names('sn-_')).toEqual([]);
  expect(await found(action)).toContainEqual({
    type: 'action',
    id: action,
    name: 'FOUND',
    detail: 'pending',
  });
  expect(await names('no such thing')).toEqual([]);
  expect((await t.get('/api/search?q=')).status).toBe(400);
});

test('everything that runs on all PCs is one answer', async () => {
  const [one, other] = [await fakePc(t, 2), await fakePc(t, 1)];
  const ids = [...one.devices, ...other.devices].map(({ id }) => id);
  await newTask(t, { deviceIds: ids });
  const held = [...(await one.claim()), ...(await other.claim())];
  const { running, more } = (await t.get('/api/pcs/running')).body;
  expect(more).toBe(false);
  expect(running.map(({ pcId, id }: { pcId: string; id: string }) => [pcId, id])).toEqual([
    ...held.slice(0, 2).map(({ id }) => [one.id, id]),
    [other.id, held[2]?.id],
  ]);
  expect(running[0]).toMatchObject({
    deviceId: held[0]?.deviceId,
    deviceName: expect.any(String),
    taskName: expect.any(String),
    attempt: 1,
    startedAt: t.clock().toISOString(),
  });
  for (const [pc, part] of [
    [one, held.slice(0, 2)],
    [other, held.slice(2)],
  ] as const)
    for (const device of part) await pc.complete(device);
  expect((await t.get('/api/pcs/running')).body.running).toEqual([]);
});

test('each minute is counted from the feed once, whichever node counts it', async () => {
  const count = () => t.engine.runDuty('count-minutes');
  while ((await count()) > 0); // what was before
  await t.pass(60_000);
  const from = new Date(Math.floor(t.clock().getTime() / 60_000) * 60_000);
  const stats = async (query = '') => {
    const to = new Date(from.getTime() + 900_000).toISOString();
    return (await t.get(`/api/stats?from=${from.toISOString()}&to=${to}${query}`)).body;
  };
  const lane = newLane();
  for (const kind of ['A', 'B']) await put(lane, { kind });
  await fail(newLane(), { kind: 'X' }, 'broken');
  const at = from.toISOString();
  const happened = { created: 3, sent: 1, succeeded: 0, failed: 1, cancelled: 0, expired: 0 };
  // several at once; the feed shows only events older than every running transaction
  await expect
    .poll(async () => {
      await Promise.all([count(), count(), count()]);
      return (await stats()).rows;
    })
    .toMatchObject([
      { at, channel: null, ...happened, pending: expect.any(Number), oldestAt: expect.any(String) },
      { at, channel: 'generic', ...happened, oldestAt: null },
    ]);
  expect(await stats()).toMatchObject({ step: 60, countedTo: t.clock().toISOString() });

  await t.pass(60_000);
  await put(lane, { kind: 'C' });
  // a crash between the counts and the commit: neither is stored, and the next round counts them
  const { db } = t.engine;
  await db.query({ text: 'alter table muster.minute_counted add constraint none check (false) not valid' });
  await expect(count()).rejects.toThrow('none');
  await db.query({ text: 'alter table muster.minute_counted drop constraint none' });
  const created = async (query: string) =>
    (await stats(query)).rows.map((row: { created: number }) => row.created) as number[];
  await expect
    .poll(async () => {
      await count();
      return created('&channel=generic');
    })
    .toEqual([3, 1]);
  expect((await created('&channel=generic&step=900')).reduce((a, b) => a + b, 0)).toBe(4);

  const same = 'from=2026-01-01T00:00:00Z&to=2026-01-01T00:00:00Z';
  for (const wrong of ['step=61', same, 'from=2020-01-01T00:00:00Z'])
    expect([wrong, (await t.get(`/api/stats?${wrong}`)).status]).toEqual([wrong, 400]);
  await t.pass(32 * 86_400_000);
  await t.engine.runDuty('prune-minutes');
  const text = 'select count(*)::int as n from muster.minute_counts where minute <= $1';
  expect((await db.query({ text, values: [from] })).rows[0].n).toBe(0);
});

test('secret fields are hidden in batches, workflows and tasks, in their audit lines too; a changed workflow keeps them', async () => {
  const action = { kind: 'JOIN', payload: { ssid: 'office', wifiPassword: 's3cret-wifi' } };
  const shown = { ssid: 'office', wifiPassword: HIDDEN };
  const pc = await fakePc(t, 1);
  const { devices, id: pcId } = pc;
  const [device] = devices as [(typeof devices)[number]];
  const targets = { deviceIds: [device.id] };
  const batch = (await t.post('/api/batches', { targets, action })).body.id;
  expect((await t.get(`/api/batches/${batch}`)).body.action).toMatchObject({ payload: shown });
  const body = { name: 'nightly', schedule: { cron: '0 3 * * *' }, targets, action };
  const made = (await t.post('/api/workflows', body)).body;
  expect(made.action).toEqual({ kind: 'JOIN', payload: shown });
  const edited = { action: { ...made.action, payload: { ...shown, ssid: 'lab' } } };
  const changed = (await t.send('PATCH', `/api/workflows/${made.id}`, edited)).body;
  expect(changed.action.payload).toEqual({ ssid: 'lab', wifiPassword: HIDDEN });
  const stored = `select action->'payload' as payload from ${t.engine.schema}.workflows where workflow_id = ${made.id}`;
  expect((await t.engine.db.query({ text: stored })).rows[0].payload).toEqual({
    ssid: 'lab',
    wifiPassword: 's3cret-wifi',
  });
  const renewed = { action: { kind: 'JOIN', payload: { ssid: 'lab', wifiPassword: 's3cret-wifi-2' } } };
  await t.send('PATCH', `/api/workflows/${made.id}`, renewed);
  await t.post(`/api/batches/${batch}/cancel`);
  await t.post(`/api/workflows/${made.id}/run`);
  // a server may be supplying them already
  const waits = async () => {
    for (const duty of ['supply-batches', 'supply-workflow-runs']) await t.engine.runDuty(duty);
    return (await device.queue()).map(({ source }) => source);
  };
  await expect.poll(waits).toEqual(['workflow']);
  const { action: got } = await device.checkIn();
  expect(got.payload).toEqual({ ssid: 'lab', wifiPassword: 's3cret-wifi-2' });
  await device.report(got);
  const task = (await t.post('/api/tasks', { name: 'join', ...action, targets: { pcIds: [pcId] } })).body;
  expect(task.payload).toEqual(shown);
  const [held] = (await pc.claim()) as [Held];
  await pc.complete(held, { result: { unlockToken: 't-one', ok: true } });
  expect((await t.get(`/api/task-devices/${held.id}`)).body.result).toEqual({
    unlockToken: HIDDEN,
    ok: true,
  });
  await t.del(`/api/workflows/${made.id}`);
  const audit = (await t.get('/api/audit?limit=100')).body;
  expect(JSON.stringify(audit)).not.toContain('s3cret-wifi');
});

test('a viewer sees the limits of the server, and none of its secrets', async () => {
  const { token } = await t.token({ kind: 'operator', role: 'viewer', name: 'limits' });
  const { limits } = (await t.get('/api/limits', { token })).body as {
    limits: { setting: string; value: number; default: number }[];
  };
  expect(limits).toContainEqual({
    ...{ setting: 'MUSTER_LANE_DEPTH_LIMIT', value: 1_000, default: 1_000 },
    meaning: 'The most unfinished actions per lane.',
  });
  expect(limits.filter(({ setting }) => /PORT|TOKEN|KEY|URL/.test(setting))).toEqual([]);
});

test('targets and workers have their display names', async () => {
  const named = async (id: string) => {
    const [listed] = (await t.get(`/api/actions?limit=100`)).body.actions.filter(
      (one: { id: string }) => one.id === id,
    );
    const got = (await t.get(`/api/actions/${id}`)).body;
    expect([listed?.targetName, listed?.workerName]).toEqual([got.targetName, got.workerName]);
    return [got.targetName, got.workerName];
  };
  const host = (await t.post('/api/hosts', { name: 'web-9' })).body;
  t.secret(host.agentToken);
  const service = (await t.post(`/api/hosts/${host.id}/services`, { unitName: 'nginx.service' })).body;
  const start = (await t.post(`/api/hosts/${host.id}/actions`, { serviceId: service.id, kind: 'start' }))
    .body;
  expect(await named(start.id)).toEqual(['nginx.service on web-9', undefined]);
  await t.get('/api/control/queue', { token: host.agentToken, headers: { 'muster-instance': 'instance-1' } });
  expect(await named(start.id)).toEqual(['nginx.service on web-9', 'web-9']);

  const pc = await fakePc(t, 1);
  await newTask(t, { deviceIds: pc.devices.map(({ id }) => id) });
  const [held] = await pc.claim();
  const { name } = (await t.get(`/api/devices/${held?.deviceId}`)).body;
  const { name: rack } = (await t.get(`/api/pcs/${pc.id}`)).body;
  expect(await named(held?.id as string)).toEqual([name, rack]);
  await pc.complete(held as Held);
  // its history still has the worker
  expect(await named(held?.id as string)).toEqual([name, undefined]);
  const { events } = (await t.get(`/api/actions/${held?.id}`)).body;
  expect(events).toContainEqual(expect.objectContaining({ type: 'SENT', workerName: rack }));

  const bot = (await t.post('/api/bots')).body;
  t.secret(bot.botToken);
  await t.post('/api/orders', { type: 'NORMAL' });
  await t.post(`/api/bots/${bot.id}/claim`);
  const [order] = (await t.get('/api/actions?channel=order&state=claimed')).body.actions;
  expect(await named(order.id)).toEqual(['Orders', expect.stringMatching(/^bot \d+$/)]);

  // a lane without a target, and a worker that only the caller knows, have no display names
  const lane = newLane();
  const id = await put(lane, { kind: 'X' });
  await t.post(`/api/lanes/${lane}/claim`, { worker: 'host:1' });
  expect(await named(id)).toEqual([undefined, undefined]);
});

test('actions are read by their ids, and the devices that targets match are counted', async () => {
  const device = await fakeDevice(t, { tags: ['counted', 'twice'] });
  await fakeDevice(t, { tags: ['counted'] });
  const [a, b] = [await device.assign('A'), await device.assign('B')];
  const named = async (path: string) => (await t.get(path)).body.actions.map(({ id }: { id: string }) => id);
  expect(await named(`/api/actions?ids=${a}&ids=${b}`)).toEqual([b, a]);
  expect(await named(`/api/actions?ids=${a}&state=cancelled`)).toEqual([]);
  expect(await named(`/api/actions?ids=nobody`)).toEqual([]);
  const count = async (targets: object) => (await t.post('/api/devices/count', { targets })).body.count;
  expect(await count({ tags: ['counted'] })).toBe(2);
  expect(await count({ tags: ['counted', 'twice'] })).toBe(1);
  expect(await count({ tags: ['nobody'] })).toBe(0);
  expect(await count({ deviceIds: [device.id, '999999'] })).toBe(1);
  expect(await count({ all: true })).toBeGreaterThan(1);
  expect((await t.post('/api/devices/count', {})).body).toMatchObject({ code: 'MUSTER_BAD_BODY' });
  await t.del(`/api/devices/${device.id}`);
  expect(await count({ tags: ['counted'] })).toBe(1);
});
