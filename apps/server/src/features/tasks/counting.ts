import {
  type Changes,
  type EffectSql,
  type Engine,
  EVENT_TYPES,
  FINAL_STATES,
  type Queryable,
} from '@muster/engine';
import { CHANNEL, statusOf } from './wire.ts';

/**
 * Keeps the counts of tasks, in the statement of the transition they count, and puts a device into error when its tries
 * are used up; a missed deadline is not a try. It is an effect, so nothing that moves an action can skip it: no report,
 * no housekeeping, no cancel. Each transition has the state before and after: minus one there, plus one here, nothing
 * is looked up.
 *
 * Actions that are created as they are handed out are counted where they are created: see supply.ts.
 */
export const COUNTED = ['waiting', 'pending', 'running', 'completed', 'failed', 'cancelled'] as const;

/**
 * With fewer unfinished devices than this, the task may be over once all open transactions have committed. If more than
 * this many end in overlapping transactions, the next claim or housekeeping finds the task over.
 */
const NEARLY_OVER = 64;

export function countTransitions({ addEffect, db, schema }: Engine, onNearlyOver: () => void): void {
  addEffect({
    name: 'task_counts',
    channels: [CHANNEL],
    sql: (own, changes) => counts(schema, own, changes, db.isDistributed),
    afterCommit: onNearlyOver,
  });
}

/** Its holder is alone with the active task of the tenant. */
export async function lockAdvance(client: Queryable, s: string, tenantId: number): Promise<void> {
  await client.query({
    name: 'muster_lock_advance',
    text: `select 1 from ${s}.task_lines where tenant_id = $1 and part = 'advance' for update`,
    values: [tenantId],
  });
}

/** Only our own numbers count: an application may put anything into a payload. */
export const taskOf = (a: string) =>
  `case when ${a}.payload->>'taskId' ~ '^[1-9][0-9]{0,17}$' then (${a}.payload->>'taskId')::bigint end`;

/** The word for a state, in SQL. */
const wordOf = (state: string) =>
  `case ${state} ${(['pending', 'claimed', ...FINAL_STATES] as const).map((one) => `when '${one}' then '${statusOf(one)}'`).join(' ')} end`;

/** It ran out of time, which says nothing about the device. A report with this very word is still a report. */
const atItsDeadline = (i: string) =>
  `(${i}.reason = 'DEADLINE' and not ${EVENT_TYPES.FAILED} = any (${i}.events))`;

function counts(
  s: string,
  own: (name: string) => string,
  changes: Changes,
  isDistributed: boolean,
): EffectSql | null {
  const can = (state: string, ...before: string[]) =>
    changes?.some((change) => before.includes(String(change[0])) && change[1] === state) ?? true;
  if (changes?.every(([before, state]) => before === null || before === state)) return null;
  const [i, x] = [own('i'), own('x')];
  return {
    steps: `${i} as materialized (
    select t.*, ${taskOf('a')} as task_id from ${own('tr')} t
    cross join lateral (
      select a.payload from ${s}.action_states a where a.tenant_id = t.tenant_id and a.action_id = t.action_id limit 1
    ) a where t.before <> t.state
  ), ${x} as materialized (
    select x.tenant_id, x.task_id, x.state, sum(x.change)::int as change, max(x.at) as at, max(x.action_id) as action_id from (
      select i.tenant_id, i.task_id, ${wordOf('i.before')} as state, -1 as change, i.at, i.action_id from ${i} i where i.task_id is not null
      union all select i.tenant_id, i.task_id, ${wordOf('i.state')}, 1, i.at, i.action_id from ${i} i where i.task_id is not null
    ) x group by 1, 2, 3
  ), ${own('counts')} as (
    insert into ${s}.task_counts (tenant_id, task_id, state, change, at)
      select x.tenant_id, x.task_id, x.state, x.change, x.at from ${x} x
  )${can('failed', 'claimed') ? `, ${errors(s, own, isDistributed)}` : ''}${can('succeeded', 'failed') ? `, ${takenBack(s, own, isDistributed)}` : ''}${
    can('pending', ...FINAL_STATES) ? `, ${reopened(s, own)}` : ''
  }`,
    // the counts as of this commit, without transactions still open
    facts: `
    select t.action_id, jsonb_build_object('open', t.open) as facts from (
      select t.action_id, t.open_change + (
        select coalesce(sum(o.change), 0) from ${s}.task_counts o
        where o.tenant_id = t.tenant_id and o.task_id = t.task_id and o.state in ('waiting', 'pending', 'running')
      )::int as open
      from (
        select x.tenant_id, x.task_id, max(x.action_id) as action_id,
          coalesce(sum(x.change) filter (where x.state in ('pending', 'running')), 0)::int as open_change
        from ${x} x group by 1, 2
      ) t where t.open_change < 0
    ) t where t.open <= ${NEARLY_OVER}`,
  };
}

