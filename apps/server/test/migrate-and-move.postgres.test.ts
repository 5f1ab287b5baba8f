import { randomBytes } from 'node:crypto';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import pg from 'pg';
import { afterAll, expect, inject, test, vi } from 'vitest';
import { muster, serve, temporaryFolder } from '../testing/muster-process.ts';

/** The commands on a PostgreSQL server, and the move from the embedded database to it. Needs the build. */
vi.setConfig({ testTimeout: 240_000, hookTimeout: 120_000 }); // a process per command, on a busy machine
const folder = temporaryFolder();
const names: string[] = [];
afterAll(async () => {
  for (const name of names) await admin(`drop database ${name} with (force)`);
  folder.remove();
});

async function admin(sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: inject('postgresUrl') as string });
  await client.connect();
  await client.query(sql).finally(() => client.end());
}

async function freshDatabase(): Promise<string> {
  const name = `muster_move_${randomBytes(6).toString('hex')}`;
  await admin(`create database ${name}`);
  names.push(name);
  const url = new URL(inject('postgresUrl') as string);
  url.pathname = `/${name}`;
  return url.href;
}

test.each(['muster', 'another_schema'])(
  'up, validate, down, and a validate that must fail, in schema %s',
  async (schema) => {
    const environment = { DATABASE_URL: await freshDatabase(), MUSTER_SCHEMA: schema };
    const run = (...args: string[]) => muster(args, environment);
    expect(await run('token', 'list')).toMatchObject({
      code: 1,
      notes: expect.stringContaining('muster migrate up'),
    });
    expect(await run('migrate', 'validate')).toMatchObject({ code: 1 });
    expect((await run('migrate', 'up')).out).toContain('up server 1 server');
    expect(await run('migrate', 'up')).toMatchObject({ code: 0, out: 'The schema is up to date.\n' });
    expect(await run('migrate', 'validate')).toMatchObject({
      code: 0,
      out: 'The schema is as expected.\n',
    });
    expect((await run('migrate', 'list')).out).not.toContain('not applied');
    expect(await run('migrate', 'down', '--all')).toMatchObject({ code: 0 });
    expect(await run('migrate', 'validate')).toMatchObject({ code: 1 });
    expect(await run('migrate', 'up')).toMatchObject({ code: 0 });
    expect(await run('migrate', 'validate')).toMatchObject({ code: 0 });
  },
);

test('validate and doctor find nothing wrong with a user that is named like its schema', async () => {
  const url = new URL(await freshDatabase());
  const name = `muster_user_${randomBytes(6).toString('hex')}`;
  await admin(`create role ${name} login password 'secret'`);
  try {
    await admin(`alter database ${url.pathname.slice(1)} owner to ${name}`);
    Object.assign(url, { username: name, password: 'secret' });
    const environment = { DATABASE_URL: url.href, MUSTER_SCHEMA: name, PORT: '0' };
    expect((await muster(['migrate', 'up'], environment)).out).toContain('up server 1 server');
    expect(await muster(['migrate', 'validate'], environment)).toMatchObject({
      code: 0,
      out: 'The schema is as expected.\n',
    });
    const doctor = await muster(['doctor'], { ...environment, MUSTER_DATA_DIR: folder.path });
    expect(doctor.out).toContain('ok: The schema is as expected.');
  } finally {
    names.splice(names.indexOf(url.pathname.slice(1)), 1);
    await admin(`drop database ${url.pathname.slice(1)} with (force)`);
    await admin(`drop role ${name}`);
  }
});

test('validate reports a changed view or function, in muster_reports too, and does not report restored ones', async () => {
  const environment = { DATABASE_URL: await freshDatabase() };
  await muster(['migrate', 'up'], environment);
  const client = new pg.Client({ connectionString: environment.DATABASE_URL });
  await client.connect();
  try {
    // as a dump prints them
    const printed = async (call: string) =>
      ((await client.query(`select ${call} as text`)).rows[0].text as string).replace(/;\s*$/, '');
    const view = async (name: string) =>
      `create or replace view ${name} as ${await printed(`pg_get_viewdef('${name}'::regclass)`)}`;
    const body = (name: string) => printed(`pg_get_functiondef('${name}'::regproc)`);
    const changes = [
      [await view('muster.lane_leases'), 'IS NOT NULL', 'IS NULL', 'view lane_leases'],
      [
        await view('muster_reports.workers'),
        'r.slots AS max_devices',
        '1 AS max_devices',
        'view {schema}_reports.workers',
      ],
      [await body('muster.lane_front'), 'limit 1) is null', 'limit 2) is null', 'function lane_front('],
      [
        ...[await body('muster_reports.fail_or_retry_task_device'), `'failed'`, `'succeeded'`],
        'function {schema}_reports.fail_or_retry_task_device(',
      ],
    ] as [text: string, piece: string, by: string, told: string][];
    for (const [text, piece, by] of changes) {
      expect(text).toContain(piece);
      await client.query(text.replace(piece, () => by));
    }
    const { code, out } = await muster(['migrate', 'validate'], environment);
    const differences = out.split('\n').filter((line) => /^[-+] /.test(line));
    expect({ code, differences: differences.length }).toEqual({ code: 1, differences: 2 * changes.length });
    for (const [, , , told] of changes)
      expect(differences.filter((line) => line.slice(2).startsWith(told))).toHaveLength(2);
    for (const [text] of changes) await client.query(text);
    expect(await muster(['migrate', 'validate'], environment)).toMatchObject({ code: 0 });
  } finally {
    await client.end();
  }
});

