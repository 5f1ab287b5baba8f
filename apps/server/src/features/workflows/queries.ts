import type { DeviceAction, Schedule, Targets } from '@muster/contracts';
import type { Queryable } from '@muster/engine';
import type { CatchUp } from './schedule.ts';

export interface WorkflowRow {
  readonly tenantId: number;
  readonly workflowId: string;
  readonly name: string;
  readonly schedule: Schedule;
  readonly targets: Targets;
  readonly action: DeviceAction;
  readonly enabled: boolean;
  readonly catchUp: CatchUp;
  readonly nextAt: Date | null;
  readonly createdAt: Date;
  readonly createdBy: string | null;
}

export interface RunRow {
  readonly tenantId: number;
  readonly runId: string;
  readonly workflowId: string;
  readonly trigger: 'schedule' | 'manual' | 'expiry';
  readonly scheduledAt: Date;
  readonly startedAt: Date;
  readonly startedBy: string | null;
  readonly action: DeviceAction;
  readonly setId: string | null;
  readonly suppliedAt: Date | null;
  readonly cancelledAt: Date | null;
}

// biome-ignore lint/suspicious/noExplicitAny: a row of a statement below
function workflow(row: any): WorkflowRow {
  return {
    tenantId: row.tenant_id,
    workflowId: row.workflow_id,
    name: row.name,
    schedule: row.schedule,
    targets: row.targets,
    action: row.action,
    enabled: row.enabled,
    catchUp: row.catch_up,
    nextAt: row.next_at,
    createdAt: row.created_at,
    createdBy: row.created_by,
  };
}

// biome-ignore lint/suspicious/noExplicitAny: a row of a statement below
function run(row: any): RunRow {
  return {
    tenantId: row.tenant_id,
    runId: row.run_id,
    workflowId: row.workflow_id,
    trigger: row.trigger,
    scheduledAt: row.scheduled_at,
    startedAt: row.started_at,
    startedBy: row.started_by,
    action: row.action,
    setId: row.set_id,
    suppliedAt: row.supplied_at,
    cancelledAt: row.cancelled_at,
  };
}

export type WorkflowQueries = ReturnType<typeof createWorkflowQueries>;

