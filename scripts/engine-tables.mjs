// The doors never name a table of the engine: they call its library, or read the views and functions that it offers. The other
// direction of door-words. The tables are those that the engine's own migrations make, so a new one is on the list at once.

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/**
 * What the migrations of a folder make: tables and sequences.
 * @param {string} folder
 */
export function tablesOf(folder) {
  const made = readdirSync(folder)
    .filter((file) => file.endsWith('.up.sql'))
    .flatMap((file) => [
      ...readFileSync(path.join(folder, file), 'utf8').matchAll(
        /create (?:table|sequence) (?:if not exists )?\{schema\}\.(\w+)/g,
      ),
    ]);
  return [...new Set(made.map(([, name]) => /** @type {string} */ (name)))].sort();
}

/**
 * Every table of these that the text files of a folder name, as 'file:line: table', and the number of files read. A table is
 * named behind its schema: `{schema}.lanes` in a migration, `${s}.lanes` or `${engine.schema}.lanes` in a source, 'muster.lanes'
 * in either; `${t}.events` is a column of a row. The days of a table that has some (`events_20260301`) count as the table.
 * @param {string} folder
 * @param {readonly string[]} tables
 */
export function findTables(folder, tables) {
  const schema = String.raw`(?:\{(?:[\w.]+\.)?(?:s|schema|MUSTER_SCHEMA)\}|\bmuster)`;
  const named = new RegExp(String.raw`${schema}\."?(${tables.join('|')})(?:_\d{8})?"?(?!\w)`, 'g');
  const files = readdirSync(folder, { encoding: 'utf8', recursive: true }).filter((file) =>
    /\.(ts|mts|js|sql)$/.test(file),
  );
  const found = files.sort().flatMap((file) =>
    readFileSync(path.join(folder, file), 'utf8')
      .split('\n')
      .flatMap((line, index) =>
        [...line.matchAll(named)].map(([, table]) => `${file}:${index + 1}: ${table}`),
      ),
  );
  return { files: files.length, found };
}
