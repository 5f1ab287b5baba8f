import { byTenant } from '../by-tenant.ts';
import type { Queryable } from '../db.ts';
import type { Context } from '../operation.ts';
import { laneOf, ofLane, pendingOf, soughtBy } from '../sql.ts';
import { checkLane, checkTenant, checkWhole, isId } from '../values.ts';
import { type ActionView, selectUnfinished } from './action-view.ts';
import type { LaneRef } from './lanes.ts';

/**
 * The contents of a lane in delivery order: the running action, those that are ready by class and place, those that
 * wait for their time. Reads only.
 */
export interface LaneLoad {
  readonly laneId: string;
  readonly generation: number;
  /** Unfinished actions that are not held, counted up to the limit. */
  readonly waiting: number;
  /** Since when and by whom; `by` is null if unknown. */
  readonly paused: { readonly at: Date; readonly by: string | null } | null;
  readonly leased: {
    readonly id: string;
    readonly kind: string;
    readonly channel: string;
    readonly attempt: number;
    readonly leasedAt: Date;
    readonly leaseUntil: Date;
    readonly worker: string;
    readonly cancelRequested: boolean;
  } | null;
}

/** Delayed actions come last, by their time. */
const place = (p: string) =>
  `${p}.delayed, case when ${p}.delayed then ${p}.not_before else '-infinity' end, ${p}.priority, ${p}.seq`;

export function createQueueReads(
  context: Context,
  viewsOf: (client: Queryable, rows: unknown[]) => Promise<ActionView[]>,
) {
  const s = context.schema;
  return {
    /** The unfinished actions of a lane, in delivery order. */
    async queue(client: Queryable, lane: LaneRef, limit = 1_000): Promise<ActionView[]> {
      checkTenant(lane.tenantId);
      checkWhole(limit, 'limit', 1);
      const { rows } = await client.query({
        name: 'muster_queue',
        // by the pending rows and not by the lane's actions, whose history may be long; what a worker took from a pool
        // is in its lane
        text: `${selectUnfinished(s)} and a.lane_id = $3 and a.action_id = any(array(
            select x.action_id from (
              select p.action_id from ${s}.pending p where p.tenant_id = $2 and p.lane_id = $3 and ${soughtBy(s, 'p.lane_id')}
              order by ${place('p')} limit $4
            ) x
            union all select l.action_id from ${s}.lanes l where l.tenant_id = $2 and l.lane_id = $3
            union all select w.action_id from ${s}.lanes w where w.tenant_id = $2 and w.pool_id = $3 and ${soughtBy(s, 'w.pool_id')}))
          order by (l.action_id is not distinct from a.action_id) desc, ${place('p')} limit $4`,
        values: [context.now(), lane.tenantId, checkLane(lane.laneId), limit],
      });
      return viewsOf(client, rows);
    },

    /** The position of each unfinished action: 1 is next, 0 is running. Finished ones are missing. */
    async positions(
      client: Queryable,
      tenantId: number,
      ids: readonly string[],
    ): Promise<Map<string, number>> {
      const { rows } = await client.query({
        name: 'muster_positions',
        text: `select p.action_id, case when l.action_id = p.action_id then 0 else (
              select count(*) from ${s}.pending q
              where ${ofLane(s, 'q', 'p')} and q.action_id is distinct from l.action_id
                and (${place('q')}) <= (${place('p')})
            ) end::int as position
          from (select $1::int as tenant_id, i.action_id from unnest((select $2::bigint[])) i(action_id)) i
          cross join lateral ${pendingOf(s, 'i')}
          cross join lateral ${laneOf(s, 'p')}`,
        values: [checkTenant(tenantId), ids.filter(isId)],
      });
      return new Map(rows.map((row) => [row.action_id, row.position]));
    },

    /** How much waits in each lane and what is leased there. Lanes that do not exist are missing. */
    async laneLoads(client: Queryable, lanes: readonly LaneRef[], upTo = 1_000): Promise<LaneLoad[]> {
      checkWhole(upTo, 'upTo', 1);
      const rows = [];
      for (const some of byTenant(context, lanes)) {
        const { rows: found } = await client.query({
          name: 'muster_lane_loads',
          text: `select l.lane_id, l.generation, w.waiting, l.action_id, l.attempt, l.leased_at, l.lease_until, l.worker, l.cancel_requested,
            l.paused_at, l.paused_by, a.kind, a.channel
          from unnest((select $1::int[]), (select $2::bigint[])) i(tenant_id, lane_id)
          cross join lateral (select * from ${s}.lanes l where l.tenant_id = i.tenant_id and l.lane_id = i.lane_id limit 1) l
          cross join lateral (
            select count(*)::int as waiting from (
              select 1 from ${s}.pending p where ${ofLane(s, 'p', 'l')}
                and p.generation = l.generation and p.action_id is distinct from l.action_id limit $3
            ) x
          ) w
          left join lateral (
            select a.kind, a.channel from ${s}.actions a where a.tenant_id = l.tenant_id and a.action_id = l.action_id limit 1
          ) a on true`,
          values: [
            some.map((lane) => checkTenant(lane.tenantId)),
            some.map((lane) => checkLane(lane.laneId)),
            upTo,
          ],
        });
        rows.push(...found);
      }
      return rows.map((row) => ({
        laneId: row.lane_id,
        generation: row.generation,
        waiting: row.waiting,
        paused: row.paused_at ? { at: row.paused_at, by: row.paused_by } : null,
        leased: row.action_id
          ? {
              id: row.action_id,
              kind: row.kind,
              channel: row.channel,
              attempt: row.attempt,
              leasedAt: row.leased_at,
              leaseUntil: row.lease_until,
              worker: row.worker,
              cancelRequested: row.cancel_requested,
            }
          : null,
      }));
    },
  };
}
