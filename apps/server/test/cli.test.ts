import { Command } from 'commander';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { addOperatorCommands } from '../src/cli/operator/index.ts';
import { fakeDevice } from '../testing/fake-device.ts';
import { fakePc, type Held, newTask } from '../testing/fake-pc.ts';
import { muster as process } from '../testing/muster-process.ts';
import { type TestServer, testServer } from '../testing/test-server.ts';

let t: TestServer;
beforeAll(async () => {
  t = await testServer();
});
afterAll(() => t.close());

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly notes: string;
}

class Left extends Error {
  readonly code: number;
  constructor(code: number) {
    super();
    this.code = code;
  }
}

/** `muster …` against the server of this suite, in this process. */
async function muster(
  words: string,
  { env = {}, saw, signal }: { env?: object; saw?: (line: string) => void; signal?: AbortSignal } = {},
): Promise<Ran> {
  const [out, notes]: [string[], string[]] = [[], []];
  const program = new Command('muster').configureOutput({
    writeErr: (text) => notes.push(text.trim()),
    writeOut: (text) => out.push(text.trim()),
  });
  // internal actions are queued before the operator's, too
  program
    .command('own')
    .command('step')
    .action(() => {});
  let code = -1;
  const around = {
    env: { MUSTER_URL: t.server.url, MUSTER_TOKEN: t.operator, ...env },
    say: (line: string) => {
      out.push(line);
      saw?.(line);
    },
    note: (line: string) => {
      notes.push(line);
      saw?.(line);
    },
    now: () => new Date(),
    ...(signal ? { signal } : {}),
  };
  const leave = (left: number): never => {
    throw new Left(left);
  };
  addOperatorCommands(program, around, {
    end: (ended) => {
      code = ended;
    },
    leave,
  });
  const args = [...words.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? '');
  try {
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    if (!(error instanceof Left)) throw error;
    code = error.code;
  }
  return { code, out: out.join('\n'), notes: notes.join('\n') };
}

const json = async (words: string) => {
  const { code, out } = await muster(`${words} --json`);
  expect(code).toBe(0);
  return JSON.parse(out);
};

test('an action is assigned, listed with its reason, shown with its history, and cancelled', async () => {
  const { id } = await json(`lane assign night-jobs backup --payload '{"disk":1}' --key one`);
  expect(await json(`lane assign night-jobs backup --payload '{"disk":1}' --key one`)).toMatchObject({ id });
  await json('lane assign night-jobs report --urgent');
  const listed = await muster('action list --lane night-jobs');
  expect(listed.out).toMatch(/^ID +STATE +KIND +TARGET +NAME +AGE +REASON$/m);
  expect(listed.out).toMatch(
    new RegExp(`^${id} +pending +backup +generic:night-jobs +- +\\d+ s ago +BEHIND: `, 'm'),
  );
  const shown = await muster(`action show ${id}`);
  expect(shown.out).toContain('payload  {"disk":1}');
  expect(shown.out).toMatch(/^\S+Z +CREATED +0 /m);
  expect(await muster(`action to-front ${id} --reason now`)).toMatchObject({ code: 0 });
  expect((await muster(`action cancel ${id}`)).out).toBe('1 cancelled, 0 running ones asked to stop.');
  expect((await json(`action show ${id}`)).state).toBe('cancelled');
});

test('changing many needs a filter and --yes', async () => {
  for (const kind of ['a', 'a', 'b']) await json(`lane assign many ${kind}`);
  expect(await muster('action cancel')).toMatchObject({ code: 2, notes: expect.stringContaining('--tag') });
  expect(await muster('action cancel --lane many --kind a')).toMatchObject({
    code: 2,
    notes: 'This applies to all that match. Confirm with --yes.',
  });
  expect(await muster('action cancel 5 --lane many')).toMatchObject({ code: 2 });
  expect((await json('action list --lane many --state pending')).actions).toHaveLength(3);
  expect(await json('action cancel --lane many --kind a --yes')).toEqual({ cancelled: 2, requested: 0 });
});

