import type { Duty, Engine, Queryable } from '@muster/engine';
import type { ActiveTask, AdvanceQueries } from './advance-queries.ts';
import { lockAdvance } from './counting.ts';
import type { PcQueries } from './pc-queries.ts';
import type { TaskQueries } from './task-queries.ts';

/**
 * Moves the active task of a tenant on: freezes its targets, ends what cannot be done any more, ends the task, and goes on
 * with the next. Each step is derived from what is stored and leads to a state that no longer asks for it, so it does not
 * matter who runs it, how often, or whether somebody crashed before: the end of the last device asks for it at once, and
 * housekeeping every second.
 *
 *   oldest unfinished ──freeze──► active ──nothing left──► ended ──► the next
 *                                   ├──past its deadline: what waits has failed
 *                                   ├──nothing runs, nothing left is eligible or waited for: the rest is cancelled
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

  /** All of what nobody has, in chunks: those of a large task may be many. */
  async function endPending(
    client: Queryable,
    { tenantId, taskId }: ActiveTask,
    reason: string,
    end: (ids: string[]) => Promise<unknown>,
  ): Promise<void> {
    for (;;) {
      const ids = await tasks.openActions(client, tenantId, taskId, 'pending', CHUNK);
      if (ids.length === 0) return;
      // What was a dead letter is one again: an operator wanted it done, and can want it again.
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

  /** One step, or false if there is none to be made. */
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
      // the next may have been active before, if this one was taken up again
      await wakeRunners(client, tenantId);
      return true;
    }
    // What nobody can have any more, or nobody came for.
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

  /** Under the tenant's lock. Says how many steps were made. */
  async function advance(client: Queryable, tenantId: number): Promise<number> {
    for (let steps = 0; ; steps += 1) {
      const task = await queries.active(client, tenantId);
      if (!task || steps >= MOST_STEPS || !(await step(client, task))) return steps;
    }
  }

  return {
    /** Which task is active now, and whether there is a step to be made; locks nothing. */
    async look(tenantId: number): Promise<{ taskId: string | null; isDue: boolean }> {
      const task = await queries.active(engine.db, tenantId);
      return { taskId: task?.taskId ?? null, isDue: task !== null && isDue(task) };
    },

    /** Now, and waits for whoever is at it. */
    async now(client: Queryable, tenantId: number): Promise<void> {
      await lockAdvance(client, engine.schema, tenantId);
      await advance(client, tenantId);
    },

    duty: {
      name: ADVANCE_TASKS,
      everyMs: 1_000,
      due: `exists (select 1 from ${engine.schema}.tasks where ended_at is null)`,
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
