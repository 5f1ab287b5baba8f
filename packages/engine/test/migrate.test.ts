import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createEngine, createMigrate, ENGINE_LINE, type MigrationLine } from '../src/index.ts';
import { testDatabase } from '../testing/index.ts';

let database: Awaited<ReturnType<typeof testDatabase>>;
let folder: string;
const lines: MigrationLine[] = [ENGINE_LINE];
const migrate = (schema = 'muster', some = lines) => createMigrate(database.db, { schema, lines: some });
const things = async (schema: string) =>
  (
    await database.db.query({
      text: `select c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = $1
        and c.relname not like 'migrations%' union all select p.proname from pg_proc p join pg_namespace n on n.oid = p.pronamespace
        where n.nspname = $1`,
      values: [schema],
    })
  ).rows.length;

beforeAll(async () => {
  database = await testDatabase({ migrated: false });
  folder = await mkdtemp(path.join(tmpdir(), 'muster-line-'));
  await writeFile(
    path.join(folder, '001_door.up.sql'),
    '-- breaking: no\ncreate table {schema}.door (id int);\n',
  );
  await writeFile(path.join(folder, '001_door.down.sql'), 'drop table {schema}.door;\n');
});
afterAll(async () => {
  await database.drop();
  await rm(folder, { recursive: true });
});

test('G52: up applies missing migrations, once; list says which and when', async () => {
  expect((await migrate().list()).every((one) => one.appliedAt === null)).toBe(true);
  const done = await migrate().up();
  expect(done.map((one) => `${one.line} ${one.version}`)).toEqual(['engine 1']);
  expect(await migrate().up()).toEqual([]);
  const list = await migrate().list();
  expect(list).toHaveLength(done.length);
  expect(list.every((one) => one.appliedAt instanceof Date)).toBe(true);
});

test('G52: down takes back one by one or all, and up again gives the same catalogue', async () => {
  const steps = path.join(folder, 'steps');
  await mkdir(steps);
  for (const name of ['001_one', '002_two']) {
    await writeFile(
      path.join(steps, `${name}.up.sql`),
      `-- breaking: no\ncreate table {schema}.t${name} ();\n`,
    );
    await writeFile(path.join(steps, `${name}.down.sql`), `drop table {schema}.t${name};\n`);
  }
  const inSteps = () => migrate('muster', [...lines, { name: 'steps', folder: steps }]);
  const names = (migrations: readonly { line: string; version: number }[]) =>
    migrations.map(({ line, version }) => `${line} ${version}`);
  expect(names(await inSteps().up())).toEqual(['steps 1', 'steps 2']);
  const before = await inSteps().catalogue();
  expect(names(await inSteps().down())).toEqual(['steps 2']);
  expect(names((await inSteps().list()).filter((one) => one.appliedAt === null))).toEqual(['steps 2']);
  expect(await inSteps().catalogue()).not.toBe(before);
  expect(names(await inSteps().down('all'))).toEqual(['steps 1', 'engine 1']);
  expect(await things('muster')).toBe(0);
  await inSteps().up();
  expect(await inSteps().catalogue()).toBe(before);
  for (let n = 0; n < 2; n += 1) await inSteps().down();
});

test('G52: the catalogue depends neither on the days of the history nor on data', async () => {
  const before = await migrate().catalogue();
  const engine = createEngine(database.db);
  const laneId = await engine.ensureLane(database.db, 1, 'test', 'x');
  await engine.enqueue(database.db, { tenantId: 1, laneId, kind: 'x' });
  expect(await migrate().catalogue()).toBe(before);
});

test('G52: everything works the same in a schema of another name', async () => {
  await migrate('elsewhere').up();
  expect(await migrate('elsewhere').catalogue()).toBe(await migrate().catalogue());
  const engine = createEngine(database.db, { schema: 'elsewhere' });
  await engine.start();
  const laneId = await engine.ensureLane(database.db, 1, 'test', 'x');
  const claim = engine.claim(database.db, {
    ...{ tenantId: 1, laneId, channel: 'any', worker: 'w', leaseMs: 1_000, waitMs: 20_000 },
  });
  await database.db.query({ text: `select elsewhere.enqueue(1, $1, 'x')`, values: [laneId] });
  const action = await claim;
  expect(action).toMatchObject({ kind: 'x' });
  await engine.report(database.db, {
    tenantId: 1,
    actionId: action?.id as string,
    attempt: 1,
    status: 'succeeded',
  });
  for (const duty of engine.duties) await engine.runDuty(duty.name);
  await engine.stop();
  expect(await migrate('elsewhere').down('all')).not.toEqual([]);
  expect(await things('elsewhere')).toBe(0);
});

