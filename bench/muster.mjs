// Muster as the rows use it: opened on either database, filled through its own API.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createEngine, createMigrate, ENGINE_LINE, openEmbedded, openPostgres } from '@muster/engine';
import { payload } from './measure.mjs';

export const TENANT = 1;
/** Lanes and channel of the generic HTTP routes, so that all rows do the same work. */
export const SPACE = 'generic';
export const CHANNEL = 'generic';
export const LEASE_SECONDS = 24 * 3_600;
const LEASE_MS = LEASE_SECONDS * 1_000;

/**
 * @param {string | null} url null for the embedded database, in a folder of its own
 * @param {import('@muster/engine').EngineOptions} [options]
 */
export async function openMuster(url, options = {}) {
  const dataDir = url === null ? mkdtempSync(path.join(tmpdir(), 'muster-bench-')) : null;
  const db = url === null ? await openEmbedded({ dataDir: String(dataDir) }) : openPostgres({ url });
  await createMigrate(db, { schema: 'muster', lines: [ENGINE_LINE] }).up();
  const engine = createEngine(db, {
    onError: (error) => console.error('engine:', error),
    ...options,
  });
  await engine.start();
  return {
    db,
    engine,
    async close() {
      await engine.stop();
      await db.close();
      if (dataDir !== null) rmSync(dataDir, { force: true, recursive: true });
    },
  };
}

/**
 * @typedef {Awaited<ReturnType<typeof openMuster>>} Muster
 */

/** @param {Pick<Muster, 'db'>} muster @param {number} lanes */
export async function makeLanes({ db }, lanes) {
  // in parts: 100,000 at once take longer than a statement of the engine's pool may
  for (let from = 1; from <= lanes; from += 10_000)
    await db.query({
      text: `select count(muster.ensure_lane($1, '${SPACE}', 'lane-' || n)) from generate_series($2::int, $3::int) n`,
      values: [TENANT, from, Math.min(lanes, from + 9_999)],
    });
}

/** @param {Pick<Muster, 'db'>} muster @returns {Promise<string[]>} */
export async function laneIds({ db }) {
  const { rows } = await db.query({
    text: `select lane_id from muster.lane_names where tenant_id = $1 and space = '${SPACE}' order by lane_id`,
    values: [TENANT],
  });
  return rows.map((row) => row.lane_id);
}

/**
 * One action per lane, then the next one per lane: as in real use, not sorted by lane.
 * @param {Pick<Muster, 'db' | 'engine'>} muster @param {number} perLane
 */
export async function fill({ db, engine }, perLane) {
  const lanes = await laneIds({ db });
  for (let round = 0; round < perLane; round += 1)
    for (let at = 0; at < lanes.length; at += 5_000)
      await engine.enqueueMany(db, lanes.slice(at, at + 5_000).map(newAction));
}

/** @param {string} laneId */
export function newAction(laneId) {
  return { tenantId: TENANT, laneId, channel: CHANNEL, kind: 'bench', payload };
}

/** @param {string} laneId */
export function claimOf(laneId) {
  return { tenantId: TENANT, laneId, channel: CHANNEL, worker: `worker ${laneId}`, leaseMs: LEASE_MS };
}

/** The channel, the space and the name of the pool that bots compete for. */
export const POOL = 'orders';
export const VIP_SHARE = 0.3;

/** @param {Pick<Muster, 'db' | 'engine'>} muster */
export const poolOf = ({ db, engine }) => engine.ensurePool(db, TENANT, POOL, POOL);

/** @param {Pick<Muster, 'db' | 'engine'>} muster @param {number} orders */
export async function fillPool({ db, engine }, orders) {
  const laneId = await poolOf({ db, engine });
  for (let at = 0; at < orders; at += 5_000)
    await engine.enqueueMany(
      db,
      Array.from({ length: Math.min(5_000, orders - at) }, (_, n) => ({
        ...{ tenantId: TENANT, laneId, channel: POOL, kind: 'order', payload, unbounded: true },
        priority: /** @type {const} */ ((at + n) % 10 < VIP_SHARE * 10 ? 'urgent' : 'normal'),
      })),
    );
}

/**
 * Every lane hands out its head.
 * @param {Pick<Muster, 'db' | 'engine'>} muster
 */
export async function leaseAll({ db, engine }) {
  const lanes = await laneIds({ db });
  for (let at = 0; at < lanes.length; at += 2_000)
    await Promise.all(lanes.slice(at, at + 2_000).map((lane) => engine.claim(db, claimOf(lane))));
}

/**
 * The actions that are handed out now, by lane.
 * @param {Pick<Muster, 'db'>} muster
 * @returns {Promise<{ laneId: string, actionId: string, attempt: number }[]>}
 */
export async function leases({ db }) {
  const { rows } = await db.query({
    text: `select lane_id as "laneId", action_id as "actionId", attempt from muster.lanes
      where tenant_id = $1 and action_id is not null order by lane_id`,
    values: [TENANT],
  });
  return rows;
}

/** @param {{ laneId: string, actionId: string, attempt: number }} lease */
export function reportOf(lease) {
  return {
    tenantId: TENANT,
    actionId: lease.actionId,
    attempt: lease.attempt,
    leasedIn: lease.laneId,
    status: /** @type {const} */ ('succeeded'),
    worker: `worker ${lease.laneId}`,
    next: { channel: CHANNEL, worker: `worker ${lease.laneId}`, leaseMs: LEASE_MS },
  };
}
