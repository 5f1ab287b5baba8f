import { EVENT_TYPES } from '../action.ts';
import type { Context } from '../operation.ts';
import { actionOf, endingOf, hasKeyOf, NOW, soughtBy } from '../sql.ts';
import { type Duty, dutyRun } from './duty.ts';

/**
 * Deletes actions some days after their end: ending, keys, tags, action. Their rows in `events` go with their day's
 * partition.
 */
const MOST = 5_000;

export function createPrune(context: Context, retentionDays: number): Duty {
  const s = context.schema;
  // Everything depends on the deleted ending: if a redrive deleted it first, nothing is pruned.
  const text = `
    with o as materialized (
      select tenant_id, action_id from ${s}.endings where ended_at < ${NOW} - $2 * interval '1 day' order by ended_at limit ${MOST}
    ), d as (
      delete from ${s}.endings z using o where ${hasKeyOf('z', 'o', 'action_id')} and z.ended_at < ${NOW} - $2 * interval '1 day'
      returning z.*
    ), a as (
      delete from ${s}.actions a using d where ${hasKeyOf('a', 'd', 'action_id')}
      returning a.tenant_id, a.action_id, a.channel, a.tags, d.state
    ), tags as materialized (
      select a.tenant_id, a.action_id, t.tag from a cross join lateral unnest(a.tags) t(tag)
    ), t as (
      delete from ${s}.action_tags t using tags o where ${hasKeyOf('t', 'o', 'tag', 'action_id')}
    ), s as (
      -- the SENT that it carried is of an action that is kept longer: late readers of the feed find it here
      insert into ${s}.events (tenant_id, event_id, xid, action_id, lane_id, at, type, attempt, worker)
        select d.tenant_id, d.event_id + 1, d.xid, -d.next_action, d.lane_id, d.ended_at, ${EVENT_TYPES.SENT}, d.next_attempt, coalesce(d.next_worker, d.worker)
        from (select d.tenant_id, d.event_id, d.xid, d.next_action, d.next_action as action_id, d.lane_id, d.ended_at, d.next_attempt, d.next_worker, d.worker from d where d.next_action is not null) d
        cross join lateral ${actionOf(s, 'd')}
        left join lateral ${endingOf(s, 'd')} on true
        where z.ended_at is null or z.ended_at >= ${NOW} - $2 * interval '1 day'
    ), keys as materialized (
      select k.* from d cross join lateral (select * from ${s}.idempotency_keys k where k.tenant_id = d.tenant_id and k.action_id = d.action_id and ${soughtBy(s, 'k.action_id')} limit 1) k
    ), k as (
      delete from ${s}.idempotency_keys k using keys o where ${hasKeyOf('k', 'o', 'key')} and k.action_id = o.action_id
    ), c as (
      insert into ${s}.count_changes (tenant_id, channel, state, change)
        select a.tenant_id, a.channel, a.state, -count(*) from a group by 1, 2, 3
    )
    select count(*)::int as pruned from d`;
  return {
    name: 'prune',
    everyMs: 60_000,
    whose: `select distinct z.tenant_id from ${s}.endings z where z.ended_at < ${NOW} - interval '${retentionDays} days'`,
    byIndex: true,
    async runOnce(client) {
      const { rows } = await client.query({
        name: 'muster_prune',
        text,
        values: [context.now(), retentionDays],
      });
      return dutyRun(rows[0].pruned, MOST);
    },
  };
}
