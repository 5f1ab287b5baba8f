// The console as files: one small start, a part per page, names that carry their content. The manifest is what
// scripts/console-budget.mjs sums up.

import path from 'node:path';
import tailwind from '@tailwindcss/vite';
import { defineConfig } from 'vite';

export default defineConfig({
  root: import.meta.dirname,
  logLevel: 'warn',
  plugins: [tailwind()],
  oxc: { jsx: { runtime: 'automatic' } },
  build: {
    outDir: path.join(import.meta.dirname, 'dist'),
    emptyOutDir: true,
    manifest: true,
    // a data: font or script would need a hole in the content security policy
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2023',
    rolldownOptions: {
      // "use client" is for frameworks that render on a server
      onLog: (level, log, take) => (log.code === 'MODULE_LEVEL_DIRECTIVE' ? undefined : take(level, log)),
      output: {
        // what changes rarely stays in the browser's cache when a page changes
        codeSplitting: {
          groups: [{ name: 'frame', test: /node_modules[\\/](react|react-dom|scheduler|@tanstack)[\\/]/ }],
        },
      },
    },
  },
  worker: { format: 'es' },
  server: { proxy: { '/api': 'http://127.0.0.1:4000' } },
});
