import { testDatabase } from '@muster/engine/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readConfig } from '../src/config.ts';
import { migrations } from '../src/database/migrations.ts';
import { startServer } from '../src/main.ts';

const config = readConfig({
  PORT: '0',
  MUSTER_LOG_LEVEL: 'fatal',
  MUSTER_OPERATOR_TOKEN: '-'.repeat(32),
  MUSTER_AUTO_MIGRATE: 'no',
});
let database: Awaited<ReturnType<typeof testDatabase>>;
beforeAll(async () => {
  database = await testDatabase({ migrated: false });
});
afterAll(() => database.drop());

test('G52: a node that may not migrate refuses to start until all migrations are applied', async () => {
  const { db } = database;
  const migrate = migrations(db, 'muster');
  const start = () => startServer(config, { db });
  await expect(start()).rejects.toMatchObject({
    code: 'MUSTER_SCHEMA_TOO_OLD',
    message: expect.stringContaining('engine 1 engine, server 1 server'),
  });
  // it changed nothing
  expect((await migrate.missing()).length).toBe((await migrate.list()).length);

  await migrate.up();
  const [newest] = await migrate.down();
  await expect(start()).rejects.toMatchObject({
    code: 'MUSTER_SCHEMA_TOO_OLD',
    message: `The database lacks migrations of this version (server ${newest?.version} ${newest?.name}), and MUSTER_AUTO_MIGRATE is "no". Run "muster migrate up".`,
  });

  await migrate.up();
  const server = await start();
  expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
  await server.stop();
});
