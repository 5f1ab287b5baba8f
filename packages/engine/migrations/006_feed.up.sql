-- breaking: no
-- Which life of the database this is. Numbers of transactions mean something in one life only: after a restore they start
-- lower, or are given out again. A cursor of the event feed names the life it belongs to. It is drawn, not counted: two
-- restores of one backup must not agree. `server` is the identity of the server, null before the first start.
create table {schema}.incarnations (
  is_only boolean primary key default true constraint one_incarnation check (is_only),
  incarnation uuid not null default gen_random_uuid(),
  server text,
  raised_at timestamptz not null default now()
);
insert into {schema}.incarnations default values;

-- A page of the feed: what follows the given place in the order of transaction and event, as far as it is settled, out of
-- the next `p_window` events, those of `events` and those that endings are. A place may be between the two events of an ending. One row comes at least: it says where the window ends and what the database is.
-- A function for the sake of its settings: each day has an index of its own, and all are to be read from the given place
-- on, in order, whatever the statistics say. Of a day that was analysed while a load was not yet committed the
-- planner expects nothing, so it sorted all of it for each page (613 pages in place of 68 with 40,000 events).
create function {schema}.read_feed(p_xid xid8, p_event bigint, p_tenant int, p_limit int, p_window int)
returns table (
  incarnation uuid, next_xid xid8, passed int, last_xid xid8, last_event bigint,
  xid xid8, event_id bigint, tenant_id int, action_id bigint, lane_id bigint, type smallint, attempt int, at timestamptz,
  worker text, reason text, note jsonb
) language plpgsql stable
  set enable_sort = off set enable_seqscan = off set enable_bitmapscan = off set max_parallel_workers_per_gather = 0
as $$
#variable_conflict use_column
begin
  return query
    with passing as materialized (
      select n.* from (
        (
          select e.xid, e.event_id, e.tenant_id, abs(e.action_id) as action_id, e.lane_id, e.type, e.attempt, e.at, e.worker, e.reason, e.note
          from {schema}.events e
          where (e.xid, e.event_id) > (p_xid, p_event) and e.xid < pg_snapshot_xmin(pg_current_snapshot())
          order by e.xid, e.event_id limit p_window
        )
        union all
        select z.xid, y.event_id, z.tenant_id, y.action_id, z.lane_id, y.type, y.attempt, z.ended_at, y.worker, y.reason, null
        from (
          select * from {schema}.endings z
          where (z.xid, z.event_id) >= (p_xid, p_event - 1) and z.xid < pg_snapshot_xmin(pg_current_snapshot())
          order by z.xid, z.event_id limit p_window + 1
        ) z
        cross join lateral (
          select z.event_id, z.action_id, {succeeded}::smallint as type, z.attempt, z.worker, coalesce(nullif(z.reason, 'SUCCEEDED'), z.error) as reason
          union all
          select z.event_id + 1, z.next_action, {sent}::smallint, z.next_attempt, coalesce(z.next_worker, z.worker), null
          where z.next_action is not null
        ) y
        where (z.xid, y.event_id) > (p_xid, p_event)
      ) n
      order by n.xid, n.event_id limit p_window
    )
    select i.incarnation, pg_snapshot_xmax(pg_current_snapshot()), (select count(*) from passing)::int, l.xid, l.event_id, p.*
    from {schema}.incarnations i
    left join (select n.xid, n.event_id from passing n order by n.xid desc, n.event_id desc limit 1) l on true
    left join (
      select n.* from passing n where p_tenant is null or n.tenant_id = p_tenant order by n.xid, n.event_id limit p_limit
    ) p on true
    order by p.xid, p.event_id;
end $$;
