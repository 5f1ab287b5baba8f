import type { Find } from '../searching/searching.ts';

/** Devices by id, or by the beginning of their name, externalId or serial number: each by its index. */
const NAMES = ['name', 'external_id', 'serial'] as const;

export function createFindDevices(s: string): Find {
  const by = (column: (typeof NAMES)[number]) => `(
          select d.device_id from ${s}.devices d
          where d.tenant_id = $1 and lower(d.${column}) like $3 and ${s}.sought_by(lower(d.${column})) and d.deleted_at is null
          order by lower(d.${column}) limit $4)`;
  return async (client, { tenantId, id, prefix, most }) => {
    const { rows } = await client.query({
      name: 'muster_find_devices',
      text: `select d.device_id, d.name, d.external_id, d.serial from (
          select distinct device_id from (
            (select $2::bigint as device_id) union all ${NAMES.map(by).join(' union all ')}
          ) x
        ) x
        cross join lateral (
          select * from ${s}.devices d where d.tenant_id = $1 and d.device_id = x.device_id and d.deleted_at is null limit 1
        ) d
        order by (d.device_id = $2) is not true, lower(d.name) limit $4`,
      values: [tenantId, id, prefix, most],
    });
    return rows.map((row) => ({
      type: 'device',
      id: row.device_id,
      name: row.name,
      ...((row.serial ?? row.external_id) ? { detail: row.serial ?? row.external_id } : {}),
    }));
  };
}
