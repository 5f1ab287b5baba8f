import { existsSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { muster, type Running, serve, temporaryFolder } from '../testing/muster-process.ts';

/** The real process on the embedded database. Needs the build, which `npm test` makes first. */
vi.setConfig({ testTimeout: 240_000, hookTimeout: 120_000 }); // a process per command, on a busy machine
const folder = temporaryFolder();
const dataDir = path.join(folder.path, 'data');
const environment = { MUSTER_DATA_DIR: dataDir };
let token: string;
let server: Running;

beforeAll(async () => {
  server = await serve(environment);
});
afterAll(async () => {
  await server.stop('SIGKILL');
  folder.remove();
});

const ask = (path: string, method = 'GET', body?: object) =>
  fetch(server.url + path, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });

test('the first start prints a token once and stores it readable only by its owner', async () => {
  token = /^ {2}(mst_operator_1_[\w-]{43})$/m.exec(server.out())?.[1] ?? '';
  expect(readFileSync(path.join(dataDir, 'operator-token'), 'utf8')).toBe(`${token}\n`);
  expect(statSync(path.join(dataDir, 'operator-token')).mode & 0o777).toBe(0o600);
  expect(statSync(dataDir).mode & 0o777).toBe(0o700);
  expect((await ask('/api/counts')).status).toBe(200);
  expect(server.log()).not.toContain(token);
});

test('a second server on the same folder is refused with a sentence', async () => {
  const second = await muster(['serve'], { ...environment, PORT: '0' });
  expect(second).toMatchObject({ code: 1, out: '' });
  expect(second.notes).toBe(
    `The data folder ${dataDir} is in use by process ${server.process.pid}. Stop it first, or set MUSTER_DATA_DIR to another folder.\n`,
  );
});

test('commands go through the running server', async () => {
  const created = await muster(['token', 'create', '--name', 'ci', '--role', 'viewer'], environment);
  expect(created).toMatchObject({ code: 0, out: expect.stringMatching(/^mst_operator_1_[\w-]{43}\n$/) });
  const secret = created.out.trim();
  const counts = (bearer: string) =>
    fetch(`${server.url}/api/counts`, { headers: { authorization: `Bearer ${bearer}` } });
  expect((await counts(secret)).status).toBe(200);
  expect(server.log()).not.toContain(secret);

  const [, id] =
    /^(\d+) +operator +viewer +ci /m.exec((await muster(['token', 'list'], environment)).out) ?? [];
  const rotated = await muster(['token', 'rotate', String(id)], environment);
  expect((await counts(rotated.out.trim())).status).toBe(200);
  expect((await counts(secret)).status).toBe(401);
  const [, newId] = /Token (\d+)/.exec(rotated.notes) ?? [];
  expect((await muster(['token', 'revoke', String(newId)], environment)).out).toBe(
    `Token ${newId} is revoked.\n`,
  );
  expect((await counts(rotated.out.trim())).status).toBe(401);

  expect(await muster(['tenant', 'create', 'acme'], environment)).toMatchObject({ code: 0 });
  expect(await muster(['tenant', 'create', 'acme'], environment)).toMatchObject({
    code: 3,
    notes: 'The tenant "acme" already exists. (MUSTER_TENANT_EXISTS)\n',
  });
  expect((await muster(['tenant', 'list'], environment)).out).toMatch(/^2 +acme/m);
  expect(await muster(['token', 'list', '--tenant', 'nobody'], environment)).toMatchObject({ code: 4 });
  const [, lastAdmin = ''] =
    /^(\d+) +operator +admin /m.exec((await muster(['token', 'list'], environment)).out) ?? [];
  expect(await muster(['token', 'revoke', lastAdmin], environment)).toMatchObject({
    code: 3,
    notes: expect.stringContaining('(MUSTER_LAST_ADMIN)'),
  });
  expect(await muster(['migrate', 'validate'], environment)).toMatchObject({ code: 0 });
  expect(await muster(['migrate', 'down'], environment)).toMatchObject({
    code: 1,
    notes: 'This cannot be done while the server is running. Stop it first.\n',
  });
  const doctor = await muster(['doctor'], { ...environment, PORT: new URL(server.url).port });
  expect(doctor.out).toContain(`ok: The server is running as process ${server.process.pid}.`);
  expect(doctor).toMatchObject({ code: 0, out: expect.stringContaining('No problems found.') });
});

