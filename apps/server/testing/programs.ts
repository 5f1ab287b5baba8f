import path from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * How suites start programs: `npm test` has made one file of each (testing/bundle.mjs) and says where; otherwise they are
 * run as they are built. Their embedded databases live for seconds, which compiling them twice does not pay for: a start took
 * 2.7 s of CPU, with the quick compiler alone 1.1 s.
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
