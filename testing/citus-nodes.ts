// Databases on a cluster of Citus, a coordinator and its workers: a database of Citus is one on each of them.

import pg from 'pg';
import type { Making } from './postgres-templates.ts';

/** How databases are made there. */
export const onNodes = (coordinator: string): Making => ({
  isDistributed: true,
  create: (name) => createOnNodes(coordinator, name),
  drop: (name) => dropOnNodes(coordinator, name),
  freeze: (name) => freezeOnNodes(coordinator, name),
  urlOf: (name) => ofDatabase(coordinator, name),
});

/** URLs of the same database on the coordinator, which is first, and on each worker. */
async function nodesOf(coordinator: string): Promise<string[]> {
  const rows = await ask(
    coordinator,
    `select nodename, nodeport from pg_dist_node where noderole = 'primary' and groupid > 0 and isactive order by nodeid`,
  );
  if (rows.length < 2)
    throw new Error('MUSTER_TEST_CITUS_URL must lead to a coordinator that has two workers or more.');
  const workers = rows.map(({ nodename, nodeport }) => {
    const url = new URL(coordinator);
    url.hostname = String(nodename);
    url.port = String(nodeport);
    return url.href;
  });
  return [coordinator, ...workers];
}

/** An empty database with the extension on every node, which know each other. */
async function createOnNodes(coordinator: string, name: string): Promise<void> {
  const [first = '', ...workers] = await nodesOf(coordinator);
  for (const node of [first, ...workers]) {
    await ask(node, `create database ${name}`);
    await ask(ofDatabase(node, name), 'create extension citus');
  }
  const own = ofDatabase(first, name);
  const { hostname, port } = new URL(first);
  await ask(own, `select citus_set_coordinator_host('${hostname}', ${port})`);
  for (const worker of workers) {
    const at = new URL(worker);
    await ask(own, `select citus_add_node('${at.hostname}', ${at.port})`);
  }
}

/** No connection may remain, not even Citus's own: that would prevent copying it. */
async function freezeOnNodes(coordinator: string, name: string): Promise<void> {
  for (const node of await nodesOf(coordinator)) {
    await ask(node, `alter database ${name} with allow_connections false`);
    await ask(
      node,
      `select pg_terminate_backend(pid, 10000) from pg_stat_activity where datname = '${name}'`,
    );
  }
}

/** The copies know each other, like the originals. */
export async function copyOnNodes(coordinator: string, name: string, template: string): Promise<void> {
  await Promise.all(
    (await nodesOf(coordinator)).map((node) => ask(node, `create database ${name} template ${template}`)),
  );
}

export async function dropOnNodes(coordinator: string, name: string): Promise<void> {
  await Promise.all(
    (await nodesOf(coordinator)).map((node) => ask(node, `drop database ${name} with (force)`)),
  );
}

function ofDatabase(node: string, name: string): string {
  const url = new URL(node);
  url.pathname = `/${name}`;
  return url.href;
}

async function ask(connectionString: string, text: string): Promise<Record<string, string>[]> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  const { rows } = await client.query(text).finally(() => client.end());
  return rows;
}
