import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import pg from 'pg';
import { inject } from 'vitest';
import { copyOnNodes, dropOnNodes } from '../../../testing/citus-nodes.ts';
import { imageName } from '../../../testing/provided.ts';
import {
  createMigrate,
  type Database,
  ENGINE_LINE,
  type MigrationLine,
  openEmbedded,
  openPostgres,
} from '../src/index.ts';

/**
 * A migrated database for one test file: in memory on PGlite, or made from a template on the server. `url` only exists
 * on a server, for clients of the test's own.
 */
export interface TestDatabase {
  readonly db: Database;
  readonly url: string | null;
  readonly kind: 'pglite' | 'postgres';
  drop(): Promise<void>;
}

/** No call runs into its deadline in a test that is not about that, however slow the machine is. */
const DEADLINE_MS = 120_000;

export async function testDatabase(
  options: { schema?: string; lines?: MigrationLine[]; migrated?: boolean } = {},
): Promise<TestDatabase> {
  const { schema = 'muster', lines = [ENGINE_LINE], migrated = true } = options;
  const kind = inject('database');
  const wanted = migrated && schema === 'muster' ? imageName(lines) : imageName([]);
  const ready = inject(kind === 'pglite' ? 'embeddedImages' : 'postgresTemplates')?.[wanted];
  const empty = inject('embeddedImages')?.[imageName([])];
  const opened = kind === 'pglite' ? await embedded(ready ?? empty) : await onServer(ready);
  const isReady = ready !== undefined && wanted !== imageName([]);
  if (migrated && !isReady) await createMigrate(opened.db, { schema, lines }).up();
  return { ...opened, kind };
}

/** Shared by the suites of a process, and so is its compiled code. */
let compiled: Promise<object> | undefined;
/** Node has it; its types are the browser's, which are not available here. */
declare const WebAssembly: { compile(bytes: Uint8Array): Promise<object> };
async function compile(): Promise<object> {
  const wasm = new URL('pglite.wasm', import.meta.resolve('@electric-sql/pglite'));
  return WebAssembly.compile(await readFile(wasm));
}

async function embedded(image: string | undefined) {
  compiled ??= compile();
  const db = await openEmbedded({
    compiled: await compiled,
    deadlineMs: DEADLINE_MS,
    ...(image === undefined ? {} : { image }),
  });
  return { db, url: null, drop: () => db.close() };
}

async function onServer(template: string | undefined) {
  const adminUrl = inject('postgresUrl');
  if (adminUrl === undefined) throw new Error('This project has no PostgreSQL server.');
  const name = `muster_test_${randomBytes(6).toString('hex')}`;
  const isDistributed = inject('isDistributed') ?? false;
  if (isDistributed)
    await copyOnNodes(adminUrl, name, template ?? (inject('postgresTemplates')?.[imageName([])] as string));
  else await admin(adminUrl, `create database ${name}${template ? ` template ${template}` : ''}`);
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  const db = openPostgres({ ...throughPooler(url), isDistributed, deadlineMs: DEADLINE_MS });
  return {
    db,
    url: url.href,
    async drop() {
      await db.close();
      if (isDistributed) await dropOnNodes(adminUrl, name);
      else await admin(adminUrl, `drop database ${name} with (force)`);
    },
  };
}

/** Through the pooler, if the suites run with one; only the listener goes to the server itself. */
function throughPooler(url: URL) {
  const pooler = inject('poolerUrl');
  if (pooler === undefined) return { url: url.href };
  const through = new URL(pooler);
  through.pathname = url.pathname;
  return { url: through.href, listen: { url: url.href } };
}

async function admin(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(sql).finally(() => client.end());
}
