import type { ClaimedAction, Engine, Queryable } from '@muster/engine';
import { eligible } from './eligible.ts';
import { type PcQueries, pcKey } from './pc-queries.ts';
import type { Runner } from './runner-access.ts';
import { activeTask } from './task-queries.ts';
import { CHANNEL, tagOf } from './wire.ts';

/**
 * What PCs get when they ask: devices of the active task that are to be tried again, then new actions, created as they
 * are handed out, one for each free slot. One transaction serves all PCs that ask at the same moment and locks their
 * rows: two claims of one PC come one after the other, and the engine checks the slots once more by the runner's
 * version.
 *
 *   lock the PCs ─► look (and lock the targets) ─► claim those again ─► enqueue and claim the new ─► write down which
 *
 * A cancel waits for the lock on the targets, and a claim waits for a cancel. A device whose lane is busy, paused or
 * blocked is skipped; its runner is woken when that ends.
 */
export interface Supplied {
  readonly actions: ClaimedAction[];
  /** The active task at the time of the look. */
  readonly taskId: string | null;
  /** No slot was free, whatever the task has. */
  readonly isFull: boolean;
}

export interface Wish {
  readonly runner: Runner;
  readonly max: number;
}

interface Row {
  /** The index of its wish, from 1. */
  readonly ord: number;
  readonly free: number;
  readonly again: boolean | null;
  readonly device_id: string | null;
  readonly lane_id: string | null;
  readonly action_id: string | null;
  readonly task_id: string;
  readonly kind: string;
  readonly max_attempts: number;
  readonly timeout_seconds: number;
  readonly retry_backoff_seconds: number;
  readonly deadline: Date | null;
  readonly created_by: string | null;
}

interface Found extends Wish {
  /** Any row of the PC: all have the task's facts. Null: no task is active. */
  task: Row | null;
  again: Row[];
  fresh: Row[];
}

/** Another transaction may take a lane between look and lock; then other devices may still be available. */
const MOST_ROUNDS = 5;
const LONGEST_BACKOFF_MS = 300_000;

export type Supply = ReturnType<typeof createSupply>;

