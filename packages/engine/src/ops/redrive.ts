import { EVENT_TYPES } from '../action.ts';
import { ANSWER } from '../effects.ts';
import { BUSY, type Context } from '../operation.ts';
import { hasKeyOf, laneOf, NOW } from '../sql.ts';
import { type Answer, createNamedChange, lookAtNamed } from './change-named.ts';

/**
 * Returns a dead letter to the end of its class in its lane, with no failures counted and without its clocks, because
 * an operator wants it to run now. The ending is deleted, so a late success and a redrive cannot both have it. The lane
 * is not locked: the redrive may be part of a long transaction, and it only adds to the lane.
 *
 * refused: only failed actions are redriven.
 */
export type RedriveAnswer = Answer<'redriven' | 'refused'>;

export const createRedrive = (context: Context) =>
  createNamedChange(context, {
    name: 'redrive',
    statement: statement(context),
    outcomeOf: (before, isDone) => (isDone ? 'redriven' : before === 'failed' ? BUSY : 'refused'),
  });

/**
 * The generation that the row may carry: read when the transaction has its number. A function does that for a plain server;
 * a distributed database calls none that reads a table, and its steps look one after the other.
 */
const written = (s: string, isDistributed: boolean) =>
  isDistributed
    ? {
        steps: `m as materialized (
    select pg_current_xact_id() as xid
  ), w as materialized (
    select d.*, l.generation from m cross join d cross join lateral ${laneOf(s, 'd')} where m.xid is not null
  ), `,
        from: 'w',
        generation: 'x.generation',
      }
    : { steps: '', from: 'd', generation: `${s}.generation_to_write(x.tenant_id, x.lane_id)` };

function statement({ schema: s, isDistributed }: Context): string {
  const { steps, from, generation } = written(s, isDistributed);
  return `
  with ${lookAtNamed(s, 'a.priority, a.lease_ms, a.supersede_key')}, d as (
    delete from ${s}.endings z using x
    where ${hasKeyOf('z', 'x', 'action_id')} and (z.state = 'failed') is true -- not by the index on states
    returning x.ord, x.tenant_id, x.action_id, x.lane_id, x.channel, x.priority, x.lease_ms, x.supersede_key, x.runner_id, x.reason, z.attempt
  ), ${steps}p as (
    insert into ${s}.pending (tenant_id, action_id, lane_id, generation, channel, priority, seq, attempt, lease_ms, supersede_key)
      select x.tenant_id, x.action_id, x.lane_id, ${generation}, x.channel, x.priority, nextval('${s}.action_seq'), x.attempt, x.lease_ms, x.supersede_key
      from (select * from ${from} d order by d.ord) x
  ), st as (
    -- as in enqueue_actions: the generation that was read may be an old one
    insert into ${s}.stale_lanes (tenant_id, lane_id) select distinct d.tenant_id, d.lane_id from d
      where current_setting('transaction_isolation') in ('repeatable read', 'serializable')
      on conflict do nothing
  ), e as (
    insert into ${s}.events (tenant_id, xid, action_id, lane_id, at, type, attempt, reason)
      select d.tenant_id, ${s}.feed_xid_now(), d.action_id, d.lane_id, ${NOW}, ${EVENT_TYPES.REDRIVEN}, d.attempt, d.reason from d order by d.ord
  ), c as (
    insert into ${s}.count_changes (tenant_id, channel, state, change)
      select d.tenant_id, d.channel, y.state, sum(y.change) from d
      cross join (values ('failed', -1), ('pending', 1)) y(state, change) group by 1, 2, 3
  )
  ${ANSWER}
  select d.ord::int, d.tenant_id, d.lane_id, d.runner_id, null::bigint as stops, d.action_id, d.channel, d.attempt, 'failed' as before, true as is_done,
    ${EVENT_TYPES.REDRIVEN} as type, 'pending' as state, null::text as why, ${NOW} as at from d
  union all
  select x.ord::int, x.tenant_id, x.lane_id, x.runner_id, null, x.action_id, x.channel, x.attempt, x.before, false, null, null, null, null
  from x where x.ord not in (select d.ord from d)`;
}
