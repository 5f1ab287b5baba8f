import type { Queryable } from '../db.ts';
import { EngineError } from '../errors.ts';
import type { Context, Run } from '../operation.ts';
import { hasKeyOf } from '../sql.ts';
import { checkText } from '../text.ts';
import type { Wake } from '../transition.ts';
import { checkLane, checkName, checkRunner, checkTenant } from '../values.ts';
import { checkLaneName } from './ensure-lane.ts';

/** Everything an operator or a door does to a lane itself. Each raises its version, because a claim may be under way. */
export interface LaneRef {
  readonly tenantId: number;
  readonly laneId: string;
}

interface LaneRow {
  tenant_id: number;
  lane_id: string;
  runner_id: string | null;
  pool_id: string | null;
  generation: number;
}

/** `forgetLanesOf`: the spaces whose lanes have no owner (duties/forget-lanes.ts). */
export function createLaneOps(context: Context, forgetLanesOf: readonly string[]) {
  const s = context.schema;

  async function change(
    client: Queryable,
    lane: LaneRef,
    set: string,
    ...values: unknown[]
  ): Promise<Run<LaneRow>> {
    return changeIf(client, lane, 'true', set, ...values);
  }

  async function changeIf(
    client: Queryable,
    lane: LaneRef,
    may: string,
    set: string,
    ...values: unknown[]
  ): Promise<Run<LaneRow>> {
    const { rows } = await client.query({
      text: `update ${s}.lanes l set ver = l.ver + 1, closing = false, ${set} where l.tenant_id = $1 and l.lane_id = $2 and (${may})
        returning l.tenant_id, l.lane_id, l.runner_id, l.pool_id, l.generation`,
      values: [checkTenant(lane.tenantId), checkLane(lane.laneId), ...values],
    });
    if (rows.length === 0) throw new EngineError('MUSTER_UNKNOWN_LANE', 'There is no such lane.');
    const row = rows[0] as LaneRow;
    const wakes: Wake[] = [{ tenantId: row.tenant_id, laneId: row.lane_id, runnerId: row.runner_id }];
    // its worker waits there
    if (row.pool_id) wakes.push({ tenantId: row.tenant_id, laneId: row.pool_id });
    return { answers: [row], transitions: [], wakes };
  }

  return {
    /** The lane with this name, made on first use. */
    async ensure(client: Queryable, tenantId: number, space: string, name: string): Promise<string> {
      checkLaneName({ tenantId, space, name });
      const { rows } = await client.query({
        name: 'muster_ensure_lane',
        text: `select ${s}.make_lane($1, $2, $3) as lane_id`,
        values: [tenantId, space, name],
      });
      return rows[0].lane_id;
    },

    /** The lanes with these names in their order, made on first use: one statement for a whole import. */
    async ensureMany(
      client: Queryable,
      tenantId: number,
      space: string,
      names: readonly string[],
    ): Promise<string[]> {
      checkTenant(tenantId);
      checkName(space, 'space');
      for (const name of names) checkName(name, 'name of the lane');
      const { rows } = await client.query({
        name: 'muster_ensure_lanes',
        text: `with known as materialized (
            select i.name, n.lane_id, l.closing from (select distinct i.name from unnest((select $3::text[])) i(name)) i
            left join lateral (
              select n.lane_id from ${s}.lane_names n where n.tenant_id = $1 and n.space = $2 and n.name = i.name limit 1
            ) n on true
            left join lateral (select l.closing from ${s}.lanes l where l.tenant_id = $1 and l.lane_id = n.lane_id limit 1) l on true
          ), made as (
            insert into ${s}.lane_names (tenant_id, space, name, lane_id)
              select $1, $2, x.name, nextval('${s}.lane_seq') from (select name from known where lane_id is null order by name) x
              on conflict (tenant_id, space, name) do nothing returning name, lane_id
          ), l as (
            insert into ${s}.lanes (tenant_id, lane_id) select $1, made.lane_id from made
          ), f as (
            insert into ${s}.lanes_to_forget (tenant_id, lane_id, look_at)
              select $1, made.lane_id, statement_timestamp() + interval '1 day' from made where $4::boolean
          )
          select name, lane_id from made
          union all
          select known.name, known.lane_id from known where not known.closing`,
        values: [tenantId, space, names, forgetLanesOf.includes(space)],
      });
      const ids = new Map(rows.map((row) => [row.name as string, row.lane_id as string]));
      const lanes: string[] = [];
      // A lane that another transaction made meanwhile is in neither half, nor is one that is about to be deleted.
      for (const name of names)
        lanes.push(ids.get(name) ?? (await this.ensure(client, tenantId, space, name)));
      return lanes;
    },

    /** The lane with this name, or null. Never makes one. */
    async find(client: Queryable, tenantId: number, space: string, name: string): Promise<string | null> {
      checkLaneName({ tenantId, space, name });
      const { rows } = await client.query({
        name: 'muster_find_lane',
        text: `select lane_id from ${s}.lane_names where tenant_id = $1 and space = $2 and name = $3`,
        values: [tenantId, space, name],
      });
      return rows[0]?.lane_id ?? null;
    },

    /**
     * Only a lane that was never claimed from and has no owner becomes a pool: its claims or its owner would not notice
     * the change.
     */
    async ensurePool(client: Queryable, tenantId: number, space: string, name: string): Promise<string> {
      const laneId = await this.ensure(client, tenantId, space, name);
      const { rows } = await client.query({
        name: 'muster_is_pool',
        text: `select 1 from ${s}.lanes l where l.tenant_id = $1 and l.lane_id = $2 and l.pool_id = l.lane_id`,
        values: [tenantId, laneId],
      });
      const may =
        'l.action_id is null and l.runner_id is null and l.generation = 1 and (l.pool_id is null or l.pool_id = l.lane_id)';
      if (rows.length === 0) await changeIf(client, { tenantId, laneId }, may, 'pool_id = l.lane_id');
      return laneId;
    },

    async joinPool(client: Queryable, lane: LaneRef, poolId: string): Promise<Run<LaneRow>> {
      const { rows } = await client.query({
        text: `select 1 from ${s}.lanes l where l.tenant_id = $1 and l.lane_id = $2 and l.pool_id = l.lane_id`,
        values: [checkTenant(lane.tenantId), checkLane(poolId)],
      });
      if (rows.length === 0) throw new EngineError('MUSTER_UNKNOWN_LANE', 'There is no such pool.');
      return changeIf(
        client,
        lane,
        'l.pool_id is null or l.pool_id = $3::bigint and l.lane_id <> $3::bigint',
        'pool_id = $3::bigint',
        poolId,
      );
    },

    /** Keeps who paused it first. */
    pause: (client: Queryable, lane: LaneRef & { readonly by?: string }) =>
      change(
        client,
        lane,
        `paused = true, paused_at = case when l.paused then l.paused_at else $3::timestamptz end,
          paused_by = case when l.paused then l.paused_by else $4::text end`,
        context.now(),
        lane.by ?? null,
      ),
    resume: (client: Queryable, lane: LaneRef) =>
      change(client, lane, 'paused = false, paused_at = null, paused_by = null'),
    block: (client: Queryable, lane: LaneRef, reason: string) =>
      change(client, lane, 'blocked = $3', checkText(reason, 'reason')),
    unblock: (client: Queryable, lane: LaneRef) => change(client, lane, 'blocked = null'),

    /** Another runner serves the lane from now on; one that holds a lease there finishes it under the old runner. */
    async assignRunner(client: Queryable, lane: LaneRef, runnerId: string | null): Promise<Run<LaneRow>> {
      if (runnerId !== null) {
        checkRunner(runnerId);
        const { rows } = await client.query({
          text: `select 1 from ${s}.runners where tenant_id = $1 and runner_id = $2`,
          values: [checkTenant(lane.tenantId), runnerId],
        });
        if (rows.length === 0) throw new EngineError('MUSTER_UNKNOWN_RUNNER', 'There is no such runner.');
      }
      return change(
        client,
        lane,
        'runner_id = $3::bigint, moved_from = case when l.lease_runner is distinct from $3::bigint then l.lease_runner end',
        runnerId,
      );
    },

    /** The same for many lanes in one statement. Missing lanes and runners are left out; returns how many. */
    async assignRunners(
      client: Queryable,
      tenantId: number,
      given: readonly { readonly laneId: string; readonly runnerId: string | null }[],
    ): Promise<Run<LaneRow>> {
      const { rows } = await client.query({
        name: 'muster_assign_runners',
        text: `with x as (
            select l.tenant_id, l.lane_id, i.runner_id
            from (select * from unnest((select $2::bigint[]), (select $3::bigint[])) i(lane_id, runner_id) order by i.lane_id) i
            cross join lateral (
              select * from ${s}.lanes l where l.tenant_id = $1::int and l.lane_id = i.lane_id limit 1 for no key update
            ) l
            where i.runner_id is null
              or (select true from ${s}.runners r where r.tenant_id = $1::int and r.runner_id = i.runner_id limit 1)
          )
          update ${s}.lanes l set ver = l.ver + 1, closing = false, runner_id = x.runner_id,
            moved_from = case when l.lease_runner is distinct from x.runner_id then l.lease_runner end
          from x where ${hasKeyOf('l', 'x', 'lane_id')}
          returning l.tenant_id, l.lane_id, l.runner_id, l.pool_id, l.generation`,
        values: [
          checkTenant(tenantId),
          given.map(({ laneId }) => checkLane(laneId)),
          given.map(({ runnerId }) => (runnerId === null ? null : checkRunner(runnerId))),
        ],
      });
      const changed = rows as LaneRow[];
      const wakes = changed.map((row) => ({
        tenantId: row.tenant_id,
        laneId: row.lane_id,
        runnerId: row.runner_id,
      }));
      return { answers: changed, transitions: [], wakes };
    },

    /** Old pending actions and the running one end; housekeeping ends what an older transaction still adds. */
    async raiseGeneration(client: Queryable, lane: LaneRef): Promise<Run<LaneRow>> {
      // an action in a pool has no target yet; a caller that deletes the pool cancels its actions
      const run = await changeIf(
        client,
        lane,
        'l.pool_id is distinct from l.lane_id',
        'generation = l.generation + 1',
      );
      await client.query({
        text: `insert into ${s}.stale_lanes (tenant_id, lane_id) values ($1, $2) on conflict do nothing`,
        values: [lane.tenantId, lane.laneId],
      });
      return run;
    },
  };
}
