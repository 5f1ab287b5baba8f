-- breaking: no
-- Drops whole days of history. What belongs to an action that is still kept goes into `events_past`, which is written
-- anew without the rows of pruned actions: copied first, exchanged at the end, so the lock on `events` is short. If that
-- lock is not to be had within 200 ms the whole call fails and is tried again later.
create function {schema}.drop_event_days(p_before date) returns int language plpgsql as $$
declare
  v record;
  v_dropped int := 0;
begin
  perform set_config('lock_timeout', '200ms', true);
  if not pg_try_advisory_xact_lock(hashtext('{schema}.ensure_event_days')) then
    return 0;
  end if;
  for v in
    select c.oid::regclass as tbl, to_date(right(c.relname, 8), 'YYYYMMDD') as day
    from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = '{schema}.events'::regclass and c.relname ~ '^events_[0-9]{8}$'
      and to_date(right(c.relname, 8), 'YYYYMMDD') < p_before
    order by 2
  loop
    create table {schema}.events_kept (like {schema}.events including defaults including indexes);
    execute format(
      'insert into {schema}.events_kept select e.* from (select * from {schema}.events_past union all select * from %s) e
         where exists (select 1 from {schema}.actions a where a.tenant_id = e.tenant_id and a.action_id = abs(e.action_id))', v.tbl);
    execute format('alter table {schema}.events detach partition {schema}.events_past');
    execute format('alter table {schema}.events detach partition %s', v.tbl);
    execute format('drop table {schema}.events_past, %s', v.tbl);
    execute 'alter table {schema}.events_kept rename to events_past';
    execute format('alter table {schema}.events attach partition {schema}.events_past for values from (minvalue) to (%L)',
      (v.day + 1)::timestamp at time zone 'UTC');
    v_dropped := v_dropped + 1;
  end loop;
  return v_dropped;
end $$;
