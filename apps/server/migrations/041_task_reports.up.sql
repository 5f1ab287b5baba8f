-- breaking: no
-- For readers who know tasks by the tables of the former system: views under its names, all derived, and the two functions
-- by which its scripts took work and gave it back. Read-only: each is a view over several tables.

create view {schema}_reports.tasks as
  select t.task_id as id, t.tenant_id, t.name, t.kind, t.payload,
    case when t.ended_at is null then case when t.task_id = o.task_id then 'running' else 'pending' end
      when t.cancelled_at is not null then 'cancelled' when c.failed > 0 then 'failed' else 'success' end as status,
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

-- One row per device that was handed out: those not yet supplied are no rows.
create view {schema}_reports.task_devices as
  select x.action_id as id, x.tenant_id, x.task_id, x.device_id,
    coalesce(substring(s.worker from '^pc:([0-9]+)$')::bigint, d.pc_id) as pc_id,
    case a.state when 'claimed' then 'running' when 'succeeded' then 'completed' when 'expired' then 'failed' else a.state end as status,
    a.attempt, t.max_attempts, s.worker, s.at as started_at,
    a.lease_until as timeout_at, a.ended_at as completed_at, a.created_at, a.result,
    -- the words that reports search for
    case when a.state = 'succeeded' then null
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
    case when e.type in ('FAILED', 'TIMEOUT', 'FAILED_FINAL') then 'error' else 'info' end as level, e.attempt, e.worker,
    case when e.type = 'TIMEOUT' then 'Task device timeout: exceeded ' || case when t.timeout_seconds % 60 = 0 then t.timeout_seconds / 60 || ' minutes'
      else t.timeout_seconds || ' seconds' end else e.reason end as message,
    e.at as created_at
  from {schema}.task_targets x
  join {schema}.tasks t on t.tenant_id = x.tenant_id and t.task_id = x.task_id
  join {schema}.action_events e on e.tenant_id = x.tenant_id and e.action_id = x.action_id;

create view {schema}_reports.pc_device_summary as
  select p.pc_id, p.tenant_id, p.name as pc_name, r.slots, r.running as running_count, d.device_count, d.eligible_device_count,
    least(r.slots, d.eligible_device_count) as target, greatest(0, least(r.slots, d.eligible_device_count) - r.running) as free_slots,
    d.error_count, d.absent_count, c.seen_at as last_seen_at
  from {schema}.pcs p
  join {schema}.runner_loads r on r.tenant_id = p.tenant_id and r.runner_id = p.runner_id
  left join {schema}.contacts c on c.tenant_id = p.tenant_id and c.channel = 'runner' and c.target_id = p.pc_id
  cross join lateral (
    select count(*)::int as device_count, count(*) filter (where d.state = 'ok' and not d.absent)::int as eligible_device_count,
      count(*) filter (where d.state = 'error')::int as error_count, count(*) filter (where d.absent)::int as absent_count
    from {schema}.devices d where d.tenant_id = p.tenant_id and d.pc_id = p.pc_id and {schema}.sought_by(d.pc_id) and d.deleted_at is null
  ) d;

create view {schema}_reports.workers as
  select p.pc_id as id, p.tenant_id, p.name, p.pc_id, r.slots as device_capacity, r.slots as max_devices, r.running as running_count,
    c.seen_at as last_heartbeat, p.created_at
  from {schema}.pcs p
  join {schema}.runner_loads r on r.tenant_id = p.tenant_id and r.runner_id = p.runner_id
  left join {schema}.contacts c on c.tenant_id = p.tenant_id and c.channel = 'runner' and c.target_id = p.pc_id;

-- Takes work for a PC, as POST /api/pcs/:id/claim does: devices to be tried again, then new ones, one for each free slot.
create function {schema}_reports.claim_task_devices_for_pc(p_tenant int, p_pc bigint, max_to_claim int default 1)
returns setof {schema}_reports.task_devices language plpgsql as $$
#variable_conflict use_column
declare
  v_task {schema}.tasks;
  v_runner bigint;
  v_free int;
  v record;
  v_action bigint;
  v_attempt int;
