// What vitest.config.ts and global-setup.ts provide to tests: `inject('database')`, `inject('postgresUrl')`.

export type Database = 'pglite' | 'postgres';

declare module 'vitest' {
  interface ProvidedContext {
    /** The database of this project. */
    database: Database;
    /** Images of embedded databases, by the migrations in them. Only in the project `pglite`. */
    embeddedImages: Readonly<Record<string, string>> | undefined;
    /** The folder of one with all migrations, to be copied. Only there. */
    embeddedFolder: string | undefined;
    /** The server of this project is a coordinator of Citus. */
    isDistributed: boolean | undefined;
    /** A superuser's URL of a PostgreSQL server. Only in the projects `postgres` and `citus`. */
    postgresUrl: string | undefined;
    /** With MUSTER_TEST_POOLER=1, a URL of a PgBouncer before it. */
    poolerUrl: string | undefined;
    /** Template databases on it, by the migrations in them. Only there. */
    postgresTemplates: Readonly<Record<string, string>> | undefined;
  }
}

/** The key of an image: the migration lines in it. */
export const imageName = (lines: readonly { readonly name: string }[]) =>
  lines.map(({ name }) => name).join('+');
