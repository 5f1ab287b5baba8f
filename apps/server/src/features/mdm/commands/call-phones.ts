import { type Duty, dutyRun, type Engine } from '@muster/engine';
import type { Pushes } from '../push/index.ts';

/**
 * Calls phones that left although something waits for them: their lane or tag or tenant was paused, somebody else had the lane,
 * a retry was not due. The end of that is nobody's message, so those that left are looked at in turn, so many a second, whatever
 * else waits. Whoever has nothing left is forgotten here; one that never came has its push in the ledger.
 */
const EVERY_SECOND = 1_000;
const MOST = 500;
/** What comes to a phone by its contact, as `heard_on` has it. The others are told of a phone at most every 30 s: earlier it would come for nothing. */
const OWN = 'mdm';
const OTHERS = ['pipeline'];
const TOLD_EVERY = `interval '30 seconds'`;

export const CALL_PHONES = 'mdm-call-phones';

export function createCallPhones({ now, schema: s }: Pick<Engine, 'now' | 'schema'>, pushes: Pushes): Duty {
  const start = { tenantId: 0, udid: '' };
  let behind = start;
  const channels = [OWN, ...OTHERS].map((channel) => `('${channel}')`).join(', ');
  return {
    name: CALL_PHONES,
    everyMs: EVERY_SECOND,
    due: `exists (select 1 from ${s}.mdm_devices d where d.left_at is not null)`,
    async runOnce(client) {
      const { rows } = await client.query({
        name: 'muster_mdm_call_phones',
        text: `with looked as materialized (
            select d.tenant_id, d.udid, d.device_id, d.left_at, d.released_at is null and w.waits as waits,
              d.released_at is null and w.is_ready as is_ready
            from (
              select * from ${s}.mdm_devices d where d.left_at is not null and (d.tenant_id, d.udid) > ($2::int, $3::text)
              order by d.tenant_id, d.udid limit ${MOST}
            ) d
            cross join lateral (
              select coalesce(bool_or(u.waits), false) as waits, coalesce(bool_or(f.hands_out is not null
                and (c.channel = '${OWN}' or d.connected_at is null or d.connected_at <= $1::timestamptz - ${TOLD_EVERY})), false) as is_ready
              from (values ${channels}) c(channel)
              cross join lateral (
                select exists (
                  select 1 from ${s}.unfinished_actions u where u.tenant_id = d.tenant_id and u.lane_id = d.lane_id
                    and ${s}.sought_by(u.lane_id) and u.channel = c.channel and not u.is_claimed
                ) as waits
              ) u
              left join lateral ${s}.lane_front($1, d.tenant_id, d.lane_id, c.channel) f on u.waits
            ) w
          ), over as (
            -- one that left again meanwhile is looked at again
            update ${s}.mdm_devices d set left_at = null from looked k
            where d.tenant_id = any(array[k.tenant_id]) and d.udid = k.udid and d.left_at = k.left_at and (k.is_ready or not k.waits)
          )
          select tenant_id, udid, device_id, is_ready from looked order by tenant_id, udid`,
        values: [now(), behind.tenantId, behind.udid],
      });
      const last = rows.length === MOST ? rows.at(-1) : undefined;
      behind = last ? { tenantId: last.tenant_id, udid: last.udid } : start;
      const ready = rows.filter((row) => row.is_ready);
      for (const tenantId of new Set(ready.map((row) => row.tenant_id as number)))
        await pushes.want(
          client,
          tenantId,
          ready.filter((row) => row.tenant_id === tenantId).map((row) => row.device_id),
        );
      return dutyRun(ready.length, MOST + 1);
    },
  };
}
