// Databases that several rows start from: built once per run, then copied file by file.
// Filled through the engine if that is fast enough, else by plain inserts.

import pg from 'pg';
import { assignToFleet, makeFleet } from './fleet.mjs';
import { payload } from './measure.mjs';
import { CHANNEL, fill, fillPool, leaseAll, makeLanes, openMuster, TENANT } from './muster.mjs';

/**
 * @typedef {import('./options.mjs').Sizes} Sizes
 * @typedef {{ from?: string, build: (url: string, sizes: Sizes) => Promise<void> }} Template
 */

/** @type {Record<string, Template>} */
export const templates = {
  lanes: {
    build: (url, sizes) => withMuster(url, (muster) => makeLanes(muster, sizes.lanes)),
  },
  pending: {
    from: 'lanes',
    build: (url, sizes) => withMuster(url, (muster) => fill(muster, sizes.perLane)),
  },
  leased: {
    from: 'pending',
    build: (url) => withMuster(url, leaseAll),
  },
  pool: {
    build: (url, sizes) => withMuster(url, (muster) => fillPool(muster, sizes.poolOrders)),
  },
  devices: {
    build: (url, sizes) => withServer(url, (server) => makeFleet(server, sizes.lanes)),
  },
  fleet: {
    from: 'devices',
    build: (url, sizes) => withServer(url, (server) => assignToFleet(server, sizes.perLane)),
  },
  thousand: {
    build: (url, sizes) =>
      withMuster(url, async (muster) => {
        await makeLanes(muster, 100);
        await insertReady(url, 1_000 + sizes.samples * 2);
      }),
  },
  million: {
    build: (url, sizes) =>
      withMuster(url, async (muster) => {
        await makeLanes(muster, Math.ceil(sizes.pending / 10));
        await insertReady(url, sizes.pending);
      }),
  },
  house: {
    build: (url, sizes) => withMuster(url, () => insertLeased(url, sizes.pending)),
  },
  cottage: {
    build: (url, sizes) => withMuster(url, () => insertLeased(url, sizes.cottage)),
  },
  finished: {
    from: 'thousand',
    build: (url, sizes) => insertFinished(url, sizes.finished),
  },
  delayed: {
    build: (url, sizes) =>
      withMuster(url, async (muster) => {
        await makeLanes(muster, 1);
        await insertReady(url, sizes.samples * 2 + 100);
        await insertDelayed(url, sizes.delayed);
      }),
  },
};

/** @param {string} url @param {(muster: import('./muster.mjs').Muster) => Promise<void>} run */
async function withMuster(url, run) {
  const muster = await openMuster(url);
  await run(muster);
  await muster.close();
  await statement(url, 'vacuum analyze', 'checkpoint');
}

/** With the tables of the server too. @param {string} url @param {(server: { db: import('@muster/engine').Database }) => Promise<void>} run */
async function withServer(url, run) {
  const { openServer } = await import('./server.mjs');
  const server = await openServer(url);
  await run(server);
  await server.close();
  await statement(url, 'vacuum analyze', 'checkpoint');
}

/** @param {string} url @param {...(string | { text: string, values: unknown[] })} statements */
export async function statement(url, ...statements) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    for (const one of statements) await client.query(one);
  } finally {
    await client.end();
  }
}

const actionColumns = `(tenant_id, action_id, lane_id, channel, kind, payload, priority, created_at, max_attempts,
  backoff_ms, backoff_max_ms, head_of_line, on_lease_end)`;
const policy = `3, 2000, 300000, 'skip', 'retry'`;

/**
 * Ready actions, distributed over the lanes in turn.
 * @param {string} url @param {number} count
 */
async function insertReady(url, count) {
  await insertActions(url, count, `false, null`);
}

/**
 * Actions that are not due for a week, in the same lanes.
 * @param {string} url @param {number} count
 */
async function insertDelayed(url, count) {
  await insertActions(url, count, `true, now() + interval '7 days'`);
}

