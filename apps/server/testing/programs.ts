import path from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * How suites start programs: `npm test` has bundled each into one file (testing/bundle.mjs); otherwise they run as built. Their
 * embedded databases live for seconds, which does not repay the optimising compiler: a start took 2.7 s of CPU, with only the quick
 * compiler 1.1 s.
 */
const QUICK_COMPILER = '--liftoff-only';

function program(name: string, asBuilt: string): readonly string[] {
  const bundles = process.env.MUSTER_TEST_PROGRAMS;
  const file = bundles ? path.join(bundles, `${name}.mjs`) : fileURLToPath(new URL(asBuilt, import.meta.url));
  return [QUICK_COMPILER, file];
}

/** The muster command. */
export const MUSTER = program('muster', '../bin/muster.js');
/** The server of the crash suite. */
export const TORTURE = program('torture', './torture/serve.mjs');
