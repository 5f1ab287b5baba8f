/** The trees that walls.unit.test.ts writes: one that breaks no wall, and for each wall the files that break it, laid over the first. */
export type Tree = Readonly<Record<string, string>>;

const json = (value: unknown) => JSON.stringify(value);

export const allowed: Tree = {
  'apps/console/package.json': json({
    name: '@muster/console',
    type: 'module',
    dependencies: { '@muster/contracts': '*' },
  }),
  'apps/console/src/index.ts': `import type { Contract } from '@muster/contracts';
import { button } from './ui/button.ts';
export const page = (contract: Contract) => [contract, button];`,
  'apps/console/src/ui/button.ts': "export const button = 'button';",
  'apps/server/package.json': json({
    name: '@muster/server',
    type: 'module',
    dependencies: { '@muster/contracts': '*', '@muster/engine': '*', '@muster/mdm': '*' },
  }),
  'apps/server/src/bridges/mdm.ts': `import { mdm } from '@muster/mdm';
export const join = mdm;`,
  'apps/server/src/cli/main.ts': "export { main } from '../main.ts';",
  'apps/server/src/features/orders/index.ts': `import { open } from '@muster/engine';
import { devices } from '../../fleet/index.ts';
export const orders = [open, devices];`,
  'apps/server/src/features/tasks/index.ts': `import { contract } from '@muster/contracts';
export const tasks = contract;`,
  'apps/server/src/fleet/index.ts': "export { devices } from './registry.ts';",
  'apps/server/src/fleet/registry.ts': "export const devices = 'devices';",
  'apps/server/src/main.ts': `import { join } from './bridges/mdm.ts';
import { devices } from './fleet/index.ts';
import { orders } from './features/orders/index.ts';
import { tasks } from './features/tasks/index.ts';
export const main = [join, devices, orders, tasks];`,
  'apps/server/src/text.unit.test.ts': `import { test } from 'vitest';
test('beside the code', () => {});`,
  'apps/server/test/main.test.ts': `import { openForTests } from '@muster/engine/testing';
import { main } from '../src/main.ts';
export const used = [openForTests, main];`,
  'package.json': json({
    private: true,
    workspaces: ['packages/*', 'apps/*'],
    devDependencies: { vitest: '*' },
  }),
  'packages/agent/package.json': json({
    name: '@muster/agent',
    type: 'module',
    devDependencies: { '@muster/contracts': '*' },
  }),
  'packages/agent/src/index.ts': `import { readFileSync } from 'node:fs';
import type { Contract } from '@muster/contracts';
export const agent = (file: string): Contract => readFileSync(file, 'utf8');`,
  'packages/client/package.json': json({
    name: '@muster/client',
    type: 'module',
    exports: { '.': { 'muster-source': './src/index.ts' } },
    dependencies: { '@muster/contracts': '*' },
  }),
  'packages/client/src/index.ts': `import { contract } from '@muster/contracts';
export const client = contract;`,
  'packages/contracts/package.json': json({
    name: '@muster/contracts',
    type: 'module',
    exports: { '.': { 'muster-source': './src/index.ts' } },
    dependencies: { zod: '*' },
  }),
  'packages/contracts/src/index.ts': `import { z } from 'zod';
export const contract = z.string();
export type Contract = string;`,
  'packages/engine/package.json': json({
    name: '@muster/engine',
    type: 'module',
    exports: {
      '.': { 'muster-source': './src/index.ts', default: './dist/index.js' },
      './testing': { 'muster-source': './testing/index.ts' },
    },
    dependencies: { '@electric-sql/pglite': '*', pg: '*' },
  }),
  'packages/engine/src/drivers/postgres.ts': `import { PGlite } from '@electric-sql/pglite';
import pg from 'pg';
import type { Seam } from '../seam.ts';
export const open = (): [Seam, PGlite] => [new pg.Client(), new PGlite()];`,
  'packages/engine/src/index.ts': `export { open } from './drivers/postgres.ts';
export type { Seam } from './seam.ts';`,
  'packages/engine/src/seam.ts': `import type { EventEmitter } from 'node:events';
export type Seam = EventEmitter;`,
  'packages/engine/test/engine.test.ts': `import { test } from 'vitest';
import { cluster } from '../../../testing/cluster.ts';
import { openForTests } from '../testing/index.ts';
test(cluster, openForTests);`,
  'packages/engine/testing/index.ts': "export { open as openForTests } from '../src/index.ts';",
  'packages/mdm/package.json': json({
    name: '@muster/mdm',
    type: 'module',
    exports: { '.': { 'muster-source': './src/index.ts' } },
  }),
  'packages/mdm/src/index.ts': `import { randomUUID } from 'node:crypto';
export const mdm = randomUUID;`,
  'testing/cluster.ts': "export const cluster = 'a server for everybody';",
};