test('a payload that plain SQL wrote over several lines is one line of an export', async () => {
  const [from, to] = [{ DATABASE_URL: await freshDatabase() }, { DATABASE_URL: await freshDatabase() }];
  expect(await muster(['migrate', 'up'], from)).toMatchObject({ code: 0 });
  const client = new pg.Client({ connectionString: from.DATABASE_URL });
  await client.connect();
  const made = await client
    .query(`select muster.make_lane(1, 'generic', 'lines') as lane`)
    .then(({ rows }) =>
      client.query(
        `select outcome from muster.enqueue_actions(now(), array[1], array[$1::bigint], array['any'], array['x'],
          array[E'{\n  "a":\r\n 1}']::json[], array[null]::jsonb[])`,
        [rows[0].lane],
      ),
    )
    .finally(() => client.end());
  expect(made.rows).toEqual([{ outcome: 'created' }]);
  const file = path.join(folder.path, 'lines.jsonl');
  expect(await muster(['export', file], from)).toMatchObject({ code: 0 });
  expect(await muster(['import', file], to)).toMatchObject({ code: 0 });
});

test('an embedded installation moves to a server with everything in it', async () => {
  const embedded = { MUSTER_DATA_DIR: path.join(folder.path, 'data') };
  const file = path.join(folder.path, 'export.jsonl');
  const asker = (url: string, token: string) => async (method: string, path: string, body?: object) => {
    const response = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    return response.json() as Promise<Record<string, never>>;
  };
  const before = await serve(embedded);
  const token = readFileSync(path.join(embedded.MUSTER_DATA_DIR, 'operator-token'), 'utf8').trim();
  const ask = asker(before.url, token);
  const { id: done } = await ask('POST', '/api/lanes/move/actions', {
    kind: 'a',
    payload: { text: 'é"\\\n🚀', n: 0.1 },
  });
  await ask('POST', '/api/lanes/move/claim', { worker: 'w' });
  await ask('POST', `/api/actions/${done}/report`, { attempt: 1, status: 'succeeded', result: [1, null] });
  const { id: running } = await ask('POST', '/api/lanes/move/actions', { kind: 'b', tags: ['x'] });
  await ask('POST', '/api/lanes/move/claim', { worker: 'w', leaseSeconds: 3_600 });
  const { id: waiting } = await ask('POST', '/api/lanes/move/actions', { kind: 'c' });
  const seen = await Promise.all([done, running, waiting].map((id) => ask('GET', `/api/actions/${id}`)));

  // a readable leftover of an earlier export does not pass on its mode
  writeFileSync(`${file}.partial`, '', { mode: 0o644 });
  expect(await muster(['export', file], embedded)).toMatchObject({ code: 0 });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(await muster(['export', file], embedded)).toMatchObject({
    code: 1,
    notes: `${file} already exists.\n`,
  });
  expect(await before.stop()).toBe(0);
  expect(readFileSync(file, 'utf8')).not.toContain(token);

  const target = { DATABASE_URL: await freshDatabase(), MUSTER_DATA_DIR: embedded.MUSTER_DATA_DIR };
  const cut = path.join(folder.path, 'cut.jsonl');
  writeFileSync(cut, readFileSync(file, 'utf8').split('\n').slice(0, -5).join('\n'));
  expect(await muster(['import', cut], target)).toMatchObject({
    code: 1,
    notes: expect.stringContaining('incomplete'),
  });
  expect(await muster(['import', path.join(folder.path, 'none')], target)).toMatchObject({ code: 1 });
  expect(await muster(['import', file], target)).toMatchObject({
    code: 0,
    out: expect.stringContaining('3 actions'),
  });
  expect(await muster(['import', file], target)).toMatchObject({
    code: 1,
    notes: expect.stringContaining('The target is not empty'),
  });

  // sealed values stay sealed: the key is copied by hand
  await expect(serve(target)).rejects.toThrow('MUSTER_SECRETS_KEY is not set');
  const key = readFileSync(path.join(embedded.MUSTER_DATA_DIR, 'secrets-key'), 'utf8').trim();
  const after = await serve({ ...target, MUSTER_SECRETS_KEY: key });
  expect(after.out()).toContain('The operator token is in');
  const askThere = asker(after.url, token);
  expect(
    await Promise.all([done, running, waiting].map((id) => askThere('GET', `/api/actions/${id}`))),
  ).toEqual(seen);
  const fused = await askThere('POST', `/api/actions/${running}/report`, {
    attempt: 1,
    status: 'succeeded',
    next: {},
  });
  expect(fused).toMatchObject({ accepted: true, actions: [{ id: waiting }] });
  const { id: next } = await askThere('POST', '/api/lanes/move/actions', { kind: 'd' });
  expect(Number(next)).toBeGreaterThan(Number(waiting));
  expect(await after.stop()).toBe(0);
  const doctor = await muster(['doctor'], { ...target, PORT: '0' });
  expect(doctor.out).toContain('note: DATABASE_URL is set, so the embedded database');
  expect(doctor.out).toContain('ok: The schema is as expected.');
});