export function createSupply(engine: Engine, pcQueries: PcQueries) {
  const { schema: s, now } = engine;
  const lookStatement = look(s);
  const noteStatement = note(s);

  /** What each PC could get, in the order of the wishes. */
  async function lookFor(client: Queryable, wishes: readonly Wish[]): Promise<Found[]> {
    const { rows } = await client.query({
      name: 'muster_look_for_work',
      text: lookStatement,
      values: [
        now(),
        wishes.map(({ runner }) => runner.tenantId),
        wishes.map(({ runner }) => runner.pcId),
        wishes.map(({ max }) => max),
      ],
    });
    const found = wishes.map((wish): Found => ({ ...wish, task: null, again: [], fresh: [] }));
    for (const row of rows as Row[]) {
      const one = found[row.ord - 1] as Found;
      one.task = row;
      if (row.device_id !== null) (row.again ? one.again : one.fresh).push(row);
    }
    return found;
  }

  const claimAgain = (client: Queryable, found: readonly Found[]) =>
    engine.claimNamedMany(
      client,
      found.map((one) => ({ ...holder(one), actionIds: one.again.map((row) => row.action_id as string) })),
    );

  /** Creates the actions that are handed out now, and writes them into their targets. */
  async function makeNew(client: Queryable, found: readonly Found[]): Promise<ClaimedAction[][]> {
    const made = await engine.enqueueAndClaimMany(
      client,
      found.map((one) => ({ ...holder(one), actions: one.fresh.map((row) => newAction(row)) })),
    );
    const pairs = found.flatMap((one, n) =>
      one.fresh.flatMap((row, nth) => {
        const action = made[n]?.[nth];
        return action ? [{ row, action }] : [];
      }),
    );
    if (pairs.length > 0) {
      const { rows: noted } = await client.query({
        name: 'muster_note_supplied',
        text: noteStatement,
        values: [
          now(),
          pairs.map(({ action }) => action.tenantId),
          pairs.map(({ row }) => row.task_id),
          pairs.map(({ row }) => row.device_id),
          pairs.map(({ action }) => action.id),
        ],
      });
      // an action that no target knows would be lost to its task: roll everything back
      if (noted[0]?.noted !== pairs.length) throw new Error('Not every supplied device was found again.');
    }
    return made.map((actions) => actions.filter((action) => action !== null));
  }

  return {
    /** One answer for each wish; a PC occurs once. */
    async claim(client: Queryable, wishes: readonly Wish[]): Promise<Supplied[]> {
      const known = await pcQueries.lock(
        client,
        wishes.map(({ runner }) => runner),
      );
      const supplied = wishes.map((): Supplied => ({ actions: [], taskId: null, isFull: false }));
      let left = wishes.map((_, n) => n).filter((n) => known.has(pcKey(wishes[n]?.runner as Runner)));
      for (let round = 0; round < MOST_ROUNDS && left.length > 0; round += 1) {
        const found = await lookFor(
          client,
          left.map((n) => {
            const { runner, max } = wishes[n] as Wish;
            return { runner, max: max - (supplied[n] as Supplied).actions.length };
          }),
        );
        const withTask = found.filter(({ task }) => task !== null);
        const again = await claimAgain(client, withTask);
        const fresh = await makeNew(client, withTask);
        const lost: number[] = [];
        for (const [at, n] of left.entries()) {
          const one = found[at] as Found;
          const place = withTask.indexOf(one);
          const got = [...(again[place] ?? []), ...(fresh[place] ?? [])];
          const before = supplied[n] as Supplied;
          supplied[n] = {
            actions: [...before.actions, ...got],
            taskId: one.task?.task_id ?? null,
            isFull: one.task?.free === 0,
          };
          if (got.length < one.again.length + one.fresh.length) lost.push(n);
        }
        left = lost;
      }
      return supplied;
    },
  };
}

const holder = ({ runner, task }: Found) => ({
  tenantId: runner.tenantId,
  runnerId: runner.runnerId,
  worker: runner.worker,
  leaseMs: (task?.timeout_seconds ?? 0) * 1_000,
});

function newAction(row: Row) {
  const backoffMs = row.retry_backoff_seconds * 1_000;
  return {
    laneId: row.lane_id as string,
    channel: CHANNEL,
    kind: row.kind,
    payload: { taskId: row.task_id, deviceId: row.device_id },
    tags: [tagOf(row.task_id)],
    maxAttempts: row.max_attempts,
    backoffMs,
    backoffMaxMs: Math.max(backoffMs, LONGEST_BACKOFF_MS),
    deadline: row.deadline ?? undefined,
    createdBy: row.created_by ?? undefined,
  };
}

const NOW = '$1::timestamptz';

/**
 * PC by PC, one after the other: joined as sets, whose size the planner does not know, every row is compared with every
 * other (110 ms instead of 3 for a PC with 1,000 devices). The sub-selects hide the number of PCs from the planner:
 * otherwise it plans anew each time, which takes as long as the look itself. The targets are locked at the end, in the
 * order that all who lock targets use.
 */
const look = (s: string) => `
  with looked as materialized (
    select i.ord, i.tenant_id, x.* from unnest((select $2::int[]), (select $3::bigint[]), (select $4::int[])) with ordinality as i(tenant_id, pc_id, most, ord)
    cross join lateral (${lookOfOne(s)}) x
  ), locked as materialized (
    select w.* from (select * from looked where not looked.again order by looked.tenant_id, looked.task_id, looked.device_id) w
    cross join lateral (
      select 1 from ${s}.task_targets x where x.tenant_id = w.tenant_id and x.task_id = w.task_id and x.device_id = w.device_id
        and x.action_id is null and x.ended is null limit 1 for update
    ) x
  )
  select w.ord::int, w.free, w.task_id, w.kind, w.max_attempts, w.timeout_seconds, w.retry_backoff_seconds, w.deadline, w.created_by, w.again, w.device_id,
    w.lane_id, w.action_id
  from (select * from looked where looked.again is not false union all select * from locked) w
  order by w.ord, w.again desc, w.seq`;

