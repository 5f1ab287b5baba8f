// What vitest.config.ts and global-setup.ts hand to the tests: `inject('database')`, `inject('postgresUrl')`.

export type Database = 'pglite' | 'postgres';

declare module 'vitest' {
  interface ProvidedContext {
    /** Which of the two databases this run of the suites is on. */
    database: Database;
    /** Images of embedded databases to begin with: empty, and with the engine's schema. Only in the project `pglite`. */
    embeddedImages: { readonly empty: string; readonly migrated: string } | undefined;
    /** A superuser's URL of a PostgreSQL server. Only in the project `postgres`. */
    postgresUrl: string | undefined;
  }
}