test('unknown ids, and ids that cannot be changed, are listed and have an exit code', async () => {
  const { id } = await json('lane assign of-exit-codes X');
  expect(await muster(`action redrive ${id} 999999`)).toMatchObject({
    code: 3,
    out: '0 redriven, 2 refused.\n999999: there is no action with this id.\n1 of the other ids is not a dead letter.',
  });
  expect(await muster(`action cancel ${id} 999999`)).toMatchObject({
    code: 3,
    out: '1 cancelled, 0 running ones asked to stop.\n999999: there is no action with this id.',
  });
  const later = (await json('lane assign of-exit-codes X --not-before 2999-01-01T00:00:00Z')).id;
  expect(await muster(`action make-due ${later} ${id}`)).toMatchObject({
    code: 3,
    out: `1 due now.\n${id}: its state is cancelled.`,
  });
  expect((await muster("device show 'nobody at all'")).code).toBe(4);
});

test('a list takes a device, host, PC or lane, by id, by name or as shown in TARGET', async () => {
  const device = (await t.post('/api/devices', { name: 'Tablet of lists' })).body;
  t.secret(device.deviceToken);
  const { id } = await json("device assign 'Tablet of lists' LOCK --not-before 2999-01-01T00:00:00Z");
  const ids = async (words: string) =>
    (await json(`action list ${words}`)).actions.map((one: { id: string }) => one.id);
  for (const words of [`--device ${device.id}`, "--device 'Tablet of lists'", `--lane device:${device.id}`])
    expect(await ids(words)).toEqual([id]);
  expect(await ids(`--device ${device.id} --kind UNLOCK`)).toEqual([]);
  expect(await ids(`--device ${device.id} --state running`)).toEqual([]);
  expect(await ids(`--device ${device.id} --state pending`)).toEqual([id]);
  expect((await muster(`action list --device ${device.id}`)).out).toMatch(
    /NOT_BEFORE: Not before 2999-01-01 00:00 UTC \(in \d+ d( \d+ h)?\)\.$/m,
  );
  const colon = (await json('lane assign device:of-lists X')).id;
  expect(await ids('--lane device:of-lists')).toEqual([colon]);
  expect(await ids('--lane generic:device:of-lists')).toEqual([colon]);

  const host = (await t.post('/api/hosts', { name: 'host-of-lists' })).body;
  t.secret(host.agentToken);
  const unit = { unitName: 'a.service', displayName: 'a', description: '' };
  await t.post(`/api/hosts/${host.id}/services`, unit);
  const started = (await json('host assign host-of-lists a.service start')).id;
  expect(await ids('--host host-of-lists --state unfinished')).toEqual([started]);
  expect(await ids(`--host ${host.id} --state finished`)).toEqual([]);
  const pc = (await t.post('/api/pcs', { name: 'pc-of-lists', slots: 1 })).body;
  t.secret(pc.runnerToken);
  expect(await ids('--pc pc-of-lists')).toEqual([]);
  const names = async (words: string, of: 'hosts' | 'pcs') =>
    (await json(words))[of].map(({ name }: { name: string }) => name);
  expect(await names('host list --text OF-lists --offline', 'hosts')).toEqual(['host-of-lists']);
  expect(await names('host list --text of-lists --online', 'hosts')).toEqual([]);
  expect(await names('pc list --text of-lists --offline', 'pcs')).toEqual(['pc-of-lists']);
  expect(await muster('pc list --online --offline')).toMatchObject({ code: 2 });

  for (const words of [
    ...['--lane device:999999', '--lane no-such-lane', '--device 999999', '--device Nobody'],
    ...['--host 999999', '--host nobody', '--pc 999999', '--pc nobody'],
  ])
    expect(await muster(`action list ${words}`), words).toMatchObject({ code: 4 });
  expect(await muster('action cancel --lane no-such-lane --yes')).toMatchObject({
    code: 4,
    notes: expect.stringContaining('There are no actions in lane no-such-lane.'),
  });
  expect(await muster(`action list --host 1 --kind X`)).toMatchObject({ code: 2 });
  expect(await json(`action cancel --device ${device.id} --yes`)).toEqual({ cancelled: 1, requested: 0 });
});

