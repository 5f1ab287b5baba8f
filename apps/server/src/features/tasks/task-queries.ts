import type { TaskReason, TaskStatus } from '@muster/contracts/words';
import type { Queryable } from '@muster/engine';

/** The rows of tasks with their counts. Which one is active follows from their order and is not stored. */
export type StoredTargets =
  | { readonly deviceIds: readonly string[] }
  | { readonly pcIds: readonly string[] }
  | { readonly tags: readonly string[] }
  | { readonly all: true };

export interface TaskRow {
  readonly tenantId: number;
  readonly taskId: string;
  readonly name: string;
  readonly kind: string;
  readonly payload: unknown;
  /** Without the list of devices, which may be long. */
  readonly targets: Exclude<StoredTargets, { deviceIds: unknown }> | { readonly deviceCount: number };
  readonly maxAttempts: number;
  readonly timeoutSeconds: number;
  readonly retryBackoffSeconds: number;
  readonly deadline: Date | null;
  readonly createdAt: Date;
  readonly createdBy: string | null;
  readonly activatedAt: Date | null;
  readonly cancelledAt: Date | null;
  readonly cancelReason: string | null;
  readonly endedAt: Date | null;
  readonly total: number | null;
  readonly counts: Counts;
  readonly status: TaskStatus;
  readonly reason: TaskReason | null;
  /** The task that is active now. */
  readonly activeId: string | null;
}

export interface Counts {
  /** Not handed out yet. */
  readonly waiting: number;
  readonly pending: number;
  readonly running: number;
  readonly completed: number;
  readonly failed: number;
  readonly cancelled: number;
}

export interface NewTask {
  readonly tenantId: number;
  readonly name: string;
  readonly kind: string;
  readonly payload: unknown;
  readonly targets: StoredTargets;
  readonly total: number | null;
  readonly maxAttempts: number;
  readonly timeoutSeconds: number;
  readonly retryBackoffSeconds: number;
  readonly deadline: Date | null;
  readonly createdBy: string | null;
}

/** The sums of a task's counts, as columns. */
export const countsOf = (s: string, t: string) => `(
    select ${['waiting', 'pending', 'running', 'completed', 'failed', 'cancelled']
      .map((state) => `coalesce(sum(c.change) filter (where c.state = '${state}'), 0)::int as ${state}`)
      .join(', ')}, max(c.at) as changed_at
    from ${s}.task_counts c where c.tenant_id = ${t}.tenant_id and c.task_id = ${t}.task_id)`;

/** The active task of a tenant: the oldest that is unfinished. */
export const activeTask = (s: string, tenant: string) =>
  `select * from ${s}.tasks o where o.tenant_id = ${tenant} and o.ended_at is null order by o.task_id limit 1`;

const STATUS = `case
      when t.ended_at is null then case when t.task_id = o.task_id then 'running' else 'pending' end
      when t.cancelled_at is not null then 'cancelled' when c.failed > 0 then 'failed' when c.completed > 0 then 'success'
      else 'cancelled' end`;

/** Why a task in which nothing was done is over. A task that was begun needs no reason. */
const REASON = `case when ${STATUS} = 'cancelled' then case
      when t.cancelled_at is not null then 'CANCELLED' when t.total = 0 then 'NOBODY_MEANT' else 'NOT_ELIGIBLE' end end`;

// biome-ignore lint/suspicious/noExplicitAny: a row of the statement below
function taskRow(row: any): TaskRow {
  return {
    tenantId: row.tenant_id,
    taskId: row.task_id,
    name: row.name,
    kind: row.kind,
    payload: row.payload,
    targets: row.device_count === null ? row.targets : { deviceCount: row.device_count },
    maxAttempts: row.max_attempts,
    timeoutSeconds: row.timeout_seconds,
    retryBackoffSeconds: row.retry_backoff_seconds,
    deadline: row.deadline,
    createdAt: row.created_at,
    createdBy: row.created_by,
    activatedAt: row.activated_at,
    cancelledAt: row.cancelled_at,
    cancelReason: row.cancel_reason,
    endedAt: row.ended_at,
    total: row.total,
    counts: {
      waiting: row.waiting,
      pending: row.pending,
      running: row.running,
      completed: row.completed,
      failed: row.failed,
      cancelled: row.cancelled,
    },
    status: row.status,
    reason: row.reason,
    activeId: row.active_id,
  };
}

