import { type Database, type Engine, EVENT_TYPES, whileLocked } from '@muster/engine';
import type { Log } from '../../http/logging.ts';
import type { Completion } from './completion.ts';
import type { OrderQueries } from './order-queries.ts';
import { CHANNEL } from './wire.ts';

/**
 * Frees the bot of an order whose action is cancelled, however it was cancelled. The cancel deletes the order, and the
 * bot becomes free soon after: bots are not asked, so none would report that it has stopped. If this server dies in
 * between, the lease ends by itself, and the order stays deleted.
 */
export function freeCancelled(tools: {
  completion: Completion;
  db: Database;
  engine: Engine;
  log: Log;
  queries: OrderQueries;
}): void {
  const { completion, db, engine, log, queries } = tools;
  const s = engine.schema;

  async function free(tenantId: number, actionIds: readonly string[]): Promise<void> {
    const held = await queries.stillProcessed(db, tenantId, actionIds);
    // deleting an order frees its bot in the same transaction, so mostly none is left
    if (held.length > 0) await whileLocked(db, (tx) => completion.giveUp(tx, tenantId, held));
  }

  engine.addEffect({
    name: 'cancelled_orders',
    channels: [CHANNEL],
    sql(own) {
      const c = own('c');
      return {
        steps: `${c} as materialized (
          select t.tenant_id, t.action_id, t.at from ${own('tr')} t
          where t.state = 'claimed' and ${EVENT_TYPES.CANCEL_REQUESTED} = any(t.events)
        ), ${own('u')} as (
          update ${s}.orders o set deleted_at = coalesce(o.deleted_at, c.at), updated_at = greatest(o.updated_at, c.at)
          from ${c} c
          where o.tenant_id = any(array[c.tenant_id]) and o.action_id = c.action_id and ${s}.sought_by(o.action_id)
        )`,
        facts: `select c.action_id, jsonb_build_object('tenantId', c.tenant_id, 'actionId', c.action_id::text) as facts from ${c} c`,
      };
    },
    afterCommit(facts) {
      const cancelled = facts as readonly { actionId: string; tenantId: number }[];
      for (const tenantId of new Set(cancelled.map((one) => one.tenantId))) {
        const ids = cancelled.flatMap((one) => (one.tenantId === tenantId ? one.actionId : []));
        free(tenantId, ids).catch((error) =>
          log.warn({ err: error, ids }, 'The bots of cancelled orders become free when their leases end.'),
        );
      }
    },
  });
}
