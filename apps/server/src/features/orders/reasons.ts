import type { DoorReason, Engine } from '@muster/engine';
import { CHANNEL } from './wire.ts';

/** Why the first order waits: are there bots, and are all of them busy? */
export function giveOrderReasons(engine: Engine): void {
  const { schema: s } = engine;
  engine.giveReasons(CHANNEL, async (client, waiting) => {
    const { rows } = await client.query({
      name: 'muster_bots_of_tenants',
      text: `select i.tenant_id, count(b.bot_id)::int as bots, count(l.one)::int as busy
        from unnest((select $1::int[])) i(tenant_id)
        left join ${s}.bots b on b.tenant_id = i.tenant_id and b.deleted_at is null
        left join lateral (
          select 1 as one from ${s}.lane_leases l where l.tenant_id = b.tenant_id and l.lane_id = b.lane_id limit 1
        ) l on true
        group by 1`,
      values: [[...new Set(waiting.map(({ tenantId }) => tenantId))]],
    });
    const ofTenant = new Map(rows.map((row) => [row.tenant_id as number, reasonOf(row.bots, row.busy)]));
    return new Map(
      waiting.flatMap(({ id, tenantId }) => {
        const reason = ofTenant.get(tenantId);
        return reason ? [[id, reason] as const] : [];
      }),
    );
  });
}

function reasonOf(bots: number, busy: number): DoorReason {
  const of = (code: string, text: string): DoorReason => ({ place: 'offline', code, text });
  const idle = bots - busy;
  if (bots === 0) return of('NO_BOT', 'There are no bots.');
  if (idle <= 0)
    return of('NO_FREE_BOT', bots === 1 ? 'The only bot is busy.' : `All ${bots} bots are busy.`);
  return of(
    'NEXT_CONTACT',
    `${idle} of ${bots} bots ${idle === 1 ? 'is' : 'are'} idle; the next claim gets it.`,
  );
}
