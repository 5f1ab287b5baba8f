import type { Engine, Queryable } from '@muster/engine';
import type { PcLoad } from './pc-queries.ts';
import { lookOfOne } from './supply.ts';

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
      text: `select i.pc_id, count(x.device_id)::int as devices
        from unnest((select $2::int[]), (select $3::bigint[]), (select $4::int[])) i(tenant_id, pc_id, most)
        cross join lateral (${lookOfOne(s)}) x group by i.pc_id`,
      values: [
        now(),
        free.map(({ tenantId }) => tenantId),
        free.map(({ pcId }) => pcId),
        free.map(({ slots }) => slots),
      ],
    });
    return new Map(rows.map((row) => [row.pc_id, row.devices]));
  };
}
