import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { catalogueText } from './catalogue.ts';
import type { Database, Queryable } from './db.ts';
import { distribute } from './distributed/distribute.ts';
import { EngineError } from './errors.ts';
import { installedSql } from './installed-sql.ts';
import { refuseOtherLayout } from './migration-layout.ts';

/**
 * Migrations come in lines: the engine has one, and an application with its own tables has another. Files are
 * `NNN_name.up.sql` and `.down.sql`, never change after a release, and say in their first line whether older code may
 * still run against the new schema (`-- breaking: no`) or must refuse (`-- breaking: yes`).
 */
export interface MigrationLine {
  readonly name: string;
  readonly folder: string;
}

export interface Migration {
  readonly line: string;
  readonly version: number;
  readonly name: string;
  readonly breaking: boolean;
  readonly up: string;
  readonly down: string;
}

export interface MigrationStatus {
  readonly line: string;
  readonly version: number;
  readonly name: string;
  readonly appliedAt: Date | null;
}

export const ENGINE_LINE: MigrationLine = {
  name: 'engine',
  folder: fileURLToPath(new URL('../migrations', import.meta.url)),
};

/** About this database and the processes using it: meaningless in another one. */
export const TABLES_OF_ONE_DATABASE: readonly string[] = ['incarnations', 'leaders', 'migrations', 'nodes'];

export interface MigrateOptions {
  /** Unquoted; letters, digits and underscores. */
  readonly schema: string;
  readonly lines: readonly MigrationLine[];
}

const FILE = /^(\d{3})_([a-z0-9_]+)\.up\.sql$/;

/** A schema that a migration makes beside ours, named after it. */
const SCHEMA_BESIDE = /^create schema (?:if not exists )?\{schema\}(\w+);/gm;

export function checkSchemaName(schema: string): string {
  if (!/^[a-z_][a-z0-9_]{0,50}$/.test(schema))
    throw new EngineError(
      'MUSTER_BAD_VALUE',
      'The name of the schema must be lower-case letters, digits and underscores.',
    );
  return schema;
}

/** Fills in the schema's name and the library's texts where the file has braces. */
function filledIn(text: string, schema: string): string {
  const installed = installedSql(schema);
  return text.replace(/\{([a-z_]+)\}/g, (braces, name) =>
    name === 'schema' ? schema : (installed[name] ?? braces),
  );
}

/** Functions that a distributed database has instead of those of the migrations. */
async function readDistributed({ folder }: MigrationLine): Promise<string> {
  const file = 'distributed.sql';
  return (await readdir(folder)).includes(file) ? readFile(`${folder}/${file}`, 'utf8') : '';
}

export async function readMigrations(line: MigrationLine): Promise<Migration[]> {
  const files = (await readdir(line.folder)).filter((file) => FILE.test(file)).sort();
  return Promise.all(
    files.map(async (file) => {
      const [, number, name] = FILE.exec(file) as unknown as [string, string, string];
      const up = await readFile(`${line.folder}/${file}`, 'utf8');
      const down = await readFile(`${line.folder}/${file.replace('.up.', '.down.')}`, 'utf8');
      const mark = /^-- breaking: (yes|no)\n/.exec(up);
      if (!mark) throw new Error(`${file} does not begin with "-- breaking: yes" or "-- breaking: no".`);
      return { line: line.name, version: Number(number), name, breaking: mark[1] === 'yes', up, down };
    }),
  );
}

