import type { Engine, Queryable, Transition } from '@muster/engine';
import { CHANNEL, statusOf } from './wire.ts';

/**
 * Keeps the counts of tasks, in the transaction of what they count, and puts a device into error whose tries are used up.
 * Hangs on the engine's transitions, so nothing that moves an action can forget it: not a report, not housekeeping, not
 * a cancel. Each transition says the state before and after: minus one there, plus one here, nothing is looked up.
 *
 * What comes into being as it is handed out is counted by whoever supplies it: see supply.ts.
 */
export const COUNTED = ['waiting', 'pending', 'running', 'completed', 'failed', 'cancelled'] as const;

/**
 * Fewer unfinished ones than this, and the task may be over as soon as everybody else has committed. If more than so many
 * end in transactions that overlap, the next claim or housekeeping finds the task over.
 */
const NEARLY_OVER = 64;

export function countTransitions(engine: Engine, onNearlyOver: () => void): void {
  const text = statement(engine.schema);
  const reopen = reopenStatement(engine.schema);

  engine.onTransitions(CHANNEL, async (client, transitions) => {
    const moved = transitions.filter(({ before, state }) => before !== null && before !== state);
    if (moved.length === 0) return;
    const { rows } = await client.query({
      name: 'muster_count_task_transitions',
      text,
      values: [
        moved.map(({ tenantId }) => tenantId),
        moved.map(({ actionId }) => actionId),
        moved.map(({ laneId }) => laneId),
        moved.map(({ before }) => statusOf(before as string)),
        moved.map(({ state }) => statusOf(state)),
        moved.map(({ events }) => events.includes('FAILED_FINAL')),
        moved.map(({ reason }) => reason?.slice(0, 1_000) ?? null),
        moved.map(({ at }) => at),
      ],
    });
    const redriven = moved.filter(({ events }) => events.includes('REDRIVEN'));
    if (redriven.length > 0) await reopenTasks(client, redriven);
    if (rows.some((row) => row.open <= NEARLY_OVER)) whenCommitted(client, onNearlyOver);
  });

  /** A dead letter that is to be tried again makes its task unfinished again; as the oldest one it is active at once. */
  async function reopenTasks(client: Queryable, redriven: readonly Transition[]): Promise<void> {
    const tenants = [...new Set(redriven.map(({ tenantId }) => tenantId))].sort((a, b) => a - b);
    for (const tenantId of tenants) await lockAdvance(client, engine.schema, tenantId);
    await client.query({
      text: reopen,
      values: [redriven.map(({ tenantId }) => tenantId), redriven.map(({ actionId }) => actionId)],
    });
  }
}

/** Whoever holds it is alone with the active task of the tenant. */
export async function lockAdvance(client: Queryable, s: string, tenantId: number): Promise<void> {
  await client.query({
    name: 'muster_lock_advance',
    text: `select 1 from ${s}.task_lines where tenant_id = $1 and part = 'advance' for update`,
    values: [tenantId],
  });
}

function whenCommitted(client: Queryable, run: () => void): void {
  if ('afterCommit' in client && typeof client.afterCommit === 'function') client.afterCommit(run);
}

/** Only numbers of ours: an application may put anything into a payload. */
export const taskOf = (a: string) =>
  `case when ${a}.payload->>'taskId' ~ '^[1-9][0-9]{0,17}$' then (${a}.payload->>'taskId')::bigint end`;

const statement = (s: string) => `
  with i as materialized (
    select i.*, ${taskOf('a')} as task_id
    from unnest((select $1::int[]), (select $2::bigint[]), (select $3::bigint[]), (select $4::text[]), (select $5::text[]), (select $6::boolean[]), (select $7::text[]), (select $8::timestamptz[]))
      as i(tenant_id, action_id, lane_id, before, after, final, reason, at)
    cross join lateral (select a.payload from ${s}.action_states a where a.tenant_id = i.tenant_id and a.action_id = i.action_id limit 1) a
  ), x as materialized (
    select x.tenant_id, x.task_id, x.state, sum(x.change)::int as change, max(x.at) as at from (
      select i.tenant_id, i.task_id, i.before as state, -1 as change, i.at from i where i.task_id is not null
      union all select i.tenant_id, i.task_id, i.after, 1, i.at from i where i.task_id is not null
    ) x group by 1, 2, 3
  ), c as (
    insert into ${s}.task_counts (tenant_id, task_id, state, change, at)
      select x.tenant_id, x.task_id, x.state, x.change, x.at from x
  ), e as (
    update ${s}.devices d set state = 'error', state_reason = coalesce(k.reason, 'FAILED_FINAL')
    from (
      select i.tenant_id, i.reason, o.device_id
      from (select distinct on (tenant_id, lane_id) * from i where i.final and i.task_id is not null order by tenant_id, lane_id) i
      cross join lateral (
        select o.device_id from ${s}.devices o where o.tenant_id = i.tenant_id and o.lane_id = i.lane_id and ${s}.sought_by(o.lane_id) limit 1
      ) o
    ) k
    where d.tenant_id = any(array[k.tenant_id]) and d.device_id = k.device_id and d.deleted_at is null
  )
  -- as it is when this is committed, without what others have not committed yet
  select t.tenant_id, t.task_id, (
      select coalesce(sum(o.change), 0) from ${s}.task_counts o
      where o.tenant_id = t.tenant_id and o.task_id = t.task_id and o.state in ('waiting', 'pending', 'running')
    )::int + t.open_change as open
  from (
    select x.tenant_id, x.task_id, coalesce(sum(x.change) filter (where x.state in ('pending', 'running')), 0)::int as open_change
    from x group by 1, 2
  ) t where t.open_change < 0`;

const reopenStatement = (s: string) => `
  update ${s}.tasks t set ended_at = null, cancelled_at = null
  from (
    select distinct i.tenant_id, ${taskOf('a')} as task_id from unnest((select $1::int[]), (select $2::bigint[])) i(tenant_id, action_id)
    cross join lateral (select a.payload from ${s}.action_states a where a.tenant_id = i.tenant_id and a.action_id = i.action_id limit 1) a
  ) k
  where t.tenant_id = any(array[k.tenant_id]) and t.task_id = k.task_id and t.ended_at is not null`;
