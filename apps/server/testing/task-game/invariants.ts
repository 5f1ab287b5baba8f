import type { Queryable } from '@muster/engine';

/**
 * Invariants that hold at any time, read from the tables with separate statements: nothing here uses what the door stores for
 * itself, except to compare it.
 */
const OPEN = `(select t.task_id from muster.tasks t where t.tenant_id = 1 and t.ended_at is null order by t.task_id limit 1)`;
const ELIGIBLE = `d.tenant_id = 1 and d.deleted_at is null and d.state = 'ok' and d.absent_since is null`;

async function rowsOf(client: Queryable, text: string, ...values: unknown[]) {
  return (await client.query({ text, values })).rows;
}

/** The counts of each task equal a recount of its devices, and add up to its total. */
async function wrongCounts(client: Queryable): Promise<string[]> {
  const rows = await rowsOf(
    client,
    `with kept as (
        select task_id, state, sum(change)::int as n from muster.task_counts where tenant_id = 1 group by 1, 2
      ), counted as (
        select x.task_id, case when x.ended is not null then x.ended when x.action_id is null then 'waiting'
            when z.state = 'succeeded' then 'completed' when z.state = 'expired' then 'failed' when z.state is not null then z.state
            when l.action_id = x.action_id then 'running' else 'pending' end as state, count(*)::int as n
        from muster.task_targets x
        left join muster.actions a on a.tenant_id = 1 and a.action_id = x.action_id
        left join muster.lanes l on l.tenant_id = 1 and l.lane_id = a.lane_id
        left join muster.endings z on z.tenant_id = 1 and z.action_id = x.action_id
        where x.tenant_id = 1 group by 1, 2
      )
      select coalesce(k.task_id, c.task_id) as task_id, coalesce(k.state, c.state) as state, coalesce(k.n, 0) as kept, coalesce(c.n, 0) as counted
      from kept k full join counted c on c.task_id = k.task_id and c.state = k.state
      join muster.tasks t on t.tenant_id = 1 and t.task_id = coalesce(k.task_id, c.task_id) and t.activated_at is not null
      where coalesce(k.n, 0) <> coalesce(c.n, 0)`,
  );
  const totals = await rowsOf(
    client,
    `select t.task_id, t.total, coalesce(sum(c.change), 0)::int as sum from muster.tasks t
      left join muster.task_counts c on c.tenant_id = 1 and c.task_id = t.task_id
      where t.tenant_id = 1 and t.total is not null group by t.task_id, t.total having t.total <> coalesce(sum(c.change), 0)`,
  );
  return [
    ...rows.map(
      (row) => `Task ${row.task_id} counts ${row.kept} ${row.state}; a recount gives ${row.counted}.`,
    ),
    ...totals.map((row) => `The counts of task ${row.task_id} add up to ${row.sum}, not to ${row.total}.`),
  ];
}

/** One row per device of a task; one lease per device; only devices of unfinished tasks are running. */
async function wrongRows(client: Queryable): Promise<string[]> {
  const twice = await rowsOf(
    client,
    `select payload->>'taskId' as task_id, payload->>'deviceId' as device_id from muster.actions
      where tenant_id = 1 and channel = 'runner' group by 1, 2 having count(*) > 1`,
  );
  const overlapping = await rowsOf(
    client,
    `select e.lane_id from (
        select e.lane_id, e.event_id, e.type, e.action_id, lag(e.type) over w as before, lag(e.action_id) over w as before_action
        from muster.history e where e.tenant_id = 1 and e.type in (2, 6, 7, 8, 11, 12, 16)
          -- the end of what was never handed out, or of what runs no more, is no end of a lease
          and (e.type = 2 or exists (select 1 from muster.history s where s.tenant_id = 1 and s.action_id = e.action_id and s.type = 2
            and s.attempt = e.attempt and s.event_id < e.event_id))
        window w as (partition by e.lane_id order by e.event_id)
      ) e where e.type = 2 and e.before = 2`,
  );
  const stray = await rowsOf(
    client,
    `select l.action_id from muster.lanes l join muster.actions a on a.tenant_id = 1 and a.action_id = l.action_id and a.channel = 'runner'
      join muster.tasks t on t.tenant_id = 1 and t.task_id = (a.payload->>'taskId')::bigint
      where l.tenant_id = 1 and t.ended_at is not null`,
  );
  return [
    ...twice.map((row) => `Device ${row.device_id} has two rows in task ${row.task_id}.`),
    ...overlapping.map((row) => `Lane ${row.lane_id} was handed out twice without an end between.`),
    ...stray.map((row) => `Action ${row.action_id} runs although its task has ended.`),
  ];
}

export async function brokenNow(client: Queryable): Promise<string[]> {
  return [...(await wrongCounts(client)), ...(await wrongRows(client))];
}

export interface PcFacts {
  readonly running: number;
  readonly target: number;
}

export async function pcFacts(client: Queryable, pcId: string): Promise<PcFacts> {
  const [row] = await rowsOf(
    client,
    `select (select count(*) from muster.lanes l where l.tenant_id = 1 and l.lease_runner = p.runner_id)::int as running,
        least(r.slots, (select count(*) from muster.devices d where ${ELIGIBLE} and d.pc_id = p.pc_id))::int as target
      from muster.pcs p join muster.runners r on r.tenant_id = 1 and r.runner_id = p.runner_id where p.tenant_id = 1 and p.pc_id = $1`,
    pcId,
  );
  return row;
}

/** The task of a device that was just handed out is the active one: it is unfinished now, and no older one is. */
export async function activeTaskId(client: Queryable): Promise<string | null> {
  return (await rowsOf(client, `select ${OPEN} as id`))[0].id;
}

/** Devices that a PC with a free slot has just asked for and did not get, although nothing prevents it. */
export async function starved(client: Queryable, pcId: string, now: Date): Promise<string[]> {
  const { running, target } = await pcFacts(client, pcId);
  if (running >= target) return [];
  const rows = await rowsOf(
    client,
    `select d.device_id from muster.devices d
      join muster.task_targets x on x.tenant_id = 1 and x.device_id = d.device_id and x.task_id = ${OPEN} and x.ended is null
      join muster.tasks t on t.tenant_id = 1 and t.task_id = x.task_id and t.activated_at is not null and t.cancelled_at is null
        and (t.deadline is null or t.deadline > $2)
      join muster.lanes l on l.tenant_id = 1 and l.lane_id = d.lane_id and l.action_id is null and not l.paused
      where ${ELIGIBLE} and d.pc_id = $1 and (x.action_id is null or exists (
        select 1 from muster.pending p where p.tenant_id = 1 and p.action_id = x.action_id and not p.delayed and (p.not_before is null or p.not_before <= $2)))`,
    pcId,
    now,
  );
  return rows.map(
    (row) => `Device ${row.device_id} is starved: PC ${pcId} has ${target - running} free slots.`,
  );
}
