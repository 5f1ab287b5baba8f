-- breaking: no
-- PCs and tasks. A PC is a runner of the engine and its devices' lanes are the runner's; a device of a task that was
-- handed out is an action in the device's lane. What is queued, running or finished is there and not here.

create sequence {schema}.pc_seq;
create table {schema}.pcs (
  tenant_id int not null,
  pc_id bigint not null default nextval('{schema}.pc_seq'),
  name text not null,
  runner_id bigint not null,
  created_at timestamptz not null,
  primary key (tenant_id, pc_id)
);
create unique index one_pc_per_name on {schema}.pcs (tenant_id, name);
create unique index one_pc_per_runner on {schema}.pcs (tenant_id, runner_id);

-- The remaining tokens of deleted PCs are looked up all the time, and most tokens belong to devices.
create index runner_tokens on {schema}.tokens (tenant_id, owner) where kind = 'runner' and revoked_at is null;

-- Since when its runner reports the device as absent; null: it is present.
alter table {schema}.devices add column absent_since timestamptz;

-- Two rows per tenant that ever had a task. Adding a task locks `add`, so tasks become visible in the order of their
-- numbers; activating, ending, cancelling or reopening one locks `advance`, so those come one after the other.
create table {schema}.task_lines (
  tenant_id int not null,
  part text collate "C" not null,
  primary key (tenant_id, part)
);

create sequence {schema}.task_seq;
create table {schema}.tasks (
  tenant_id int not null,
  -- also its place in the line: taken while the line is locked
  task_id bigint not null,
  name text not null,
  kind text not null,
  payload jsonb not null,
  -- as given: {"deviceIds": […]} once as a list, or the predicate that is frozen when the task becomes active
  targets jsonb not null,
  max_attempts int not null,
  timeout_seconds int not null,
  retry_backoff_seconds int not null,
  deadline timestamptz,
  created_at timestamptz not null,
  created_by text,
  -- null: its targets are not frozen yet
  activated_at timestamptz,
  total int,
  cancelled_at timestamptz,
  -- as given by the operator
  cancel_reason text,
  ended_at timestamptz,
  primary key (tenant_id, task_id)
);
create index tasks_ended on {schema}.tasks (ended_at) where ended_at is not null;
create index tasks_unfinished on {schema}.tasks (tenant_id, task_id) where ended_at is null;

-- The devices of a task, frozen; and the action that each of them got, once a slot was free for it.
create table {schema}.task_targets (
  tenant_id int not null,
  task_id bigint not null,
  device_id bigint not null,
  action_id bigint,
  -- why there is and will be no action
  ended text collate "C" constraint target_ends_unsupplied check (ended is null or (ended in ('failed', 'cancelled') and action_id is null)),
  reason text collate "C",
  primary key (tenant_id, task_id, device_id)
) with (fillfactor = 80);
create index task_targets_waiting on {schema}.task_targets (tenant_id, task_id, device_id)
  where action_id is null and ended is null;

-- How many devices of a task are in each state: changes are appended in the transaction of what they count and folded
-- now and then, so nothing scans to count and no row is hot.
create table {schema}.task_counts (
  tenant_id int not null,
  task_id bigint not null,
  state text collate "C" not null constraint counted_state_is_known
    check (state in ('waiting', 'pending', 'running', 'completed', 'failed', 'cancelled')),
  change int not null,
  -- its time; of folded rows, the last time. A task in which nothing changes any more has stalled.
  at timestamptz not null,
  folded boolean not null default false
);
create index counts_of_task on {schema}.task_counts (tenant_id, task_id);
create index task_counts_to_fold on {schema}.task_counts (tenant_id, task_id) where not folded;

-- For readers who know tasks by the tables of the former system: views under its names, all derived, and the functions
-- by which its scripts took work, gave it back and looked for timeouts. The views are read-only.

