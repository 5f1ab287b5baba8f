import { type Duty, dutyRun, type Engine } from '@muster/engine';

/** Deleted orders and bots are forgotten after some days; until then they can be restored. */
const MOST = 1_000;
const EVERY_TEN_MINUTES = 600_000;

export function createPruneDeleted({ now, schema: s }: Engine, days: number): Duty {
  const old = (table: string, id: string) => `
    delete from ${s}.${table} x using (
      select d.tenant_id, d.${id} from ${s}.${table} d where d.deleted_at < $1::timestamptz - make_interval(days => $2)
      order by d.deleted_at limit ${MOST} for update skip locked
    ) d where x.tenant_id = any(array[d.tenant_id]) and x.${id} = d.${id} returning 1`;
  return {
    name: 'prune-orders',
    everyMs: EVERY_TEN_MINUTES,
    async runOnce(client) {
      const { rows } = await client.query({
        name: 'muster_prune_orders',
        text: `with o as (${old('orders', 'order_id')}), b as (${old('bots', 'bot_id')})
          select ((select count(*) from o) + (select count(*) from b))::int as pruned`,
        values: [now(), days],
      });
      return dutyRun(rows[0].pruned, MOST);
    },
  };
}
