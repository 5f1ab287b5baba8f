import { randomBytes } from 'node:crypto';
import { openPostgres } from '@muster/engine';
import { testDatabase } from '@muster/engine/testing';
import pg from 'pg';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { sentenceOf } from '../src/cli/sentence.ts';
import { readConfig } from '../src/config.ts';
import { readDatabaseUrl } from '../src/database/database-url.ts';
import { startServer } from '../src/main.ts';
import { muster, temporaryFolder } from '../testing/muster-process.ts';

/** What people read when the database cannot be used. The last test needs the build, which `npm test` makes first. */
const role = `muster_said_${randomBytes(6).toString('hex')}`;
const folder = temporaryFolder();
let database: Awaited<ReturnType<typeof testDatabase>>;
const admin = async (text: string) => {
  const client = new pg.Client({ connectionString: inject('postgresUrl') as string });
  await client.connect();
  await client.query(text).finally(() => client.end());
};
beforeAll(async () => {
  database = await testDatabase();
  await admin(`create role ${role} login password 'right'`);
});
afterAll(async () => {
  await database.drop();
  await admin(`drop role ${role}`);
  folder.remove();
});

type Change = (url: URL) => void;
const urlOf = (change: Change) => {
  const url = new URL(database.url as string);
  change(url);
  return url.href;
};
async function saidOf(url: string, text: string): Promise<string> {
  const db = openPostgres(readDatabaseUrl(url));
  try {
    await db.query({ text });
    return 'nothing';
  } catch (error) {
    return sentenceOf(error);
  } finally {
    await db.close();
  }
}
const WRITES = '?target_session_attrs=read-write';
const wrong: Change = (url) => Object.assign(url, { username: role, password: 'hunter2' });

test('a server that answers and refuses is not said to be silent, and each refusal has its own sentence', async () => {
  expect(await saidOf(urlOf(wrong), 'select 1')).toBe(
    `The database refuses the user or the password of DATABASE_URL: password authentication failed for user "${role}".`,
  );
  expect(
    await saidOf(
      urlOf((url) => Object.assign(url, { pathname: '/nowhere' })),
      'select 1',
    ),
  ).toBe('DATABASE_URL names a database that does not exist: database "nowhere" does not exist.');
  expect(
    await saidOf(
      urlOf(() => {}),
      'set transaction_read_only = on; create schema x',
    ),
  ).toBe(
    'The database of DATABASE_URL accepts no writes: cannot execute CREATE SCHEMA in a read-only transaction. It is a standby, or is told not to write.',
  );
  expect(
    await saidOf(
      urlOf((url) => Object.assign(url, { username: role, password: 'right' })),
      'create schema x',
    ),
  ).toMatch(/^The user of DATABASE_URL may not do this: permission denied for database \w+\.$/);
});

test('of several hosts the one that refuses is named', async () => {
  const { port } = new URL(database.url as string);
  expect(await saidOf(urlOf(wrong) + WRITES, 'select 1')).toBe(
    `The database refuses the user or the password of DATABASE_URL: 127.0.0.1:${port}: password authentication failed for user "${role}".`,
  );
  const nowhere = urlOf((url) => Object.assign(url, { pathname: '/nowhere' }));
  expect(await saidOf(nowhere + WRITES, 'select 1')).toContain(`: 127.0.0.1:${port}: database "nowhere"`);
});

test('the name that is not found is not repeated: it may be a piece of a password', () => {
  const error = Object.assign(new Error('getaddrinfo ENOTFOUND ss'), {
    code: 'ENOTFOUND',
    syscall: 'getaddrinfo',
  });
  expect(sentenceOf(error)).toBe(
    'The database of DATABASE_URL does not answer: the name of its host is not found (ENOTFOUND). Run "muster doctor".',
  );
});

test('hosts that do not answer are listed once, and doctor does not recommend itself', async () => {
  const DATABASE_URL = 'postgres://me:hunter2@127.0.0.1:1,127.0.0.1:2/x';
  const silent =
    'No host of the database accepts writes: 127.0.0.1:1 does not answer (ECONNREFUSED); 127.0.0.1:2 does not answer (ECONNREFUSED).';
  const environment = { DATABASE_URL, MUSTER_DATA_DIR: folder.path, PORT: '0' };
  expect(await muster(['serve'], { ...environment, MUSTER_PROCESSES: '1' })).toMatchObject({
    code: 1,
    notes: `${silent} Run "muster doctor".\n`,
  });
  const { out } = await muster(['doctor'], environment);
  expect(out).toContain(`wrong: ${silent}\n`);
  expect(out).not.toContain('muster doctor');
});

test('a start speaks of migrating only while something is missing', async () => {
  const fresh = await testDatabase({ migrated: false });
  try {
    const stepsOf = async () => {
      const steps: string[] = [];
      const config = readConfig({
        ...{ PORT: '0', MUSTER_LOG_LEVEL: 'silent', MUSTER_DATA_DIR: folder.path },
        MUSTER_OPERATOR_TOKEN: 'operator-token-of-this-test-0123456789',
      });
      const server = await startServer(config, { db: fresh.db, onStep: (what) => void steps.push(what) });
      await server.stop();
      return steps;
    };
    expect(await stepsOf()).toContain('migrating the database');
    expect(await stepsOf()).not.toContain('migrating the database');
  } finally {
    await fresh.drop();
  }
});
