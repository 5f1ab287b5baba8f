import type { ActionState } from '../action.ts';
import type { Queryable } from '../db.ts';
import type { Context } from '../operation.ts';

/** How many actions are in each state, per channel: a sum over a few rows, however many actions there are. */
export interface Count {
  readonly tenantId: number;
  readonly channel: string;
  readonly state: ActionState;
  readonly count: number;
}

export function createCounts(context: Context) {
  const s = context.schema;
  return {
    async counts(client: Queryable, tenantId?: number): Promise<Count[]> {
      const { rows } = await client.query({
        name: 'muster_counts',
        text: `select tenant_id, channel, state, sum(change)::float8 as count from ${s}.count_changes
          where $1::int is null or tenant_id = $1 group by 1, 2, 3 having sum(change) <> 0 order by 1, 2, 3`,
        values: [tenantId ?? null],
      });
      return rows.map((row) => ({
        tenantId: row.tenant_id,
        channel: row.channel,
        state: row.state,
        count: row.count,
      }));
    },

    /** When the oldest unfinished action of each tenant was created; one look at the end of an index each. */
    async oldest(client: Queryable): Promise<{ tenantId: number; createdAt: Date }[]> {
      const { rows } = await client.query({
        name: 'muster_oldest',
        text: `select t.tenant_id, a.created_at from (select distinct tenant_id from ${s}.count_changes where state in ('pending', 'claimed')) t
          cross join lateral (select p.action_id from ${s}.pending p where p.tenant_id = t.tenant_id order by p.action_id limit 1) p
          join ${s}.actions a on a.tenant_id = t.tenant_id and a.action_id = p.action_id`,
      });
      return rows.map((row) => ({ tenantId: row.tenant_id, createdAt: row.created_at }));
    },
  };
}
