-- Functions that a database distributed by tenant has instead of those of the migrations, see packages/engine/migrations/distributed.sql.

-- One tenant after the other: each statement below is of one. What is in quotes is of all.
create or replace function {schema}_reports.fn_timeout_tasks_and_task_devices(p_tenant int default null) returns int language plpgsql as $$
declare
  v_now timestamptz := statement_timestamp();
  v_over record;
  v record;
  v_count int := 0;
  v_tenants int[];
  v_tenant int;
begin
  if p_tenant is null then
    execute 'select array_agg(distinct l.tenant_id order by l.tenant_id) from {schema}.lane_leases l where l.lease_until <= $1'
      into v_tenants using v_now;
    foreach v_tenant in array coalesce(v_tenants, '{}') loop
      v_count := v_count + {schema}_reports.fn_timeout_tasks_and_task_devices(v_tenant);
    end loop;
    return v_count;
  end if;
  perform {schema}.ensure_event_day(v_now);
  select coalesce(array_agg(l.tenant_id order by l.tenant_id, l.lane_id), '{}') as tenants,
      coalesce(array_agg(l.action_id order by l.tenant_id, l.lane_id), '{}') as actions,
      coalesce(array_agg(l.attempt order by l.tenant_id, l.lane_id), '{}') as attempts
    into v_over
    from {schema}.lane_leases l
    join {schema}.action_states a on a.tenant_id = l.tenant_id and a.action_id = l.action_id
    where l.lease_until <= v_now and a.channel = 'runner' and a.payload->'taskId' is not null;
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
