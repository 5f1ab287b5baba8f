-- Functions that a database distributed by tenant has instead of those in 001_engine. `muster migrate up` writes them after
-- all migrations.

-- The place of a row in the feed. Each step of a statement sees all that was committed on the tenant's server before it,
-- and there a transaction ends before it ends here: one whose work was seen may still be running here. A transaction that
-- gets its number only now comes after all of them; any other takes the largest number of a running one.
create or replace function {schema}.feed_xid() returns xid8 language plpgsql volatile as $$
declare
  v_own xid8 := pg_current_xact_id_if_assigned();
  v_seen bigint;
begin
  -- A transaction that writes nothing here is not flushed to the log here: after a crash its number would be issued again, and
  -- what carries it then would stand before what readers have passed.
  perform pg_logical_emit_message(true, '{schema}', '');
  if v_own is null then
    return pg_current_xact_id();
  end if;
  v_seen := pg_snapshot_xmax(pg_current_snapshot())::text::bigint - 1;
  -- a running transaction tells the last 32 bits of its number; it is not far from the newest
  select greatest(v_seen, max(v_seen + ((a.backend_xid::text::bigint - v_seen) % 4294967296 + 6442450944) % 4294967296 - 2147483648))
    into v_seen from pg_stat_activity a where a.backend_xid is not null;
  return greatest(v_own, v_seen::text::xid8);
end $$;

-- A page of the feed. Each select below is carried out on all servers at once, and its rows are merged here. What is settled is
-- known here alone, and is looked up first.
create or replace function {schema}.read_feed(p_xid xid8, p_event bigint, p_tenant int, p_limit int, p_window int)
returns table (
  incarnation uuid, next_xid xid8, passed int, last_xid xid8, last_event bigint,
  xid xid8, event_id bigint, tenant_id int, action_id bigint, lane_id bigint, type smallint, attempt int, at timestamptz,
  worker text, reason text, note jsonb
) language plpgsql volatile
set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
declare
  v_settled xid8 := pg_snapshot_xmin(pg_current_snapshot());
  v_next xid8 := pg_snapshot_xmax(pg_current_snapshot());
begin
  return query
    with passing as materialized (
      select n.* from (
        (
          select e.xid, e.event_id, e.tenant_id, abs(e.action_id) as action_id, e.lane_id, e.type, e.attempt, e.at, e.worker, e.reason, e.note
          from {schema}.events e
          where (e.xid, e.event_id) > (p_xid, p_event) and e.xid < v_settled
          order by e.xid, e.event_id limit p_window
        )
        union all
        (
          select a.xid, a.event_id, a.tenant_id, a.action_id, a.lane_id, {created}::smallint, 0, a.created_at, null::text, null::text, null::jsonb
          from {schema}.actions a
          where (a.xid, a.event_id) > (p_xid, p_event) and a.xid < v_settled
          order by a.xid, a.event_id limit p_window
        )
        union all
        (
          select z.xid, z.event_id, z.tenant_id, z.action_id, z.lane_id, {succeeded}::smallint, z.attempt, z.ended_at, z.worker,
            coalesce(nullif(z.reason, 'SUCCEEDED'), z.error), null::jsonb
          from {schema}.endings z
          where (z.xid, z.event_id) > (p_xid, p_event) and z.xid < v_settled
          order by z.xid, z.event_id limit p_window
        )
        union all
        (
          select z.xid, z.event_id + 1, z.tenant_id, z.next_action, z.lane_id, {sent}::smallint, z.next_attempt, z.ended_at,
            coalesce(z.next_worker, z.worker), null::text, null::jsonb
          from {schema}.endings z
          where (z.xid, z.event_id) > (p_xid, p_event - 1) and z.xid < v_settled and z.next_action is not null
          order by z.xid, z.event_id limit p_window
        )
      ) n
      order by n.xid, n.event_id limit p_window
    )
    select i.incarnation, v_next, (select count(*) from passing)::int, l.xid, l.event_id, p.*
    from {schema}.incarnations i
    left join (select n.xid, n.event_id from passing n order by n.xid desc, n.event_id desc limit 1) l on true
    left join (
      select n.* from passing n where p_tenant is null or n.tenant_id = p_tenant order by n.xid, n.event_id limit p_limit
    ) p on true
    order by p.xid, p.event_id;
end $$;

-- There an SQL function cannot write with its parameters.
create or replace function {schema}.note(p_at timestamptz, p_tenant int, p_lane bigint, p_name text, p_data jsonb) returns bigint language plpgsql as $$
declare
  v_event bigint;
begin
  insert into {schema}.events (tenant_id, action_id, lane_id, at, type, attempt, reason, note)
    values (p_tenant, 0, p_lane, p_at, {noted}, 0, p_name, p_data) returning event_id into v_event;
  return v_event;
end $$;
