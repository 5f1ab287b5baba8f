import type { Context, Wake } from '../context.ts';
import { NOW } from '../sql.ts';
import { type Duty, dutyRun } from './duty.ts';

/** Moves rows whose time has come to their place among the ready ones, and wakes those who wait for them. */
const MOST = 1_000;

export function createMakeDue(context: Context): Duty {
  const text = statement(context.schema);
  return {
    name: 'make-due',
    everyMs: 1_000,
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

// The lane's version is raised: the row changes its place, and a cancel or a claim may be looking at it.
const statement = (s: string) => `
  with x as materialized (
    select p.tenant_id, p.action_id, p.lane_id, l.ver from ${s}.pending p
    join ${s}.lanes l on l.tenant_id = p.tenant_id and l.lane_id = p.lane_id and l.action_id is distinct from p.action_id
    where p.not_before <= ${NOW} order by p.not_before limit ${MOST}
  ), k as materialized (
    select l.tenant_id, l.lane_id from (select distinct x.tenant_id, x.lane_id, x.ver from x) x
    join ${s}.lanes l on l.tenant_id = x.tenant_id and l.lane_id = x.lane_id and l.ver = x.ver
    order by l.tenant_id, l.lane_id
    for update of l skip locked
  ), u as (
    update ${s}.lanes l set ver = l.ver + 1 from k where l.tenant_id = k.tenant_id and l.lane_id = k.lane_id
    returning l.tenant_id, l.lane_id, l.runner_id
  ), m as (
    update ${s}.pending p set delayed = false, not_before = null
    from x join k on k.tenant_id = x.tenant_id and k.lane_id = x.lane_id
    where p.tenant_id = x.tenant_id and p.action_id = x.action_id
    returning p.tenant_id, p.lane_id
  )
  select u.tenant_id, u.lane_id, u.runner_id from m join u on u.tenant_id = m.tenant_id and u.lane_id = m.lane_id`;