function errors(s: string, own: (name: string) => string, isDistributed: boolean): string {
  const reason = "coalesce(left(k.reason, 1000), 'FAILED_FINAL')";
  return changed(s, own, isDistributed, {
    name: 'errors',
    set: `state = 'error', state_reason = ${reason}, state_action = k.action_id`,
    of: `
      select i.tenant_id, i.lane_id, i.at, i.action_id, i.reason, o.device_id, o.state from (
        select distinct on (tenant_id, lane_id) * from ${own('i')} i
        -- an attempt: an action that ends while it waits says nothing about the device
        where ${EVENT_TYPES.FAILED_FINAL} = any (i.events) and i.before = 'claimed' and not ${atItsDeadline('i')} and i.task_id is not null
        order by tenant_id, lane_id
      ) i
      cross join lateral (
        select o.device_id, o.state, o.deleted_at from ${s}.devices o where o.tenant_id = i.tenant_id and o.lane_id = i.lane_id and ${s}.sought_by(o.lane_id) limit 1
      ) o
      where o.deleted_at is null`,
    where: 'd.deleted_at is null',
    note: `${s}.note_device_state(k.at, k.tenant_id, k.lane_id, k.device_id, 'error', k.state, ${reason})`,
  });
}

/** A late success: the error that its failure caused was none; any other error stays. */
function takenBack(s: string, own: (name: string) => string, isDistributed: boolean): string {
  return changed(s, own, isDistributed, {
    name: 'taken_back',
    set: `state = 'ok', state_reason = null, state_action = null`,
    of: `
      select i.tenant_id, i.lane_id, i.at, i.action_id, o.device_id from ${own('i')} i
      cross join lateral (
        select o.device_id, o.state_action from ${s}.devices o where o.tenant_id = i.tenant_id and o.lane_id = i.lane_id and ${s}.sought_by(o.lane_id) limit 1
      ) o
      where i.before = 'failed' and i.state = 'succeeded' and o.state_action = i.action_id`,
    where: 'd.state_action = k.action_id',
    note: `${s}.note_device_state(k.at, k.tenant_id, k.lane_id, k.device_id, 'ok', 'error', null)`,
  });
}

/**
 * Changes the devices `k` and writes notes about it. A distributed database calls the function only in a step without
 * tables, so there the notes come before the change.
 */
function changed(
  s: string,
  own: (name: string) => string,
  isDistributed: boolean,
  by: { name: string; set: string; of: string; where: string; note: string },
): string {
  const [found, noted] = [own(`${by.name}_of`), own(`${by.name}_noted`)];
  const update = (from: string) => `${own(by.name)} as (
    update ${s}.devices d set ${by.set}
    from ${from} k
    where d.tenant_id = any(array[k.tenant_id]) and d.device_id = k.device_id and ${by.where}`;
  if (!isDistributed) return `${update(`(${by.of})`)}\n    returning ${by.note}\n  )`;
  return `${found} as materialized (${by.of}
  ), ${noted} as materialized (
    select k.*, ${by.note} as event_id from ${found} k
  ), ${update(noted)}
  )`;
}

/**
 * Redriving a dead letter makes its task unfinished again; as the oldest one it is active at once. A transaction that
 * ends a task holds `lockAdvance`; the task is updated after it in its then current state, so no look is needed here.
 */
function reopened(s: string, own: (name: string) => string): string {
  const [i, line] = [own('i'), own('line')];
  return `${line} as materialized (
    select l.tenant_id from ${s}.task_lines l
    where l.part = 'advance' and l.tenant_id in (select i.tenant_id from ${i} i where ${EVENT_TYPES.REDRIVEN} = any (i.events))
    order by l.tenant_id for update
  ), ${own('reopened')} as (
    update ${s}.tasks t set ended_at = null, cancelled_at = case when t.ended_at is null then t.cancelled_at end,
      cancel_reason = case when t.ended_at is null then t.cancel_reason end
    from (
      select distinct i.tenant_id, i.task_id from ${i} i where ${EVENT_TYPES.REDRIVEN} = any (i.events) and i.task_id is not null
    ) k
    where t.tenant_id = any(array[k.tenant_id]) and t.task_id = k.task_id and (select count(*) from ${line}) is not null
  )`;
}