test('lists continue after the first page with --all', async () => {
  for (let n = 0; n < 3; n += 1) await json('lane assign pages step');
  const first = await muster('action list --lane pages --limit 2');
  expect(first.out.split('\n')).toHaveLength(4);
  expect(first.out).toContain('There are more; use --all to show everything.');
  expect((await json('action list --lane pages --limit 2 --all')).actions).toHaveLength(3);
  // the server's own actions are listed with --internal
  const { db } = t.engine;
  const laneId = await t.engine.ensureLane(db, 1, 'bus', 'of a test');
  await t.engine.enqueue(db, { tenantId: 1, laneId, channel: 'bus', kind: 'own-message' });
  const hidden = await muster('action list --limit 1');
  expect(hidden.out).not.toContain('own-message');
  expect(hidden.out).toContain('There are more; use --all to show everything.');
  expect((await muster('action list --limit 1 --internal')).out).toContain('own-message');
});

test('a device is found by its name; its queue says why each action waits', async () => {
  const device = (await t.post('/api/devices', { name: 'Tablet 7', tags: ['shop'] })).body;
  t.secret(device.deviceToken);
  const { id } = await json(`device assign 'Tablet 7' LOCK`);
  expect((await muster('device list --tag shop --offline')).out).toMatch(/Tablet 7 +ok +never seen +1 /);
  expect((await muster(`device show 'Tablet 7'`)).out).toMatch(
    new RegExp(`^1 +${id} +LOCK +pending +OFFLINE: The device has never checked in.$`, 'm'),
  );
  expect(await muster(`device show 'Tablet 8'`)).toMatchObject({
    code: 4,
    notes: 'No device is called Tablet 8. Search with "muster device list --text …".',
  });
});

test('a dead letter of a device in error is redriven with --clear-error', async () => {
  const pc = await fakePc(t, 1);
  await newTask(t, { pcIds: [pc.id] }, { maxAttempts: 1 });
  const [held] = (await pc.claim()) as [Held];
  await pc.fail(held);
  // the server advances tasks on its own after a report
  await expect.poll(async () => (await pc.devices[0]?.show())?.state).toBe('error');
  const { id, name } = (await pc.devices[0]?.show()) ?? {};
  expect(await muster(`action redrive ${held.id}`)).toMatchObject({
    code: 3,
    out: `0 redriven, 1 refused.\n${held.id}: ${name} (device ${id}) is in error. Redrive with --clear-error to clear it. (MUSTER_DEVICE_IN_ERROR)`,
  });
  expect(await json(`action redrive ${held.id} --clear-error`)).toMatchObject({ redriven: 1, refused: 0 });
});

test('--wait prints the reason meanwhile and ends with the action', async () => {
  const worker = await t.token({ kind: 'worker', name: 'w' });
  const work = async (status: string) => {
    const { body } = await t.post('/api/lanes/waited/claim', { worker: 'w', wait: 25 }, worker);
    const [{ id, attempt }] = body.actions;
    await t.post(`/api/actions/${id}/report`, { attempt, status, error: 'no disk' }, worker);
  };
  const [done] = await Promise.all([muster('lane assign waited try --wait'), work('succeeded')]);
  expect(done).toMatchObject({ code: 0, out: expect.stringMatching(/ succeeded /) });
  // so that it can be cancelled after Ctrl-C
  expect(done.notes).toMatch(new RegExp(`^${done.out.split(' ')[0]} {2}`));
  const [failed] = await Promise.all([
    muster('lane assign waited try --max-attempts 1 --wait'),
    work('failed'),
  ]);
  expect(failed).toMatchObject({ code: 6, out: expect.stringMatching(/ failed {2}FAILED: no disk/) });
  const id = failed.out.split(' ')[0];
  expect(await json(`action redrive ${id}`)).toMatchObject({ redriven: 1, refused: 0 });
});

