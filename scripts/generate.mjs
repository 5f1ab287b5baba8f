// `npm run generate`: writes the files of apps/server that are made from the code and compared with it by tests:
// openapi.json as a running server shows it, catalogue.txt from a fresh embedded database, and the tables in
// docs/operations.md and docs/errors.md. Needs the build.
// `npm run catalogue` writes the catalogue only.

import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { root } from './install.mjs';

const { openEmbedded } = await import('@muster/engine');
const { readConfig } = await import('../apps/server/dist/config.js');
const { startServer } = await import('../apps/server/dist/main.js');
const { migrations } = await import('../apps/server/dist/migrations.js');
const { errorsTable, settingsTable, withTable } = await import('../apps/server/dist/reference.js');

const which = process.argv.slice(2);
const db = await openEmbedded();
const migrate = migrations(db, 'muster');
await migrate.up();
write('apps/server/catalogue.txt', await migrate.catalogue());
if (which.length === 0 || which.includes('openapi')) {
  const token = '-'.repeat(32);
  const config = readConfig({ PORT: '0', MUSTER_LOG_LEVEL: 'error', MUSTER_OPERATOR_TOKEN: token });
  const server = await startServer(config, { db });
  const description = await (await fetch(`${server.url}/openapi.json`)).json();
  await server.stop();
  write('apps/server/openapi.json', `${JSON.stringify(description, null, 2)}\n`);
  const errors = readFileSync(path.join(root, 'docs/errors.md'), 'utf8');
  write('docs/errors.md', withTable(errors, 'errors', errorsTable(server.errors)));
  const operations = readFileSync(path.join(root, 'docs/operations.md'), 'utf8');
  write('docs/operations.md', withTable(operations, 'settings', settingsTable()));
}
await db.close();

/**
 * @param {string} file
 * @param {string} text
 */
function write(file, text) {
  writeFileSync(path.join(root, file), text);
  console.log(`${file} is written.`);
}
