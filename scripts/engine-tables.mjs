// The doors never name a table of the engine: they call its library, or use the views and functions that it offers. This is the
// other direction of door-words. The tables are read from the engine's migrations, so a new one is on the list at once.

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/**
 * The tables and sequences that the migrations of a folder create.
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
 * Every use of one of these tables in the text files of a folder, as 'file:line: table', and the number of files read. A table
 * follows its schema: `{schema}.lanes` in a migration, `${s}.lanes` or `${engine.schema}.lanes` in a source, 'muster.lanes' in
 * either; `${t}.events` is a column of a row. A daily partition (`events_20260301`) counts as its table.
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
