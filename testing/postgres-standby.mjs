// A standby of a throwaway cluster, and what happens when the primary dies: the standby is promoted, and the old primary becomes the
// standby of the new one, from a new copy or by pg_rewind.

import { readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { startCluster } from './postgres-cluster.mjs';

/** @typedef {import('./postgres-cluster.mjs').Cluster} Cluster */

/** What both servers of a pair need, so that either can be the primary, and an old primary can be rewound. */
export const PAIR_SETTINGS = {
  // in the data folder: a killed server leaves no shared memory behind
  dynamic_shared_memory_type: 'mmap',
  max_connections: 100,
  shared_buffers: '64MB',
  wal_keep_size: '128MB',
  wal_log_hints: true,
};

/**
 * @param {Cluster} primary
 * @returns {Promise<Cluster>}
 */
export async function startStandby(primary) {
  const standby = await startCluster({ password: primary.password, settings: PAIR_SETTINGS });
  try {
    await standby.down('immediate');
    await follow(standby, primary, 'copy');
    return standby;
  } catch (error) {
    await standby.stop();
    throw error;
  }
}

/**
 * Starts a server that is down as the standby of another.
 * @param {Cluster} standby
 * @param {Cluster} primary
 * @param {'copy' | 'rewind'} way
 */
export async function follow(standby, primary, way) {
  if (way === 'copy') await copy(standby, primary);
  else await rewind(standby, primary);
  await standby.up();
}

/** @param {Cluster} standby @param {Cluster} primary */
async function copy(standby, primary) {
  // not the folder itself: by it, the next start finds what a killed server left in shared memory
  for (const name of readdirSync(standby.dataDir))
    rmSync(path.join(standby.dataDir, name), { recursive: true });
  await standby.run('pg_basebackup', [
    ...['--pgdata', standby.dataDir, '--dbname', primary.url],
    ...['--write-recovery-conf', '--checkpoint=fast', '--no-sync'],
  ]);
}

/** @param {Cluster} standby @param {Cluster} primary */
async function rewind(standby, primary) {
  // until then the control file of the new primary has its old timeline
  await sql(primary, 'checkpoint');
  await standby.run('pg_rewind', [
    ...['--target-pgdata', standby.dataDir, '--source-server', primary.url],
    ...['--write-recovery-conf', '--no-sync'],
  ]);
}

/**
 * Returns when it accepts writes.
 * @param {Cluster} standby
 */
export async function promote(standby) {
  await sql(standby, 'select pg_promote()');
}

/**
 * Until commits are confirmed by a standby.
 * @param {Cluster} primary
 */
export async function isFollowed(primary) {
  for (;;) {
    const [row] = await sql(
      primary,
      `select count(*)::int as n from pg_stat_replication where sync_state in ('sync', 'quorum')`,
    );
    if (row.n > 0) return;
    await pause(10);
  }
}

/**
 * The standby receives nothing more, and does not know it.
 * @param {Cluster} standby
 */
export async function stopReceiving(standby) {
  await sql(standby, `alter system set primary_conninfo = ''`);
  await sql(standby, 'select pg_reload_conf()');
  for (;;) {
    const [row] = await sql(standby, 'select count(*)::int as n from pg_stat_wal_receiver');
    if (row.n === 0) return;
    await pause(10);
  }
}

/**
 * @param {Cluster} cluster
 * @param {string} text
 */
export async function sql(cluster, text) {
  const client = new pg.Client({ connectionString: cluster.url });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}
