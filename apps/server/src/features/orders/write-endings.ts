import type { Engine } from '@muster/engine';
import { CHANNEL } from './wire.ts';

/**
 * What an order's action came to is written with its transition, whoever makes it: complete, by which bot, since when and why; one whose
 * action ended otherwise (an operator cancelled it) is a deleted order, which can be restored.
 */
export function writeEndings({ addEffect, schema: s }: Engine): void {
  addEffect({
    name: 'orders',
    channels: [CHANNEL],
    sql(own) {
      const i = own('i');
      return {
        steps: `${i} as materialized (
          select t.tenant_id, t.state = 'succeeded' as complete, t.reason, t.at, o.order_id, l.worker, l.leased_at
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
          update ${s}.orders o set updated_at = i.at,
            completed_at = case when i.complete then i.at end,
            completion_reason = case when i.complete then case when i.reason in ('CALLBACK', 'LEASE_END') then i.reason else 'OPERATOR' end end,
            processing_started_at = case when i.complete then i.leased_at end,
            bot_id = case when i.complete and i.worker ~ '^[0-9a-f-]{36}$' then i.worker::uuid end,
            deleted_at = case when i.complete then o.deleted_at else coalesce(o.deleted_at, i.at) end
          from ${i} i where o.tenant_id = any(array[i.tenant_id]) and o.order_id = i.order_id
        )`,
      };
    },
  });
}
