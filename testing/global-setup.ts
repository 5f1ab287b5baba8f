// Gives the project `postgres` its server: the one in MUSTER_TEST_DATABASE_URL, or a throwaway cluster.

import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { oldestMajor } from './postgres-binaries.mjs';
import { startCluster } from './postgres-cluster.mjs';
import './provided.ts';

export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const given = process.env.MUSTER_TEST_DATABASE_URL;
  if (given) {
    await mustBeNewEnough(given);
    project.provide('postgresUrl', given);
    return undefined;
  }
  const cluster = await startCluster();
  project.provide('postgresUrl', cluster.url);
  return () => cluster.stop();
}

async function mustBeNewEnough(connectionString: string): Promise<void> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    const { rows } = await client.query<{ server_version: string }>('show server_version');
    const version = rows[0]?.server_version ?? '';
    if (Number.parseInt(version, 10) < oldestMajor) {
      throw new Error(
        `MUSTER_TEST_DATABASE_URL leads to PostgreSQL ${version}; ${oldestMajor} or newer is needed.`,
      );
    }
  } finally {
    await client.end();
  }
}
