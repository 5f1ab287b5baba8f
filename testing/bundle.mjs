// Bundles each program that suites start as a separate process into one file: a server that loads its eight hundred modules one
// by one is ready after 0.8 s of CPU, from one file after 0.5 s, and a run starts more than a hundred. Files that a module reads
// from its own folder are still read from the folder of the built module.

import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'vite';

/** By the names of the bundles. */
const ENTRIES = {
  muster: 'apps/server/dist/cli/main.js',
  torture: 'apps/server/testing/torture/serve.mjs',
};

/**
 * @param {string} root of the checkout
 * @param {string} folder inside its node_modules, so that packages outside the bundle are found
 */
export async function bundlePrograms(root, folder) {
  await build({
    root,
    configFile: false,
    logLevel: 'error',
    plugins: [
      {
        name: 'where-it-was',
        enforce: 'pre',
        transform: (code, id) =>
          code.includes('import.meta.url')
            ? { code: code.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href)), map: null }
            : null,
      },
    ],
    ssr: { noExternal: true, external: ['@electric-sql/pglite'] },
    build: {
      emptyOutDir: true,
      minify: false,
      outDir: folder,
      rolldownOptions: {
        input: Object.fromEntries(
          Object.entries(ENTRIES).map(([name, file]) => [name, path.join(root, file)]),
        ),
        output: { chunkFileNames: '[name]-[hash].mjs', entryFileNames: '[name].mjs' },
      },
      ssr: true,
      target: 'node20',
    },
  });
}
