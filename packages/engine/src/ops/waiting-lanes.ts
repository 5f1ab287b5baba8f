import type { Queryable } from '../db.ts';
import type { Context } from '../operation.ts';
import { ofLane, soughtBy } from '../sql.ts';
import { checkTenant, checkWhole } from '../values.ts';
import type { ActionView } from './action-view.ts';
import type { ActionPage } from './look-up.ts';

/**
 * Why do lanes wait? Reasons are computed, so they cannot all be counted: the first action of a limited number of lanes
 * is examined. A lane is found by one step through an index, however much waits in it.
 */
export interface WaitingLanes {
  /** What each of the lanes would do next, or does now. */
  readonly heads: readonly ActionView[];
  /** How many lanes have something unfinished, counted up to a limit. */
  readonly of: number;
}

export function createWaitingLanes(
  context: Context,
  list: (
    client: Queryable,
    filter: { tenantId: number; ids: string[] },
    page: { limit: number },
  ) => Promise<ActionPage>,
) {
  const s = context.schema;
  const nextLane = (after: string) => `
    select p.lane_id from ${s}.pending p where p.tenant_id = $1 and p.lane_id > ${after} and ${soughtBy(s, 'p.lane_id')}
    order by p.lane_id limit 1`;
  return async (
    client: Queryable,
    tenantId: number,
    { most = 5_000, countedTo = 20_000 } = {},
  ): Promise<WaitingLanes> => {
    checkTenant(tenantId);
    checkWhole(most, 'most', 1);
    const { rows } = await client.query({
      name: 'muster_waiting_lanes',
      text: `with recursive found as (
          (${nextLane('0')})
          union all
          select n.lane_id from found f cross join lateral (${nextLane('f.lane_id')}) n
        ), lanes as materialized (select lane_id from found limit $3), heads as (
          select h.action_id from (select lane_id from lanes order by lane_id limit $2) x
          cross join lateral (
            select * from ${s}.lanes l where l.tenant_id = $1 and l.lane_id = x.lane_id limit 1
          ) l
          cross join lateral (
            select coalesce(l.action_id, (
              select p.action_id from ${s}.pending p where ${ofLane(s, 'p', 'l')} and p.generation = l.generation
              order by p.delayed, p.priority, p.seq limit 1)) as action_id
          ) h where h.action_id is not null
        )
        select (select count(*)::int from lanes) as count, array(select action_id::text from heads) as ids`,
      values: [tenantId, most, countedTo],
    });
    const { count, ids } = rows[0];
    if (ids.length === 0) return { heads: [], of: count };
    const { actions } = await list(client, { tenantId, ids }, { limit: most });
    return { heads: actions, of: count };
  };
}
