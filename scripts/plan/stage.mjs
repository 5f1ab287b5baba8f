// What the measurements and the simulated day play on: a throwaway PostgreSQL cluster, the server in this process, the devices in
// another, and a clock that moves only when told to.

import { readFileSync } from 'node:fs';
import path from 'node:path';
import pg from 'pg';
import { cpuOfFamily } from '../../bench/cpu.mjs';
import { makeFleet } from '../../bench/fleet.mjs';
import { payload } from '../../bench/measure.mjs';
import { openServer } from '../../bench/server.mjs';
import { startCluster } from '../../testing/postgres-cluster.mjs';
import { startCrowd } from './crowd.mjs';

const BEGIN = Date.parse('2026-03-01T00:00:00.000Z');
const OFF = 24 * 3_600;

/** Checkpoints come when the caller says so; the log keeps everything until then, so that it can be looked into. */
const SETTINGS = {
  shared_buffers: '1GB',
  wal_compression: 'on',
  checkpoint_timeout: `${OFF}s`,
  max_wal_size: '64GB',
  maintenance_work_mem: '256MB',
  autovacuum_naptime: '1s', // a simulated day takes minutes
};

/**
 * @param {object} on
 * @param {number} on.devices
 * @param {Record<string, string>} [on.settings] of the server
 * @param {boolean} [on.fsync]
 * @param {boolean} [on.autovacuum] off: what it does in seconds depends on the machine
 */
export async function openStage({ devices, settings = {}, fsync = false, autovacuum = true }) {
  const cluster = await startCluster({ fsync, settings: { ...SETTINGS, autovacuum } });
  /** @type {(() => Promise<void> | void)[]} */
  const undo = [() => cluster.stop()];
  const close = async () => {
    for (const step of undo.reverse()) await step();
  };
  try {
    let now = BEGIN;
    const server = await openServer(cluster.url, settings, { clock: () => new Date(now) });
    undo.push(() => server.close());
    // not the server's: what looks must not be counted, and has other limits
    const looking = new pg.Client({ connectionString: cluster.url });
    await looking.connect();
    undo.push(() => looking.end());
    const bytesAtFirst = await sizes(looking);
    await makeFleet(server, devices);
    await looking.query('vacuum analyze');
    const crowd = startCrowd(server.port);
    undo.push(() => crowd.end());
    const postmaster = Number(
      readFileSync(path.join(cluster.dataDir, 'postmaster.pid'), 'utf8').split('\n')[0],
    );
    const stage = {
      ...{ bytesAtFirst, close, crowd, server, url: cluster.url },
      /** @param {string} text @param {unknown[]} [values] @returns {Promise<any[]>} */
      query: async (text, values = []) => (await looking.query({ text, values })).rows,
      sizes: () => sizes(looking),
      time: () => now,
      /** @param {number} ms */
      pass(ms) {
        now += ms;
      },
      /** One round of each of these duties, and again while there is more. @param {(name: string) => boolean} which */
      async keepHouse(which) {
        for (const { name } of server.engine.duties.filter((duty) => which(duty.name)))
          for (let did = 1; did > 0; ) {
            did = await server.engine.runDuty(name);
            if (did < 1_000) break; // a round of any duty that has more to do did as much
          }
      },
      /** The same action for these devices, by a batch as an operator creates it. @param {number[]} ids */
      async assign(ids) {
        const response = await fetch(`http://127.0.0.1:${server.port}/api/batches`, {
          method: 'POST',
          headers: { ...server.headers, 'content-type': 'application/json' },
          body: JSON.stringify({
            targets: { deviceIds: ids.map(String) },
            action: { kind: 'plan', payload },
          }),
        });
        if (response.status !== 201) throw new Error(`No batch: ${await response.text()}`);
        // the server's own housekeeping may be at it too: then ours has nothing to do and is not the end
        for (let left = 1; left > 0; ) {
          await stage.keepHouse((name) => /batches$/.test(name));
          [{ left }] = await stage.query(
            'select count(*)::int as left from muster.targets where action_id is null and error is null',
          );
        }
      },
      /** The processor time so far, in milliseconds, and the end of the log. */
      async reading() {
        const { user, system } = process.cpuUsage();
        const [row] = (await looking.query('select pg_current_wal_flush_lsn()::text as lsn')).rows;
        return { node: (user + system) / 1_000, postgres: cpuOfFamily(postmaster), lsn: String(row.lsn) };
      },
    };
    return stage;
  } catch (error) {
    await close();
    throw error;
  }
}

/**
 * The numbers up to n, in any order.
 * @param {number} n
 */
export function shuffled(n) {
  const ids = Array.from({ length: n }, (_, at) => at + 1);
  for (let at = n - 1; at > 0; at -= 1) {
    const other = Math.floor(Math.random() * (at + 1));
    [ids[at], ids[other]] = [Number(ids[other]), Number(ids[at])];
  }
  return ids;
}

/** @typedef {Awaited<ReturnType<typeof openStage>>} Stage */

/** Bytes of each table (with its toast) and of its indexes, by the name of the table; days of the history count as one. @param {pg.Client} client */
async function sizes(client) {
  const { rows } = await client.query(`
    select regexp_replace(c.relname, '^events_.*', 'events') as name, sum(pg_table_size(c.oid))::float8 as heap,
      sum(pg_indexes_size(c.oid))::float8 as indexes, sum(greatest(c.reltuples, 0))::float8 as rows
    from pg_class c where c.relnamespace = 'muster'::regnamespace and c.relkind = 'r' group by 1 order by 1`);
  return new Map(
    rows.map(({ name, ...more }) => [
      name,
      /** @type {{ heap: number, indexes: number, rows: number }} */ (more),
    ]),
  );
}
