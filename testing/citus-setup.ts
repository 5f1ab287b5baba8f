// Gives the project `citus` its cluster (MUSTER_TEST_CITUS_URL) and the template databases on it.

import type { TestProject } from 'vitest/node';
import { onNodes } from './citus-nodes.ts';
import { makeTemplates } from './postgres-templates.ts';
import './provided.ts';

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const url = process.env.MUSTER_TEST_CITUS_URL;
  if (!url) throw new Error('MUSTER_TEST_CITUS_URL is not set.');
  const templates = await makeTemplates(onNodes(url));
  project.provide('postgresUrl', url);
  project.provide('poolerUrl', undefined);
  project.provide('postgresTemplates', templates.names);
  return () => templates.drop();
}
