import type { Queryable } from './db.ts';
import type { Context } from './operation.ts';
import { rows } from './sql.ts';
import type { Touched, Wake } from './transition.ts';

/** What must be woken after a change of these lanes and actions: the lanes and their runners. */
export function createFindTouched(context: Context) {
  const s = context.schema;
  const text = `
    select l.tenant_id, l.lane_id, l.runner_id, l.moved_from, case when l.cancel_requested then l.lease_runner end as stops
    from ${rows(1, { tenant_id: 'int', lane_id: 'bigint', action_id: 'bigint' })}
    left join lateral (select a.lane_id from ${s}.actions a where a.tenant_id = i.tenant_id and a.action_id = i.action_id limit 1) a on true
    cross join lateral (select * from ${s}.lanes l where l.tenant_id = i.tenant_id and l.lane_id = coalesce(i.lane_id, a.lane_id) limit 1) l`;
  return async (client: Queryable, touched: readonly Touched[]): Promise<Wake[]> => {
    const { rows: found } = await client.query({
      name: 'muster_find_touched',
      text,
      values: [
        touched.map((one) => one.tenantId),
        touched.map((one) => one.laneId ?? null),
        touched.map((one) => one.actionId ?? null),
      ],
    });
    return [
      ...touched.filter((one) => one.laneId === undefined && one.actionId === undefined),
      ...touched
        .filter((one) => one.runnerId)
        .map(({ tenantId, runnerId }) => ({ tenantId, runnerId: runnerId as string })),
      ...found.flatMap((row) => [
        { tenantId: row.tenant_id, laneId: row.lane_id, runnerId: row.runner_id },
        ...(row.moved_from ? [{ tenantId: row.tenant_id, runnerId: row.moved_from }] : []),
        ...(row.stops ? [{ tenantId: row.tenant_id, runnerId: row.stops, stops: true as const }] : []),
      ]),
    ];
  };
}
