import { type Duty, dutyRun, type Engine } from '@muster/engine';

/** Deletes tasks with all their rows, as long after their end as the engine keeps their actions. */
const MOST_TASKS = 20;
const MOST_TARGETS = 5_000;

export function createPruneTasks({ now, schema: s }: Engine, days: number): Duty {
  const old = `ended_at < $1::timestamptz - make_interval(days => ${days})`;
  const text = `
    with k as materialized (
      select tenant_id, task_id from ${s}.tasks where ${old} order by ended_at limit ${MOST_TASKS} for update skip locked
    ), few as materialized (
      select x.tenant_id, x.task_id, x.device_id from k join ${s}.task_targets x on x.tenant_id = k.tenant_id and x.task_id = k.task_id limit ${MOST_TARGETS}
    ), x as (
      delete from ${s}.task_targets x using few where x.tenant_id = few.tenant_id and x.task_id = few.task_id and x.device_id = few.device_id
    ), t as (
      -- those with more targets are continued in the next run
      delete from ${s}.tasks t using k where t.tenant_id = k.tenant_id and t.task_id = k.task_id and (select count(*) from few) < ${MOST_TARGETS}
      returning t.tenant_id, t.task_id
    ), c as (
      delete from ${s}.task_counts c using t where c.tenant_id = t.tenant_id and c.task_id = t.task_id
    )
    select (select count(*) from few)::int as targets, (select count(*) from t)::int as tasks`;
  return {
    name: 'prune-tasks',
    everyMs: 60_000,
    due: `exists (select 1 from ${s}.tasks where ${old})`,
    async runOnce(client) {
      const { rows } = await client.query({ name: 'muster_prune_tasks', text, values: [now()] });
      const { targets, tasks } = rows[0] as { targets: number; tasks: number };
      return dutyRun(targets === MOST_TARGETS ? MOST_TASKS : tasks, MOST_TASKS);
    },
  };
}