test('a host restarts a service given by its unit', async () => {
  const { id, agentToken } = (await t.post('/api/hosts', { name: 'web-1' })).body;
  t.secret(agentToken);
  await t.post(`/api/hosts/${id}/services`, {
    unitName: 'nginx.service',
    displayName: 'nginx',
    description: '',
  });
  expect(await json(`host assign ${id} nginx.service restart`)).toMatchObject({
    kind: 'restart',
    status: 'queued',
  });
  expect(await muster(`host assign ${id} apache.service restart`)).toMatchObject({
    code: 4,
    notes: `Host ${id} has no service apache.service. Its services: nginx.service.`,
  });
  expect(await json("host assign 'web-1' nginx.service restart")).toMatchObject({ hostId: id });
  expect(await muster('host assign web-99 nginx.service restart')).toMatchObject({
    code: 4,
    notes: expect.stringContaining('No host is called web-99.'),
  });
  await t.post('/api/hosts', { name: 'web-of-two', slots: 2 }).then(({ body }) => t.secret(body.agentToken));
  const { out } = await muster('host list');
  expect(out).toMatch(/^ID +NAME +PRESENCE +AT ONCE$/m);
  expect(out).toMatch(/ web-1 +never seen +no limit$/m);
  expect(out).toMatch(/ web-of-two +never seen +at most 2$/m);
});

test('a batch is created, watched until it ends, and shown as a bar that adds up', async () => {
  const made = await json('batch create SYNC --tag shop --name first');
  expect(made.total).toBe(1);
  expect(await muster(`batch create SYNC --tag shop --everything`)).toMatchObject({ code: 2 });
  await muster(`batch pause ${made.id}`);
  expect((await muster('batch list')).out).toMatch(/first +paused .*\[-{24}\] 1 [a-z ]+ = 1/);
  await muster(`batch resume ${made.id}`);
  // in a pipe it prints the progress at once
  let cancelled: Promise<Ran> | undefined;
  const saw = () => {
    cancelled ??= muster(`batch cancel ${made.id}`);
  };
  const watched = await muster(`batch show ${made.id} --watch`, { saw });
  expect(await cancelled).toMatchObject({ code: 0 });
  expect(watched).toMatchObject({
    code: 6,
    out: expect.stringMatching(/cancelled {2}\[x{24}\] 1 [a-z ]+ = 1/),
  });
  expect(watched.notes).toMatch(new RegExp(`^${made.id} +(supplying|running) .* = 1$`));

  expect(await muster('batch create SYNC --tag shop --tag no-such-tag')).toMatchObject({
    code: 4,
    notes: 'No device has all of the tags shop, no-such-tag.',
  });
  expect(await muster('batch create SYNC --tag no-such-tag')).toMatchObject({ code: 4 });
  expect((await muster('batch list')).out.split('\n')).toHaveLength(2);
  const none = (await t.post('/api/batches', { targets: { tags: ['none'] }, action: { kind: 'X' } })).body;
  expect(await muster(`batch cancel ${none.id}`)).toMatchObject({
    code: 3,
    notes: 'This batch has completed already. (MUSTER_FINISHED)',
  });
  expect((await json(`batch show ${none.id}`)).status).toBe('completed');
});