test('G52: two engines in two schemas share a database, its connections and a transaction', async () => {
  await migrate('second').up();
  const engines = [createEngine(database.db), createEngine(database.db, { schema: 'second' })];
  await Promise.all(
    engines.map(async (engine) => {
      await engine.runDuty('keep-days');
      const laneId = await engine.ensureLane(database.db, 1, 'test', 'shared');
      await engine.enqueue(database.db, { tenantId: 1, laneId, kind: engine.schema });
    }),
  );
  const kinds = await database.db.transaction(async (tx) => {
    const found: (string | undefined)[] = [];
    for (const engine of engines) {
      const laneId = await engine.ensureLane(tx, 1, 'test', 'shared');
      const action = await engine.claim(tx, {
        tenantId: 1,
        laneId,
        channel: 'any',
        worker: 'w',
        leaseMs: 1_000,
      });
      found.push(action?.kind);
    }
    return found;
  });
  expect(kinds).toEqual(['muster', 'second']);
  await migrate('second').down('all');
});

test('G52: any drift shows in the catalogue', async () => {
  const before = await migrate().catalogue();
  for (const [change, undo] of [
    ['create index extra on muster.actions (kind)', 'drop index muster.extra'],
    ['alter table muster.actions add column extra int', 'alter table muster.actions drop column extra'],
    [
      'alter table muster.pending alter column attempt drop not null',
      'alter table muster.pending alter column attempt set not null',
    ],
    [
      'alter table muster.runners drop constraint slots_are_positive',
      'alter table muster.runners add constraint slots_are_positive check (slots > 0)',
    ],
    [
      'create function muster.extra() returns int language sql as $$ select 1 $$',
      'drop function muster.extra()',
    ],
    ['alter function muster.lane_front volatile', 'alter function muster.lane_front stable'],
    ['create view muster.extra as select 1 as one', 'drop view muster.extra'],
  ] as const) {
    await database.db.query({ text: change });
    expect(await migrate().catalogue(), change).not.toBe(before);
    await database.db.query({ text: undo });
    expect(await migrate().catalogue(), undo).toBe(before);
  }
});

test('G52: a changed view shows in the catalogue, and a dumped and restored one does not', async () => {
  const before = await migrate().catalogue();
  const { rows: views } = await database.db.query({
    text: `select viewname as name, definition from pg_views where schemaname = 'muster'`,
  });
  expect(views.length).toBeGreaterThan(3);
  for (const { name, definition } of views) {
    const text = definition.replace(/;\s*$/, '');
    await database.db.query({ text: `create or replace view muster.${name} as ${text}` });
    expect(await migrate().catalogue(), name).toBe(before);
    await database.db.query({
      text: `create or replace view muster.${name} as select * from (${text}) x where x.tenant_id > 0`,
    });
    expect(await migrate().catalogue(), name).not.toBe(before);
    await database.db.query({ text: `create or replace view muster.${name} as ${text}` });
  }
  expect(await migrate().catalogue()).toBe(before);
});

test('G52: an application adds a line of its own, which goes down first', async () => {
  const both = [ENGINE_LINE, { name: 'door', folder }];
  expect((await migrate('muster', both).up()).map((one) => one.line)).toEqual(['door']);
  expect((await migrate('muster', both).down()).map((one) => one.line)).toEqual(['door']);
  await migrate('muster', both).up();
  expect((await migrate('muster', both).down('all')).map((one) => one.line)[0]).toBe('door');
  await migrate().up();
});

test('G52: the catalogue covers a schema that a line makes beside its own', async () => {
  const both = [ENGINE_LINE, { name: 'door', folder }];
  await writeFile(
    path.join(folder, '002_beside.up.sql'),
    '-- breaking: no\ncreate schema if not exists {schema}_beside;\ncreate view {schema}_beside.seen as select id from {schema}.door;\n',
  );
  await writeFile(path.join(folder, '002_beside.down.sql'), 'drop schema {schema}_beside cascade;\n');
  await migrate('muster', both).up();
  const before = await migrate('muster', both).catalogue();
  expect(before).toContain('view {schema}_beside.seen ');
  await database.db.query({
    text: 'create or replace view muster_beside.seen as select id from muster.door where id > 0',
  });
  expect(await migrate('muster', both).catalogue()).not.toBe(before);
  await migrate('muster', both).down();
  await migrate('muster', both).down();
  await Promise.all(['up', 'down'].map((way) => rm(path.join(folder, `002_beside.${way}.sql`))));
});