export function createWorkflowQueries(s: string) {
  return {
    async insert(client: Queryable, given: Omit<WorkflowRow, 'workflowId'>): Promise<string> {
      const { rows } = await client.query({
        text: `insert into ${s}.workflows (tenant_id, name, schedule, targets, action, enabled, catch_up, next_at, created_at, created_by)
          values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) returning workflow_id`,
        values: [
          given.tenantId,
          given.name,
          JSON.stringify(given.schedule),
          JSON.stringify(given.targets),
          JSON.stringify(given.action),
          given.enabled,
          given.catchUp,
          given.nextAt,
          given.createdAt,
          given.createdBy,
        ],
      });
      return rows[0].workflow_id;
    },

    async update(client: Queryable, row: WorkflowRow): Promise<void> {
      await client.query({
        text: `update ${s}.workflows set name = $3, schedule = $4, targets = $5, action = $6, enabled = $7, catch_up = $8, next_at = $9
          where tenant_id = $1 and workflow_id = $2`,
        values: [
          row.tenantId,
          row.workflowId,
          row.name,
          JSON.stringify(row.schedule),
          JSON.stringify(row.targets),
          JSON.stringify(row.action),
          row.enabled,
          row.catchUp,
          row.nextAt,
        ],
      });
    },

    async get(
      client: Queryable,
      tenantId: number,
      workflowId: string,
      lock: '' | 'for update' = '',
    ): Promise<WorkflowRow | null> {
      const { rows } = await client.query({
        text: `select * from ${s}.workflows where tenant_id = $1 and workflow_id = $2 and deleted_at is null ${lock}`,
        values: [tenantId, workflowId],
      });
      return rows[0] ? workflow(rows[0]) : null;
    },

    async list(
      client: Queryable,
      tenantId: number,
      page: { after?: string | undefined; limit: number },
    ): Promise<WorkflowRow[]> {
      const { rows } = await client.query({
        text: `select * from ${s}.workflows where tenant_id = $1 and deleted_at is null and ($2::bigint is null or workflow_id > $2)
          order by workflow_id limit $3`,
        values: [tenantId, page.after ?? null, page.limit],
      });
      return rows.map(workflow);
    },

    async remove(client: Queryable, tenantId: number, workflowId: string, now: Date): Promise<boolean> {
      const { rows } = await client.query({
        text: `update ${s}.workflows set deleted_at = $3, next_at = null
          where tenant_id = $1 and workflow_id = $2 and deleted_at is null returning 1`,
        values: [tenantId, workflowId, now],
      });
      return rows.length > 0;
    },

    /** Due workflows of all tenants. Those locked by another transaction are skipped. */
    async lockDue(client: Queryable, now: Date, most: number): Promise<WorkflowRow[]> {
      const { rows } = await client.query({
        name: 'muster_due_workflows',
        text: `select * from ${s}.workflows where enabled and deleted_at is null and next_at <= $1
          order by next_at limit ${most} for update skip locked`,
        values: [now],
      });
      return rows.map(workflow);
    },

    async setNext(
      client: Queryable,
      { tenantId, workflowId }: WorkflowRow,
      next: Date | null,
    ): Promise<void> {
      await client.query({
        text: `update ${s}.workflows set next_at = $3 where tenant_id = $1 and workflow_id = $2`,
        values: [tenantId, workflowId, next],
      });
    },

    /** Null: that time was already run. */
    async insertRun(
      client: Queryable,
      given: Pick<
        RunRow,
        'tenantId' | 'workflowId' | 'trigger' | 'scheduledAt' | 'startedAt' | 'startedBy' | 'action'
      >,
    ): Promise<string | null> {
      const { rows } = await client.query({
        text: `insert into ${s}.workflow_runs (tenant_id, workflow_id, trigger, scheduled_at, started_at, started_by, action)
          values ($1, $2, $3, $4, $5, $6, $7)
          on conflict (tenant_id, workflow_id, scheduled_at) where trigger = 'schedule' do nothing returning run_id`,
        values: [
          given.tenantId,
          given.workflowId,
          given.trigger,
          given.scheduledAt,
          given.startedAt,
          given.startedBy,
          JSON.stringify(given.action),
        ],
      });
      return rows[0]?.run_id ?? null;
    },

    async setTargets(client: Queryable, tenantId: number, runId: string, setId: string): Promise<void> {
      await client.query({
        text: `update ${s}.workflow_runs set set_id = $3 where tenant_id = $1 and run_id = $2`,
        values: [tenantId, runId, setId],
      });
    },

    async closeRun(client: Queryable, tenantId: number, runId: string, now: Date): Promise<void> {
      await client.query({
        text: `update ${s}.workflow_runs set supplied_at = $3 where tenant_id = $1 and run_id = $2`,
        values: [tenantId, runId, now],
      });
    },

    /** The duty takes it up again and cancels what waits. */
    async cancelRun(client: Queryable, { tenantId, runId }: RunRow, now: Date): Promise<void> {
      await client.query({
        text: `update ${s}.workflow_runs set cancelled_at = $3, supplied_at = null where tenant_id = $1 and run_id = $2`,
        values: [tenantId, runId, now],
      });
    },

    async lockOpenRuns(client: Queryable, most: number): Promise<RunRow[]> {
      const { rows } = await client.query({
        name: 'muster_open_runs',
        text: `select * from ${s}.workflow_runs where supplied_at is null order by tenant_id, run_id limit ${most}
          for update skip locked`,
      });
      return rows.map(run);
    },

    async getRun(
      client: Queryable,
      tenantId: number,
      runId: string,
      lock: '' | 'for update' = '',
    ): Promise<RunRow | null> {
      const { rows } = await client.query({
        text: `select * from ${s}.workflow_runs where tenant_id = $1 and run_id = $2 ${lock}`,
        values: [tenantId, runId],
      });
      return rows[0] ? run(rows[0]) : null;
    },

    /** The workflows of these runs, deleted ones too. */
    async workflowsOfRuns(
      client: Queryable,
      tenantId: number,
      runIds: readonly string[],
    ): Promise<Map<string, { id: string; name: string }>> {
      const { rows } = await client.query({
        text: `select r.run_id, w.workflow_id, w.name from ${s}.workflow_runs r
          join ${s}.workflows w on w.tenant_id = r.tenant_id and w.workflow_id = r.workflow_id
          where r.tenant_id = $1 and r.run_id = any($2::bigint[])`,
        values: [tenantId, runIds],
      });
      return new Map(rows.map((row) => [row.run_id, { id: row.workflow_id, name: row.name }]));
    },

    /** The newest run of each that had one. */
    async lastRuns(client: Queryable, tenantId: number, workflowIds: readonly string[]): Promise<RunRow[]> {
      const { rows } = await client.query({
        name: 'muster_last_runs',
        text: `select r.* from unnest((select $2::bigint[])) i(id)
          cross join lateral (
            select * from ${s}.workflow_runs r where r.tenant_id = $1 and r.workflow_id = i.id order by r.run_id desc limit 1
          ) r`,
        values: [tenantId, workflowIds],
      });
      return rows.map(run);
    },

    /** Newest first. */
    async listRuns(
      client: Queryable,
      tenantId: number,
      workflowId: string,
      page: { before?: string | undefined; limit: number },
    ): Promise<RunRow[]> {
      const { rows } = await client.query({
        text: `select * from ${s}.workflow_runs where tenant_id = $1 and workflow_id = $2 and ($3::bigint is null or run_id < $3)
          order by run_id desc limit $4`,
        values: [tenantId, workflowId, page.before ?? null, page.limit],
      });
      return rows.map(run);
    },
  };
}
