// Suites of packages, and those of the server in the list below, run twice, on PGlite and on a PostgreSQL server, told apart
// by inject('database'); other suites of the server run on PostgreSQL. *.postgres.test.ts needs a server (several sessions,
// crashes), *.pglite.test.ts is about the embedded database; *.unit.test.ts needs no database at all.

import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { defaultServerConditions } from 'vite';
import { defineConfig } from 'vitest/config';
import './testing/provided.ts';

// Workspace packages offer their TypeScript source under this condition.
const conditions = ['muster-source', ...defaultServerConditions];

/**
 * What a door says over HTTP is the same on both databases; what may differ are its statements, and a door that waits for a
 * second connection while it has the only one. So these run on PGlite too: what walks over every route and every page of docs/
 * (in `pages`), and for each door enough that every statement of it is executed there. That was counted: all statements that
 * the other suites made the server send to PGlite, but for other choices of the same parts, these make it send. A suite that brings statements of its own is added here.
 */
const embeddedToo = [
  // every route, whichever door
  ...['cursors', 'fuzz', 'idempotency-keys', 'past-times', 'restored', 'routes', 'stored-times', 'waiting'],
  // the shell: what doors build on
  ...['audit', 'bus', 'check', 'client', 'command-socket', 'contacts', 'copies', 'events', 'notified-cache'],
  ...['token-owners', 'tokens'],
  // the doors
  ...['batches', 'checkin', 'conversations', 'devices', 'hosts-operator', 'milestones', 'workflows'],
  ...['mdm', 'mdm-raw'],
  ...['tasks-pcs', 'tasks-property', 'tasks-reports'],
  // the embedded database under kill -9
  'torture',
].map((name) => `apps/server/test/${name}.test.ts`);

const gone = embeddedToo.filter((file) => !existsSync(path.join(import.meta.dirname, file)));
if (gone.length > 0) throw new Error(`vitest.config.ts lists suites that there are not: ${gone.join(', ')}`);

const suites = ['packages/*/test/**/*.test.ts', 'apps/*/test/**/*.test.ts'];
const unit = '**/*.unit.test.ts';
const postgresOnly = '**/*.postgres.test.ts';
const pgliteOnly = '**/*.pglite.test.ts';
const never = ['**/node_modules/**', '**/dist/**', 'scripts/test/fixtures/**'];

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    hookTimeout: 300_000,
    // suites share the modules of their process, a tenth of the run: whatever one changes it puts back
    isolate: false,
    // one more than cores: many suites wait for processes that they start, kill and start again
    maxWorkers: availableParallelism() + 1,
    pool: 'forks',
    projects: [
      {
        extends: true,
        test: {
          name: 'pglite',
          exclude: [...never, unit, postgresOnly],
          globalSetup: 'testing/embedded-images.ts',
          include: ['packages/*/test/**/*.test.ts', `apps/*/test/${pgliteOnly}`, ...embeddedToo],
          provide: { database: 'pglite' },
        },
      },
      {
        extends: true,
        test: {
          name: 'postgres',
          exclude: [...never, unit, pgliteOnly],
          globalSetup: 'testing/global-setup.ts',
          include: [...suites, 'bench/test/**/*.postgres.test.ts', 'testing/test/**/*.postgres.test.ts'],
          provide: { database: 'postgres' },
        },
      },
      {
        extends: true,
        test: {
          name: 'unit',
          exclude: never,
          include: [
            '{packages,apps}/*/{src,test}/**/*.unit.test.ts',
            'scripts/test/**/*.unit.test.ts',
            'testing/test/**/*.unit.test.ts',
          ],
        },
      },
    ],
    // as long as a test: how soon something comes is no promise, only that it comes. On a machine that is busy
    // with other things a test of three seconds has taken a minute.
    expect: { poll: { timeout: 300_000 } },
    testTimeout: 300_000,
  },
});
