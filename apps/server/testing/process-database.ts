import { randomBytes } from 'node:crypto';
import { cpSync } from 'node:fs';
import path from 'node:path';
import pg from 'pg';
import { inject } from 'vitest';
import { copyOnNodes, dropOnNodes } from '../../../testing/citus-nodes.ts';
import { imageName } from '../../../testing/provided.ts';
import { LINES } from '../src/database/migrations.ts';

/**
 * The settings that give a server process its own database, of the kind that the suite runs on: one on the server, or a data folder
 * with an embedded one. Both have the tables already: creating them takes longer than many tests.
 */
export async function processDatabase(dataDir: string) {
  const adminUrl = inject('database') === 'postgres' ? inject('postgresUrl') : undefined;
  if (adminUrl === undefined) {
    const ready = inject('embeddedFolder');
    if (ready !== undefined) cpSync(ready, path.join(dataDir, 'db'), { recursive: true });
    return { environment: { MUSTER_DATA_DIR: dataDir }, drop: async () => {} };
  }
  const name = `muster_process_${randomBytes(6).toString('hex')}`;
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  const template = inject('postgresTemplates')?.[imageName(LINES)];
  const isDistributed = inject('isDistributed') ?? false;
  if (isDistributed) await copyOnNodes(adminUrl, name, template as string);
  else await admin(adminUrl, `create database ${name}${template ? ` template ${template}` : ''}`);
  return {
    environment: { ...throughPooler(url), MUSTER_DATA_DIR: dataDir },
    drop: () =>
      isDistributed ? dropOnNodes(adminUrl, name) : admin(adminUrl, `drop database ${name} with (force)`),
  };
}

/** Through the pooler, if the suites run with one. */
function throughPooler(url: URL): Record<string, string> {
  const pooler = inject('poolerUrl');
  if (pooler === undefined) return { DATABASE_URL: url.href };
  const through = new URL(pooler);
  through.pathname = url.pathname;
  return { DATABASE_URL: through.href, MUSTER_LISTEN_URL: url.href };
}

async function admin(connectionString: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  await client.query(sql).finally(() => client.end());
}