test('G52: a newer schema is refused if it is marked as breaking, and only then', async () => {
  const future = (breaking: boolean) =>
    database.db.query({
      text: `insert into muster.migrations (line, version, name, breaking) values ('engine', 999, 'future', ${breaking})`,
    });
  const past = () => database.db.query({ text: 'delete from muster.migrations where version = 999' });
  await future(false);
  await migrate().checkFits();
  await past();
  await future(true);
  await expect(migrate().checkFits()).rejects.toMatchObject({
    code: 'MUSTER_SCHEMA_TOO_NEW',
    message: expect.stringContaining('future'),
  });
  await expect(migrate().down()).rejects.toMatchObject({ code: 'MUSTER_SCHEMA_TOO_NEW' });
  await past();
});

test.each(['engine', 'door'])(
  'G52: a database in which a migration of line %s has another name is refused, and nothing is changed',
  async (line) => {
    const both = migrate('earlier', [ENGINE_LINE, { name: 'door', folder }]);
    await both.up();
    const rename = (name: string) =>
      database.db.query({
        text: `update earlier.migrations set name = $1 where line = $2 and version = 1`,
        values: [name, line],
      });
    const rows = async () =>
      (await database.db.query({ text: 'select * from earlier.migrations order by line, version' })).rows;
    await rename('queue');
    const before = { catalogue: await both.catalogue(), rows: await rows() };
    const refused = {
      code: 'MUSTER_SCHEMA_OTHER_LAYOUT',
      message: expect.stringMatching(/earlier version .*cannot be migrated .*empty database/),
    };
    for (const attempt of [
      () => both.up(),
      () => both.down(),
      () => both.down('all'),
      () => both.list(),
      () => both.checkFits(),
    ])
      await expect(attempt(), String(attempt)).rejects.toMatchObject(refused);
    expect({ catalogue: await both.catalogue(), rows: await rows() }).toEqual(before);
    // a version that does not know the line does not compare it
    if (line === 'door') expect(await migrate('earlier').up()).toEqual([]);
    await rename(line);
    await both.down('all');
  },
);

test('G52: a number between ours is of a newer version: only one marked as breaking is refused', async () => {
  const gap = path.join(folder, 'gap');
  await mkdir(gap);
  for (const name of ['010_one', '020_two'])
    for (const way of ['up', 'down'])
      await writeFile(path.join(gap, `${name}.${way}.sql`), '-- breaking: no\nselect 1;\n');
  const ours = migrate('gaps', [{ name: 'doors', folder: gap }]);
  await ours.up();
  const newer = (breaking: boolean) =>
    database.db.query({
      text: `insert into gaps.migrations (line, version, name, breaking) values ('doors', 11, 'more', $1)
        on conflict (line, version) do update set breaking = excluded.breaking`,
      values: [breaking],
    });
  await newer(false);
  await ours.checkFits();
  expect(await ours.up()).toEqual([]);
  await newer(true);
  await expect(ours.checkFits()).rejects.toMatchObject({ code: 'MUSTER_SCHEMA_TOO_NEW' });
});

test('G52: a failed migration leaves nothing behind', async () => {
  await writeFile(
    path.join(folder, '002_bad.up.sql'),
    '-- breaking: no\ncreate table {schema}.half (id int);\nselect 1 / 0;\n',
  );
  await writeFile(path.join(folder, '002_bad.down.sql'), 'drop table {schema}.half;\n');
  const before = await things('muster');
  await expect(migrate('muster', [ENGINE_LINE, { name: 'door', folder }]).up()).rejects.toThrow(
    'division by zero',
  );
  expect(await things('muster')).toBe(before);
});

test('G52: two nodes that migrate at once do it once', async () => {
  await Promise.all([migrate('twice').up(), migrate('twice').up()]);
  expect((await migrate('twice').list()).every((one) => one.appliedAt !== null)).toBe(true);
});

test.each(['Upper', 'with space', 'a"b', '', 'x; drop', '1st'])(
  'G28: %j is not a valid schema name',
  (schema) => {
    expect(() => migrate(schema)).toThrow('name of the schema');
    expect(() => createEngine(database.db, { schema })).toThrow('name of the schema');
  },
);
