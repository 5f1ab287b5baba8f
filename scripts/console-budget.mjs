// The size of the console, from the manifest of the build. There is a limit, compressed, for what a browser loads before it
// shows the overview, for each further page, for the styles and for the font. Part of `npm test`;
// `node scripts/console-budget.mjs` prints the numbers.

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { buildConsole } from './console.mjs';
import { root } from './install.mjs';

const KB = 1024;
export const LIMITS = {
  start: 180 * KB,
  page: 30 * KB,
  styles: 15 * KB,
  font: 50 * KB,
};

/**
 * @typedef {{ file: string, isEntry?: boolean, isDynamicEntry?: boolean, imports?: string[], css?: string[], assets?: string[] }} Part
 * @typedef {Record<string, Part>} Manifest
 */

/**
 * Everything above its limit, and all sizes in bytes.
 * @param {string} dist
 */
export function weigh(dist) {
  /** @type {Manifest} */
  const manifest = JSON.parse(readFileSync(path.join(dist, '.vite/manifest.json'), 'utf8'));
  /** @type {(file: string) => number} */
  const gzipped = (file) => gzipSync(readFileSync(path.join(dist, file)), { level: 9 }).length;
  /** @type {(name: string, seen?: Set<string>) => Set<string>} */
  const filesOf = (name, seen = new Set()) => {
    const part = manifest[name];
    if (!part || seen.has(part.file)) return seen;
    seen.add(part.file);
    for (const inner of part.imports ?? []) filesOf(inner, seen);
    return seen;
  };
  const sum = (/** @type {Iterable<string>} */ files) =>
    [...files].reduce((all, file) => all + gzipped(file), 0);

  const entry = Object.keys(manifest).find((name) => manifest[name]?.isEntry);
  const first = Object.keys(manifest).find((name) => name.endsWith('overview-page.tsx'));
  if (!entry || !first) throw new Error('The manifest has no entry or no overview: nothing can be weighed.');
  const atStart = new Set([...filesOf(entry), ...filesOf(first)]);
  /** @type {Record<string, { bytes: number, limit: number }>} */
  const sizes = { 'scripts at the start': { bytes: sum(atStart), limit: LIMITS.start } };
  for (const [name, part] of Object.entries(manifest)) {
    if (!part.isDynamicEntry || name === first) continue;
    const own = [...filesOf(name)].filter((file) => !atStart.has(file));
    sizes[path.basename(name)] = { bytes: sum(own), limit: LIMITS.page };
  }
  const styles = new Set(Object.values(manifest).flatMap((part) => part.css ?? []));
  sizes.styles = { bytes: sum(styles), limit: LIMITS.styles };
  const fonts = Object.values(manifest)
    .map((part) => part.file)
    .filter((file) => file.endsWith('.woff2'));
  // a font is compressed already
  sizes.font = {
    bytes: [...new Set(fonts)].reduce((all, file) => all + readFileSync(path.join(dist, file)).length, 0),
    limit: LIMITS.font,
  };
  return {
    sizes,
    over: Object.entries(sizes)
      .filter(([, { bytes, limit }]) => bytes > limit)
      .map(([name]) => name),
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  buildConsole();
  const { over, sizes } = weigh(path.join(root, 'apps/console/dist'));
  for (const [name, { bytes, limit }] of Object.entries(sizes)) {
    const mark = over.includes(name) ? 'TOO HEAVY' : 'ok';
    console.log(`${name}: ${(bytes / KB).toFixed(1)} of ${limit / KB} KB ${mark}`);
  }
  process.exitCode = over.length > 0 ? 1 : 0;
}
