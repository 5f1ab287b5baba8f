import type { Engine, Queryable } from '@muster/engine';
import { activeTasks, lookOfOne } from './choose-devices.ts';
import type { PcLoad } from './pc-queries.ts';

/**
 * How many devices each of these PCs would get if its runner asked now. It uses the look of the claim itself, so the
 * two cannot differ. Only PCs with a free slot are looked at; each costs as much as a claim.
 */
export function createClaimable({ now, schema: s }: Engine) {
  return async (client: Queryable, pcs: readonly PcLoad[]): Promise<Map<string, number>> => {
    const free = pcs.filter(({ eligible, running, slots }) => running < Math.min(slots, eligible));
    if (free.length === 0) return new Map();
    const { rows } = await client.query({
      name: 'muster_claimable_devices',
      text: `with i as materialized (
          select * from unnest((select $2::int[]), (select $3::bigint[]), (select $4::int[]), (select $5::int[])) i(tenant_id, pc_id, running, free)
        ), ${activeTasks(s, 'i')}
        select i.pc_id, count(x.device_id)::int as devices from i cross join lateral (${lookOfOne(s)}) x group by i.pc_id`,
      values: [
        now(),
        free.map(({ tenantId }) => tenantId),
        free.map(({ pcId }) => pcId),
        free.map(({ running }) => running),
        free.map(({ running, slots }) => slots - running),
      ],
    });
    return new Map(rows.map((row) => [row.pc_id, row.devices]));
  };
}
