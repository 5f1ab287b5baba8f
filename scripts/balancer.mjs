// `npm run balancer`: builds what changed and runs three nodes behind HAProxy under load. Arguments: see docs/testing.md.
// The suite is TypeScript and reuses what the tests use, so Vite loads it, as it does for Vitest.

import path from 'node:path';
import { prepareCheckout, root, runTool } from './install.mjs';

prepareCheckout();
if (runTool('typescript/bin/tsc', ['-b']).status !== 0) process.exit(1);

const { runnerImport } = await import('vite');
const { module } = await runnerImport(path.join(root, 'apps/server/testing/balancer/main.ts'), {
  root,
  logLevel: 'error',
  environments: {
    inline: { resolve: { conditions: ['muster-source'], noExternal: ['@muster/engine', '@muster/mdm'] } },
  },
});
process.exit(await module.main(process.argv.slice(2)));
