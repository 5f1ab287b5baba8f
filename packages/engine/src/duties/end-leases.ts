import { byTenant } from '../by-tenant.ts';
import type { Queryable } from '../db.ts';
import type { Told } from '../effects.ts';
import type { Context } from '../operation.ts';
import type { LaneRef } from '../ops/lanes.ts';
import { NO_NEXT, SETTLED, settle } from '../report/settle.ts';
import { type SettledRow, transitionsOf, wakesOf } from '../report/settled.ts';
import { firstToLock, hasCome, hasKeyOf, NOW, rows } from '../sql.ts';
import { channelsFor, type Duty, dutyRun, laneIds } from './duty.ts';

/**
 * Ends expired leases. It visits lanes whose `check_at` has come, in that order: an expired lease is ended, a running
 * one gets a new `check_at` at its end, and a free lane is not visited again. So it never reads a lane that is not
 * due, however many there are, and the next round continues where this one stopped.
 */
const MOST = 500;

export function createEndLeases(context: Context): Duty {
  const s = context.schema;
  const look = lookStatement(s);
  const text = endAttempts(s, {
    outcome: `'timeout'`,
    lanes: `select l.* from ${rows(2, { tenant_id: 'int', lane_id: 'bigint' })}
      cross join lateral (
        select * from ${s}.lanes l where l.tenant_id = i.tenant_id and l.lane_id = i.lane_id and l.lease_until <= ${NOW} limit 1
      ) l`,
    set: (until) => `lease_until = ${until}, check_at = null`,
  });
  const end = context.effects.carry({ name: 'muster_end_leases', text: () => text, transitions: SETTLED });

  async function over(client: Queryable, except: readonly LaneRef[] | undefined) {
    const { rows: looked } = await client.query({
      name: 'muster_look_at_lanes',
      text: look,
      values: [context.now(), laneIds(except) ?? []],
    });
    const lanes = looked.filter((row) => row.over);
    return {
      looked: looked.length,
      lanes: lanes.map((row): LaneRef => ({ tenantId: row.tenant_id, laneId: row.lane_id })),
    };
  }

  return {
    name: 'end-leases',
    everyMs: 1_000,
    byIndex: true,
    due: hasCome(`${s}.lanes`, 'check_at'),
    whose: `select distinct l.tenant_id from ${s}.lanes l where l.check_at <= ${NOW}`,
    async runOnce(client, on = {}) {
      const { looked, lanes } = on.lanes
        ? { looked: on.lanes.length, lanes: on.lanes }
        : await over(client, on.except);
      if (lanes.length === 0) return { ...dutyRun(0, MOST), more: looked >= MOST };
      const settled: SettledRow[] = [];
      const told: Told[] = [];
      for (const some of byTenant(context, lanes)) {
        const ended = await end(client, channelsFor(on), [
          context.now(),
          some.map((lane) => lane.tenantId),
          laneIds(some),
        ]);
        settled.push(...ended.rows);
        told.push(...ended.told);
      }
      return {
        ...dutyRun(settled.length, MOST, {
          transitions: settled.flatMap(transitionsOf),
          wakes: settled.flatMap(wakesOf),
          told,
        }),
        more: looked >= MOST,
      };
    },
  };
}

/**
 * The first due lanes, locked. One whose lease still runs is put off; its version stays, because no claim depends on
 * it.
 */
const lookStatement = (s: string) => `
  with x as materialized (${firstToLock(
    s,
    `select l.tenant_id, l.lane_id, l.ver, l.lease_until, coalesce(l.lease_until <= ${NOW}, false) as over from ${s}.lanes l
      where l.check_at <= ${NOW} and l.lane_id <> all ($2::bigint[]) order by l.check_at`,
    MOST,
  )}
  ), u as (
    update ${s}.lanes l set check_at = x.lease_until from x
    where not x.over and ${hasKeyOf('l', 'x', 'lane_id')}
  )
  select x.tenant_id, x.lane_id, x.over from x`;

/** Ends the running attempts of some lanes. Also used to take back the leases of an old generation. */
export const endAttempts = (
  s: string,
  on: { outcome: string; lanes: string; set?: (until: string) => string },
) => `
  with h as materialized (
    select row_number() over () as ord, l.tenant_id, l.lane_id, l.ver, l.action_id, l.attempt, ${on.outcome} as outcome, null::text as reason, l.worker,
      null::text as error, null::jsonb as result, null::int as delay_ms, l.cancel_requested, l.leased_at, l.sent_id, l.worker as sent_worker, l.runner_id, l.lease_runner, p.channel,
      p.priority, p.seq, p.failures, p.deferrals, p.deadline, a.max_attempts, a.backoff_ms, a.backoff_max_ms, a.head_of_line,
      a.on_lease_end, a.lane_id as home_lane, ${NO_NEXT}
    from (${on.lanes}) l
    cross join lateral (select * from ${s}.pending p where p.tenant_id = l.tenant_id and p.action_id = l.action_id limit 1) p
    cross join lateral (select * from ${s}.actions a where a.tenant_id = l.tenant_id and a.action_id = l.action_id limit 1) a
  ), ${settle(s, on.set ? { set: on.set } : {})}`;