/**
 * What one PC would get, without taking it: `i` has its tenant, its id and the largest number wanted, $1 is the time.
 */
export const lookOfOne = (s: string) => `
    with task as materialized (
      select *, t.activated_at is not null and t.cancelled_at is null as is_open from (${activeTask(s, 'i.tenant_id')}) t
    ), d as materialized (
      select d.device_id, d.lane_id from ${s}.devices d
      where d.tenant_id = i.tenant_id and d.pc_id = i.pc_id and ${s}.sought_by(d.pc_id) and ${eligible('d')}
    ), free as materialized (
      select greatest(0, least(i.most, least(r.slots, (select count(*) from d)) - r.running))::int as n from ${s}.pcs p
      cross join lateral (select * from ${s}.runner_loads r where r.tenant_id = p.tenant_id and r.runner_id = p.runner_id limit 1) r
      where p.tenant_id = i.tenant_id and p.pc_id = i.pc_id
    ), meant as materialized (
      select d.device_id, d.lane_id, x.action_id from (select * from task where task.is_open and (select n from free) > 0) task
      cross join d
      cross join lateral (
        select x.action_id, x.ended from ${s}.task_targets x
        where x.tenant_id = i.tenant_id and x.task_id = task.task_id and x.device_id = d.device_id limit 1
      ) x where x.ended is null
    ), again as materialized (
      select true as again, m.device_id, m.lane_id, m.action_id, u.seq from meant m
      -- most of a task's devices are done: look nothing more up for them
      cross join lateral (
        select u.seq, u.lane_id from ${s}.unfinished_actions u where u.tenant_id = i.tenant_id and u.action_id = m.action_id limit 1
      ) u
      cross join lateral ${s}.lane_front(${NOW}, i.tenant_id, u.lane_id, '${CHANNEL}') l
      where m.action_id is not null and l.hands_out = m.action_id
      order by u.seq limit (select n from free)
    ), fresh as materialized (
      select false as again, m.device_id, m.lane_id, null::bigint as action_id, m.device_id as seq
      from (select * from meant where meant.action_id is null order by meant.device_id) m
      cross join lateral ${s}.lane_front(${NOW}, i.tenant_id, m.lane_id, '${CHANNEL}') l
      where l.takes_new and not exists (select 1 from task where task.deadline <= ${NOW})
      order by m.device_id limit (select n - (select count(*) from again) from free)
    )
    select (select n from free) as free, t.task_id, t.kind, t.max_attempts, t.timeout_seconds, t.retry_backoff_seconds, t.deadline, t.created_by, w.again, w.device_id,
      w.lane_id, w.action_id, w.seq
    from task t left join (select * from again union all select * from fresh) w on true`;

const note = (s: string) => `
  with i as materialized (
    select * from unnest((select $2::int[]), (select $3::bigint[]), (select $4::bigint[]), (select $5::bigint[])) i(tenant_id, task_id, device_id, action_id)
  ), u as (
    -- By key and place: a plan made while the table was small would read all of a large task each time (73 instead of
    -- some hundred devices a second). The rows are locked since the look, so they stay where they are.
    update ${s}.task_targets x set action_id = i.action_id from i
    cross join lateral (
      select t.ctid as place from ${s}.task_targets t
      where t.tenant_id = i.tenant_id and t.task_id = i.task_id and t.device_id = i.device_id limit 1
    ) t
    where x.ctid = t.place
    returning 1
  ), c as (
    insert into ${s}.task_counts (tenant_id, task_id, state, change, at)
      select i.tenant_id, i.task_id, y.state, y.sign * count(*)::int, ${NOW}
      from i cross join (values ('waiting', -1), ('running', 1)) y(state, sign) group by i.tenant_id, i.task_id, y.state, y.sign
  )
  select count(*)::int as noted from u`;
