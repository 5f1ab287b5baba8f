import type { ClaimedAction, Engine, Queryable } from '@muster/engine';
import { eligible } from './eligible.ts';
import type { PcQueries } from './pc-queries.ts';
import type { Runner } from './runner-access.ts';
import { activeTask } from './task-queries.ts';
import { CHANNEL, tagOf, workerOf } from './wire.ts';

/**
 * What a PC gets when it asks: devices of the active task that are to be tried again, then devices that come into being as
 * they are handed out, one for each slot that is free. One transaction, in which the PC's row is held: two claims of one PC
 * come one after the other, and the engine checks the slots once more by the version of the runner.
 *
 *   lock the PC ─► look (and lock the targets) ─► claim those again ─► enqueue and claim the new ─► write down which
 *
 * The lock on the targets is what a cancel waits for, and the other way round. A device whose lane is busy, paused or
 * blocked is passed over; whatever ends that wakes its runner.
 */
export interface Supplied {
  readonly actions: ClaimedAction[];
  /** The task that was active when it was looked for work. */
  readonly taskId: string | null;
}

interface Row {
  readonly again: boolean | null;
  readonly device_id: string | null;
  readonly lane_id: string | null;
  readonly action_id: string | null;
}

interface Facts {
  readonly task_id: string;
  readonly kind: string;
  readonly max_attempts: number;
  readonly timeout_seconds: number;
  readonly retry_backoff_seconds: number;
  readonly deadline: Date | null;
  readonly created_by: string | null;
}

/** Somebody may take a lane between look and lock: then there may be others to be had. */
const MOST_ROUNDS = 5;
const LONGEST_BACKOFF_MS = 300_000;

export type Supply = ReturnType<typeof createSupply>;

export function createSupply(engine: Engine, pcQueries: PcQueries) {
  const { schema: s, now } = engine;
  const lookStatement = look(s);
  const noteStatement = note(s);

  async function makeNew(client: Queryable, runner: Runner, task: Facts, rows: readonly Row[]) {
    if (rows.length === 0) return [];
    const { tenantId, runnerId, pcId } = runner;
    const taskId = task.task_id;
    const backoffMs = task.retry_backoff_seconds * 1_000;
    const made = await engine.enqueueAndClaim(client, {
      tenantId,
      runnerId,
      worker: workerOf(pcId),
      leaseMs: task.timeout_seconds * 1_000,
      actions: rows.map((row) => ({
        laneId: row.lane_id as string,
        channel: CHANNEL,
        kind: task.kind,
        payload: { taskId, deviceId: row.device_id },
        tags: [tagOf(taskId)],
        maxAttempts: task.max_attempts,
        backoffMs,
        backoffMaxMs: Math.max(backoffMs, LONGEST_BACKOFF_MS),
        deadline: task.deadline ?? undefined,
        createdBy: task.created_by ?? undefined,
      })),
    });
    const pairs = made.flatMap((action, n) =>
      action ? [{ action, deviceId: rows[n]?.device_id as string }] : [],
    );
    if (pairs.length > 0) {
      const { rows: found } = await client.query({
        name: 'muster_note_supplied',
        text: noteStatement,
        values: [
          now(),
          tenantId,
          taskId,
          pairs.map(({ deviceId }) => deviceId),
          pairs.map(({ action }) => action.id),
        ],
      });
      // an action that no target knows of would be lost to its task: rather nothing at all happens
      if (found[0]?.noted !== pairs.length) throw new Error('Not every supplied device was found again.');
    }
    return pairs.map(({ action }) => action);
  }

  async function claimOnce(client: Queryable, runner: Runner, max: number) {
    const { tenantId, runnerId, pcId } = runner;
    const { rows } = await client.query({
      name: 'muster_look_for_work',
      text: lookStatement,
      values: [now(), tenantId, pcId, max],
    });
    const task = rows[0] as Facts | undefined;
    if (!task) return { actions: [], wanted: 0, taskId: null };
    const wanted = (rows as Row[]).filter((row) => row.device_id !== null);
    const again = await engine.claimNamed(client, {
      tenantId,
      runnerId,
      worker: workerOf(pcId),
      leaseMs: task.timeout_seconds * 1_000,
      actionIds: wanted.flatMap((row) => (row.again ? [row.action_id as string] : [])),
    });
    const fresh = await makeNew(
      client,
      runner,
      task,
      wanted.filter((row) => !row.again),
    );
    return { actions: [...again, ...fresh], wanted: wanted.length, taskId: task.task_id };
  }

  return {
    async claim(client: Queryable, runner: Runner, max: number): Promise<Supplied> {
      if (!(await pcQueries.lock(client, runner.tenantId, runner.pcId))) return { actions: [], taskId: null };
      const actions: ClaimedAction[] = [];
      let taskId: string | null = null;
      for (let round = 0; round < MOST_ROUNDS; round += 1) {
        const got = await claimOnce(client, runner, max - actions.length);
        actions.push(...got.actions);
        taskId = got.taskId;
        if (got.actions.length === got.wanted) break;
      }
      return { actions, taskId };
    },
  };
}

