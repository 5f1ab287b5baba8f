import type { Queryable } from '@muster/engine';
import { isMeant } from '../../fleet/index.ts';
import { hopedFor } from './eligible.ts';
import { activeTask, countsOf } from './task-queries.ts';
import { CHANNEL } from './wire.ts';

/** What is needed to advance a tenant's active task, and the statement that freezes its targets. */
export interface ActiveTask {
  readonly tenantId: number;
  readonly taskId: string;
  readonly activated: boolean;
  readonly pastDeadline: boolean;
  readonly waiting: number;
  readonly pending: number;
  readonly running: number;
  /** Nothing runs, and no remaining device is eligible or expected back. */
  readonly nothingEligible: boolean;
  /** Nothing runs, nothing has changed for long, and no runner that could take the rest has been in contact. */
  readonly stalled: boolean;
}

const NOW = '$1::timestamptz';

export type AdvanceQueries = ReturnType<typeof createAdvanceQueries>;

export function createAdvanceQueries(
  s: string,
  options: { now: () => Date; absentSeconds: number; stallSeconds: number },
) {
  const { now, absentSeconds, stallSeconds } = options;
  const ago = (seconds: number) => `${NOW} - make_interval(secs => ${seconds})`;
  const stale = ago(stallSeconds);
  const hopedForDevice = `join ${s}.devices d on d.tenant_id = x.tenant_id and d.device_id = x.device_id and d.pc_id is not null and ${hopedFor('d', ago(absentSeconds))}`;

  // Waiting targets are found by their index; only if none of them qualifies, those to be tried again. `exists` would
  // build a hash of all devices of the task (a second for 100,000); the first row is enough.
  const isHopeLeft = `(
      (select true from ${s}.task_targets x ${hopedForDevice}
        where x.tenant_id = t.tenant_id and x.task_id = t.task_id and x.action_id is null and x.ended is null limit 1) is not null
      or (c.pending > 0 and (select true from ${s}.task_targets x ${hopedForDevice}
        join ${s}.unfinished_actions u on u.tenant_id = x.tenant_id and u.action_id = x.action_id
        where x.tenant_id = t.tenant_id and x.task_id = t.task_id and x.action_id is not null limit 1) is not null))`;

  // A device whose lane is stopped, or has another door's action at its head, cannot be claimed by asking. A recent
  // disconnect also counts as a sign of a runner: otherwise its work would end at the moment it goes away.
  const isRunnerThere = `exists (
      select 1 from ${s}.contacts k
      join ${s}.devices d on d.tenant_id = k.tenant_id and d.pc_id = k.target_id and ${s}.sought_by(d.pc_id)
        and ${hopedFor('d', ago(Math.max(absentSeconds, stallSeconds)))}
      join ${s}.task_targets x on x.tenant_id = d.tenant_id and x.task_id = t.task_id and x.device_id = d.device_id and x.ended is null
      cross join lateral ${s}.lane_front(${NOW}, d.tenant_id, d.lane_id, '${CHANNEL}') l
      where k.tenant_id = t.tenant_id and k.channel = '${CHANNEL}' and k.seen_at > ${stale}
        and (x.action_id is null or exists (select 1 from ${s}.unfinished_actions u where u.tenant_id = x.tenant_id and u.action_id = x.action_id))
        and not l.is_stopped and (l.leased_action is not null or l.is_paused
          or case when x.action_id is null then l.takes_new else coalesce(l.first_action = x.action_id, true) end))`;

  const facts = `t.tenant_id, t.task_id, t.activated_at is not null as activated, coalesce(t.deadline <= ${NOW}, false) as past_deadline,
      c.waiting, c.pending, c.running, e.nothing_eligible,
      case when c.running = 0 and c.waiting + c.pending > 0 and not e.nothing_eligible
        and greatest(t.activated_at, c.changed_at) <= ${stale} then not ${isRunnerThere} else false end as stalled`;
  const from = `cross join lateral ${countsOf(s, 't')} c
    cross join lateral (
      select case when t.activated_at is not null and c.running = 0 and c.waiting + c.pending > 0 then not ${isHopeLeft} else false end
        as nothing_eligible
    ) e`;

  // biome-ignore lint/suspicious/noExplicitAny: a row of the statements below
  const active = (row: any): ActiveTask => ({
    tenantId: row.tenant_id,
    taskId: row.task_id,
    activated: row.activated,
    pastDeadline: row.past_deadline,
    waiting: row.waiting,
    pending: row.pending,
    running: row.running,
    nothingEligible: row.nothing_eligible,
    stalled: row.stalled,
  });

  return {
    /** False: another transaction holds the lock. Does not wait. */
    async tryLock(client: Queryable, tenantId: number): Promise<boolean> {
      const { rows } = await client.query({
        name: 'muster_try_advance',
        text: `select 1 from ${s}.task_lines where tenant_id = $1 and part = 'advance' for update skip locked`,
        values: [tenantId],
      });
      return rows.length > 0;
    },

    /** Tenants whose active task has a step to be made, found in one look. */
    async tenantsToAdvance(client: Queryable, most: number): Promise<number[]> {
      const { rows } = await client.query({
        name: 'muster_tenants_to_advance',
        text: `select * from (
            select ${facts} from ${s}.task_lines n
            cross join lateral (${activeTask(s, 'n.tenant_id')}) t
            ${from} where n.part = 'advance'
          ) x
          where not x.activated or x.waiting + x.pending + x.running = 0 or x.nothing_eligible or x.stalled or (x.past_deadline and x.waiting > 0)
          limit ${most}`,
        values: [now()],
      });
      return rows.map((row) => row.tenant_id);
    },

    async active(client: Queryable, tenantId: number): Promise<ActiveTask | null> {
      const { rows } = await client.query({
        name: 'muster_active_task',
        text: `select ${facts} from (${activeTask(s, '$2::int')}) t ${from}`,
        values: [now(), tenantId],
      });
      return rows[0] ? active(rows[0]) : null;
    },

    /**
     * Freezes the targets in one statement. A list was counted when it was given; how many devices a predicate selects
     * is known only now. A listed device that does not exist ends at once, like one that is deleted later.
     */
    async activate(client: Queryable, tenantId: number, taskId: string): Promise<void> {
      await client.query({
        text: `with t as materialized (
            select * from ${s}.tasks where tenant_id = $2 and task_id = $3 and activated_at is null
          ), wanted as (
            select d.device_id, null::text as ended from t join ${s}.devices d on d.tenant_id = t.tenant_id and d.deleted_at is null
            where not t.targets ? 'deviceIds' and (${isMeant('d', {
              all: `t.targets ? 'all'`,
              tags: `case when t.targets ? 'tags' then array(select jsonb_array_elements_text(t.targets->'tags')) end`,
            })}
              or d.pc_id in (select (jsonb_array_elements_text(t.targets->'pcIds'))::bigint) and t.targets ? 'pcIds')
            union all
            select i.id, case when d.device_id is null then 'cancelled' end
            from t cross join lateral (select distinct i::bigint as id from jsonb_array_elements_text(t.targets->'deviceIds') i) i
            left join ${s}.devices d on d.tenant_id = t.tenant_id and d.device_id = i.id and d.deleted_at is null
            where t.targets ? 'deviceIds'
          ), made as (
            insert into ${s}.task_targets (tenant_id, task_id, device_id, ended, reason)
              select t.tenant_id, t.task_id, w.device_id, w.ended, case when w.ended is not null then 'NOT_ELIGIBLE' end
              from t cross join wanted w order by w.device_id
              returning ended
          ), n as materialized (
            select count(*)::int as total, count(*) filter (where ended is not null)::int as gone from made
          ), c as (
            insert into ${s}.task_counts (tenant_id, task_id, state, change, at)
              select t.tenant_id, t.task_id, x.state, x.change, ${NOW} from t cross join n cross join lateral (values
                ('waiting', n.total - n.gone - case when t.targets ? 'deviceIds' then n.total else 0 end), ('cancelled', n.gone)) x(state, change)
              where x.change <> 0
          )
          update ${s}.tasks k set activated_at = ${NOW}, total = n.total from t, n
          where k.tenant_id = t.tenant_id and k.task_id = t.task_id`,
        values: [now(), tenantId, taskId],
      });
    },
  };
}
