import { type Duty, dutyRun, type Engine } from '@muster/engine';
import type { Pushes } from '../push/index.ts';

/**
 * A phone that was here is no longer in the ledger of pushes, but work may be left for it: a command it fetched and
 * never answered, refused, let time out, or could not have (paused, the lane was leased by another door, a retry was
 * not due). The end of such an obstacle sends no message. So there is one rule for all: a phone with unfinished work is
 * in the ledger or is watched, and a watched one is put into the ledger as soon as it may have something. A phone with
 * nothing left is no longer watched. Watched phones are looked at in turn, so many a second, whatever else waits.
 */
const EVERY_SECOND = 1_000;
const MOST = 500;
/**
 * The channel of what a phone gets by its contact, as in `heard_on`. Other channels are told of a phone at most every
 * 30 s: waking it earlier would be in vain.
 */
const OWN = 'mdm';
const OTHERS = ['pipeline'];
const TOLD_EVERY = `interval '30 seconds'`;
/**
 * A command that was handed out and not answered within this time may be lost; it is handed out again at the phone's
 * next contact.
 */
const ANSWERED_WITHIN = `interval '30 seconds'`;
/**
 * A command queued after the phone's contact has its own push, or wants none (`nopush`). Clocks of nodes differ by less
 * than this.
 */
const MARGIN = `interval '2 seconds'`;

export const WATCH_PHONES = 'mdm-watch-phones';

export function createWatchPhones({ now, schema: s }: Pick<Engine, 'now' | 'schema'>, pushes: Pushes): Duty {
  const start = { tenantId: 0, udid: '' };
  /** Where it continues; on a distributed database one for each tenant. */
  const places = new Map<number | undefined, typeof start>();
  const channels = [OWN, ...OTHERS].map((channel) => `('${channel}')`).join(', ');
  return {
    name: WATCH_PHONES,
    everyMs: EVERY_SECOND,
    due: `exists (select 1 from ${s}.mdm_devices d where d.watched_at is not null)`,
    whose: `select distinct d.tenant_id from ${s}.mdm_devices d where d.watched_at is not null and $1::timestamptz is not null`,
    async runOnce(client, { tenantId: whose } = {}) {
      const behind = places.get(whose) ?? start;
      const { rows } = await client.query({
        name: 'muster_mdm_watch_phones',
        text: `with looked as materialized (
            select d.tenant_id, d.udid, d.device_id, d.watched_at, d.released_at is null and (w.is_open or m.is_open) as is_open,
              d.released_at is null and (d.call_after is null or d.call_after <= $1::timestamptz) and (w.is_ready or m.is_ready) as is_ready
            from (
              select * from ${s}.mdm_devices d where d.watched_at is not null and (d.tenant_id, d.udid) > ($2::int, $3::text)
              order by d.tenant_id, d.udid limit ${MOST}
            ) d
            cross join lateral (
              select coalesce(bool_or(u.is_open), false) as is_open, coalesce(bool_or(f.hands_out is not null
                and a.created_at <= d.watched_at + ${MARGIN} and (c.channel = '${OWN}' or d.connected_at is null or d.connected_at <= $1::timestamptz - ${TOLD_EVERY})), false) as is_ready
              from (values ${channels}) c(channel)
              cross join lateral (
                select exists (
                  select 1 from ${s}.unfinished_actions u where u.tenant_id = d.tenant_id and u.lane_id = d.lane_id
                    and ${s}.sought_by(u.lane_id) and u.channel = c.channel
                ) as is_open
              ) u
              left join lateral ${s}.lane_front($1, d.tenant_id, d.lane_id, c.channel) f on u.is_open
              left join lateral (
                select a.created_at from ${s}.action_states a where a.tenant_id = d.tenant_id and a.action_id = f.hands_out limit 1
              ) a on true
            ) w
            cross join lateral (
              select count(*) > 0 as is_open,
                coalesce(bool_or(coalesce(m.fetched_at, m.created_at) <= $1::timestamptz - ${ANSWERED_WITHIN}), false) as is_ready
              from ${s}.mdm_commands m where m.tenant_id = d.tenant_id and m.udid = d.udid and m.closed_at is null and ${s}.sought_by(m.seq)
                and (m.expires_at is null or m.expires_at > $1::timestamptz)
            ) m
          ), over as (
            -- one that came again meanwhile is looked at again
            update ${s}.mdm_devices d set watched_at = null from looked k
            where d.tenant_id = any(array[k.tenant_id]) and d.udid = k.udid and d.watched_at = k.watched_at and (k.is_ready or not k.is_open)
          )
          select tenant_id, udid, device_id, is_ready from looked order by tenant_id, udid`,
        values: [now(), behind.tenantId, behind.udid],
      });
      const last = rows.length === MOST ? rows.at(-1) : undefined;
      if (last) places.set(whose, { tenantId: last.tenant_id, udid: last.udid });
      else places.delete(whose);
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
