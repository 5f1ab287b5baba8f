// What vitest.config.ts and global-setup.ts hand to the tests: `inject('database')`, `inject('postgresUrl')`.

export type Database = 'pglite' | 'postgres';

declare module 'vitest' {
  interface ProvidedContext {
    /** Which of the two databases this run of the suites is on. */
    database: Database;
    /** Files of embedded databases to begin with, by the migrations that are in them. Only in the project `pglite`. */
    embeddedImages: Readonly<Record<string, string>> | undefined;
    /** The folder of one that has all of them, to be copied. Only there. */
    embeddedFolder: string | undefined;
    /** A superuser's URL of a PostgreSQL server. Only in the project `postgres`. */
    postgresUrl: string | undefined;
    /** Databases there to copy, by the migrations that are in them. Only there. */
    postgresTemplates: Readonly<Record<string, string>> | undefined;
  }
}

/** By which an image is found: the lines of migrations in it. */
export const imageName = (lines: readonly { readonly name: string }[]) =>
  lines.map(({ name }) => name).join('+');
