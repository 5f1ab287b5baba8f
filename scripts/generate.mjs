// `npm run generate`: writes the files that are made from the code, and that tests compare with it:
// openapi.json as a running server shows it, schema.graphql, catalogue.txt from a fresh embedded database, and the tables in
// docs/operations.md, docs/errors.md and docs/scaling.md. Needs the build.
// `npm run catalogue` writes the catalogue only.

import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { root } from './install.mjs';
import { readCosts, tables } from './plan/print.mjs';

const { openEmbedded } = await import('@muster/engine');
const { readConfig } = await import('../apps/server/dist/config.js');
const { startServer } = await import('../apps/server/dist/main.js');
const { migrations } = await import('../apps/server/dist/database/migrations.js');
const { errorsTable, settingsTable, withTable } = await import('../apps/server/dist/http/reference.js');

const { buildSchema, printSchema } = await import('graphql');
const { SDL } = await import('../apps/server/dist/features/pipeline/graphql/schema.js');

const COLUMNS = 100;

const which = process.argv.slice(2);
const db = await openEmbedded();
const migrate = migrations(db, 'muster');
await migrate.up();
write('apps/server/catalogue.txt', await migrate.catalogue());
if (which.length === 0 || which.includes('openapi')) {
  const token = '-'.repeat(32);
  const config = readConfig({ PORT: '0', MUSTER_LOG_LEVEL: 'error', MUSTER_OPERATOR_TOKEN: token });
  const server = await startServer(config, { db });
  const answer = await fetch(`${server.url}/openapi.json`);
  const description = /** @type {any} */ (await answer.json());
  if (!answer.ok) throw new Error(`The server does not describe itself: ${description.error}`);
  await server.stop();
  write('apps/server/openapi.json', `${lines(description, '')}\n`);
  write('apps/server/schema.graphql', `${printSchema(buildSchema(SDL))}\n`);
  const errors = readFileSync(path.join(root, 'docs/errors.md'), 'utf8');
  write('docs/errors.md', withTable(errors, 'errors', errorsTable(server.errors)));
  const operations = readFileSync(path.join(root, 'docs/operations.md'), 'utf8');
  write('docs/operations.md', withTable(operations, 'settings', settingsTable()));
  let scaling = readFileSync(path.join(root, 'docs/scaling.md'), 'utf8');
  for (const [mark, table] of Object.entries(tables(readCosts()))) scaling = withTable(scaling, mark, table);
  write('docs/scaling.md', scaling);
}
await db.close();

/**
 * JSON with each part on one line if it fits, as in the code: a third of the lines, and diffs stay as readable.
 * @param {unknown} value
 * @param {string} indent
 * @param {number} before columns that are taken already
 * @returns {string}
 */
function lines(value, indent, before = indent.length) {
  const text = spaced(value);
  if (typeof value !== 'object' || value === null || before + text.length <= COLUMNS) return text;
  const inner = `${indent}  `;
  const isList = Array.isArray(value);
  if (isList && value.every((part) => typeof part === 'string')) {
    const rows = ['']; // filled: a list of words says no more on twenty lines
    for (const word of value.map(spaced)) {
      const row = rows.at(-1);
      if (row && inner.length + row.length + word.length + 3 > COLUMNS) rows.push(word);
      else rows[rows.length - 1] = row ? `${row}, ${word}` : word;
    }
    return `[\n${rows.map((row) => inner + row).join(',\n')}\n${indent}]`;
  }
  const parts = Object.entries(value).map(([key, part]) => {
    const name = isList ? '' : `${JSON.stringify(key)}: `;
    return inner + name + lines(part, inner, inner.length + name.length);
  });
  const [open, close] = isList ? '[]' : '{}';
  return `${open}\n${parts.join(',\n')}\n${indent}${close}`;
}

/**
 * @param {unknown} value
 * @returns {string}
 */
function spaced(value) {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(spaced).join(', ')}]`;
  const parts = Object.entries(value).map(([key, part]) => `${JSON.stringify(key)}: ${spaced(part)}`);
  return parts.length > 0 ? `{ ${parts.join(', ')} }` : '{}';
}

/**
 * @param {string} file
 * @param {string} text
 */
function write(file, text) {
  writeFileSync(path.join(root, file), text);
  console.log(`${file} is written.`);
}
