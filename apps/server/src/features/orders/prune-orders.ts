import { type Duty, dutyRun, type Engine } from '@muster/engine';

/**
 * Deleted orders and bots are pruned after some days; until then they can be restored. Complete orders are pruned
 * together with the other finished actions.
 */
const MOST = 1_000;
const EVERY_TEN_MINUTES = 600_000;

export function createPruneOrders(
  { now, schema: s }: Engine,
  days: { readonly deleted: number; readonly complete: number },
): Duty {
  const DELETED = { by: 'deleted_at', days: '$2', only: 'd.deleted_at is not null' };
  const COMPLETE = {
    by: 'completed_at',
    days: '$3',
    only: 'd.completed_at is not null and d.deleted_at is null',
  };
  const old = (table: string, id: string, { by, days, only }: typeof DELETED) => `
    delete from ${s}.${table} x using (
      select d.tenant_id, d.${id} from ${s}.${table} d where ${only} and d.${by} < $1::timestamptz - make_interval(days => ${days})
      order by d.${by} limit ${MOST} for update skip locked
    ) d where x.tenant_id = any(array[d.tenant_id]) and x.${id} = d.${id} returning 1`;
  return {
    name: 'prune-orders',
    everyMs: EVERY_TEN_MINUTES,
    async runOnce(client) {
      const { rows } = await client.query({
        name: 'muster_prune_orders',
        text: `with o as (${old('orders', 'order_id', DELETED)}), b as (${old('bots', 'bot_id', DELETED)}),
            c as (${old('orders', 'order_id', COMPLETE)})
          select ((select count(*) from o) + (select count(*) from b) + (select count(*) from c))::int as pruned`,
        values: [now(), days.deleted, days.complete],
      });
      return dutyRun(rows[0].pruned, MOST);
    },
  };
}
