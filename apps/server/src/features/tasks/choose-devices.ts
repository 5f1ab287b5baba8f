import { eligible } from './eligible.ts';
import { activeTask } from './task-queries.ts';
import { CHANNEL, tagOf } from './wire.ts';

/**
 * The SQL of a PC's claim: which devices of the active task it would get, and what is written down about those it got.
 *
 *   look ─► lock the PCs ─► lock the targets ─► (the engine: lock runners and lanes, create, hand out) ─► write down which
 *
 * All of it is one statement and sees one snapshot, so what the look has found is checked again under the locks: a PC
 * that was deleted meanwhile gets nothing, a target that was ended or handed out is left out, and the engine compares
 * the versions of runners and lanes. A cancel waits for the lock on the targets, and a claim waits for a cancel. A device
 * whose lane is busy, paused or blocked is skipped; its runner is woken when that ends.
 */
export const LOOK_NAME = 'supply_task_devices';

const NOW = '$1::timestamptz';
const LONGEST_BACKOFF_MS = 300_000;

/**
 * PC by PC, one after the other: joined as sets, whose size the planner does not know, every row is compared with every
 * other (110 ms instead of 3 for a PC with 1,000 devices). The targets are locked in the order that all who lock targets
 * use.
 */
export const choose = (s: string) => `
  ${activeTasks(s, 'f')}, looked as materialized (
    select i.ord, i.tenant_id, i.pc_id, x.* from (select f.*, (f.given->>'pcId')::bigint as pc_id from f) i
    cross join lateral (${lookOfOne(s)}) x
  ), locked_pcs as materialized (
    select w.tenant_id, w.pc_id from (select distinct l.tenant_id, l.pc_id from looked l where l.device_id is not null order by 1, 2) w
    cross join lateral (
      select 1 from ${s}.pcs p where p.tenant_id = w.tenant_id and p.pc_id = w.pc_id limit 1 for no key update
    ) p
  ), locked as materialized (
    select w.* from (
      select * from looked l where not l.again and (l.tenant_id, l.pc_id) in (select p.tenant_id, p.pc_id from locked_pcs p)
      order by l.tenant_id, l.task_id, l.device_id
    ) w
    cross join lateral (
      select 1 from ${s}.task_targets x where x.tenant_id = w.tenant_id and x.task_id = w.task_id and x.device_id = w.device_id
        and x.action_id is null and x.ended is null limit 1 for update
    ) x
  ), chosen as materialized (
    select w.ord as of, w.seq as nth, w.lane_id, '${CHANNEL}' as channel, w.kind,
      format('{"taskId":"%s","deviceId":"%s"}', w.task_id, w.device_id)::json as payload,
      jsonb_strip_nulls(jsonb_build_object('tags', jsonb_build_array('${tagOf('')}' || w.task_id), 'maxAttempts', w.max_attempts,
        'backoffMs', w.retry_backoff_seconds * 1000, 'backoffMaxMs', greatest(w.retry_backoff_seconds * 1000, ${LONGEST_BACKOFF_MS}),
        'deadline', w.deadline, 'createdBy', w.created_by)) as o,
      w.timeout_seconds * 1000 as lease_ms, null::jsonb as told
    from locked w
    union all
    select w.ord, null, null, null, null, null, null, null, jsonb_build_object('taskId', min(w.task_id)::text, 'free', min(w.free),
      'timeoutSeconds', min(w.timeout_seconds), 'fresh', count(*) filter (where not w.again),
      -- the PCs must be read here too: a step that only locks runs as far as it is read
      'again', coalesce(jsonb_agg(w.action_id::text order by w.seq)
        filter (where w.again and (w.tenant_id, w.pc_id) in (select p.tenant_id, p.pc_id from locked_pcs p)), '[]'))
    from looked w group by w.ord
  )`;

/**
 * The active task of each tenant of `from`, and whether one of its devices was handed out and waits for its next attempt,
 * by the counts, which every transition keeps. Nearly always none does, and then no claim looks for one.
 */
export const activeTasks = (s: string, from: string) => `active as materialized (
    select t.*, t.activated_at is not null and t.cancelled_at is null as is_open, (
      select sum(c.change) from ${s}.task_counts c where c.tenant_id = t.tenant_id and c.task_id = t.task_id and c.state = 'pending'
    ) > 0 as has_again
    from (select distinct tenant_id from ${from}) n cross join lateral (${activeTask(s, 'n.tenant_id')}) t
  )`;

