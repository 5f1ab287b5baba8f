import { type Duty, dutyRun, type Engine, type Queryable } from '@muster/engine';
import type { TargetSets } from '../../fleet/index.ts';
import type { RunRow, WorkflowQueries, WorkflowRow } from './queries.ts';
import { dueTimes } from './schedule.ts';

/**
 * Two duties: one begins the runs that are due (their devices are frozen then), the other queues their actions, in
 * chunks. An action of a workflow is queued behind what the device already has; a device that is away is no error and
 * costs no attempt.
 */
export const BEGIN_RUNS = 'begin-workflow-runs';
export const SUPPLY_RUNS = 'supply-workflow-runs';
const EVERY_SECOND = 1_000;
const MOST_WORKFLOWS = 100;
const MOST_RUNS = 20;
const CHUNK = 1_000;

export interface RunTools {
  readonly engine: Engine;
  readonly queries: WorkflowQueries;
  readonly sets: TargetSets;
}

/** Begins a run and freezes its targets. Null: that scheduled time was already run. */
export async function beginRun(
  client: Queryable,
  { queries, sets }: RunTools,
  workflow: WorkflowRow,
  run: Pick<RunRow, 'trigger' | 'scheduledAt' | 'startedAt' | 'startedBy'>,
): Promise<string | null> {
  const { tenantId, workflowId, action } = workflow;
  const runId = await queries.insertRun(client, { tenantId, workflowId, action, ...run });
  if (runId === null) return null;
  const { setId } = await sets.freeze(client, tenantId, workflow.targets);
  await queries.setTargets(client, tenantId, runId, setId);
  return runId;
}

export function createBeginRuns(tools: RunTools): Duty {
  const { engine, queries, sets } = tools;
  const due = `${engine.schema}.workflows w
      where w.enabled and w.deleted_at is null and w.next_at <= $1::timestamptz`;

  async function byExpiry(
    client: Queryable,
    workflow: WorkflowRow,
    days: number,
    now: Date,
  ): Promise<number> {
    const { tenantId, workflowId, targets: wanted, action } = workflow;
    const subject = `workflow:${workflowId}`;
    const set = await sets.freezeExpiring(client, tenantId, { subject, days, wanted, now });
    if (!set) return 0;
    const run = { trigger: 'expiry' as const, scheduledAt: now, startedAt: now, startedBy: null };
    const runId = (await queries.insertRun(client, { tenantId, workflowId, action, ...run })) as string;
    await queries.setTargets(client, tenantId, runId, set.setId);
    return 1;
  }

  async function bySchedule(client: Queryable, workflow: WorkflowRow, times: readonly Date[], now: Date) {
    let begun = 0;
    for (const scheduledAt of times) {
      const run = { trigger: 'schedule' as const, scheduledAt, startedAt: now, startedBy: null };
      if ((await beginRun(client, tools, workflow, run)) !== null) begun += 1;
    }
    return begun;
  }

  /** Lists a missed time; creates no actions. */
  async function note(client: Queryable, workflow: WorkflowRow, scheduledAt: Date, now: Date): Promise<void> {
    const { tenantId, workflowId, action } = workflow;
    const run = { trigger: 'schedule' as const, scheduledAt, startedAt: now, startedBy: null };
    const runId = await queries.insertRun(client, { tenantId, workflowId, action, ...run });
    if (runId !== null) await queries.closeRun(client, tenantId, runId, now);
  }

  return {
    name: BEGIN_RUNS,
    everyMs: EVERY_SECOND,
    due: `exists (select 1 from ${due})`,
    whose: `select distinct w.tenant_id from ${due}`,
    async runOnce(client) {
      const now = engine.now();
      const due = await queries.lockDue(client, now, MOST_WORKFLOWS);
      let begun = 0;
      for (const workflow of due) {
        const { schedule } = workflow;
        const { times, missed, next } = dueTimes(schedule, workflow.catchUp, workflow.nextAt as Date, now);
        if (missed) await note(client, workflow, missed, now);
        begun +=
          'beforeExpiryDays' in schedule
            ? await byExpiry(client, workflow, schedule.beforeExpiryDays, now)
            : await bySchedule(client, workflow, times, now);
        await queries.setNext(client, workflow, next);
      }
      return { ...dutyRun(begun, Number.POSITIVE_INFINITY), more: due.length === MOST_WORKFLOWS };
    },
  };
}

export function createSupplyRuns({ engine, queries, sets }: RunTools): Duty {
  /** Cancels the queued actions of a cancelled run. What was handed out goes on. */
  async function sweep(client: Queryable, { tenantId, setId }: RunRow): Promise<number> {
    const actionIds = await sets.actionsIn(client, tenantId, setId as string, ['pending'], CHUNK);
    await engine.cancelPending(client, { tenantId, actionIds, reason: 'The run was cancelled.' });
    return actionIds.length;
  }

  async function supply(client: Queryable, run: RunRow, chunk: number): Promise<number> {
    const { tenantId, runId, workflowId, setId, action, startedBy } = run;
    const from = {
      tenantId,
      source: 'workflow' as const,
      sourceId: runId,
      by: startedBy,
      tags: [`workflow:${workflowId}`],
    };
    return (await sets.supply(client, from, setId as string, action, chunk)).dealtWith;
  }

  return {
    name: SUPPLY_RUNS,
    everyMs: EVERY_SECOND,
    due: `exists (select 1 from ${engine.schema}.workflow_runs r where r.supplied_at is null)`,
    whose: `select distinct r.tenant_id from ${engine.schema}.workflow_runs r where r.supplied_at is null and $1::timestamptz is not null`,
    async runOnce(client) {
      const runs = await queries.lockOpenRuns(client, MOST_RUNS);
      if (runs.length === 0) return dutyRun(0, CHUNK);
      const now = engine.now();
      const chunk = Math.max(100, Math.floor(CHUNK / runs.length));
      let count = 0;
      let more = runs.length === MOST_RUNS;
      for (const run of runs) {
        const [done, most] = run.cancelledAt
          ? [await sweep(client, run), CHUNK]
          : [await supply(client, run, chunk), chunk];
        if (done < most) await queries.closeRun(client, run.tenantId, run.runId, now);
        else more = true;
        count += done;
      }
      return { ...dutyRun(count, Number.POSITIVE_INFINITY), more };
    },
  };
}