test('a state has one word, whichever door it comes from', async () => {
  const device = await fakeDevice(t, { name: 'Tablet of words' });
  const { id } = await json(`device assign 'Tablet of words' LOCK`);
  const { id: batch } = await json(`batch create SYNC --device ${device.id}`);
  const lock = (await device.checkIn()).action;
  const running = new RegExp(`^${id} +running +LOCK `, 'm');
  expect((await muster('action list --state running')).out).toMatch(running);
  expect((await muster(`action show ${id}`)).out).toMatch(
    new RegExp(`^LOCK \\(action ${id}\\)  running  device:${device.id}  Tablet of words$`, 'm'),
  );
  expect((await muster(`device show ${device.id}`)).out).toMatch(
    new RegExp(`^0 +${id} +LOCK +running +RUNNING: Running on Tablet of words since `, 'm'),
  );
  const { out: devices } = await muster('device list --text words');
  expect(devices).toMatch(/^ID .* WAITING +RUNNING$/m);
  expect(devices).toMatch(new RegExp(` LOCK \\(action ${id}\\)$`, 'm'));
  expect(await muster(`action make-due ${id}`)).toMatchObject({
    out: expect.stringContaining('its state is running.'),
  });
  const { body: host } = await t.post('/api/hosts', { name: 'host-of-words' });
  t.secret(host.agentToken);
  await t.post(`/api/hosts/${host.id}/services`, {
    unitName: 'a.service',
    displayName: 'a',
    description: '',
  });
  const start = await json('host assign host-of-words a.service start');
  expect((await muster('action list --host host-of-words')).out).toMatch(
    new RegExp(`^${start.id} +pending `, 'm'),
  );
  const progress = async () => (await muster(`batch show ${batch}`)).out;
  await expect.poll(progress).toContain('1 pending = 1');
  const { action: sync } = await device.report(lock);
  expect(await progress()).toContain('1 running = 1');
  await device.report(sync);
  expect(await progress()).toContain('1 succeeded = 1');
});

test('events are printed as they happen, until the stream is closed', async () => {
  const stop = new AbortController();
  const seen: string[] = [];
  const tail = muster('events tail --target generic:told --from start --json', {
    saw: (line) => {
      seen.push(line);
      stop.abort();
    },
    signal: stop.signal,
  });
  const { id } = await json('lane assign told tell');
  expect(await tail).toMatchObject({ code: 0 });
  expect(JSON.parse(seen[0] as string)).toMatchObject({
    type: 'CREATED',
    actionId: id,
    target: 'generic:told',
  });
});

test('targets and workers are shown by their names', async () => {
  const { id: hostId, agentToken } = (await t.post('/api/hosts', { name: 'host-of-names' })).body;
  t.secret(agentToken);
  const unit = { unitName: 'a.service', displayName: 'a', description: '' };
  const { id: serviceId } = (await t.post(`/api/hosts/${hostId}/services`, unit)).body;
  const { id } = await json('host assign host-of-names a.service start');
  const waits = (await json('host assign host-of-names a.service stop')).id;
  await t.get(`/api/control/queue?max=1`, { token: agentToken });
  const row = (one: string, rest: string) => new RegExp(`^${one} +${rest}`, 'm');
  const named = `service:${serviceId} +a\\.service on host-of-names `;
  for (const words of ['--host host-of-names', `--lane service:${serviceId}`]) {
    const { out } = await muster(`action list ${words}`);
    expect(out).toMatch(
      row(id, `running +start +${named} .* RUNNING: Running on host-of-names since \\d{4}-`),
    );
    expect(out).toMatch(row(waits, `pending +stop +${named} .* BEHIND: `));
  }
  // the answer itself stays that of the route
  expect((await json('action list --host host-of-names')).actions).toMatchObject([
    { id: waits, serviceId },
    { id, status: 'running' },
  ]);
  const shown = (await muster(`action show ${id}`)).out;
  expect(shown).toContain(
    `start (action ${id})  running  service:${serviceId}  a.service on host-of-names\nreason   RUNNING: Running on host-of-names since `,
  );
  expect(shown).toMatch(/ SENT +1 +host-of-names +-$/m);
  const device = (await t.post('/api/devices', { name: 'tablet 1' })).body;
  t.secret(device.deviceToken);
  expect((await muster("device show 'tablet 1'")).out).toMatch(
    new RegExp(`^tablet 1 \\(device ${device.id}\\)  never seen$`, 'm'),
  );
});

