import type { FindProblems } from '../problems/problems.ts';

/** Devices that tasks skip until an operator clears their error. Bounded, and found by an index of their own. */
const MOST = 1_000;

export function createDevicesInError(s: string): FindProblems {
  return async (client, tenantId) => {
    const { rows } = await client.query({
      name: 'muster_devices_in_error',
      text: `select d.device_id, d.name, d.state_reason, z.ended_at from (
          select * from ${s}.devices d where d.tenant_id = $1 and d.state = 'error' and d.deleted_at is null and ${s}.sought_by(d.state)
          order by d.device_id limit $2
        ) d
        left join lateral (
          select ended_at from ${s}.action_states a where a.tenant_id = d.tenant_id and a.action_id = d.state_action limit 1
        ) z on true
        order by z.ended_at nulls last, d.device_id`,
      values: [tenantId, MOST + 1],
    });
    const [first] = rows;
    if (!first) return [];
    return [
      {
        code: 'DEVICES_IN_ERROR',
        count: Math.min(rows.length, MOST),
        ...(rows.length > MOST ? { more: true as const } : {}),
        since: first.ended_at?.toISOString() ?? null,
        text: `${first.name}: ${first.state_reason ?? 'in error'}`,
        example: {
          type: 'device',
          id: first.device_id,
          name: first.name,
          ...(first.state_reason === null ? {} : { error: first.state_reason }),
        },
      },
    ];
  };
}
