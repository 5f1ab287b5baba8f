import type { Effect, EffectSql, Engine } from '@muster/engine';
import { toExpiry, toProjection, typeOf } from './milestone-types.ts';

/**
 * Writes a milestone for each transition of a device's actions, in the same statement, with the device's expiry and its
 * projection. It is an effect, so nothing that ends an action can skip it: no report, no housekeeping, no cancel.
 *
 * Nearly all transitions move no expiry. Devices whose expiry moves are locked first and read after that, by a
 * function: so two concurrent transactions cannot both write the state before the other.
 */

/** What a hand-out found out in passing, for the answer to its receiver. */
export interface HandOutFacts {
  readonly source: string;
  readonly milestoneId: string;
  /** How many wait behind it, up to PENDING_UP_TO. */
  readonly pending: number;
}

export const PENDING_UP_TO = 100;

/** For a channel whose actions are assigned through the fleet, with their creator and days. */
export function addMilestones({ addEffect, schema }: Engine, channel: string): void {
  const effect: Effect = {
    name: `milestones_${channel}`,
    channels: [channel],
    sql: (own) => milestones(schema, own),
    // fire and forget: done when handed out, if the action or its device says so
    endsOnDelivery: (row) => `coalesce(
      (select b.ack from ${schema}.assignments b where b.tenant_id = ${row}.tenant_id and b.action_id = ${row}.action_id limit 1),
      (select d.ack from (${deviceOf(schema, row)}) d)) = 'onDelivery'`,
  };
  addEffect(effect);
}

/** For a channel of a door that creates its actions itself: they move no expiry, and all have the same source. */
export function addStepMilestones({ addEffect, schema: s }: Engine, channel: string, source: string): void {
  addEffect({
    name: `milestones_${channel}`,
    channels: [channel],
    sql: (own) => ({
      steps: `${own('steps')} as (
    insert into ${s}.milestones (${COLUMNS})
      select t.tenant_id, d.device_id, t.type, t.action_id, '${source}', null, t.at, 0, d.expires_at,
        case when d.expires_at is not null then d.expires_at + ${days(unfinishedDays(s, 'd'))} end
      from (select t.*, ${typeOf('t')} as type from ${own('tr')} t) t
      cross join lateral (${deviceOf(s, 't')}) d
      where t.type is not null order by t.n
  )`,
    }),
  });
}

/** The days that unfinished actions of device `d` would add. */
export const unfinishedDays = (s: string, d: string) => `(
      select coalesce(sum(b.more_days), 0)::int as days from ${s}.assignments b
      cross join lateral (select 1 from ${s}.unfinished_actions u where u.tenant_id = b.tenant_id and u.action_id = b.action_id limit 1) u
      where b.tenant_id = ${d}.tenant_id and b.device_id = ${d}.device_id and ${s}.sought_by(b.device_id) and b.more_days <> 0)`;

/** The device whose lane row `of` names. */
const deviceOf = (s: string, of: string) =>
  `select * from ${s}.devices d where d.tenant_id = ${of}.tenant_id and d.lane_id = ${of}.lane_id and ${s}.sought_by(d.lane_id) limit 1`;

/** A day of an expiry has 24 hours, in every time zone and season. */
export const days = (n: string) => `(${n}) * interval '24 hours'`;

const COLUMNS =
  'tenant_id, device_id, type, action_id, source, by, at, more_days, expires_at, projected_expires_at';

/**
 * `plain` are the devices whose expiry does not move in this statement. For the others (`moving`) each row gets the
 * expiry as it was after that row, counted back from the end; what the statement itself ends or reopens is not yet
 * visible in the tables, so its last transition tells. `last` detects a success after a failure: its days had been
 * taken back and are added to both.
 */