/** @param {string} url @param {number} count @param {string} due delayed, not_before */
async function insertActions(url, count, due) {
  await statement(url, {
    text: `
      with l as materialized (select lane_id, row_number() over (order by lane_id) - 1 as at from muster.lanes),
      n as materialized (
        select nextval('muster.action_seq') as action_id, l.lane_id
        from generate_series(0, $1::int - 1) g join l on l.at = g % (select count(*) from l)
      ), a as (
        insert into muster.actions ${actionColumns}
          select ${TENANT}, action_id, lane_id, '${CHANNEL}', 'bench', $2::json, 1, now(), ${policy} from n
      ), e as (
        insert into muster.events (tenant_id, action_id, lane_id, at, type, attempt)
          select ${TENANT}, action_id, lane_id, now(), 1, 0 from n
      )
      insert into muster.pending (tenant_id, action_id, lane_id, generation, channel, priority, seq, delayed, not_before)
        select ${TENANT}, action_id, lane_id, 1, '${CHANNEL}', 1, action_id, ${due} from n`,
    values: [count, JSON.stringify(payload)],
  });
}

/**
 * Lanes with a lease until tomorrow, each with another action that is due the day after and expires then.
 * @param {string} url @param {number} count
 */
async function insertLeased(url, count) {
  await statement(url, {
    text: `
      with n as materialized (select generate_series(1, $1::int) as n), a as (
        insert into muster.actions ${actionColumns}
          select ${TENANT}, x.id, n, '${CHANNEL}', 'bench', $2::json, 1, now(), ${policy} from n cross join lateral (values (2 * n), (2 * n + 1)) x(id)
      ), p as (
        insert into muster.pending (tenant_id, action_id, lane_id, generation, channel, priority, seq, delayed, not_before, deliver_by)
          select ${TENANT}, x.id, n, 1, '${CHANNEL}', 1, x.id, x.delayed,
            case when x.delayed then now() + interval '2 days' end, case when x.delayed then now() + interval '3 days' end
          from n cross join lateral (values (2 * n, false), (2 * n + 1, true)) x(id, delayed)
      )
      insert into muster.lanes (tenant_id, lane_id, action_id, attempt, channel, leased_at, lease_until, check_at, worker)
        select ${TENANT}, n, 2 * n, 1, '${CHANNEL}', now(), now() + interval '1 day', now() + interval '1 day', 'w' from n`,
    values: [count, JSON.stringify(payload)],
  });
}

/**
 * Actions that ended yesterday, with their history, in existing lanes.
 * @param {string} url @param {number} count
 */
async function insertFinished(url, count) {
  const chunk = 250_000;
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query('set synchronous_commit = off');
  for (let done = 0; done < count; done += chunk) {
    await client.query({
      text: `
        with l as materialized (select lane_id, row_number() over (order by lane_id) - 1 as at from muster.lanes),
        n as materialized (
          select nextval('muster.action_seq') as action_id, l.lane_id, now() - interval '1 day' as at
          from generate_series(0, $1::int - 1) g join l on l.at = g % (select count(*) from l)
        ), a as (
          insert into muster.actions ${actionColumns}
            select ${TENANT}, action_id, lane_id, '${CHANNEL}', 'bench', '{}', 1, at, ${policy} from n
        ), e as (
          insert into muster.events (tenant_id, action_id, lane_id, at, type, attempt)
            select ${TENANT}, action_id, lane_id, at, t.type, t.attempt from n
            cross join (values (1, 0), (2, 1), (6, 1)) t(type, attempt)
        )
        insert into muster.endings (tenant_id, action_id, state, attempt, reason, ended_at)
          select ${TENANT}, action_id, 'succeeded', 1, 'SUCCEEDED', at from n`,
      values: [Math.min(chunk, count - done)],
    });
  }
  await client.end();
  await statement(url, 'vacuum analyze', 'checkpoint');
}
