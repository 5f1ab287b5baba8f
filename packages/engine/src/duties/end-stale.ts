import { EVENT_TYPES } from '../action.ts';
import type { Queryable } from '../db.ts';
import { type EndedRow, endedPending, endedTransition, endedWake, endPending } from '../end-pending.ts';
import type { Context } from '../operation.ts';
import { SETTLED } from '../report/settle.ts';
import { type SettledRow, transitionsOf, wakesOf } from '../report/settled.ts';
import { firstToLock, NOW, ofLane } from '../sql.ts';
import { channelsFor, type Duty, dutyRun, laneIds, type OnLanes } from './duty.ts';
import { endAttempts } from './end-leases.ts';

/**
 * Ends everything that belongs to an older generation of its lane: leases, pending actions, and actions added later
 * by a transaction that was open when the generation was raised. A lane stays on the list until no such transaction
 * is left, counting those that ran when the raise was committed, not when it began.
 */
const MOST = 1_000;

export function createEndStale(context: Context): Duty {
  const s = context.schema;
  const revokeText = endAttempts(s, {
    // what it has taken from a pool is not its own and goes home
    outcome: `case when a.lane_id = l.lane_id then 'revoked' else 'released' end`,
    lanes: firstToLock(
      s,
      `select l.* from ${staleLanes(s)} l where l.action_id is not null and (
        select p.generation from ${s}.pending p where p.tenant_id = l.tenant_id and p.action_id = l.action_id limit 1) < l.generation`,
      MOST,
    ),
  });
  const revoke = context.effects.carry({
    name: 'muster_revoke',
    text: () => revokeText,
    transitions: SETTLED,
  });
  const end = context.effects.carry({
    name: 'muster_end_stale',
    text: () => endStatement(s),
    transitions: endedPending(),
  });
  // A transaction that read the old generation had its number before reading, so it is smaller than any number taken
  // after the raise was seen. That number must be taken now: a transaction that already has one would have it too
  // early. Two leaders never wait for each other: each skips what the other has locked.
  const see = `
    with fresh as materialized (select 1 where pg_current_xact_id_if_assigned() is null),
      mine as materialized (select st.ctid as at from fresh cross join ${s}.stale_lanes st where st.safe_from is null for update of st skip locked)
    update ${s}.stale_lanes st set safe_from = pg_current_xact_id() from mine where st.ctid = mine.at`;
  const forget = `
    delete from ${s}.stale_lanes where ctid = any (array(
      select st.ctid from ${s}.stale_lanes st where st.safe_from <= pg_snapshot_xmin(pg_current_snapshot())
        and (select 1 from ${s}.pending p where ${ofLane(s, 'p', 'st')} and p.generation < (
          select l.generation from ${s}.lanes l where l.tenant_id = st.tenant_id and l.lane_id = st.lane_id) limit 1) is null
      for update of st skip locked))`;
  return {
    name: 'end-stale',
    everyMs: 1_000,
    due: `exists (select 1 from ${s}.stale_lanes)`,
    whose: `select distinct t.tenant_id from ${s}.stale_lanes t where ${NOW} is not null`,
    // with `lanes` it may run in a caller's transaction, which would keep the entries of others locked
    async runOnce(client: Queryable, on: OnLanes = {}) {
      const { lanes, except } = on;
      const values = [context.now(), laneIds(lanes), laneIds(except) ?? []];
      const { rows: any } = await client.query({
        name: 'muster_stale_lanes',
        text: `select 1 from ${s}.stale_lanes limit 1`,
      });
      if (any.length === 0) return dutyRun(0, MOST);
      if (!lanes) await client.query({ name: 'muster_see_stale', text: see });
      const revoked = await revoke(client, channelsFor(on), values);
      const settled = revoked.rows as SettledRow[];
      const stale = await end(client, channelsFor(on), values);
      const ended = stale.rows as EndedRow[];
      if (!lanes) await client.query({ name: 'muster_forget_stale', text: forget });
      return dutyRun(settled.length + ended.length, MOST, {
        transitions: [...settled.flatMap(transitionsOf), ...ended.map((row) => endedTransition(row))],
        wakes: [...settled.flatMap(wakesOf), ...ended.map(endedWake)],
        told: [...revoked.told, ...stale.told],
      });
    },
  };
}

/** The lanes on the list: those in `$2` if given, none in `$3`. */
const staleLanes = (s: string) => `(
      select l.* from (
        select distinct tenant_id, lane_id from ${s}.stale_lanes where ($2::bigint[] is null or lane_id = any ($2)) and lane_id <> all ($3::bigint[])
      ) st
      cross join lateral (select * from ${s}.lanes l where l.tenant_id = st.tenant_id and l.lane_id = st.lane_id limit 1) l
    )`;

const endStatement = (s: string) => `
  with x as materialized (
    select row_number() over () as ord, y.* from (${firstToLock(
      s,
      `select p.tenant_id, p.lane_id, l.ver, l.runner_id, p.action_id, p.attempt, p.channel,
        'cancelled' as state, ${EVENT_TYPES.CANCELLED} as type, 'GENERATION' as why, 'GENERATION' as note, null::text as worker, null::jsonb as result
      from ${staleLanes(s)} l
      cross join lateral (
        select * from ${s}.pending p where ${ofLane(s, 'p', 'l')} and p.generation < l.generation and p.action_id is distinct from l.action_id offset 0
      ) p`,
      MOST,
    )}) y
  ), ${endPending(s)}`;