create view {schema}_reports.tasks as
  select t.task_id as id, t.tenant_id, t.name, t.kind, t.payload,
    case when t.ended_at is null then case when t.task_id = o.task_id then 'running' else 'pending' end
      when t.cancelled_at is not null then 'cancelled' when c.failed > 0 then 'failed' when c.completed > 0 then 'success' else 'cancelled' end as status,
    t.max_attempts, t.timeout_seconds, coalesce(t.total, 0) as device_count, c.completed as completed_count, c.failed as failed_count,
    c.cancelled as cancelled_count, c.running as running_count, t.created_at, t.created_by, t.activated_at as started_at,
    t.ended_at as completed_at, t.deadline
  from {schema}.tasks t
  left join lateral (
    select o.task_id from {schema}.tasks o where o.tenant_id = t.tenant_id and o.ended_at is null order by o.task_id limit 1
  ) o on true
  cross join lateral (
    select coalesce(sum(c.change) filter (where c.state = 'completed'), 0)::int as completed,
      coalesce(sum(c.change) filter (where c.state = 'failed'), 0)::int as failed,
      coalesce(sum(c.change) filter (where c.state = 'cancelled'), 0)::int as cancelled,
      coalesce(sum(c.change) filter (where c.state = 'running'), 0)::int as running
    from {schema}.task_counts c where c.tenant_id = t.tenant_id and c.task_id = t.task_id
  ) c;

-- One row per device that was handed out: devices not yet supplied have none.
create view {schema}_reports.task_devices as
  select x.action_id as id, x.tenant_id, x.task_id, x.device_id,
    coalesce(substring(s.worker from '^pc:([0-9]+)')::bigint, d.pc_id) as pc_id,
    case a.state when 'claimed' then 'running' when 'succeeded' then 'completed' when 'expired' then 'failed' else a.state end as status,
    a.attempt, t.max_attempts, split_part(s.worker, '#', 1) as worker, s.at as started_at,
    a.lease_until as timeout_at, a.ended_at as completed_at, a.created_at, a.result,
    -- the words that reports search for
    case when a.state = 'succeeded' then null
      when a.reason = 'DEADLINE' then 'DEADLINE'
      when f.type = 'TIMEOUT' then 'Task device timeout: exceeded ' || case when t.timeout_seconds % 60 = 0 then t.timeout_seconds / 60 || ' minutes'
        else t.timeout_seconds || ' seconds' end
      else coalesce(f.reason, case when a.state <> 'claimed' then a.reason end) end as error
  from {schema}.task_targets x
  join {schema}.tasks t on t.tenant_id = x.tenant_id and t.task_id = x.task_id
  join {schema}.action_states a on a.tenant_id = x.tenant_id and a.action_id = x.action_id
  left join {schema}.devices d on d.tenant_id = x.tenant_id and d.device_id = x.device_id
  left join lateral (
    select e.worker, e.at from {schema}.action_events e where e.tenant_id = x.tenant_id and e.action_id = x.action_id and e.type = 'SENT'
    order by e.event_id desc limit 1
  ) s on true
  left join lateral (
    select e.type, e.reason from {schema}.action_events e
    where e.tenant_id = x.tenant_id and e.action_id = x.action_id and e.type in ('FAILED', 'TIMEOUT')
    order by e.event_id desc limit 1
  ) f on true;

create view {schema}_reports.execution_logs as
  select e.event_id as id, e.tenant_id, x.task_id, e.action_id as task_device_id, x.device_id, e.type as event_type,
    case when e.type in ('FAILED', 'TIMEOUT', 'FAILED_FINAL') then 'error' else 'info' end as level, e.attempt, split_part(e.worker, '#', 1) as worker,
    case when e.type = 'TIMEOUT' then 'Task device timeout: exceeded ' || case when t.timeout_seconds % 60 = 0 then t.timeout_seconds / 60 || ' minutes'
      else t.timeout_seconds || ' seconds' end else e.reason end as message,
    e.at as created_at
  from {schema}.task_targets x
  join {schema}.tasks t on t.tenant_id = x.tenant_id and t.task_id = x.task_id
  join {schema}.action_events e on e.tenant_id = x.tenant_id and e.action_id = x.action_id
  -- a lease that the deadline ended is not a timeout: the event written with it says so
  where e.type <> 'TIMEOUT' or not exists (
    select 1 from {schema}.action_events f where f.tenant_id = e.tenant_id and f.action_id = e.action_id and f.type = 'FAILED_FINAL'
      and f.reason = 'DEADLINE' and f.attempt = e.attempt and f.at = e.at);