export const breaks: Readonly<Record<string, Tree>> = {
  'agent-has-no-run-time-dependencies': {
    'packages/agent/src/breaks.ts': `import { contract } from '@muster/contracts';
export const x = contract;`,
  },
  'console-takes-types-only': {
    'apps/console/src/breaks.ts': `import { contract } from '@muster/contracts';
export const x = contract;`,
  },
  'client-runs-in-browsers': {
    'packages/client/src/breaks-by-node.ts': `import { readFileSync } from 'node:fs';
export const x = readFileSync;`,
  },
  'clients-import-only-contracts': {
    'apps/console/src/breaks.ts': `import type { Seam } from '@muster/engine';
export type X = Seam;`,
    'packages/agent/src/breaks.ts': `import type { Seam } from '@muster/engine';
export type X = Seam;`,
  },
  'contracts-import-only-zod': {
    'packages/contracts/src/breaks-by-engine.ts': `import type { Seam } from '@muster/engine';
export type X = Seam;`,
    'packages/contracts/src/breaks-by-node.ts': `import { readFileSync } from 'node:fs';
export const x = readFileSync;`,
  },
  'engine-drivers-hold-the-seam': {
    'packages/engine/src/breaks-by-type.ts': `import type { PGlite } from '@electric-sql/pglite';
export type X = PGlite;`,
    'packages/engine/src/breaks-by-value.ts': `import pg from 'pg';
export const x = pg;`,
    'packages/engine/src/ops/breaks-by-dynamic-import.ts':
      "export const x = () => import('@electric-sql/pglite');",
    'packages/engine/src/ops/breaks-by-type-query.ts': "export type X = import('pg').Client;",
  },
  'engine-imports-only-its-drivers': {
    'apps/server/package.json': json({
      name: '@muster/server',
      type: 'module',
      exports: './src/fleet/index.ts',
      dependencies: { '@muster/contracts': '*', '@muster/engine': '*', '@muster/mdm': '*' },
    }),
    'packages/engine/src/breaks-by-contracts.ts': `import { contract } from '@muster/contracts';
export const x = contract;`,
    'packages/engine/src/breaks-by-server.ts': `import type { devices } from '@muster/server';
export type X = typeof devices;`,
  },
  'engine-tests-import-nothing-of-ours': {
    'packages/engine/test/breaks.test.ts': `import { contract } from '@muster/contracts';
export const x = contract;`,
    'packages/engine/testing/breaks.ts': "export { mdm } from '@muster/mdm';",
  },
  'features-do-not-import-features': {
    'apps/server/src/features/checkin/breaks.ts': `import { tasks } from '../tasks/index.ts';
export const x = tasks;`,
    'apps/server/src/features/orders/breaks.ts': `import { tasks } from '../tasks/index.ts';
export const x = tasks;`,
  },
  'fleet-imports-no-feature': {
    'apps/server/src/fleet/breaks.ts': `import { tasks } from '../features/tasks/index.ts';
export const x = tasks;`,
  },
  'fleet-only-by-its-index': {
    'apps/server/src/features/orders/breaks.ts': `import { devices } from '../../fleet/registry.ts';
export const x = devices;`,
  },
  'main-is-imported-only-by-the-cli': {
    'apps/server/src/http/breaks.ts': `import { main } from '../main.ts';
export const x = main;`,
  },
  'mdm-imports-nothing-of-ours': {
    'packages/mdm/src/breaks.ts': `import { contract } from '@muster/contracts';
export const x = contract;`,
  },
  'no-cycles': {
    'apps/server/src/breaks.ts': `import { two } from './other-half.ts';
export const one = two;`,
    'apps/server/src/other-half.ts': `import type { one } from './breaks.ts';
export const two: typeof one = 2;`,
  },
  'no-undeclared-packages': {
    'packages/mdm/src/breaks-by-development-package.ts': `import { test } from 'vitest';
export const x = test;`,
    'packages/mdm/src/breaks-by-luck.ts': `import pg from 'pg';
export const x = pg;`,
  },
  'no-unresolvable-imports': {
    'apps/server/src/breaks.ts': `import { x } from './nowhere.ts';
export const y = x;`,
  },
  'packages-meet-by-name': {
    'apps/server/src/features/orders/breaks.ts': `import { open } from '../../../../../packages/engine/src/index.ts';
export const x = open;`,
    'packages/agent/src/breaks.ts': `import type { contract } from '../../contracts/src/index.ts';
export type X = typeof contract;`,
  },
  'pipeline-knows-no-maker': {
    'apps/server/src/features/pipeline/breaks.ts': `import { mdm } from '@muster/mdm';
export const x = mdm;`,
  },
  'demo-is-a-client': {
    'apps/server/src/demo/breaks.ts': `import { join } from '../bridges/mdm.ts';
export const x = join;`,
  },
  'traces-are-loaded-on-demand': {
    'apps/server/src/breaks.ts': `import { tracer } from './tracing/tracer.ts';
export const x = tracer;`,
    'apps/server/src/tracing/tracer.ts': 'export const tracer = 1;',
    'apps/server/src/tracing/open.ts': `import type { tracer } from './tracer.ts';
export const open = () => import('./tracer.ts') as Promise<{ tracer: typeof tracer }>;`,
  },
  'test-code-stays-in-tests': {
    'apps/server/src/breaks-by-name.ts': `import { openForTests } from '@muster/engine/testing';
export const x = openForTests;`,
    'apps/server/src/breaks-by-path.ts': `import { cluster } from '../../../testing/cluster.ts';
export const x = cluster;`,
    'apps/server/src/breaks-by-test-file.ts': "import './text.unit.test.ts';",
  },
};
