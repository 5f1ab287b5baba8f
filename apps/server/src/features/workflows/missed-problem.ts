import type { FindProblems } from '../../problems/problems.ts';

/**
 * Workflows whose last time passed while no server was running, until one is on time again. Each costs a look at its
 * newest run.
 */
const MOST = 1_000;

export function createMissedProblem(s: string): FindProblems {
  return async (client, tenantId) => {
    const { rows } = await client.query({
      name: 'muster_runs_missed',
      text: `select w.workflow_id, w.name, r.scheduled_at from (
          select * from ${s}.workflows w where w.tenant_id = $1 and w.enabled and w.deleted_at is null order by w.workflow_id limit ${MOST}
        ) w
        cross join lateral (
          select r.scheduled_at, r.set_id from ${s}.workflow_runs r
          where r.tenant_id = w.tenant_id and r.workflow_id = w.workflow_id order by r.run_id desc limit 1
        ) r
        where r.set_id is null order by r.scheduled_at, w.workflow_id`,
      values: [tenantId],
    });
    const [first] = rows;
    if (!first) return [];
    const at = first.scheduled_at.toISOString();
    return [
      {
        code: 'RUNS_MISSED',
        count: rows.length,
        since: at,
        text: `${first.name}: no server ran at ${at}.`,
        example: { type: 'workflow', id: first.workflow_id, name: first.name },
      },
    ];
  };
}