create view {schema}_reports.pc_device_summary as
  select p.pc_id, p.tenant_id, p.name as pc_name, r.slots, r.running as running_count, d.device_count, d.eligible_device_count,
    least(r.slots, d.eligible_device_count) as target, greatest(0, least(r.slots, d.eligible_device_count) - r.running) as free_slots,
    d.error_count, d.absent_count, c.seen_at as last_seen_at
  from {schema}.pcs p
  join {schema}.runner_loads r on r.tenant_id = p.tenant_id and r.runner_id = p.runner_id
  left join {schema}.contacts c on c.tenant_id = p.tenant_id and c.channel = 'runner' and c.target_id = p.pc_id
  cross join lateral (
    select count(*)::int as device_count, count(*) filter (where d.state = 'ok' and d.absent_since is null)::int as eligible_device_count,
      count(*) filter (where d.state = 'error')::int as error_count, count(*) filter (where d.absent_since is not null)::int as absent_count
    from {schema}.devices d where d.tenant_id = p.tenant_id and d.pc_id = p.pc_id and {schema}.sought_by(d.pc_id) and d.deleted_at is null
  ) d;

create view {schema}_reports.workers as
  select p.pc_id as id, p.tenant_id, p.name, p.pc_id, r.slots as device_capacity, r.slots as max_devices, r.running as running_count,
    c.seen_at as last_heartbeat, p.created_at
  from {schema}.pcs p
  join {schema}.runner_loads r on r.tenant_id = p.tenant_id and r.runner_id = p.runner_id
  left join {schema}.contacts c on c.tenant_id = p.tenant_id and c.channel = 'runner' and c.target_id = p.pc_id;

-- `online` and `busy` devices are those that tasks may use: of a PC they are its eligible_device_count. `offline` is a
-- device that its PC reports absent, or that has no PC.
create view {schema}_reports.devices as
  select d.device_id as id, d.tenant_id, d.name, d.external_id, d.pc_id, d.tags,
    case when d.state = 'error' then 'error' when d.pc_id is null or d.absent_since is not null then 'offline'
      when l.action_id is not null then 'busy' else 'online' end as status,
    d.state_reason as error, d.absent_since, greatest(c.seen_at, m.seen_at, r.seen_at) as last_seen_at, d.created_at
  from {schema}.devices d
  left join {schema}.lane_leases l on l.tenant_id = d.tenant_id and l.lane_id = d.lane_id
  left join {schema}.contacts c on c.tenant_id = d.tenant_id and c.channel = 'checkin' and c.target_id = d.device_id
  left join {schema}.contacts m on m.tenant_id = d.tenant_id and m.channel = 'mdm' and m.target_id = d.device_id
  left join {schema}.contacts r on r.tenant_id = d.tenant_id and r.channel = 'runner' and r.target_id = d.pc_id
  where d.deleted_at is null;

-- The milestones of these actions, as the library's effect writes them otherwise.
create function {schema}_reports.add_task_milestones(p_tenant int, p_actions bigint[], p_type text, p_at timestamptz) returns void language plpgsql as $$
declare
  v_count int;
begin
  with i as materialized (
    select i.n, a.action_id, d.device_id, d.expires_at, (
        select coalesce(sum(b.more_days), 0)::int from {schema}.assignments b
        join {schema}.unfinished_actions u on u.tenant_id = b.tenant_id and u.action_id = b.action_id
        where b.tenant_id = p_tenant and b.device_id = d.device_id and {schema}.sought_by(b.device_id) and b.more_days <> 0
      ) * interval '24 hours' as more
    from unnest(p_actions) with ordinality i(action_id, n)
    join {schema}.action_states a on a.tenant_id = p_tenant and a.action_id = i.action_id
    join {schema}.devices d on d.tenant_id = p_tenant and d.lane_id = a.lane_id and {schema}.sought_by(d.lane_id)
  ), m as (
    insert into {schema}.milestones (tenant_id, device_id, type, action_id, source, at, expires_at, projected_expires_at)
      select p_tenant, i.device_id, p_type, i.action_id, 'task', p_at, i.expires_at, i.expires_at + i.more from i order by i.n
      returning 1
  )
  -- a step and not the statement itself: a distributed database would number the milestones on the tenant's server
  select count(*) into v_count from m;