export function createMigrate(db: Database, options: MigrateOptions) {
  const schema = checkSchemaName(options.schema);

  async function all(): Promise<Migration[]> {
    return (await Promise.all(options.lines.map(readMigrations))).flat();
  }

  async function applied(
    client: Queryable,
  ): Promise<{ line: string; version: number; name: string; breaking: boolean; applied_at: Date }[]> {
    const { rows: known } = await client.query({
      text: `select to_regclass('${schema}.migrations') is not null as known`,
    });
    if (!known[0].known) return [];
    const { rows } = await client.query({
      text: `select line, version, name, breaking, applied_at from ${schema}.migrations order by line, version`,
    });
    return rows;
  }

  /** One migration run at a time per database; each migration is a transaction of its own, without a time limit. */
  async function alone(run: (client: Queryable) => Promise<void>): Promise<void> {
    await db.transaction(
      async (tx) => {
        await tx.query({ text: `select pg_advisory_xact_lock(hashtext('${schema}.migrations'))` });
        await run(tx);
      },
      { lockMs: 0, statementMs: 0 },
    );
  }

  async function list(): Promise<MigrationStatus[]> {
    const migrations = await all();
    const rows = await applied(db);
    refuseOtherLayout(migrations, rows);
    const at = new Map(rows.map((row) => [`${row.line} ${row.version}`, row.applied_at]));
    return migrations.map(({ line, version, name }) => ({
      line,
      version,
      name,
      appliedAt: at.get(`${line} ${version}`) ?? null,
    }));
  }

  return {
    /** Applies missing migrations and returns them. */
    async up(): Promise<Migration[]> {
      const done: Migration[] = [];
      await alone(async (tx) => {
        await tx.query({ text: `create schema if not exists ${schema}` });
        await tx.query({
          text: `create table if not exists ${schema}.migrations (
            line text not null, version int not null, name text not null, breaking boolean not null,
            applied_at timestamptz not null default now(), primary key (line, version))`,
        });
        const migrations = await all();
        const rows = await applied(tx);
        refuseOtherLayout(migrations, rows);
        const before = new Set(rows.map((row) => `${row.line} ${row.version}`));
        for (const migration of migrations) {
          if (before.has(`${migration.line} ${migration.version}`)) continue;
          await tx.query({
            text: `insert into ${schema}.migrations (line, version, name, breaking) values ($1, $2, $3, $4)`,
            values: [migration.line, migration.version, migration.name, migration.breaking],
          });
          await tx.query({ text: filledIn(migration.up, schema) });
          done.push(migration);
        }
        if (db.distribution) {
          const functions = (await Promise.all(options.lines.map(readDistributed))).join('\n');
          await distribute(tx, schema, db.distribution, filledIn(functions, schema));
        }
      });
      return done;
    },

    /** Takes back the newest migration, or with `all` every one, newest first. */
    async down(which: 'one' | 'all' = 'one'): Promise<Migration[]> {
      const done: Migration[] = [];
      await alone(async (tx) => {
        const migrations = await all();
        const known = new Map(
          migrations.map((migration) => [`${migration.line} ${migration.version}`, migration]),
        );
        const lines = options.lines.map((line) => line.name);
        // later lines depend on earlier ones
        const rows = (await applied(tx)).sort(
          (a, b) => lines.indexOf(b.line) - lines.indexOf(a.line) || b.version - a.version,
        );
        refuseOtherLayout(migrations, rows);
        for (const row of which === 'one' ? rows.slice(0, 1) : rows) {
          const migration = known.get(`${row.line} ${row.version}`);
          if (!migration)
            throw new EngineError(
              'MUSTER_SCHEMA_TOO_NEW',
              `Migration ${row.line} ${row.version} is unknown to this version.`,
            );
          await tx.query({ text: filledIn(migration.down, schema) });
          await tx.query({
            text: `delete from ${schema}.migrations where line = $1 and version = $2`,
            values: [row.line, row.version],
          });
          done.push(migration);
        }
      });
      return done;
    },

    list,

    /** Those of this version that were never applied. */
    async missing(): Promise<MigrationStatus[]> {
      return (await list()).filter(({ appliedAt }) => appliedAt === null);
    },

    /** Refuses to work with a newer schema that is not made for this code, or with an earlier layout. */
    async checkFits(client: Queryable = db): Promise<void> {
      const migrations = await all();
      const rows = await applied(client);
      refuseOtherLayout(migrations, rows);
      const known = new Set(migrations.map((migration) => `${migration.line} ${migration.version}`));
      const tooNew = rows.find((row) => row.breaking && !known.has(`${row.line} ${row.version}`));
      if (tooNew)
        throw new EngineError(
          'MUSTER_SCHEMA_TOO_NEW',
          `The database has migration ${tooNew.line} ${tooNew.version} (${tooNew.name}), which is newer than this version. Run a newer version.`,
        );
    },

    /** The live catalogue in a form that depends neither on PostgreSQL's version nor on the schema's name. */
    async catalogue(): Promise<string> {
      const beside = (await all()).flatMap(({ up }) =>
        [...up.matchAll(SCHEMA_BESIDE)].map(([, end]) => end as string),
      );
      return catalogueText(db, schema, [...new Set(beside)]);
    },
  };
}
