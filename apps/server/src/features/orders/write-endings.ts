import type { Engine } from '@muster/engine';
import { CHANNEL } from './wire.ts';

/**
 * Writes the outcome of an order's action in the same statement as its transition, whatever made it: complete, by which
 * bot, since when and why. An order whose action ended otherwise (an operator cancelled it) is deleted, and can be
 * restored.
 */
export function writeEndings({ addEffect, schema: s }: Engine): void {
  addEffect({
    name: 'orders',
    channels: [CHANNEL],
    sql(own) {
      const i = own('i');
      return {
        steps: `${i} as materialized (
          select t.tenant_id, t.state = 'succeeded' as complete, t.reason, t.at, t.attempt, o.order_id, l.leased_at,
            case when l.worker ~ '^[0-9a-f-]{36}$' then l.worker::uuid end as bot_id
          from ${own('tr')} t
          cross join lateral (
            select o.order_id from ${s}.orders o where o.tenant_id = t.tenant_id and o.action_id = t.action_id and ${s}.sought_by(o.action_id) limit 1
          ) o
          left join lateral (
            select l.worker, l.leased_at from ${s}.lane_leases l
            where l.tenant_id = t.tenant_id and l.lane_id = t.lane_id and l.action_id = t.action_id limit 1
          ) l on true
          where t.state not in ('pending', 'claimed')
        ), ${own('u')} as (
          update ${s}.orders o set updated_at = greatest(o.updated_at, i.at),
            completed_at = case when i.complete then i.at end,
            completion_reason = case when i.complete then case when i.reason in ('CALLBACK', 'LEASE_END') then i.reason else 'OPERATOR' end end,
            processing_started_at = case when i.complete then i.leased_at end,
            bot_id = case when i.complete then i.bot_id end,
            former_attempts = o.former_attempts + case when i.complete then 0 else i.attempt end,
            deleted_at = case when i.complete then o.deleted_at else coalesce(o.deleted_at, i.at) end
          from ${i} i where o.tenant_id = any(array[i.tenant_id]) and o.order_id = i.order_id
        ), ${own('f')} as materialized (
          -- a transaction that changes the bot holds its row and waits for its lane, which we hold: it writes the time
          -- itself
          select b.tenant_id, b.bot_id, i.at from ${i} i
          join ${s}.bots b on b.tenant_id = any(array[i.tenant_id]) and b.bot_id = i.bot_id
          order by 1, 2 for no key update of b skip locked
        ), ${own('b')} as (
          update ${s}.bots b set updated_at = greatest(b.updated_at, f.at)
          from ${own('f')} f where b.tenant_id = any(array[f.tenant_id]) and b.bot_id = f.bot_id
        )`,
      };
    },
  });
}
