import { testDatabase } from '@muster/engine/testing';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { readConfig } from '../src/config.ts';
import { LINES } from '../src/database/migrations.ts';
import { openDatabase } from '../src/database/open-database.ts';
import { muster, serve, temporaryFolder } from '../testing/muster-process.ts';
import { processDatabase } from '../testing/process-database.ts';

/** No setting says that a database is distributed: the server and every command find out. */
const folder = temporaryFolder();
const isDistributed = inject('isDistributed') ?? false;
let database: Awaited<ReturnType<typeof testDatabase>>;
beforeAll(async () => {
  database = await testDatabase({ lines: LINES });
});
afterAll(async () => {
  await database.drop();
  folder.remove();
});

test('it is opened as what it is', async () => {
  const { db, close } = await openDatabase(readConfig({ DATABASE_URL: database.url as string }), () => {});
  expect(db.isDistributed).toBe(isDistributed);
  await close();
});

test('one that does not answer is an error, and nothing stays open', async () => {
  const config = readConfig({ DATABASE_URL: 'postgres://me@127.0.0.1:1/x' });
  await expect(openDatabase(config, () => {})).rejects.toMatchObject({ code: 'ECONNREFUSED' });
});

// statements that lock rows: a distributed database refuses those that name no tenant
test('a server process and commands work on it', async () => {
  const own = await processDatabase(folder.path);
  try {
    const token = 'operator-token-of-this-test-0123456789';
    const server = await serve({ ...own.environment, MUSTER_OPERATOR_TOKEN: token, MUSTER_PROCESSES: '1' });
    const post = async (path: string, body: object) => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
      const answer = await fetch(server.url + path, { method: 'POST', headers, body: JSON.stringify(body) });
      return { status: answer.status, body: await answer.json() };
    };
    expect(await post('/api/lanes/l/actions', { kind: 'k' })).toMatchObject({ status: 201 });
    expect(await post('/api/lanes/l/claim', { worker: 'w' })).toMatchObject({
      body: { actions: [{ kind: 'k' }] },
    });
    const made = await muster(['token', 'create', '--kind', 'worker', '--name', 'w'], own.environment);
    expect(made).toMatchObject({ code: 0, notes: expect.stringContaining('shown once') });
    expect(await server.stop()).toBe(0);
    expect(await muster(['check'], own.environment)).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^1 lanes, 1 actions, \d+ events, 0 violations\.$/m),
    });
  } finally {
    await own.drop();
  }
});