test('a refusal of a command of the installation exits like one over HTTP', async () => {
  const environment = { DATABASE_URL: t.databaseUrl as string };
  const { body: tenant } = await t.post('/api/tenants', { name: 'of-one-admin' });
  const own = { kind: 'operator', role: 'admin', name: 'the only one' };
  const { id, token } = (await t.post(`/api/tenants/${tenant.id}/tokens`, own)).body;
  t.secret(token);
  const run = (...args: string[]) => process([...args, '--tenant', 'of-one-admin'], environment);
  expect(await run('token', 'revoke', id)).toMatchObject({
    code: 3,
    notes: 'This is the last admin token of the tenant. Create another one first. (MUSTER_LAST_ADMIN)\n',
  });
  expect(await run('token', 'revoke', '999999')).toMatchObject({
    code: 4,
    notes: expect.stringContaining('(MUSTER_UNKNOWN_TOKEN)'),
  });
  expect((await run('token', 'list')).out).toMatch(/^ID +KIND +ROLE +NAME +CREATED +STATE$/m);
});

test('each kind of failure has its exit code and a sentence', async () => {
  expect(await muster('action show 999999')).toMatchObject({
    code: 4,
    notes: expect.stringContaining('(MUSTER_UNKNOWN_ACTION)'),
  });
  const viewer = (await t.token({ kind: 'operator', role: 'viewer', name: 'v' })).token;
  expect(await muster('lane assign x y', { env: { MUSTER_TOKEN: viewer } })).toMatchObject({
    code: 3,
    notes: expect.stringContaining('(MUSTER_FORBIDDEN)'),
  });
  expect(
    await muster('action list', { env: { MUSTER_TOKEN: undefined, MUSTER_DATA_DIR: '/nowhere' } }),
  ).toMatchObject({ code: 2, notes: expect.stringContaining('Set MUSTER_TOKEN') });
  expect(await muster('action list', { env: { MUSTER_URL: 'http://127.0.0.1:1' } })).toMatchObject({
    code: 5,
    notes: expect.stringContaining('No answer from http://127.0.0.1:1'),
  });
  expect(await muster('action list --limit many')).toMatchObject({
    code: 2,
    notes: expect.stringContaining('It must be a whole number from 1 to 500.'),
  });
  for (const words of [
    'action lst',
    'frobnicate',
    'own',
    'own --no-such-option',
    'own step --no-such-option',
  ])
    expect(await muster(words), words).toMatchObject({ code: 2 });
  expect(await muster('--help')).toMatchObject({ code: 0 });
  expect(await muster('events tail --from xyz')).toMatchObject({
    code: 3,
    notes: expect.stringContaining('This is not a cursor of the event feed. (MUSTER_BAD_VALUE)'),
  });
  expect(await muster('events tail', { env: { MUSTER_TOKEN: 'mst_operator_1_wrong' } })).toMatchObject({
    code: 3,
  });
});

test('the lane of a device is paused and resumed on the command line', async () => {
  const { body: device } = await t.client().devices.create({ body: { name: 'Till 77' } });
  await t.client().checkin.assign({ params: { id: device.id }, body: { kind: 'SYNC' } });
  expect(await muster(`device pause ${device.id}`)).toMatchObject({
    ...{ code: 0, out: `Till 77 (device ${device.id})  paused by MUSTER_OPERATOR_TOKEN` },
  });
  const shown = await muster(`device show ${device.id}`);
  expect(shown.out).toMatch(/^paused by MUSTER_OPERATOR_TOKEN, \d/m);
  expect(shown.out).toMatch(/SYNC +pending +LANE_PAUSED: The lane is paused\./);
  expect(await muster(`device resume ${device.id}`)).toMatchObject({
    ...{ code: 0, out: `Till 77 (device ${device.id})  not paused` },
  });
});
