// What the database can do without an engine: the way most queues begin, the same in one statement, and the
// set-based statement that the engine grew from.

import pg from 'pg';
import { payload, rateOf } from '../measure.mjs';

const POOL = 20;
const PER_STATEMENT = 500;

/** @param {string} url @param {number} max */
function poolOf(url, max) {
  return new pg.Pool({ connectionString: url, max });
}

/** @param {pg.Pool} pool @param {import('../options.mjs').Sizes} sizes */
async function makeSimpleQueue(pool, sizes) {
  await pool.query(`create table queue_actions (id bigint generated always as identity primary key, tenant_id int not null,
    device_id bigint not null, assigned_at timestamptz not null default clock_timestamp(), payload jsonb not null,
    claimed_at timestamptz)`);
  await pool.query('create index on queue_actions (device_id, assigned_at)');
  await pool.query({
    text: `insert into queue_actions (tenant_id, device_id, payload)
      select 1, d, $3::jsonb from generate_series(1, $2::int) n, generate_series(1, $1::int) d`,
    values: [sizes.lanes, sizes.perLane, JSON.stringify(payload)],
  });
  await pool.query('vacuum analyze queue_actions');
  await pool.query('checkpoint');
}

/** Devices in turn, for ever. @param {number} count */
function turns(count) {
  let at = 0;
  return () => {
    at = (at % count) + 1;
    return at;
  };
}

export default [
  {
    name: 'select-then-delete',
    title: 'select, then delete, per check-in',
    unit: 'claims/s',
    uses: ['postgres'],
    settings: `two prepared statements per check-in, each its own transaction, pool of ${POOL}, ${POOL * 2} callers; no fence, no lease, no history`,
    async measure({ url, sizes }) {
      const pool = poolOf(url, POOL);
      await makeSimpleQueue(pool, sizes);
      const device = turns(sizes.lanes);
      const rate = await rateOf({
        ...sizes,
        callers: POOL * 2,
        async call() {
          const id = device();
          const { rows } = await pool.query({
            name: 'first',
            text: 'select * from queue_actions where device_id = $1 order by assigned_at limit 1',
            values: [id],
          });
          if (rows.length === 0) return -1;
          await pool.query({
            name: 'pop',
            text: 'delete from queue_actions where id = $1 and device_id = $2',
            values: [rows[0].id, id],
          });
          return 1;
        },
      });
      await pool.end();
      return rate;
    },
  },
  {
    name: 'statement-per-claim',
    title: 'one statement per claim',
    unit: 'claims/s',
    uses: ['postgres'],
    settings: `one prepared delete … returning per check-in, pool of ${POOL}, ${POOL * 2} callers; no fence, no lease, no history`,
    async measure({ url, sizes }) {
      const pool = poolOf(url, POOL);
      await makeSimpleQueue(pool, sizes);
      const device = turns(sizes.lanes);
      const rate = await rateOf({
        ...sizes,
        callers: POOL * 2,
        async call() {
          const { rows } = await pool.query({
            name: 'claim',
            text: `delete from queue_actions where id = (select id from queue_actions where device_id = $1
              order by assigned_at limit 1 for update skip locked) returning *`,
            values: [device()],
          });
          return rows.length === 0 ? -1 : 1;
        },
      });
      await pool.end();
      return rate;
    },
  },
  {
    name: 'set-statement',
    title: 'the bare set-based report and claim',
    unit: 'cycles/s',
    uses: ['postgres'],
    settings: `${PER_STATEMENT} lanes per prepared statement, 2 connections; fence, lease and two history rows, no endings, no retries`,
    async measure({ url, sizes }) {
      const pool = poolOf(url, 2);
      await makePrototype(pool, sizes);
      const lanes = Array.from({ length: sizes.lanes }, (_, n) => n + 1);
      const perStatement = Math.min(PER_STATEMENT, Math.floor(sizes.lanes / 10));
      /** @type {Map<number, [action: string, attempt: number]>} */
      const held = new Map();
      let at = 0;
      const rate = await rateOf({
        ...sizes,
        callers: 2,
        async call() {
          if (at + perStatement > lanes.length) at = 0;
          const own = lanes.slice(at, at + perStatement);
          at += perStatement;
          const { rows } = await pool.query({
            name: 'fused',
            text: fusedStatement,
            values: [
              1,
              own,
              own.map((lane) => held.get(lane)?.[0] ?? null),
              own.map((lane) => held.get(lane)?.[1] ?? null),
              new Date(Date.now() + 3_600_000),
              'worker',
              new Date(),
            ],
          });
          if (rows.length === 0) return -1;
          for (const row of rows) held.set(Number(row.lane_id), [row.action_id, row.attempt]);
          return rows.length;
        },
      });
      await pool.end();
      return rate;
    },
  },
];

