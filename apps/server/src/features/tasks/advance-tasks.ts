import type { Duty, Engine, Queryable } from '@muster/engine';
import type { ActiveTask, AdvanceQueries } from './advance-queries.ts';
import { lockAdvance } from './counting.ts';
import type { PcQueries } from './pc-queries.ts';
import type { TaskQueries } from './task-queries.ts';

/**
 * Advances the active task of a tenant: freezes its targets, ends what can no longer be done, ends the task, and starts
 * the next. Each step is derived from stored state and leads to a state that no longer asks for it, so it does not
 * matter which process runs it, how often, or whether one crashed halfway. The end of the last device triggers it at
 * once, housekeeping every second.
 *
 *   oldest unfinished ──freeze──► active ──nothing left──► ended ──► the next
 *                                   ├──past its deadline: what waits has failed
 *                                   ├──nothing runs, nothing left is eligible or expected back: the rest is cancelled
 *                                   └──nothing runs, nothing happens, no runner comes: the rest has failed
 */
export const ADVANCE_TASKS = 'advance-tasks';
const MOST_TENANTS = 100;
const MOST_STEPS = 100;
const CHUNK = 1_000;

export type Advance = ReturnType<typeof createAdvance>;

export function createAdvance(tools: {
  engine: Engine;
  pcQueries: PcQueries;
  queries: AdvanceQueries;
  tasks: TaskQueries;
}) {
  const { engine, pcQueries, queries, tasks } = tools;

  /** Ends all actions that are not handed out, in chunks: a large task may have many. */
  async function endPending(
    client: Queryable,
    { tenantId, taskId }: ActiveTask,
    reason: string,
    end: (ids: string[]) => Promise<unknown>,
  ): Promise<void> {
    for (;;) {
      const ids = await tasks.openActions(client, tenantId, taskId, 'pending', CHUNK);
      if (ids.length === 0) return;
      // A redriven dead letter becomes a dead letter again, so operators can redrive it once more.
      const redriven = await tasks.redriven(client, tenantId, ids);
      if (redriven.size > 0) await engine.fail(client, { tenantId, actionIds: [...redriven], reason });
      const others = ids.filter((id) => !redriven.has(id));
      if (others.length > 0) await end(others);
      if (ids.length < CHUNK) return;
    }
  }

  async function wakeRunners(client: Queryable, tenantId: number): Promise<void> {
    const runners = await pcQueries.runners(client, tenantId);
    if (runners.length === 0) return;
    await engine.wake(
      client,
      runners.map((runnerId) => ({ tenantId, runnerId })),
    );
  }

  const isDue = (task: ActiveTask) =>
    !task.activated ||
    (task.pastDeadline && task.waiting > 0) ||
    task.waiting + task.pending + task.running === 0 ||
    task.nothingEligible ||
    task.stalled;

  /** Makes one step; false if there is none. */
  async function step(client: Queryable, task: ActiveTask): Promise<boolean> {
    if (!isDue(task)) return false;
    const { tenantId, taskId } = task;
    if (!task.activated) {
      await queries.activate(client, tenantId, taskId);
      await wakeRunners(client, tenantId);
      return true;
    }
    if (task.pastDeadline && task.waiting > 0) {
      await tasks.endWaiting(client, task, { ended: 'failed', reason: 'DEADLINE' });
      return true;
    }
    if (task.waiting + task.pending + task.running === 0) {
      await tasks.markEnded(client, tenantId, taskId);
      // the next task may already have been active, if this one was reopened
      await wakeRunners(client, tenantId);
      return true;
    }
    // What can no longer be handed out, or was not fetched.
    if (task.nothingEligible) {
      await tasks.endWaiting(client, task, { ended: 'cancelled', reason: 'NOT_ELIGIBLE' });
      await endPending(client, task, 'NOT_ELIGIBLE', (actionIds) =>
        engine.cancelPending(client, { tenantId, actionIds, reason: 'NOT_ELIGIBLE' }),
      );
      return true;
    }
    await tasks.endWaiting(client, task, { ended: 'failed', reason: 'EXPIRED' });
    await endPending(client, task, 'EXPIRED', (actionIds) =>
      engine.expire(client, { tenantId, actionIds, reason: 'EXPIRED' }),
    );
    return true;
  }

  /** Under the tenant's lock. Returns the number of steps. */
  async function advance(client: Queryable, tenantId: number): Promise<number> {
    for (let steps = 0; ; steps += 1) {
      const task = await queries.active(client, tenantId);
      if (!task || steps >= MOST_STEPS || !(await step(client, task))) return steps;
    }
  }

  return {
    /** The active task, and whether it has a step to be made; locks nothing. */
    async look(tenantId: number): Promise<{ taskId: string | null; isDue: boolean }> {
      const task = await queries.active(engine.db, tenantId);
      return { taskId: task?.taskId ?? null, isDue: task !== null && isDue(task) };
    },

    /** At once; waits for another transaction that is advancing the tenant. */
    async now(client: Queryable, tenantId: number): Promise<void> {
      await lockAdvance(client, engine.schema, tenantId);
      await advance(client, tenantId);
    },

    duty: {
      name: ADVANCE_TASKS,
      everyMs: 1_000,
      due: `exists (select 1 from ${engine.schema}.tasks where ended_at is null)`,
      whose: `select distinct t.tenant_id from ${engine.schema}.tasks t where t.ended_at is null and $1::timestamptz is not null`,
      async runOnce(client) {
        let count = 0;
        const tenants = await queries.tenantsToAdvance(client, MOST_TENANTS);
        for (const tenantId of tenants.sort((a, b) => a - b))
          if (await queries.tryLock(client, tenantId)) count += await advance(client, tenantId);
        const more = count > 0 && tenants.length === MOST_TENANTS;
        return { answers: [], transitions: [], wakes: [], count, more };
      },
    } satisfies Duty,
  };
}