test('a Ctrl-C that npm forwards a second time is one signal', async () => {
  server.process.kill('SIGINT');
  expect(await server.stop('SIGTERM')).toBe(0);
  expect(server.log()).toContain('Stopped.');
  server = await serve(environment);
});

test('SIGTERM answers waiting requests and ends with 0; the next start says where the token is', async () => {
  await ask('/api/lanes/kept/actions', 'POST', { kind: 'x' });
  const waiting = ask('/api/lanes/empty/claim', 'POST', { worker: 'w', wait: 25 });
  await expect
    .poll(async () => (await (await ask('/metrics')).text()).includes('muster_parked_waiters 1'), {
      timeout: 20_000,
    })
    .toBe(true);
  expect(await server.stop()).toBe(0);
  expect(await (await waiting).json()).toEqual({ actions: [] });

  server = await serve(environment);
  expect(server.out()).toContain(`The operator token is in ${path.join(dataDir, 'operator-token')}`);
  expect(server.out()).not.toContain(token);
  const { actions } = (await (await ask('/api/actions?lane=kept')).json()) as { actions: unknown[] };
  expect(actions).toHaveLength(1);
});

test('after kill -9 the folder is taken over and nothing acknowledged is lost', async () => {
  for (let n = 0; n < 5; n += 1) await ask('/api/lanes/killed/actions', 'POST', { kind: 'x' });
  await server.stop('SIGKILL');
  expect((await muster(['tenant', 'list'], environment)).code).toBe(0); // without a server
  const [one, two] = await Promise.allSettled([serve(environment), serve(environment)]);
  const started = [one, two].flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  expect(started).toHaveLength(1);
  server = started[0] as Running;
  const { actions } = (await (await ask('/api/actions?lane=killed')).json()) as { actions: unknown[] };
  expect(actions).toHaveLength(5);
});

test('invalid settings and a taken port are refused with one sentence', async () => {
  expect(await muster(['serve'], { PORT: 'x' })).toMatchObject({
    code: 1,
    notes: 'PORT must be a whole number from 0 to 65535, not "x".\n',
  });
  const other = temporaryFolder();
  const { port } = new URL(server.url);
  expect(
    await muster(['serve'], { MUSTER_DATA_DIR: other.path, PORT: port, MUSTER_LOG_LEVEL: 'silent' }),
  ).toMatchObject({
    code: 1,
    notes: `Port ${port} is in use, by another program or another Muster server. Stop it, or set PORT to another number.\n`,
  });
  other.remove();
  expect(
    await muster(['serve'], {
      DATABASE_URL: 'postgres://nobody@127.0.0.1:9/x',
      MUSTER_LOG_LEVEL: 'silent',
      PORT: '0',
    }),
  ).toMatchObject({
    code: 1,
    notes: expect.stringContaining('The database of DATABASE_URL does not answer'),
  });
  const doctor = await muster(['doctor'], { PORT: 'x', MUSTER_SCHEMA: 'X', MUSTER_DATADIR: '/x' });
  expect(doctor).toMatchObject({ code: 1, out: expect.stringContaining('2 things are wrong.') });
  expect(doctor.out).toContain('note: MUSTER_DATADIR is set, but there is no such setting.');
});

test('a command in the wrong folder says so and leaves nothing behind', async () => {
  const elsewhere = path.join(folder.path, 'elsewhere');
  for (const words of [
    ['token', 'list'],
    ['check'],
    ['migrate', 'list'],
    ['export', path.join(folder.path, 'x')],
  ]) {
    const told = await muster(words, { MUSTER_DATA_DIR: elsewhere });
    expect(told).toMatchObject({ code: 1, out: '' });
    expect(told.notes).toContain(`There is no Muster database in ${elsewhere}.`);
  }
  expect(existsSync(elsewhere)).toBe(false);
});

test('an unusable folder gives one sentence, and an unknown setting is reported', async () => {
  const told = await muster(['serve'], {
    MUSTER_DATA_DIR: '/dev/null/data',
    MUSTER_LOGLEVEL: 'debug',
    PORT: '0',
  });
  expect(told.code).toBe(1);
  const [noted, sentence, ...more] = told.notes.trim().split('\n');
  expect(JSON.parse(noted as string)).toMatchObject({
    level: 40,
    msg: 'MUSTER_LOGLEVEL is set, but there is no such setting.',
  });
  expect(sentence).toMatch(/^The data folder \/dev\/null\/data cannot be used\. Set MUSTER_DATA_DIR/);
  expect(more).toEqual([]);
});
