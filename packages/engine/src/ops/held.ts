import { CLAIMED_COLUMNS, type ClaimedAction, claimedAction } from '../claimed-action.ts';
import type { Context } from '../context.ts';
import type { Queryable } from '../db.ts';
import { checkName, checkTenant, isId } from '../values.ts';

/** What somebody holds: a runner (by index), or a worker by name (by reading the lanes, 7 ms per 100,000). */
export type Holder =
  | { readonly tenantId: number; readonly runnerId: string }
  | { readonly tenantId: number; readonly worker: string };

export function createHeld(context: Context) {
  const s = context.schema;
  return async (client: Queryable, holder: Holder): Promise<ClaimedAction[]> => {
    checkTenant(holder.tenantId);
    if ('runnerId' in holder) {
      if (!isId(holder.runnerId)) return [];
    } else checkName(holder.worker, 'worker', 0);
    const { rows } = await client.query(
      'runnerId' in holder
        ? {
            name: 'muster_held_by_runner',
            text: `${select(s)} and u.lease_runner = $2 and (u.runner_id = $2 or u.moved_from = $2) order by u.leased_at, u.action_id`,
            values: [holder.tenantId, holder.runnerId],
          }
        : {
            name: 'muster_held_by_worker',
            text: `${select(s)} and u.worker = $2 order by u.leased_at, u.action_id`,
            values: [holder.tenantId, holder.worker],
          },
    );
    return rows.map((row) => claimedAction(row));
  };
}

const select = (s: string) => `
  select u.tenant_id, u.lane_id, ${CLAIMED_COLUMNS}
  from ${s}.lanes u join ${s}.actions a on a.tenant_id = u.tenant_id and a.action_id = u.action_id
  where u.tenant_id = $1 and u.action_id is not null`;