function milestones(s: string, own: (name: string) => string): EffectSql {
  const [d, i, x, j] = [own('d'), own('i'), own('x'), own('j')];
  return {
    steps: `${d} as materialized (
    select t.n, t.tenant_id, t.lane_id, t.action_id, t.channel, t.at, t.type, t.state, d.device_id, d.expires_at, b.source, b.assigned_by,
      b.milestone_id, coalesce(b.more_days, 0) as more_days,
      coalesce(b.more_days, 0) <> 0 and (${toExpiry('t.type')} <> 0 or ${toProjection('t.type')} <> 0) as moves
    from (select t.*, ${typeOf('t')} as type from ${own('tr')} t) t
    cross join lateral (${deviceOf(s, 't')}) d
    left join lateral (
      select b.source, b.assigned_by, b.milestone_id, b.more_days from ${s}.assignments b
      where b.tenant_id = t.tenant_id and b.action_id = t.action_id limit 1
    ) b on true
    where t.type is not null
  ), ${i} as materialized (
    -- as a column: as a condition it would become a join that compares every row with every other
    select d.*, (d.tenant_id, d.device_id) in (select m.tenant_id, m.device_id from ${d} m where m.moves) as is_moving from ${d} d
  ), ${own('plain')} as (
    insert into ${s}.milestones (${COLUMNS})
      select i.tenant_id, i.device_id, i.type, i.action_id, i.source, i.assigned_by, i.at, i.more_days, i.expires_at,
        case when i.expires_at is not null then i.expires_at + ${days(unfinishedDays(s, 'i'))} end
      from ${i} i where not i.is_moving order by i.n
  ), ${x} as materialized (
    select f.* from (
      select array_agg(i.tenant_id) as tenants, array_agg(i.device_id) as devices, array_agg(i.action_id) as actions
      from ${i} i where i.is_moving having count(*) > 0
    ) k cross join lateral ${s}.lock_expiries(k.tenants, k.devices, k.actions) f
  ), ${j} as materialized (
    select i.*, sum(i.e_days) over whole as e_total,
      coalesce(sum(i.e_days) over after_this, 0) as e_later, coalesce(sum(i.p_days) over after_this, 0) as p_later,
      i.other_days + sum(case when i.is_last and i.state in ('pending', 'claimed') then i.more_days else 0 end) over whole as open_days
    from (
      select i.n, i.tenant_id, i.device_id, i.action_id, i.source, i.assigned_by, i.at, i.type, i.state, i.more_days, x.expires_at,
        x.days as other_days, lead(i.n) over (partition by i.tenant_id, i.action_id order by i.n) is null as is_last,
        ${toExpiry('i.type')} * i.more_days as e_days,
        (${toProjection('i.type')} + case when last.type = 'failed' then 1 else 0 end) * i.more_days as p_days
      from ${x} x join ${i} i on i.tenant_id = x.tenant_id and i.device_id = x.device_id
      left join lateral (
        select m.type from ${s}.milestones m
        where i.type = 'done' and m.tenant_id = i.tenant_id and m.device_id = i.device_id and m.action_id = i.action_id
        order by m.milestone_id desc limit 1
      ) last on true
    ) i
    window whole as (partition by i.tenant_id, i.device_id),
      after_this as (partition by i.tenant_id, i.device_id order by i.n rows between 1 following and unbounded following)
  ), ${own('moving')} as (
    insert into ${s}.milestones (${COLUMNS})
      select j.tenant_id, j.device_id, j.type, j.action_id, j.source, j.assigned_by, j.at, j.more_days,
        j.expires_at + ${days('j.e_total - j.e_later')}, j.expires_at + ${days('j.e_total - j.p_later + j.open_days')}
      from ${j} j order by j.n
  ), ${own('expiries')} as (
    -- locked above, so it is still the one that was read
    update ${s}.devices d set expires_at = k.expires_at
    from (select distinct tenant_id, device_id, expires_at + ${days('e_total')} as expires_at from ${j} where e_total <> 0) k
    where d.tenant_id = any(array[k.tenant_id]) and d.device_id = k.device_id
  )`,
    facts: `
    select i.action_id, jsonb_build_object('source', i.source, 'milestoneId', i.milestone_id::text, 'pending', (
      select count(*) from (
        select 1 from ${s}.unfinished_actions u where u.tenant_id = i.tenant_id and u.lane_id = i.lane_id and ${s}.sought_by(u.lane_id)
          and u.channel in (i.channel, 'any') and u.action_id <> i.action_id
          and u.action_id not in (select t.action_id from transitions t where t.state not in ('pending', 'claimed'))
        limit ${PENDING_UP_TO}
      ) u
    )) as facts
    from ${i} i where i.type in ('sent', 'resent') and i.source is not null`,
  };
}
