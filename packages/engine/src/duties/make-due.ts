import type { Context } from '../operation.ts';
import { firstToLock, hasCome, hasKeyOf, NOW, raiseLanes } from '../sql.ts';
import type { Wake } from '../transition.ts';
import { type Duty, dutyRun } from './duty.ts';

/** Moves delayed actions whose time has come into the ready order, and wakes their waiters. */
const MOST = 1_000;

export function createMakeDue(context: Context): Duty {
  const text = statement(context.schema);
  return {
    name: 'make-due',
    everyMs: 1_000,
    byIndex: true,
    due: hasCome(`${context.schema}.pending`, 'not_before'),
    whose: `select distinct p.tenant_id from ${context.schema}.pending p where p.not_before <= ${NOW}`,
    async runOnce(client) {
      const { rows } = await client.query({ name: 'muster_make_due', text, values: [context.now()] });
      const wakes: Wake[] = rows.map((row) => ({
        tenantId: row.tenant_id,
        laneId: row.lane_id,
        runnerId: row.runner_id,
      }));
      return dutyRun(rows.length, MOST, { wakes });
    },
  };
}

// The lane's version is raised because the row changes its place, and a cancel or a claim may be looking at it.
const statement = (s: string) => `
  with k as materialized (${firstToLock(
    s,
    `select p.tenant_id, p.action_id, p.lane_id, l.ver, l.runner_id from ${s}.pending p
      cross join lateral (select * from ${s}.lanes l where l.tenant_id = p.tenant_id and l.lane_id = p.lane_id limit 1) l
      where l.action_id is distinct from p.action_id and p.not_before <= ${NOW} order by p.not_before`,
    MOST,
  )}
  ), u as (${raiseLanes(s, 'k')}
  ), m as (
    update ${s}.pending p set delayed = false, not_before = null from k
    where ${hasKeyOf('p', 'k', 'action_id')}
  )
  select k.tenant_id, k.lane_id, k.runner_id from k`;
