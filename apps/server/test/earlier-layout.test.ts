import { testDatabase } from '@muster/engine/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { CommandName } from '../src/commands/index.ts';
import { runOn } from '../src/commands/run.ts';
import { readConfig } from '../src/config.ts';
import { migrations } from '../src/database/migrations.ts';
import { startServer } from '../src/main.ts';

/** A database of a version with other migration files under the same numbers: no command calls it current. */
const FORMER = {
  engine: { 1: 'queue', 2: 'enqueue', 3: 'retention' },
  server: { 1: 'tenants', 2: 'tokens', 20: 'devices', 21: 'target_sets', 101: 'minute_counts' },
};
const SENTENCE =
  /^The database has the layout of another, earlier version .*cannot be migrated.* Start with an empty database/;
const config = readConfig({ PORT: '0', MUSTER_LOG_LEVEL: 'fatal', MUSTER_OPERATOR_TOKEN: '-'.repeat(32) });
let database: Awaited<ReturnType<typeof testDatabase>>;
beforeAll(async () => {
  database = await testDatabase({ migrated: false });
  await migrations(database.db, 'muster').up();
  for (const [line, names] of Object.entries(FORMER))
    for (const [version, name] of Object.entries(names))
      await database.db.query({
        text: `insert into muster.migrations (line, version, name, breaking) values ($1, $2, $3, false)
          on conflict (line, version) do update set name = excluded.name`,
        values: [line, Number(version), name],
      });
});
afterAll(() => database.drop());

async function outcome(name: CommandName, args: object): Promise<{ said: string[]; refusal: string | null }> {
  const said: string[] = [];
  const out = { say: (line: string) => void said.push(line), note: () => {}, data: async () => {} };
  return runOn({ config, db: database.db }, name, args, out).then(
    () => ({ said, refusal: null }),
    (error: Error) => ({ said, refusal: error.message }),
  );
}

test.each([
  ['migrate up', {}],
  ['migrate down', {}],
  ['migrate down', { all: true }],
  ['migrate list', {}],
  ['migrate validate', {}],
  ['check', {}],
] as const)('G52: %s %o reports the earlier layout, and nothing else', async (name, args) => {
  const before = await migrations(database.db, 'muster').catalogue();
  expect(await outcome(name, args)).toEqual({ said: [], refusal: expect.stringMatching(SENTENCE) });
  expect(await migrations(database.db, 'muster').catalogue()).toBe(before);
});

test('G52: the doctor reports it too', async () => {
  const { said } = await outcome('inspect', {});
  expect(said.at(-1)?.replace(/^wrong: /, '')).toMatch(SENTENCE);
});

test.each(['yes', 'no'] as const)('G52: no server starts on it, MUSTER_AUTO_MIGRATE=%s', async (auto) => {
  const { db } = database;
  await expect(startServer({ ...config, MUSTER_AUTO_MIGRATE: auto }, { db })).rejects.toMatchObject({
    code: 'MUSTER_SCHEMA_OTHER_LAYOUT',
    message: expect.stringMatching(SENTENCE),
  });
});
