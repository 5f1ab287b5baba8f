import type { Queryable } from '@muster/engine';
import { isId } from '../http/ids.ts';

/** How people call devices: those of these that there are, also deleted ones. Looked up by key, a page at a time. */
export const createNames =
  (s: string) =>
  async (client: Queryable, tenantId: number, deviceIds: readonly string[]): Promise<Map<string, string>> => {
    const ids = [...new Set(deviceIds.filter(isId))];
    if (ids.length === 0) return new Map();
    const { rows } = await client.query({
      name: 'muster_device_names',
      text: `select d.device_id, d.name from unnest((select $2::bigint[])) i(device_id)
        cross join lateral (
          select * from ${s}.devices d where d.tenant_id = $1 and d.device_id = i.device_id limit 1
        ) d`,
      values: [tenantId, ids],
    });
    return new Map(rows.map((row) => [row.device_id, row.name]));
  };
