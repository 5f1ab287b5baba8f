// The same suites run twice, on PGlite and on a PostgreSQL server, told apart by inject('database'), but for the list below.
// *.postgres.test.ts needs a server (several sessions, crashes), *.pglite.test.ts is about the embedded database;
// *.unit.test.ts needs no database at all.

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
 * second connection while it has the only one. Suites that show nothing of that run on PostgreSQL alone: CI has ten minutes
 * on two cores, and they took 70 s of CPU on PGlite. It was counted: every statement that they made the server send to PGlite,
 * but for other choices of the same parts, others make it send there. So whoever adds a name here looks first.
 */
const onServerAlone = [
  // processes that are killed: the embedded database under kill -9 is shown by start.unit, and at length by torture
  ...['checkin-crash', 'tasks-run'],
  // HTTP, whatever is beneath it
  ...['cli', 'errors', 'large-numbers', 'metrics', 'one-of', 'refusals', 'request-id', 'sockets'],
  // doors of which other suites execute the same statements on PGlite
  ...['hosts-queue', 'hosts-report', 'import', 'redrive', 'tasks', 'tasks-cost', 'tasks-line', 'tasks-slots'],
  ...[
    'mdm-hostile',
    'mdm-push-routes',
    'orders-failures',
    'pipeline-bulk',
    'pipeline-failures',
    'mdm-pipeline',
  ],
  // long ones, whose statements others do not all execute: MUSTER_TEST_EVERYWHERE=1 runs them on PGlite too, before a release
  // biome-ignore lint/style/noProcessEnv: which suites run is said where they are started
  ...(process.env.MUSTER_TEST_EVERYWHERE === '1'
    ? []
    : [
        'batches',
        'bus',
        'callbacks',
        'contacts',
        'conversations',
        'cursors',
        'events',
        'fuzz',
        'hosts-operator',
        'mdm',
        'mdm-push',
        'mdm-raw',
        'mdm-watch',
        'milestones',
        'operator-reads',
        'routes',
        'tasks-pcs',
        'tasks-property',
        'tasks-reports',
        'tokens',
        'torture',
        'webhooks',
      ]),
].map((name) => `apps/server/test/${name}.test.ts`);

const gone = onServerAlone.filter((file) => !existsSync(path.join(import.meta.dirname, file)));
if (gone.length > 0) throw new Error(`vitest.config.ts lists suites that there are not: ${gone.join(', ')}`);

const suites = ['packages/*/test/**/*.test.ts', 'apps/*/test/**/*.test.ts'];
const unit = '**/*.unit.test.ts';
const postgresOnly = '**/*.postgres.test.ts';
const pgliteOnly = '**/*.pglite.test.ts';
const never = ['**/node_modules/**', '**/dist/**', 'scripts/test/fixtures/**'];

export default defineConfig({
  // graphql has a module for bundlers beside the one that Node takes: two of them do not know each other's types
  resolve: { alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }], conditions },
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
          exclude: [...never, unit, postgresOnly, ...onServerAlone],
          globalSetup: 'testing/embedded-images.ts',
          include: suites,
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
            'bench/test/**/*.unit.test.ts',
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