begin
  perform {schema}.ensure_event_day(statement_timestamp());
  select p.runner_id into v_runner from {schema}.pcs p where p.tenant_id = p_tenant and p.pc_id = p_pc for no key update;
  if v_runner is null then
    raise exception 'There is no PC % in tenant %.', p_pc, p_tenant using errcode = 'no_data_found';
  end if;
  -- whoever counted the slots before this does not win after it
  update {schema}.runners set ver = ver + 1 where tenant_id = p_tenant and runner_id = v_runner;
  select t.* into v_task from {schema}.tasks t where t.tenant_id = p_tenant and t.ended_at is null order by t.task_id limit 1;
  select least(max_to_claim, s.free_slots) into v_free from {schema}_reports.pc_device_summary s where s.tenant_id = p_tenant and s.pc_id = p_pc;
  if v_task.activated_at is null or v_task.cancelled_at is not null or v_task.deadline <= statement_timestamp()
    or exists (select 1 from {schema}.pauses z where z.tenant_id = p_tenant and z.tag in ('', 'task:' || v_task.task_id)) then
    return;
  end if;
  while v_free > 0 loop
    select d.device_id, l.lane_id, x.action_id, p.attempt into v
    from (
      select * from {schema}.devices d where d.tenant_id = p_tenant and d.pc_id = p_pc and {schema}.sought_by(d.pc_id) and d.deleted_at is null offset 0
    ) d
    join {schema}.task_targets x on x.tenant_id = p_tenant and x.task_id = v_task.task_id and x.device_id = d.device_id and x.ended is null
    join {schema}.lanes l on l.tenant_id = p_tenant and l.lane_id = d.lane_id and l.runner_id = v_runner
    left join {schema}.pending p on p.tenant_id = p_tenant and p.action_id = x.action_id
    where d.state = 'ok' and not d.absent
      and l.action_id is null and not l.paused and l.blocked is null
      and (x.action_id is null or (p.action_id is not null and not p.delayed and p.generation = l.generation
        and (p.not_before is null or p.not_before <= statement_timestamp())))
      and not exists (select 1 from {schema}.pending q where q.tenant_id = p_tenant and q.lane_id = l.lane_id and {schema}.sought_by(q.lane_id)
        and q.channel in ('runner', 'any') and q.action_id is distinct from x.action_id and not q.delayed and q.generation = l.generation)
    order by x.action_id is null, x.action_id, d.device_id limit 1
    for update of x, l skip locked;
    exit when not found;
    if v.action_id is null then
      select e.action_id into v_action from {schema}.enqueue_actions(statement_timestamp(), array[p_tenant], array[v.lane_id], array['runner'], array[v_task.kind],
        array[jsonb_build_object('taskId', v_task.task_id::text, 'deviceId', v.device_id::text)],
        array[jsonb_strip_nulls(jsonb_build_object('tags', jsonb_build_array('task:' || v_task.task_id), 'maxAttempts', v_task.max_attempts,
          'backoffMs', v_task.retry_backoff_seconds * 1000, 'backoffMaxMs', greatest(300000, v_task.retry_backoff_seconds * 1000),
          'deadline', to_json(v_task.deadline)#>>'{}', 'createdBy', v_task.created_by))]) e where e.outcome = 'created';
      exit when v_action is null;
      update {schema}.task_targets x set action_id = v_action
        where x.tenant_id = p_tenant and x.task_id = v_task.task_id and x.device_id = v.device_id;
      v_attempt := 1;
    else
      v_action := v.action_id;
      v_attempt := v.attempt + 1;
    end if;
    update {schema}.lanes l set ver = l.ver + 1, action_id = v_action, attempt = v_attempt, leased_at = statement_timestamp(),
        lease_until = least(statement_timestamp() + make_interval(secs => v_task.timeout_seconds), v_task.deadline),
        check_at = least(l.check_at, statement_timestamp() + make_interval(secs => v_task.timeout_seconds), v_task.deadline), worker = 'pc:' || p_pc,
        lease_runner = v_runner, moved_from = null, cancel_requested = false, redelivered = 0
      where l.tenant_id = p_tenant and l.lane_id = v.lane_id;
    insert into {schema}.events (tenant_id, action_id, lane_id, at, type, attempt, worker)
      values (p_tenant, v_action, v.lane_id, statement_timestamp(), 2, v_attempt, 'pc:' || p_pc);
    insert into {schema}.count_changes (tenant_id, channel, state, change)
      values (p_tenant, 'runner', 'pending', -1), (p_tenant, 'runner', 'claimed', 1);
    insert into {schema}.task_counts (tenant_id, task_id, state, change, at)
      values (p_tenant, v_task.task_id, case when v.action_id is null then 'waiting' else 'pending' end, -1, statement_timestamp()),
        (p_tenant, v_task.task_id, 'running', 1, statement_timestamp());
    v_free := v_free - 1;
    return query select * from {schema}_reports.task_devices x where x.tenant_id = p_tenant and x.id = v_action;
  end loop;
end $$;

-- An attempt failed: pending again, or failed for good and the device in error. Says which, or null if it is not running
-- (any more). The attempt is the fence; without it the running one is meant.
create function {schema}_reports.fail_or_retry_task_device(p_tenant int, p_task_device bigint, p_error text, p_attempt int default null)
returns text language plpgsql as $$
declare
  v record;
  v_state text;
  v_wait double precision;
begin
  perform {schema}.ensure_event_day(statement_timestamp());
  select l.lane_id, l.attempt, l.worker, l.runner_id, l.lease_runner, l.cancel_requested, p.failures, a.max_attempts, a.backoff_ms, a.backoff_max_ms,
      (a.payload->>'taskId')::bigint as task_id into v
    from {schema}.pending p
    join {schema}.actions a on a.tenant_id = p.tenant_id and a.action_id = p.action_id and a.channel = 'runner' and a.payload ? 'taskId'
    join {schema}.lanes l on l.tenant_id = p.tenant_id and l.lane_id = p.lane_id and l.action_id = p.action_id
    where p.tenant_id = p_tenant and p.action_id = p_task_device and (p_attempt is null or l.attempt = p_attempt)
    for update of l;
  if not found then
    return null;
  end if;
  v_state := case when v.cancel_requested then 'cancelled' when v.failures + 1 >= v.max_attempts then 'failed' else 'pending' end;
  v_wait := least(v.backoff_ms * power(2, least(v.failures, 30)), v.backoff_max_ms);
  update {schema}.lanes l set ver = l.ver + 1, action_id = null, attempt = null, leased_at = null, lease_until = null, worker = null,
      lease_runner = null, moved_from = null, cancel_requested = false, redelivered = 0
    where l.tenant_id = p_tenant and l.lane_id = v.lane_id;
  if v_state = 'pending' then
    update {schema}.pending p set attempt = v.attempt, failures = v.failures + 1, deferrals = 0, delayed = v_wait > 0,
        not_before = case when v_wait > 0 then statement_timestamp() + v_wait * interval '1 millisecond' end, deliver_by = null
      where p.tenant_id = p_tenant and p.action_id = p_task_device;
  else
    delete from {schema}.pending p where p.tenant_id = p_tenant and p.action_id = p_task_device;
    insert into {schema}.endings (tenant_id, action_id, state, attempt, reason, error, ended_at)
      values (p_tenant, p_task_device, v_state, v.attempt, case v_state when 'failed' then 'FAILED' else 'CANCELLED' end, p_error, statement_timestamp());
  end if;
  insert into {schema}.events (tenant_id, action_id, lane_id, at, type, attempt, worker, reason)
    values (p_tenant, p_task_device, v.lane_id, statement_timestamp(), 7, v.attempt, v.worker, p_error);
  insert into {schema}.events (tenant_id, action_id, lane_id, at, type, attempt, reason)
    values (p_tenant, p_task_device, v.lane_id, statement_timestamp(), case v_state when 'pending' then 9 when 'failed' then 10 else 16 end, v.attempt,
      case v_state when 'failed' then 'FAILED' when 'cancelled' then 'CANCELLED'
        else to_json(case when v_wait > 0 then statement_timestamp() + v_wait * interval '1 millisecond' end)#>>'{}' end);
  insert into {schema}.count_changes (tenant_id, channel, state, change)
    values (p_tenant, 'runner', 'claimed', -1), (p_tenant, 'runner', v_state, 1);
  insert into {schema}.task_counts (tenant_id, task_id, state, change, at)
    values (p_tenant, v.task_id, 'running', -1, statement_timestamp()), (p_tenant, v.task_id, v_state, 1, statement_timestamp());
  if v_state = 'failed' then
    update {schema}.devices d set state = 'error', state_reason = left(coalesce(p_error, 'FAILED_FINAL'), 1000)
      where d.tenant_id = p_tenant and d.deleted_at is null and d.device_id = (
        select x.device_id from {schema}.devices x where x.tenant_id = p_tenant and x.lane_id = v.lane_id and {schema}.sought_by(x.lane_id));
  end if;
  perform {schema}.notify_lanes(array[p_tenant, p_tenant], array[v.lane_id, v.lane_id], array[v.runner_id, v.lease_runner]);
  return v_state;
end $$;
