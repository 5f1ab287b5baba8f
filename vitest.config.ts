// The same suites run twice, on PGlite and on a PostgreSQL server, told apart by inject('database').
// *.postgres.test.ts needs a server (several sessions, crashes), *.pglite.test.ts is about the embedded database;
// *.unit.test.ts needs no database at all.

import { availableParallelism } from 'node:os';
import { defaultServerConditions } from 'vite';
import { defineConfig } from 'vitest/config';
import './testing/provided.ts';

// Workspace packages offer their TypeScript source under this condition.
const conditions = ['muster-source', ...defaultServerConditions];

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
