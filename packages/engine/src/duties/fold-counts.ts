import type { Context } from '../operation.ts';
import { NOW } from '../sql.ts';
import { type Duty, dutyRun } from './duty.ts';

/** Adds up the appended counts, so that reading them stays a look at a few rows. */
const MOST = 10_000;

export function createFoldCounts(context: Context): Duty {
  const s = context.schema;
  const text = `
    with d as (
      delete from ${s}.count_changes where ctid = any(array(select ctid from ${s}.count_changes limit ${MOST} for update skip locked))
      returning tenant_id, channel, state, change
    ), i as (
      insert into ${s}.count_changes (tenant_id, channel, state, change)
        select tenant_id, channel, state, sum(change) from d group by 1, 2, 3 having sum(change) <> 0
        returning 1
    )
    select (select count(*) from d)::int as folded, (select count(*) from i)::int as left`;
  return {
    name: 'fold-counts',
    everyMs: 5_000,
    whose: `select distinct c.tenant_id from ${s}.count_changes c where ${NOW} is not null`,
    async runOnce(client) {
      const { rows } = await client.query({ name: 'muster_fold_counts', text });
      return dutyRun(rows[0].folded, MOST);
    },
  };
}
