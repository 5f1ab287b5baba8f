// Gives the project `postgres` its server (MUSTER_TEST_DATABASE_URL or a throwaway cluster) and the template databases on it.

import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { holdTransactions } from './hold-transactions.ts';
import { startPgbouncer } from './pgbouncer.mjs';
import { oldestMajor } from './postgres-binaries.mjs';
import { startCluster } from './postgres-cluster.mjs';
import { makeTemplates, onServer, type Templates } from './postgres-templates.ts';
import './provided.ts';

/**
 * Suites that crash or replicate a server start their own, so the log of this one is minimal. Small memory is cheaper to share
 * with hundreds of short sessions.
 */
const CHEAP = { full_page_writes: false, max_wal_senders: 0, shared_buffers: '64MB', wal_level: 'minimal' };

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const given = process.env.MUSTER_TEST_DATABASE_URL;
  if (given) await mustBeNewEnough(given);
  const { url, stop } = given
    ? { url: given, stop: async () => {} }
    : await startCluster({ settings: CHEAP });
  const release = process.env.MUSTER_TEST_HELD === '1' ? holdTransactions(url) : async () => {};
  const pooler = process.env.MUSTER_TEST_POOLER === '1' ? await startPgbouncer(url) : undefined;
  let templates: Templates | undefined;
  async function end(): Promise<void> {
    await pooler?.stop();
    try {
      if (given) await templates?.drop();
    } finally {
      await release().finally(stop);
    }
  }
  try {
    templates = await makeTemplates(onServer(url));
  } catch (error) {
    await end().catch(() => {}); // the first error tells more
    throw error;
  }
  project.provide('postgresUrl', url);
  project.provide('poolerUrl', pooler?.urlOf(url));
  project.provide('postgresTemplates', templates.names);
  return end;
}

async function mustBeNewEnough(connectionString: string): Promise<void> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    const { rows } = await client.query<{ server_version: string }>('show server_version');
    const version = rows[0]?.server_version ?? '';
    if (Number.parseInt(version, 10) < oldestMajor) {
      throw new Error(
        `MUSTER_TEST_DATABASE_URL leads to PostgreSQL ${version}; ${oldestMajor} or newer is required.`,
      );
    }
  } finally {
    await client.end();
  }
}