/** @param {pg.Pool} pool @param {import('../options.mjs').Sizes} sizes */
async function makePrototype(pool, sizes) {
  await pool.query(`
    create sequence event_seq cache 1;
    create table events (tenant_id int not null, event_id bigint not null default nextval('event_seq'), action_id bigint not null,
      lane_id bigint not null, at timestamptz not null, type smallint not null, attempt smallint not null, worker text,
      reason text) partition by range (at);
    create table events_all partition of events for values from (minvalue) to (maxvalue);
    create index on events (tenant_id, action_id);
    create table lanes (tenant_id int not null, lane_id bigint not null, generation int not null default 1, priority smallint,
      seq bigint, action_id bigint, attempt smallint, lease_until timestamptz, worker text, ver bigint not null default 0,
      primary key (tenant_id, lane_id)) with (fillfactor = 50);
    create table actions (tenant_id int not null, action_id bigint not null, lane_id bigint not null, priority smallint not null,
      seq bigint not null, kind text not null, payload jsonb not null, created_at timestamptz not null,
      primary key (tenant_id, action_id));
    create table pending (tenant_id int not null, lane_id bigint not null, priority smallint not null, seq bigint not null,
      action_id bigint not null, attempt smallint not null default 0, not_before timestamptz,
      primary key (tenant_id, lane_id, priority, seq));`);
  const numbers = { values: [sizes.lanes, sizes.perLane] };
  await pool.query({
    text: 'insert into lanes (tenant_id, lane_id) select 1, generate_series(1, $1::int)',
    values: [sizes.lanes],
  });
  await pool.query({
    text: `insert into actions select 1, (n - 1) * $1::int + l, l, 1, (n - 1) * $1::int + l, 'bench', $3::jsonb, now()
      from generate_series(1, $2::int) n, generate_series(1, $1::int) l`,
    values: [...numbers.values, JSON.stringify(payload)],
  });
  await pool.query(
    'insert into pending select tenant_id, lane_id, priority, seq, action_id from actions order by seq',
  );
  await pool.query('vacuum analyze');
  await pool.query('checkpoint');
}

const fusedStatement = `
  with h as materialized (
    select l.lane_id, l.ver, l.priority opriority, l.seq oseq, l.action_id oaction, l.attempt oattempt, n.*
    from unnest($2::bigint[], $3::bigint[], $4::smallint[]) i(lane_id, action_id, attempt)
    join lanes l on l.tenant_id = $1 and l.lane_id = i.lane_id
    left join lateral (
      select p.priority, p.seq, p.action_id, p.attempt from pending p
      where p.tenant_id = $1 and p.lane_id = l.lane_id and (l.seq is null or p.seq <> l.seq)
        and (p.not_before is null or p.not_before <= $7)
      order by p.priority, p.seq limit 1
    ) n on true
    where (l.action_id = i.action_id and l.attempt = i.attempt) or (l.action_id is null and n.seq is not null)
  ), u as (
    update lanes l set priority = h.priority, seq = h.seq, action_id = h.action_id, attempt = h.attempt + 1,
      lease_until = case when h.seq is null then null else $5::timestamptz end, worker = $6, ver = l.ver + 1
    from h where l.tenant_id = $1 and l.lane_id = h.lane_id and l.ver = h.ver
    returning l.lane_id, l.action_id, l.attempt, h.opriority, h.oseq, h.oaction, h.oattempt
  ), d as (
    delete from pending p using u
    where p.tenant_id = $1 and p.lane_id = u.lane_id and p.priority = u.opriority and p.seq = u.oseq
  ), e as (
    insert into events (tenant_id, action_id, lane_id, at, type, attempt, worker)
      select $1, oaction, lane_id, $7::timestamptz, 3, oattempt, $6 from u where oaction is not null
      union all select $1, action_id, lane_id, $7, 2, attempt, $6 from u where action_id is not null
  )
  select u.lane_id, u.oaction, u.action_id, u.attempt, a.kind, a.payload::text
  from u left join actions a on a.tenant_id = $1 and a.action_id = u.action_id`;
