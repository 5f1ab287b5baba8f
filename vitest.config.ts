// The same suites run on PGlite and on a PostgreSQL server, except those in the list below; inject('database') says which.
// *.postgres.test.ts needs a server (several sessions, crashes), *.pglite.test.ts tests the embedded database;
// *.unit.test.ts needs no database.

import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { defaultServerConditions } from 'vite';
import { defineConfig } from 'vitest/config';
import { findPgbouncer } from './testing/pgbouncer.mjs';
import './testing/provided.ts';

// Workspace packages export their TypeScript source under this condition. Not `module`: that is for bundlers, and files that
// OpenTelemetry has there cannot be loaded by Node.
const conditions = ['muster-source', ...defaultServerConditions.filter((one) => one !== 'module')];

/**
 * A door answers the same over HTTP on both databases. Only its statements may differ, and a door may wait for a second
 * connection while it holds the only one. Suites that test neither run on PostgreSQL alone: CI has ten minutes on two cores, and
 * on PGlite they took 70 s of CPU. Other suites send every statement of these to PGlite, apart from other combinations of the
 * same parts; this was counted. Check that again before you add a name.
 */
const onServerAlone = [
  // processes that are killed: start.unit covers kill -9 on the embedded database, and torture does so at length
  ...['checkin-crash', 'tasks-run'],
  // HTTP, whatever the database
  ...[
    'cli',
    'errors',
    'large-numbers',
    'metrics',
    'monitoring',
    'one-of',
    'refusals',
    'request-id',
    'sockets',
  ],
  // doors whose statements other suites execute on PGlite
  ...['hosts-queue', 'hosts-report', 'import', 'redrive', 'tasks', 'tasks-cost', 'tasks-line', 'tasks-slots'],
  ...[
    'mdm-hostile',
    'mdm-push-routes',
    'orders-failures',
    'pipeline-bulk',
    'pipeline-failures',
    'mdm-pipeline',
  ],
  // long suites with some statements of their own: MUSTER_TEST_EVERYWHERE=1 runs them on PGlite too, before a release
  // biome-ignore lint/style/noProcessEnv: the caller chooses the suites
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
/** They start a PgBouncer; `npm test` says it if there is none. */
const withoutPooler = findPgbouncer() === undefined ? ['**/pooler.postgres.test.ts'] : [];
/** VACUUM, which they need, cannot run in a transaction, and through a pooler every statement is in one. */
const notThroughPooler =
  // biome-ignore lint/style/noProcessEnv: the caller chooses the suites
  process.env.MUSTER_TEST_POOLER === '1' ? ['**/duty-cost.test.ts', '**/statistics.postgres.test.ts'] : [];
const postgresOnly = '**/*.postgres.test.ts';
const pgliteOnly = '**/*.pglite.test.ts';
const notOnCitus = [
  // they count pages that one server reads, or look into its plans and statistics
  ...[
    'claim-cost',
    'duty-cost',
    'hot-cost',
    'feed-cost.postgres',
    'lane-names-cost.postgres',
    'statistics.postgres',
  ],
  // they stop a statement in its middle, which is one on a server and several here
  ...[
    'feed-order.postgres',
    'forget-lanes.postgres',
    'gate.postgres',
    'interleavings.postgres',
    'redrive-generation.postgres',
    'supersede-pool.postgres',
  ],
].map((name) => `packages/engine/test/${name}.test.ts`);
// biome-ignore lint/style/noProcessEnv: the caller has such a cluster
const onCitus = Boolean(process.env.MUSTER_TEST_CITUS_URL);
const citusOnly = '**/*.citus.test.ts';
const never = ['**/node_modules/**', '**/dist/**', 'scripts/test/fixtures/**'];

export default defineConfig({
  // graphql has one module for bundlers and one for Node: loaded together, they do not recognise each other's types
  resolve: { alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }], conditions },
  ssr: { resolve: { conditions } },
  test: {
    hookTimeout: 300_000,
    // suites share the modules of their process, which saves a tenth of the run: a suite must restore what it changes
    isolate: false,
    // one more than there are cores: many suites wait for processes that they start, kill and start again
    maxWorkers: availableParallelism() + 1,
    pool: 'forks',
    projects: [
      {
        extends: true,
        test: {
          name: 'pglite',
          exclude: [...never, unit, postgresOnly, citusOnly, ...onServerAlone],
          globalSetup: 'testing/embedded-images.ts',
          include: suites,
          provide: { database: 'pglite' },
        },
      },
      {
        extends: true,
        test: {
          name: 'postgres',
          exclude: [...never, unit, pgliteOnly, citusOnly, ...notThroughPooler, ...withoutPooler],
          globalSetup: 'testing/global-setup.ts',
          include: [
            ...suites,
            'bench/test/**/*.postgres.test.ts',
            'scripts/test/**/*.postgres.test.ts',
            'testing/test/**/*.postgres.test.ts',
          ],
          provide: { database: 'postgres' },
        },
      },
      {
        extends: true,
        test: {
          name: 'citus',
          exclude: [...never, unit, pgliteOnly, ...notOnCitus],
          globalSetup: 'testing/citus-setup.ts',
          include: onCitus ? suites : [],
          provide: { database: 'postgres', isDistributed: true },
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
    // as long as a test: nothing promises how soon something happens, only that it does. On a busy machine a test of three
    // seconds has taken a minute.
    expect: { poll: { timeout: 300_000 } },
    testTimeout: 300_000,
  },
});
