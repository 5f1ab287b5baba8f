import { type Duty, dutyRun, type Engine } from '@muster/engine';

/** Adds up the changes of a task's counts, so a read looks at only a few rows. */
const MOST_TASKS = 100;

export function createFoldTaskCounts({ schema: s }: Engine): Duty {
  const text = `
    with d as (
      -- two that fold at once share the rows: each adds up what it deleted
      delete from ${s}.task_counts where ctid = any(array(
        select c.ctid from (
          select distinct tenant_id, task_id from ${s}.task_counts where not folded order by 1, 2 limit ${MOST_TASKS}
        ) k
        join ${s}.task_counts c on c.tenant_id = k.tenant_id and c.task_id = k.task_id for update of c skip locked))
      returning tenant_id, task_id, state, change, at
    ), i as (
      insert into ${s}.task_counts (tenant_id, task_id, state, change, at, folded)
        select tenant_id, task_id, state, sum(change), max(at), true from d group by 1, 2, 3
    )
    select count(*)::int as n from (select distinct tenant_id, task_id from d) d`;
  return {
    name: 'fold-task-counts',
    everyMs: 1_000,
    due: `exists (select 1 from ${s}.task_counts where not folded)`,
    whose: `select distinct c.tenant_id from ${s}.task_counts c where not c.folded and $1::timestamptz is not null`,
    async runOnce(client) {
      const { rows } = await client.query({ name: 'muster_fold_task_counts', text });
      return dutyRun(rows[0].n, MOST_TASKS);
    },
  };
}
