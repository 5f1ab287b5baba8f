import type { MilestoneType, Policy } from '@muster/contracts/words';
import type { Queryable } from '@muster/engine';
import { days, unfinishedDays } from './milestones.ts';

/** Milestones that no transition writes, and reading all of them. */
export interface Milestone {
  readonly id: string;
  readonly type: MilestoneType;
  readonly actionId: string | null;
  readonly source: string | null;
  readonly by: string | null;
  readonly at: Date;
  readonly moreDays: number;
  readonly expiresAt: Date | null;
  readonly projectedExpiresAt: Date | null;
  readonly policy: Policy | undefined;
}

export interface NewAssignment {
  readonly deviceId: string;
  readonly actionId: string;
  readonly source: string;
  readonly sourceId: string | null;
  readonly by: string | null;
  readonly moreDays: number;
  readonly ack: 'onReport' | 'onDelivery' | null;
}

/** Longer than any expiry can be away: a larger sum would overflow before it could be compared. */
const MOST_DAYS = 4_000_000;

export function createMilestoneLog(s: string, now: () => Date) {
  return {
    /** In the transaction of the enqueue. Several for one device: each adds to the projection of the one before. */
    async assigned(client: Queryable, tenantId: number, given: readonly NewAssignment[]): Promise<string[]> {
      const { rows } = await client.query({
        name: 'muster_assigned',
        text: `with i as materialized (
            select i.*, nextval('${s}.milestone_seq') as milestone_id from (
              select * from unnest((select $3::bigint[]), (select $4::bigint[]), (select $5::text[]), (select $6::bigint[]),
                  (select $7::text[]), (select $8::int[]), (select $9::text[]))
                with ordinality as i(device_id, action_id, source, source_id, assigned_by, more_days, ack, ord)
              order by ord
            ) i
          ), a as (
            insert into ${s}.assignments (tenant_id, action_id, device_id, source, source_id, assigned_by, more_days, ack, milestone_id)
              select $2, action_id, device_id, source, source_id, assigned_by, more_days, ack, milestone_id from i
          ), m as (
            insert into ${s}.milestones (tenant_id, device_id, milestone_id, type, action_id, source, by, at, more_days, expires_at,
                projected_expires_at)
              select d.tenant_id, d.device_id, i.milestone_id, 'assigned', i.action_id, i.source, i.assigned_by,
                $1::timestamptz, i.more_days, d.expires_at, d.expires_at
                  + ${days(`${unfinishedDays(s, 'd')} + (sum(i.more_days) over (partition by i.device_id order by i.ord))`)}
              from i cross join lateral (
                select * from ${s}.devices d where d.tenant_id = $2 and d.device_id = i.device_id limit 1
              ) d
          )
          select milestone_id from i order by ord`,
        values: [
          now(),
          tenantId,
          given.map((one) => one.deviceId),
          given.map((one) => one.actionId),
          given.map((one) => one.source),
          given.map((one) => one.sourceId),
          given.map((one) => one.by),
          given.map((one) => one.moreDays),
          given.map((one) => one.ack),
        ],
      });
      return rows.map((row) => row.milestone_id);
    },

    /** From devices as they are now: after a contact, or after an operator has set their expiry. */
    async written(
      client: Queryable,
      tenantId: number,
      type: 'enrolled' | 'expirySet' | 'phoneReplaced',
      deviceIds: readonly string[],
      by: string | null,
    ): Promise<void> {
      await client.query({
        text: `insert into ${s}.milestones (tenant_id, device_id, type, by, at, expires_at, projected_expires_at)
          select d.tenant_id, d.device_id, $4, $5, $1::timestamptz, d.expires_at,
            d.expires_at + ${days(unfinishedDays(s, 'd'))}
          from unnest((select $3::bigint[])) i(device_id)
          cross join lateral (select * from ${s}.devices d where d.tenant_id = $2 and d.device_id = i.device_id limit 1) d`,
        values: [now(), tenantId, deviceIds, type, by],
      });
    },

    /**
     * Those that exist; until the transaction ends they cannot be deleted and, with `moves`, no other transaction moves
     * their expiry. Without this, an action could be queued for a device that is just being deleted, and wait for ever.
     */
    async lock(
      client: Queryable,
      tenantId: number,
      deviceIds: readonly string[],
      moves: boolean,
    ): Promise<Set<string>> {
      const { rows } = await client.query({
        name: moves ? 'muster_lock_devices' : 'muster_keep_devices',
        text: `select d.device_id from (select * from unnest((select $2::bigint[])) i(device_id) order by i.device_id) i
          cross join lateral (
            select d.device_id from ${s}.devices d where d.tenant_id = $1 and d.device_id = i.device_id and d.deleted_at is null
            limit 1 for ${moves ? 'no key update' : 'share'}
          ) d`,
        values: [tenantId, deviceIds],
      });
      return new Set(rows.map((row) => row.device_id));
    },

    /**
     * Those whose expiry could leave the range of years if all their unfinished actions and this many more days ended
     * in the worst order, some successful, some not.
     */
    async beyondTelling(
      client: Queryable,
      tenantId: number,
      deviceIds: readonly string[],
      moreDays: number,
    ): Promise<Set<string>> {
      const { rows } = await client.query({
        text: `select d.device_id from unnest((select $2::bigint[])) i(device_id)
          cross join lateral (
            select d.device_id, d.expires_at from ${s}.devices d where d.tenant_id = $1 and d.device_id = i.device_id limit 1
          ) d
          cross join lateral (
            select coalesce(sum(abs(b.more_days)), 0) + abs($3::int) as days from ${s}.assignments b
            cross join lateral (select 1 from ${s}.unfinished_actions u where u.tenant_id = b.tenant_id and u.action_id = b.action_id limit 1) u
            where b.tenant_id = $1 and b.device_id = d.device_id and ${s}.sought_by(b.device_id) and b.more_days <> 0
          ) x
          where x.days > ${MOST_DAYS} or d.expires_at + ${days('x.days')} >= '9000-01-01Z' or d.expires_at - ${days('x.days')} < '0002-01-01Z'`,
        values: [tenantId, deviceIds, moreDays],
      });
      return new Set(rows.map((row) => row.device_id));
    },

    /** What was stored about these actions at their assignment. */
    async saidOf(
      client: Queryable,
      tenantId: number,
      actionIds: readonly string[],
    ): Promise<Map<string, { moreDays: number; ack: string | null }>> {
      const { rows } = await client.query({
        text: `select b.action_id, b.more_days, b.ack from unnest((select $2::bigint[])) i(action_id)
          cross join lateral (select * from ${s}.assignments b where b.tenant_id = $1 and b.action_id = i.action_id limit 1) b`,
        values: [tenantId, actionIds],
      });
      return new Map(rows.map((row) => [row.action_id, { moreDays: row.more_days, ack: row.ack }]));
    },

    /** Newest first. */
    async list(
      client: Queryable,
      tenantId: number,
      deviceId: string,
      page: { before?: string | undefined; limit: number },
    ): Promise<Milestone[]> {
      const { rows } = await client.query({
        text: `select milestone_id, type, action_id, source, by, at, more_days, expires_at, projected_expires_at, policy from ${s}.milestones
          where tenant_id = $1 and device_id = $2 and ($3::bigint is null or milestone_id < $3)
          order by milestone_id desc limit $4`,
        values: [tenantId, deviceId, page.before ?? null, page.limit],
      });
      return rows.map((row) => ({
        id: row.milestone_id,
        type: row.type,
        actionId: row.action_id,
        source: row.source,
        by: row.by,
        at: row.at,
        moreDays: row.more_days,
        expiresAt: row.expires_at,
        projectedExpiresAt: row.projected_expires_at,
        policy: row.policy ?? undefined,
      }));
    },

    /** Deletes milestones older than that. */
    async prune(client: Queryable, olderThanDays: number, most: number): Promise<number> {
      const { rows } = await client.query({
        text: `with m as (
            delete from ${s}.milestones where (tenant_id, device_id, milestone_id) in (
              select tenant_id, device_id, milestone_id from ${s}.milestones
              where at < $1::timestamptz - make_interval(days => $2) limit $3) returning 1
          ) select count(*)::int as milestones from m`,
        values: [now(), olderThanDays, most],
      });
      return rows[0].milestones;
    },

    /**
     * Deletes the data of pruned actions among the next ones after this key. Most have their action still, so a look at
     * all of them would grow with what is kept.
     */
    async pruneAssignments(
      client: Queryable,
      after: AssignmentKey,
      most: number,
    ): Promise<{ pruned: number; last: AssignmentKey | null }> {
      const { rows } = await client.query({
        name: 'muster_prune_assignments',
        text: `with b as materialized (
            select tenant_id, action_id from ${s}.assignments
            where (tenant_id, action_id) > ($1::int, $2::bigint) order by tenant_id, action_id limit $3
          ), o as materialized (
            select b.tenant_id, b.action_id from b left join lateral (
              select true as is_kept from ${s}.action_states x where x.tenant_id = b.tenant_id and x.action_id = b.action_id limit 1
            ) x on true where x.is_kept is null
          ), a as (
            delete from ${s}.assignments a using o where a.tenant_id = any(array[o.tenant_id]) and a.action_id = o.action_id returning 1
          ), l as (
            select tenant_id, action_id from b order by tenant_id desc, action_id desc limit 1
          )
          select (select count(*) from a)::int as pruned, (select count(*) from b)::int as looked_at, l.tenant_id, l.action_id
          from (select) _ left join l on true`,
        values: [after.tenantId, after.actionId, most],
      });
      const [{ pruned, looked_at: lookedAt, tenant_id: tenantId, action_id: actionId }] = rows;
      return { pruned, last: lookedAt < most ? null : { tenantId, actionId } };
    },
  };
}

/** Assignments in the order of this key are about as old as their actions. */
export interface AssignmentKey {
  readonly tenantId: number;
  readonly actionId: string;
}

export type MilestoneLog = ReturnType<typeof createMilestoneLog>;