/**
 * What one PC would get, without taking it: `i` has its tenant_id, pc_id, how many of its slots are taken (running) and
 * how many of the free ones are wanted (free); $1 is the time; `activeTasks` comes before it. No more devices are counted
 * than slots, and new ones are looked at only until enough are found.
 */
export const lookOfOne = (s: string) => `
    with task as materialized (
      select * from active a where a.tenant_id = i.tenant_id
    ), d as materialized (
      select d.device_id, d.lane_id from ${s}.devices d
      where d.tenant_id = i.tenant_id and d.pc_id = i.pc_id and ${s}.sought_by(d.pc_id) and ${eligible('d')}
    ), free as materialized (
      select greatest(0, least(i.free, count(*) - i.running))::int as n from (select 1 from d limit greatest(0, i.free::bigint + i.running)) x
    ), meant as materialized (
      select task.task_id, task.has_again, coalesce(task.deadline > ${NOW}, true) as is_in_time from task where task.is_open and (select n from free) > 0
    ), again as materialized (
      select true as again, d.device_id, d.lane_id, x.action_id, u.seq from (select * from meant where meant.has_again) m
      cross join d
      cross join lateral (
        select x.action_id from ${s}.task_targets x
        where x.tenant_id = i.tenant_id and x.task_id = m.task_id and x.device_id = d.device_id limit 1
      ) x
      cross join lateral (
        select u.seq, u.lane_id from ${s}.unfinished_actions u where u.tenant_id = i.tenant_id and u.action_id = x.action_id limit 1
      ) u
      cross join lateral ${s}.lane_front(${NOW}, i.tenant_id, u.lane_id, '${CHANNEL}') l
      where x.action_id is not null and l.hands_out = x.action_id
      order by u.seq limit (select n from free)
    ), fresh as materialized (
      select false as again, m.device_id, m.lane_id, null::bigint as action_id, m.device_id as seq
      from (select d.device_id, d.lane_id, meant.task_id from meant cross join d where meant.is_in_time order by d.device_id) m
      cross join lateral (
        select 1 from ${s}.task_targets x
        where x.tenant_id = i.tenant_id and x.task_id = m.task_id and x.device_id = m.device_id and x.action_id is null and x.ended is null limit 1
      ) x
      cross join lateral ${s}.lane_front(${NOW}, i.tenant_id, m.lane_id, '${CHANNEL}') l
      where l.takes_new
      order by m.device_id limit (select n - (select count(*) from again) from free)
    )
    select (select n from free) as free, t.task_id, t.kind, t.max_attempts, t.timeout_seconds, t.retry_backoff_seconds, t.deadline, t.created_by, w.again, w.device_id,
      w.lane_id, w.action_id, w.seq
    from task t left join (select * from again union all select * from fresh) w on true`;

/** The rows were locked before, so they stay where they are, and none is missing. */
export const note = (s: string, isDistributed: boolean) => `noted as (
    update ${s}.task_targets x set action_id = i.action_id
    from (
      select k.tenant_id, k.action_id, (k.payload->>'taskId')::bigint as task_id, (k.payload->>'deviceId')::bigint as device_id from k
    ) i
    ${isDistributed ? BY_KEY : byPlace(s)}
    returning 1
  ), counted as (
    insert into ${s}.task_counts (tenant_id, task_id, state, change, at)
      select i.tenant_id, i.task_id, y.state, y.sign * count(*)::int, ${NOW}
      from (select k.tenant_id, (k.payload->>'taskId')::bigint as task_id from k) i
      cross join (values ('waiting', -1), ('running', 1)) y(state, sign) group by i.tenant_id, i.task_id, y.state, y.sign
  )`;

/**
 * By key and place: a plan made while the table was small would read all of a large task each time (73 instead of some
 * hundred devices a second).
 */
const byPlace = (s: string) => `cross join lateral (
      select t.ctid as place from ${s}.task_targets t
      where t.tenant_id = i.tenant_id and t.task_id = i.task_id and t.device_id = i.device_id limit 1
    ) t
    where x.ctid = t.place`;

/** A distributed database plans each statement anew, and takes no place. */
const BY_KEY = 'where x.tenant_id = i.tenant_id and x.task_id = i.task_id and x.device_id = i.device_id';