export type TaskQueries = ReturnType<typeof createTaskQueries>;

export function createTaskQueries(s: string, now: () => Date, isDistributed: boolean) {
  const select = `select t.tenant_id, t.task_id, t.name, t.kind, t.payload, t.max_attempts, t.timeout_seconds, t.retry_backoff_seconds,
      t.deadline, t.created_at, t.created_by, t.activated_at, t.cancelled_at, t.cancel_reason, t.ended_at, t.total, o.task_id as active_id,
      case when t.targets ? 'deviceIds' then null else t.targets end as targets,
      case when t.targets ? 'deviceIds' then jsonb_array_length(t.targets->'deviceIds') end as device_count,
      c.*, ${STATUS} as status, ${REASON} as reason
    from ${s}.tasks t
    left join lateral (${activeTask(s, 't.tenant_id')}) o on true
    cross join lateral ${countsOf(s, 't')} c
    where t.tenant_id = $1`;

  return {
    /** The number is taken under the lock, so tasks become visible in the order of their numbers. */
    async insert(client: Queryable, given: NewTask): Promise<string> {
      await client.query({
        text: `insert into ${s}.task_lines (tenant_id, part) values ($1, 'add'), ($1, 'advance') on conflict do nothing`,
        values: [given.tenantId],
      });
      await client.query({
        text: `select 1 from ${s}.task_lines where tenant_id = $1 and part = 'add' for update`,
        values: [given.tenantId],
      });
      const { rows } = await client.query({
        text: `with t as (
            insert into ${s}.tasks (tenant_id, task_id, name, kind, payload, targets, total, max_attempts, timeout_seconds,
                retry_backoff_seconds, deadline, created_at, created_by)
              values ($2, nextval('${s}.task_seq'), $3, $4, $5::jsonb, $6::jsonb, $7, $8, $9, $10, $11, $1::timestamptz, $12)
              returning tenant_id, task_id, total, created_at
          ), c as (
            insert into ${s}.task_counts (tenant_id, task_id, state, change, at)
              select t.tenant_id, t.task_id, 'waiting', t.total, t.created_at from t where t.total > 0
          )
          select task_id from t`,
        values: [
          now(),
          given.tenantId,
          given.name,
          given.kind,
          JSON.stringify(given.payload),
          JSON.stringify(given.targets),
          given.total,
          given.maxAttempts,
          given.timeoutSeconds,
          given.retryBackoffSeconds,
          given.deadline,
          given.createdBy,
        ],
      });
      return rows[0].task_id;
    },

    async get(client: Queryable, tenantId: number, taskId: string): Promise<TaskRow | null> {
      const { rows } = await client.query({
        name: 'muster_task',
        text: `${select} and t.task_id = $2`,
        values: [tenantId, taskId],
      });
      return rows[0] ? taskRow(rows[0]) : null;
    },

    /** Newest first. */
    async list(
      client: Queryable,
      tenantId: number,
      page: { status: TaskStatus | null; before: string | null; limit: number },
    ): Promise<TaskRow[]> {
      const { rows } = await client.query({
        name: 'muster_tasks',
        text: `${select} and ($2::bigint is null or t.task_id < $2) and ($3::text is null or ${STATUS} = $3)
          order by t.task_id desc limit $4`,
        values: [tenantId, page.before, page.status, page.limit],
      });
      return rows.map(taskRow);
    },

    async payloadOf(client: Queryable, tenantId: number, taskId: string): Promise<unknown> {
      const { rows } = await client.query({
        name: 'muster_task_payload',
        text: `select payload from ${s}.tasks where tenant_id = $1 and task_id = $2`,
        values: [tenantId, taskId],
      });
      return rows[0]?.payload ?? null;
    },

    /** Whether there are more devices than that; reads no more than needed. */
    async hasMoreDevicesThan(client: Queryable, tenantId: number, few: number): Promise<boolean> {
      const { rows } = await client.query({
        text: `select count(*)::int as n from (select 1 from ${s}.devices where tenant_id = $1 limit $2) x`,
        values: [tenantId, few + 1],
      });
      return rows[0].n > few;
    },

    /** The actions of a task that have not ended. */
    async openActions(
      client: Queryable,
      tenantId: number,
      taskId: string,
      state: 'pending' | 'unfinished',
      most: number,
    ): Promise<string[]> {
      const { rows } = await client.query({
        text: `select u.action_id from ${s}.task_targets t
          join ${s}.unfinished_actions u on u.tenant_id = t.tenant_id and u.action_id = t.action_id
          where t.tenant_id = $1 and t.task_id = $2 and t.action_id is not null
            and ($3 = 'unfinished' or not u.is_claimed)
          order by u.action_id limit $4`,
        values: [tenantId, taskId, state, most],
      });
      return rows.map((row) => row.action_id);
    },

    /** Those that were dead letters and have not been handed out since they were redriven. */
    async redriven(client: Queryable, tenantId: number, actionIds: readonly string[]): Promise<Set<string>> {
      const { rows } = await client.query({
        text: `select a.action_id from unnest((select $2::bigint[])) i(action_id)
          cross join lateral (select * from ${s}.action_states a where a.tenant_id = $1 and a.action_id = i.action_id limit 1) a
          where exists (select 1 from ${s}.action_events e
            where e.tenant_id = $1 and e.action_id = a.action_id and e.type = 'REDRIVEN' and e.attempt = a.attempt)`,
        values: [tenantId, actionIds],
      });
      return new Set(rows.map((row) => row.action_id));
    },

    /** The first given reason stays. */
    async markCancelled(
      client: Queryable,
      tenantId: number,
      taskId: string,
      reason: string | undefined,
    ): Promise<void> {
      await client.query({
        text: `update ${s}.tasks set cancelled_at = $1::timestamptz, cancel_reason = coalesce(cancel_reason, $4)
          where tenant_id = $2 and task_id = $3`,
        values: [now(), tenantId, taskId, reason ?? null],
      });
    },

    async markEnded(client: Queryable, tenantId: number, taskId: string): Promise<void> {
      const values = [now(), tenantId, taskId];
      const end = `update ${s}.tasks set ended_at = $1::timestamptz, total = coalesce(total, 0)
            where tenant_id = $2 and task_id = $3 and ended_at is null returning *`;
      const note = (data: string) => `${s}.note($1, $2::int, 0, 'task.finished', ${data})`;
      if (!isDistributed) {
        await client.query({
          text: `with t as (
            ${end}
          )
          select ${note(`jsonb_build_object('taskId', t.task_id::text, 'name', t.name, 'cancelled', t.cancelled_at is not null,
            'total', t.total)`)} from t`,
          values,
        });
        return;
      }
      // in one statement the tenant's server would be asked to write the note
      const { rows } = await client.query({ text: end, values });
      for (const { name, cancelled_at: cancelledAt, total } of rows) {
        const data = { taskId, name, cancelled: cancelledAt !== null, total };
        await client.query({ text: `select ${note('$3::jsonb')}`, values: [now(), tenantId, data] });
      }
    },

    /**
     * Ends what was not handed out. Locked in the order in which claims lock their targets: the second transaction
     * finds the rows changed and leaves them. A task whose targets are not frozen yet has only a count.
     */
    async endWaiting(
      client: Queryable,
      task: { tenantId: number; taskId: string; activated: boolean },
      as: { ended: 'failed' | 'cancelled'; reason: string },
    ): Promise<number> {
      const { rows } = await client.query({
        text: `with k as materialized (
            select t.tenant_id, t.task_id, t.device_id from ${s}.task_targets t
            where t.tenant_id = $2 and t.task_id = $3 and t.action_id is null and t.ended is null order by t.device_id for update
          ), u as (
            update ${s}.task_targets t set ended = $4, reason = $5 from k
            where t.tenant_id = k.tenant_id and t.task_id = k.task_id and t.device_id = k.device_id
          ), n as (
            select case when $6::boolean then (select count(*) from k)::int
              else (select coalesce(sum(c.change), 0) from ${s}.task_counts c where c.tenant_id = $2 and c.task_id = $3 and c.state = 'waiting')::int end as n
          ), c as (
            insert into ${s}.task_counts (tenant_id, task_id, state, change, at)
              select $2, $3, x.state, x.sign * n.n, $1::timestamptz
              from n cross join (values ('waiting', -1), ($4::text, 1)) x(state, sign) where n.n > 0
          )
          select n from n`,
        values: [now(), task.tenantId, task.taskId, as.ended, as.reason, task.activated],
      });
      return rows[0].n;
    },
  };
}
