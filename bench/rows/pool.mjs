// Bots that compete for the orders of one pool: claim one, complete it, claim the next. Compared with the usual way: each bot
// takes the first row that is not locked, one by one.

import pg from 'pg';
import { payload, rateOf } from '../measure.mjs';
import { LEASE_SECONDS, openMuster, POOL, poolOf, TENANT, VIP_SHARE } from '../muster.mjs';

const BOTS = [1, 20, 200];
const CONNECTIONS = 20;

/** @param {import('../rows.mjs').Task} task @param {number} bots */
async function musterRate({ url, sizes }, bots) {
  const muster = await openMuster(url);
  const { db, engine } = muster;
  const poolId = await poolOf(muster);
  const lanes = await engine.ensureLanes(
    db,
    TENANT,
    'bots',
    Array.from({ length: bots }, (_, n) => `bot ${n}`),
  );
  for (const laneId of lanes) await engine.joinPool(db, { tenantId: TENANT, laneId }, poolId);
  const rate = await rateOf({
    ...sizes,
    callers: bots,
    async call(bot) {
      const worker = `bot ${bot}`;
      const got = await engine.claimFromPool(db, {
        ...{ tenantId: TENANT, poolId, laneId: String(lanes[bot]), channel: POOL, worker },
        leaseMs: LEASE_SECONDS * 1_000,
      });
      if (got.kind === 'empty') return -1;
      if (got.kind !== 'claimed') throw new Error(`Bot ${bot} got: ${got.kind}.`);
      const { id: actionId, attempt } = got.action;
      await engine.report(db, { tenantId: TENANT, actionId, attempt, worker, status: 'succeeded' });
      return 1;
    },
  });
  await muster.close();
  return rate;
}

/** One transaction, as a door would do it by hand. @param {pg.Pool} pool @param {number} bot @returns {Promise<string | null>} */
async function skipLockedClaim(pool, bot) {
  const client = await pool.connect();
  try {
    await client.query('begin');
    const { rows } = await client.query({
      name: 'first',
      text: `select number, payload from orders where status = 'PENDING' order by vip desc, number limit 1 for update skip locked`,
    });
    if (rows.length > 0)
      await client.query({
        name: 'take',
        text: `update orders set status = 'PROCESSING', bot_id = $2, started_at = now() where number = $1`,
        values: [rows[0].number, bot],
      });
    await client.query('commit');
    return rows[0]?.number ?? null;
  } finally {
    client.release();
  }
}

/** @param {import('../rows.mjs').Task} task @param {number} bots */
async function skipLockedRate({ url, sizes }, bots) {
  const pool = new pg.Pool({ connectionString: url, max: Math.min(bots, CONNECTIONS) });
  await pool.query(`create table orders (number bigint primary key, vip boolean not null, status text not null default 'PENDING', bot_id int,
    started_at timestamptz, completed_at timestamptz, payload jsonb not null)`);
  await pool.query(`create index on orders (vip desc, number) where status = 'PENDING'`);
  await pool.query(`create unique index one_order_per_bot on orders (bot_id) where status = 'PROCESSING'`);
  await pool.query({
    text: 'insert into orders (number, vip, payload) select n, n % 10 < $2::int, $3 from generate_series(1, $1::int) n',
    values: [sizes.poolOrders, VIP_SHARE * 10, JSON.stringify(payload)],
  });
  await pool.query('vacuum analyze orders');
  await pool.query('checkpoint');
  const rate = await rateOf({
    ...sizes,
    callers: bots,
    async call(bot) {
      const number = await skipLockedClaim(pool, bot);
      if (number === null) return -1;
      await pool.query({
        name: 'complete',
        text: `update orders set status = 'COMPLETE', completed_at = now() where number = $1 and status = 'PROCESSING' and bot_id = $2`,
        values: [number, bot],
      });
      return 1;
    },
  });
  await pool.end();
  return rate;
}

const of = (/** @type {number} */ bots) => (bots === 1 ? 'one bot' : `${bots} bots`);

export default BOTS.flatMap((bots) => [
  {
    name: `skip-locked-${bots}`,
    title: `Orders of one pool by for update skip locked, ${of(bots)}`,
    unit: 'claims/s',
    uses: ['postgres'],
    settings: `a transaction for each claim (select … for update skip locked, update), a statement to complete it, one order per bot by a unique index, up to ${CONNECTIONS} connections; no lease, no fence, no history; VIP may be overtaken`,
    measure: (/** @type {import('../rows.mjs').Task} */ task) => skipLockedRate(task, bots),
  },
  {
    name: `pool-claims-${bots}`,
    title: `Orders of one pool by the engine, ${of(bots)}`,
    unit: 'claims/s',
    uses: ['postgres'],
    template: 'pool',
    settings:
      'engine.claimFromPool(), then engine.report(), each bot in a closed loop; no order is overtaken',
    measure: (/** @type {import('../rows.mjs').Task} */ task) => musterRate(task, bots),
  },
]);
