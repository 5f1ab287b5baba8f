import { CLAIMED_COLUMNS, type ClaimedAction, claimedAction } from '../claimed-action.ts';
import type { Queryable } from '../db.ts';
import type { Context } from '../operation.ts';
import { ofRunner } from '../sql.ts';
import { checkTenant, isId } from '../values.ts';

/**
 * What a runner holds, found by the indexes on its lanes. What a worker holds by name alone could only be found by
 * reading everything.
 */
export interface Holder {
  readonly tenantId: number;
  readonly runnerId: string;
}

export function createHeld(context: Context) {
  const text = statement(context.schema);
  return async (client: Queryable, holder: Holder): Promise<ClaimedAction[]> => {
    checkTenant(holder.tenantId);
    if (!isId(holder.runnerId)) return [];
    const { rows } = await client.query({
      name: 'muster_held_by_runner',
      text,
      values: [holder.tenantId, holder.runnerId],
    });
    return rows.map((row) => claimedAction(row));
  };
}

/** The same for many runners of a tenant, with a limit. */
export function createHeldByAll(context: Context) {
  const text = `${statement(context.schema, 'unnest((select $2::bigint[]))')} limit $3`;
  return async (
    client: Queryable,
    of: { readonly tenantId: number; readonly runnerIds: readonly string[]; readonly most: number },
  ): Promise<(ClaimedAction & { readonly runnerId: string })[]> => {
    checkTenant(of.tenantId);
    const { rows } = await client.query({
      name: 'muster_held_by_runners',
      text,
      values: [of.tenantId, of.runnerIds.filter(isId), of.most],
    });
    return rows.map((row) => ({ ...claimedAction(row), runnerId: row.runner_id }));
  };
}

const statement = (s: string, runners = '(values ($2::bigint))') => `
  select u.tenant_id, u.lane_id, i.runner_id, ${CLAIMED_COLUMNS}
  from (select $1::int as tenant_id, r.runner_id from ${runners} r(runner_id)) i
  cross join lateral (
    select * from ${s}.lanes l where ${ofRunner(s, 'i')} and l.lease_runner = i.runner_id
    union all
    select * from ${s}.lanes l where ${ofRunner(s, 'i', 'moved_from')} and l.lease_runner = i.runner_id and l.runner_id is distinct from i.runner_id
  ) u cross join lateral (select * from ${s}.actions a where a.tenant_id = u.tenant_id and a.action_id = u.action_id limit 1) a
  order by u.leased_at, u.action_id`;