end $$;

-- Takes work for a PC, as POST /api/pcs/:id/claim does: devices to be tried again, then new ones, one for each free
-- slot. The engine decides what may be handed out; here are only the selected devices, and the counts of the task.
create function {schema}_reports.claim_task_devices_for_pc(p_tenant int, p_pc bigint, max_to_claim int default 1)
returns setof {schema}_reports.task_devices language plpgsql as $$
#variable_conflict use_column
declare
  v_now timestamptz := statement_timestamp();
  v_task {schema}.tasks;
  v_tag text;
  v_runner bigint;
  v_free int;
  v_again bigint[];
  v_fresh record;
  v_got bigint[];
  v_all bigint[] := '{}';
begin
  if max_to_claim is null then
    raise exception 'max_to_claim must be a number, not null.' using errcode = 'null_value_not_allowed';
  end if;
  perform {schema}.ensure_event_day(v_now);
  select p.runner_id into v_runner from {schema}.pcs p where p.tenant_id = p_tenant and p.pc_id = p_pc for no key update;
  if v_runner is null then
    raise exception 'There is no PC % in tenant %.', p_pc, p_tenant using errcode = 'no_data_found';
  end if;
  select t.* into v_task from {schema}.tasks t where t.tenant_id = p_tenant and t.ended_at is null order by t.task_id limit 1;
  if v_task.activated_at is null or v_task.cancelled_at is not null or v_task.deadline <= v_now then
    return;
  end if;
  v_tag := 'task:' || v_task.task_id;
  -- another transaction may take a lane between look and lock; then other devices may still be available
  for v_round in 1..5 loop
    select least(max_to_claim - cardinality(v_all), s.free_slots) into v_free
      from {schema}_reports.pc_device_summary s where s.tenant_id = p_tenant and s.pc_id = p_pc;
    exit when v_free <= 0;
    select coalesce(array_agg(w.action_id order by w.seq), '{}') into v_again from (
      select u.action_id, u.seq from (
        select * from {schema}.devices d where d.tenant_id = p_tenant and d.pc_id = p_pc and {schema}.sought_by(d.pc_id) and d.deleted_at is null offset 0
      ) d
      join {schema}.task_targets x on x.tenant_id = p_tenant and x.task_id = v_task.task_id and x.device_id = d.device_id and x.ended is null
      join {schema}.unfinished_actions u on u.tenant_id = p_tenant and u.action_id = x.action_id
      cross join lateral {schema}.lane_front(v_now, p_tenant, u.lane_id, 'runner') f
      where d.state = 'ok' and d.absent_since is null and f.hands_out = u.action_id
      order by u.seq limit v_free
    ) w;
    select coalesce(array_agg(w.device_id order by w.device_id), '{}') as devices, coalesce(array_agg(w.lane_id order by w.device_id), '{}') as lanes
      into v_fresh from (
      select y.device_id, y.lane_id from (
        select d.device_id, d.lane_id from (
          select * from {schema}.devices d where d.tenant_id = p_tenant and d.pc_id = p_pc and {schema}.sought_by(d.pc_id) and d.deleted_at is null offset 0
        ) d
        join {schema}.task_targets x on x.tenant_id = p_tenant and x.task_id = v_task.task_id and x.device_id = d.device_id
          and x.action_id is null and x.ended is null
        cross join lateral {schema}.lane_front(v_now, p_tenant, d.lane_id, 'runner', array[v_tag]) f
        where d.state = 'ok' and d.absent_since is null and f.takes_new
        order by d.device_id limit v_free - cardinality(v_again)
      ) y
      -- a cancel waits for this lock, and this for a cancel
      cross join lateral (
        select 1 from {schema}.task_targets x where x.tenant_id = p_tenant and x.task_id = v_task.task_id and x.device_id = y.device_id
          and x.action_id is null and x.ended is null limit 1 for update
      ) x
    ) w;
    exit when cardinality(v_again) + cardinality(v_fresh.devices) = 0;

    with c as materialized (
      select c.action_id, c.nth from {schema}.claim_named_actions(v_now, array[p_tenant], array[v_runner], array['pc:' || p_pc],
        array[v_task.timeout_seconds * 1000], array(select 1 from unnest(v_again)), array(select generate_series(1, cardinality(v_again))), v_again) c
    ), n as (
      insert into {schema}.task_counts (tenant_id, task_id, state, change, at)
        select p_tenant, v_task.task_id, y.state, y.sign * count(*)::int, v_now
        from c cross join (values ('pending', -1), ('running', 1)) y(state, sign) group by y.state, y.sign
    )
    select coalesce(array_agg(c.action_id order by c.nth), '{}') into v_got from c;
    v_all := v_all || v_got;

    with c as materialized (
      select c.action_id, c.nth, v_fresh.devices[c.nth] as device_id
      from {schema}.enqueue_and_claim_actions(v_now, array[p_tenant], array[v_runner], array['pc:' || p_pc], array[v_task.timeout_seconds * 1000],
        array(select 1 from unnest(v_fresh.devices)), array(select generate_series(1, cardinality(v_fresh.devices))), v_fresh.lanes,
        array(select 'runner' from unnest(v_fresh.devices)), array(select v_task.kind from unnest(v_fresh.devices)),
        array(select json_build_object('taskId', v_task.task_id::text, 'deviceId', d::text) from unnest(v_fresh.devices) with ordinality u(d, n) order by n),
        array(select jsonb_strip_nulls(jsonb_build_object('tags', jsonb_build_array(v_tag), 'maxAttempts', v_task.max_attempts,
          'backoffMs', v_task.retry_backoff_seconds * 1000, 'backoffMaxMs', greatest(300000, v_task.retry_backoff_seconds * 1000),
          'deadline', to_json(v_task.deadline)#>>'{}', 'createdBy', v_task.created_by)) from unnest(v_fresh.devices))) c
    ), u as (
      update {schema}.task_targets x set action_id = c.action_id from c
        where x.tenant_id = p_tenant and x.task_id = v_task.task_id and x.device_id = c.device_id
    ), n as (
      insert into {schema}.task_counts (tenant_id, task_id, state, change, at)
        select p_tenant, v_task.task_id, y.state, y.sign * count(*)::int, v_now
        from c cross join (values ('waiting', -1), ('running', 1)) y(state, sign) group by y.state, y.sign
    )
    select coalesce(array_agg(c.action_id order by c.nth), '{}') into v_got from c;
    v_all := v_all || v_got;
  end loop;
  perform {schema}_reports.add_task_milestones(p_tenant, v_all, 'sent', v_now);
  return query select * from {schema}_reports.task_devices x where x.tenant_id = p_tenant and x.id = any(v_all) order by array_position(v_all, x.id);
end $$;

-- What the library's effects do when the attempt of a task's device has ended: the counts of its task, its milestone,
-- and the device in error if its tries are used up. A missed deadline says nothing against the device.
create function {schema}_reports.note_ended_attempt(p_tenant int, p_task_device bigint, p_state text, p_error text)
returns void language plpgsql as $$
declare
  v record;
  v_device record;
  v_reason text;
begin
  select a.lane_id, a.reason, (a.payload->>'taskId')::bigint as task_id into v from {schema}.action_states a
    where a.tenant_id = p_tenant and a.action_id = p_task_device;
  insert into {schema}.task_counts (tenant_id, task_id, state, change, at)
    values (p_tenant, v.task_id, 'running', -1, statement_timestamp()), (p_tenant, v.task_id, p_state, 1, statement_timestamp());
  perform {schema}_reports.add_task_milestones(p_tenant, array[p_task_device],
    case p_state when 'pending' then 'retrying' else p_state end, statement_timestamp());
  if p_state = 'failed' and v.reason is distinct from 'DEADLINE' then
    v_reason := left(coalesce(p_error, v.reason, 'FAILED_FINAL'), 1000);
    select d.device_id, d.state into v_device from {schema}.devices d
      where d.tenant_id = p_tenant and d.lane_id = v.lane_id and {schema}.sought_by(d.lane_id) and d.deleted_at is null;
    if found then
      perform {schema}.note_device_state(statement_timestamp(), p_tenant, v.lane_id, v_device.device_id, 'error', v_device.state, v_reason);
      update {schema}.devices d set state = 'error', state_reason = v_reason, state_action = p_task_device
        where d.tenant_id = p_tenant and d.device_id = v_device.device_id and d.deleted_at is null;
    end if;
  end if;
end $$;

-- An attempt failed: pending again, or failed for good and the device in error. Returns which, or null if it is not
-- running (any more). The attempt is the fence; without it the running one is meant.
create function {schema}_reports.fail_or_retry_task_device(p_tenant int, p_task_device bigint, p_error text, p_attempt int default null)
returns text language plpgsql as $$
declare
  v_attempt int;
  v_state text;
begin
  select a.attempt into v_attempt from {schema}.action_states a
    where a.tenant_id = p_tenant and a.action_id = p_task_device and a.channel = 'runner' and a.payload->'taskId' is not null
      and a.state = 'claimed' and (p_attempt is null or a.attempt = p_attempt);
  if not found then
    return null;
  end if;
  v_state := {schema}.report_attempt(p_tenant, p_task_device, v_attempt, 'failed', p_error);
  if v_state is not null then
    perform {schema}_reports.note_ended_attempt(p_tenant, p_task_device, v_state, p_error);
  end if;
  return v_state;
end $$;

-- Ends the attempts of task devices whose time is over, of all tenants or one, and returns how many. Housekeeping does
-- this every second, and rows it has locked are left to it: callers mostly find nothing to do.
create function {schema}_reports.fn_timeout_tasks_and_task_devices(p_tenant int default null) returns int language plpgsql as $$
declare
  v_now timestamptz := statement_timestamp();
  v_over record;
  v record;
  v_count int := 0;
begin
  perform {schema}.ensure_event_day(v_now);
  select coalesce(array_agg(l.tenant_id order by l.tenant_id, l.lane_id), '{}') as tenants,
      coalesce(array_agg(l.action_id order by l.tenant_id, l.lane_id), '{}') as actions,
      coalesce(array_agg(l.attempt order by l.tenant_id, l.lane_id), '{}') as attempts
    into v_over
    from {schema}.lane_leases l
    join {schema}.action_states a on a.tenant_id = l.tenant_id and a.action_id = l.action_id
    where l.lease_until <= v_now and (p_tenant is null or l.tenant_id = p_tenant) and a.channel = 'runner' and a.payload->'taskId' is not null;
  for v in
    select i.tenant_id, r.* from {schema}.report_attempts(v_now, v_over.tenants, v_over.actions, v_over.attempts,
      array(select 'timeout' from unnest(v_over.actions)), array(select null::text from unnest(v_over.actions)),
      array(select null::text from unnest(v_over.actions)), array(select null::jsonb from unnest(v_over.actions)),
      array(select null::int from unnest(v_over.actions)), array(select null::text from unnest(v_over.actions)),
      array(select null::text from unnest(v_over.actions)), array(select null::text from unnest(v_over.actions)),
      array(select null::int from unnest(v_over.actions)), array(select null::bigint from unnest(v_over.actions))) r
    join unnest(v_over.tenants, v_over.actions) i(tenant_id, action_id) on i.action_id = r.action_id
  loop
    perform {schema}_reports.note_ended_attempt(v.tenant_id, v.action_id, v.state, null);
    perform {schema}.notify_lanes(array[v.tenant_id, v.tenant_id], array[v.lane_id, v.lane_id], array[v.runner_id, v.lease_runner]);
    v_count := v_count + 1;
  end loop;
  return v_count;
end $$;