const NOW = 'coalesce($1::timestamptz, now())';

/** The lane of the device would hand it out now, as far as can be seen without a lock. */
const laneIsFree = `l.action_id is null and not l.paused and l.blocked is null`;

/**
 * Every step carries along what later ones need and looks each row up by its key: joined as sets, of whose size the planner
 * knows nothing, they are compared all with all (110 ms instead of 3 for a PC with 1,000 devices).
 */
const look = (s: string) => `
  with pc as materialized (
    select r.slots, r.running from ${s}.pcs p
    cross join lateral (select * from ${s}.runner_loads r where r.tenant_id = p.tenant_id and r.runner_id = p.runner_id limit 1) r
    where p.tenant_id = $2::int and p.pc_id = $3::bigint
  ), task as materialized (
    select *, t.activated_at is not null and t.cancelled_at is null as is_open from (${activeTask(s, '$2::int')}) t
  ), d as materialized (
    select d.device_id, d.lane_id from ${s}.devices d
    where d.tenant_id = $2::int and d.pc_id = $3::bigint and ${eligible('d')}
  ), free as materialized (
    select greatest(0, least($4::int, least(pc.slots, (select count(*) from d)) - pc.running))::int as n from pc
  ), meant as materialized (
    select d.device_id, d.lane_id, x.action_id from (select * from task where task.is_open and (select n from free) > 0) task
    cross join d
    cross join lateral (
      select x.action_id, x.ended from ${s}.task_targets x
      where x.tenant_id = $2::int and x.task_id = task.task_id and x.device_id = d.device_id limit 1
    ) x where x.ended is null
  ), again as materialized (
    select true as again, m.device_id, m.lane_id, m.action_id, p.seq from meant m
    cross join lateral (
      select p.seq, p.generation from ${s}.pending p where p.tenant_id = $2::int and p.action_id = m.action_id and not p.delayed
        and (p.not_before is null or p.not_before <= ${NOW}) and (p.deadline is null or p.deadline > ${NOW}) limit 1
    ) p
    cross join lateral (
      select 1 from ${s}.lanes l where l.tenant_id = $2::int and l.lane_id = m.lane_id and ${laneIsFree} and l.generation = p.generation limit 1
    ) l
    where m.action_id is not null
    order by p.seq limit (select n from free)
  ), waiting as materialized (
    select m.device_id, m.lane_id from (select * from meant where meant.action_id is null order by meant.device_id) m
    cross join lateral (
      select l.generation from ${s}.lanes l where l.tenant_id = $2::int and l.lane_id = m.lane_id and ${laneIsFree} limit 1
    ) l
    where not exists (select 1 from task where task.deadline <= ${NOW})
      and not exists (select 1 from ${s}.pending p where p.tenant_id = $2::int and p.lane_id = m.lane_id
        and p.channel in ('${CHANNEL}', 'any') and not p.delayed and p.generation = l.generation and p.priority <= 1)
    order by m.device_id limit (select n - (select count(*) from again) from free)
  ), fresh as materialized (
    select false as again, w.device_id, w.lane_id, null::bigint as action_id, w.device_id as seq from waiting w cross join task
    cross join lateral (
      select 1 from ${s}.task_targets x where x.tenant_id = $2::int and x.task_id = task.task_id and x.device_id = w.device_id
        and x.action_id is null and x.ended is null limit 1 for update
    ) x
  )
  select t.task_id, t.kind, t.max_attempts, t.timeout_seconds,
    t.retry_backoff_seconds, t.deadline, t.created_by, w.again, w.device_id, w.lane_id, w.action_id
  from task t
  left join (select * from again union all select * from fresh) w on true
  order by w.again desc, w.seq`;

const note = (s: string) => `
  with u as (
    -- By key and place, because a plan that was made while the table was small would read all of a large task each time
    -- (73 instead of some hundred devices a second). The rows are locked since the look, so they stay where they are.
    update ${s}.task_targets x set action_id = i.action_id from unnest($4::bigint[], $5::bigint[]) i(device_id, action_id)
    cross join lateral (
      select t.ctid as place from ${s}.task_targets t
      where t.tenant_id = $2::int and t.task_id = $3::bigint and t.device_id = i.device_id limit 1
    ) t
    where x.ctid = t.place
    returning 1
  ), c as (
    insert into ${s}.task_counts (tenant_id, task_id, state, change, at)
      select $2::int, $3::bigint, y.state, y.sign * (select count(*) from u)::int, ${NOW}
      from (values ('waiting', -1), ('running', 1)) y(state, sign)
  )
  select count(*)::int as noted from u`;
