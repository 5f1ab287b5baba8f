-- breaking: no
-- Enqueueing lives in the database, so that plain SQL in anybody's transaction and the library do the same thing.

-- Takes back that a lane was closed. False: it was not, or it is gone.
create function {schema}.reopen_lane(p_tenant int, p_lane bigint) returns boolean language plpgsql as $$
begin
  update {schema}.lanes l set closing = false, ver = l.ver + 1 where l.tenant_id = p_tenant and l.lane_id = p_lane and l.closing;
  return found;
end $$;

-- The lane of that name, made on first use. Nothing is in it for long: it is forgotten, if it is of a kind that nobody owns.
-- So whoever keeps its number makes sure of it again when he is told that it is unknown.
create function {schema}.make_lane(p_tenant int, p_space text, p_name text) returns bigint language plpgsql as $$
declare
  v_lane bigint;
  v_closing boolean;
begin
  loop
    select n.lane_id, l.closing into v_lane, v_closing
      from (select n.lane_id from {schema}.lane_names n where n.tenant_id = p_tenant and n.space = p_space and n.name = p_name limit 1) n
      cross join lateral (select l.closing from {schema}.lanes l where l.tenant_id = p_tenant and l.lane_id = n.lane_id limit 1) l;
    if not found then
      insert into {schema}.lane_names (tenant_id, space, name, lane_id)
        values (p_tenant, p_space, p_name, nextval('{schema}.lane_seq'))
        on conflict (tenant_id, space, name) do nothing
        returning lane_id into v_lane;
      if found then
        insert into {schema}.lanes (tenant_id, lane_id) values (p_tenant, v_lane);
        insert into {schema}.lanes_to_forget (tenant_id, lane_id, look_at) values (p_tenant, v_lane, statement_timestamp() + interval '1 day');
        return v_lane;
      end if; -- else another transaction made it meanwhile and has committed
    elsif not v_closing or {schema}.reopen_lane(p_tenant, v_lane) then
      return v_lane;
    end if; -- else it was forgotten meanwhile, or somebody else has reopened it
  end loop;
end $$;

-- Refused in words, with the code that the library and HTTP have for it as the detail.
create function {schema}.refuse(p_code text, p_sentence text, p_state text default 'invalid_parameter_value') returns void language plpgsql as $$
begin
  raise exception '%', p_sentence using errcode = p_state, detail = p_code;
end $$;

-- Why nothing is put into a lane of that name from outside: a code and a sentence, or no row. The engine knows of nothing that speaks
-- against it; whoever knows whose the lanes of a space are replaces this.
create function {schema}.lane_refusal(p_tenant int, p_space text, p_name text) returns table (code text, sentence text) language sql stable as $$
  select null::text, null::text where false
$$;

create function {schema}.check_lane(p_tenant int, p_space text, p_name text) returns void language plpgsql as $$
begin
  perform {schema}.refuse(r.code, r.sentence, 'no_data_found') from {schema}.lane_refusal(p_tenant, p_space, p_name) r;
end $$;

-- A name that can be written in an address and read in a list.
create function {schema}.is_name(p_text text) returns boolean language sql immutable as $$
  select coalesce(char_length(p_text) between 1 and 200 and p_text !~ '[\u0001-\u001f\u007f-\u009f]', false)
$$;

-- The same for plain SQL, which names what it likes.
create function {schema}.ensure_lane(p_tenant int, p_space text, p_name text) returns bigint language plpgsql as $$
begin
  if not {schema}.is_name(p_name) or p_name in ('.', '..') then
    perform {schema}.refuse('MUSTER_BAD_VALUE', 'The name of the lane must be a string of 1 to 200 characters without control characters, and not only dots.');
  elsif not {schema}.is_name(p_space) or char_length(p_space) > 100 then
    perform {schema}.refuse('MUSTER_BAD_VALUE', 'The space of the lane must be a string of 1 to 100 characters without control characters.');
  end if;
  perform {schema}.check_lane(p_tenant, p_space, p_name);
  return {schema}.make_lane(p_tenant, p_space, p_name);
end $$;

-- Adds many actions in one statement and says for each what became of it:
--   created | present (same idempotency key and body) | mismatch (same key, other body) | kept (supersede: keep-first)
--   | deep (the lane is full) | busy (the lane changed or is locked, try again). Unknown lanes are missing.
-- Besides, one row `superseded` for each action that was replaced, under the number of the one that replaced it.
-- `waits` says, if p_tell, of what was created what stands in its way in its lane; what does not is not in it.
-- Takes no lock on a lane unless a supersede key asks for one: an open transaction elsewhere must not stall a batch.
create function {schema}.enqueue_actions(
  p_now timestamptz, p_tenants int[], p_lanes bigint[], p_channels text[], p_kinds text[], p_payloads json[],
  p_options jsonb[], p_tell boolean default false
) returns table (ord int, outcome text, action_id bigint, lane_id bigint, runner_id bigint, channel text, waits jsonb) language plpgsql
-- Planned once per session and not for each call, which took longer than a row (4.5 ms instead of 0.95). The plan may be made while
-- the tables are empty, so it must not read whole tables: see NO_SCANS in drivers/postgres.ts. That makes its estimates so large that
-- it would be compiled, for 20 s, in sessions of others.
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
begin
  -- Taken before the generation is read: housekeeping waits for whoever had a number when a raise was committed.
  perform pg_current_xact_id();
  -- A transaction that keeps its first snapshot may see an old generation at any time.
  if current_setting('transaction_isolation') in ('repeatable read', 'serializable') then
    insert into {schema}.stale_lanes (tenant_id, lane_id)
      select distinct i.tenant_id, i.lane_id from unnest(p_tenants, p_lanes) i(tenant_id, lane_id) order by 1, 2
      on conflict do nothing;
    -- and a lane that has been forgotten since: this fails if it has been, and keeps it from that until the end
    perform 1 from unnest(p_tenants, p_lanes) i(tenant_id, lane_id)
      cross join lateral (
        select 1 from {schema}.lanes l where l.tenant_id = i.tenant_id and l.lane_id = i.lane_id limit 1 for key share
      ) l;
  end if;
  return query
  with i as materialized (
    -- numbers are taken above the sort, so the rows of one call keep their order
    select s.*, nextval('{schema}.action_seq') as action_id
    from (
      select i.ord::int, i.tenant_id, i.lane_id, i.channel, i.kind, i.payload, i.o, l.ver, l.generation, l.runner_id,
        l.action_id as leased, l.paused, l.paused_at, l.paused_by, l.blocked, i.o->>'idempotencyKey' as key, i.o->>'supersedeKey' as supersede_key,
        case when i.o ? 'supersedeKey' then coalesce(i.o->>'supersedeMode', 'replace') else 'append' end as mode,
        case when i.o ? 'idempotencyKey' then sha256(convert_to(jsonb_build_array(i.lane_id, i.channel, i.kind, i.payload::jsonb,
          i.o - '{idempotencyKey,createdBy,depthLimit,channelLimit,place}'::text[])::text, 'UTF8')) end as body_hash,
        coalesce((i.o->>'depthLimit')::int, 1000) as depth_limit, (i.o->>'channelLimit')::int as channel_limit, case i.o->>'priority' when 'urgent' then 0 else 1 end as priority,
        coalesce((i.o->>'notBefore')::timestamptz > p_now, false) as delayed
      -- behind sub-selects, so that a plan for one row does for all (see `rows` in sql.ts)
      from unnest((select p_tenants), (select p_lanes), (select p_channels), (select p_kinds), (select p_payloads), (select p_options))
        with ordinality as i(tenant_id, lane_id, channel, kind, payload, o, ord)
      cross join lateral (
        select * from {schema}.lanes l where l.tenant_id = i.tenant_id and l.lane_id = i.lane_id and not l.closing limit 1
      ) l
      order by i.ord
    ) s
  ), loads as materialized (
    -- what of each channel is unfinished, as the counts have it: once for all rows, and only if one of them asks
    select c.tenant_id, c.channel, sum(c.change) as many from {schema}.count_changes c
    where (select bool_or(i.channel_limit is not null) from i) and c.state in ('pending', 'claimed')
      and c.tenant_id in (select i.tenant_id from i where i.channel_limit is not null)
    group by 1, 2
  ), looked as materialized (
    select i.*, old_key.action_id as key_action, old_key.body_hash as key_hash, kept.action_id as kept_action,
      case when old_key.action_id is null and kept.action_id is null then 1 else 0 end as adds,
      case when old_key.action_id is null then gone.many else 0 end as removes
    from i
    left join lateral (
      select * from {schema}.idempotency_keys k where i.key is not null and k.tenant_id = i.tenant_id and k.key = i.key limit 1
    ) old_key on true
    left join lateral (
      select p.action_id from {schema}.pending p
      where i.mode = 'keep-first' and p.tenant_id = i.tenant_id and p.lane_id = i.lane_id
        and p.supersede_key = i.supersede_key and {schema}.sought_by(p.supersede_key) and p.attempt = 0 and p.action_id is distinct from i.leased
        and p.generation = i.generation
        and (p.deliver_by is null or p.deliver_by > p_now) and (p.deadline is null or p.deadline > p_now)
      order by p.action_id limit 1
    ) kept on true
    cross join lateral (
      select count(*) as many from {schema}.pending p
      where i.mode = 'replace' and p.tenant_id = i.tenant_id and p.lane_id = i.lane_id
        and p.supersede_key = i.supersede_key and {schema}.sought_by(p.supersede_key) and p.attempt = 0 and p.action_id is distinct from i.leased
    ) gone
  ), checked as materialized (
    -- what adds nothing is taken into a full lane too
    select w.*, w.adds > w.removes and (w.depth_limit >= 0 and d.depth + w.added - w.removed > w.depth_limit
        or w.channel_limit is not null and w.added - w.removed + coalesce((
          select o.many from loads o where o.tenant_id = w.tenant_id and o.channel = w.channel), 0) > w.channel_limit) as deep,
      coalesce(w.leased, ahead.action_id, case w.priority when 0 then w.urgent_before else w.any_before end) as ahead_id
    from (
      select k.*, sum(k.adds) over before_it as added, sum(k.removes) over before_it as removed,
        min(k.action_id) filter (where k.adds = 1 and not k.delayed) over ahead_of_it as any_before,
        min(k.action_id) filter (where k.adds = 1 and not k.delayed and k.priority = 0) over ahead_of_it as urgent_before
      from looked k
      window before_it as (partition by k.tenant_id, k.lane_id order by k.ord),
        ahead_of_it as (partition by k.tenant_id, k.lane_id, k.channel order by k.ord rows between unbounded preceding and 1 preceding)
    ) w
    cross join lateral (
      select count(*) as depth from (
        select 1 from {schema}.pending p where p.tenant_id = w.tenant_id and p.lane_id = w.lane_id and {schema}.sought_by(p.lane_id)
        limit case when w.depth_limit >= 0 then w.depth_limit + w.removed else 0 end
      ) x
    ) d
    left join lateral (
      select p.action_id from {schema}.pending p
      where p_tell and w.adds = 1 and w.leased is null and p.tenant_id = w.tenant_id and p.lane_id = w.lane_id and {schema}.sought_by(p.lane_id)
        and p.channel = w.channel and not p.delayed and p.generation = w.generation and p.priority <= w.priority
        and not (w.mode = 'replace' and p.attempt = 0 and p.supersede_key is not distinct from w.supersede_key)
      order by p.priority, p.seq limit 1
    ) ahead on true
  ), locked as materialized (
    select c.tenant_id, c.lane_id
    from (
      select distinct c.tenant_id, c.lane_id, c.ver from checked c
      where c.mode <> 'append' and c.kept_action is null and c.key_action is null and not c.deep
      order by c.tenant_id, c.lane_id
    ) c
    cross join lateral (
      select 1 from {schema}.lanes l where l.tenant_id = c.tenant_id and l.lane_id = c.lane_id and l.ver = c.ver limit 1
      for no key update skip locked
    ) l
  ), judged as materialized (
    select c.*, case
        when c.key_action is not null then case when c.key_hash = c.body_hash then 'present' else 'mismatch' end
        when c.kept_action is not null then 'kept'
        when c.deep then 'deep'
        when c.mode <> 'append' and (c.tenant_id, c.lane_id) not in (select k.tenant_id, k.lane_id from locked k) then 'busy'
        else 'created'
      end as verdict
    from checked c
  ), keyed as (
    insert into {schema}.idempotency_keys (tenant_id, key, action_id, body_hash)
      select j.tenant_id, j.key, j.action_id, j.body_hash from judged j
      where j.verdict = 'created' and j.key is not null
      order by j.tenant_id, j.key
      on conflict (tenant_id, key) do nothing
      returning action_id
  ), go as materialized (
    select j.* from judged j
    where j.verdict = 'created' and (j.key is null or j.action_id in (select k.action_id from keyed k))
  ), old as materialized (
    select go.tenant_id, go.lane_id, go.ord, go.runner_id, go.action_id, q.action_id as old_action from go cross join lateral (
      select q.action_id from {schema}.pending q where q.tenant_id = go.tenant_id and q.lane_id = go.lane_id
        and q.supersede_key = go.supersede_key and {schema}.sought_by(q.supersede_key) and q.attempt = 0
        and q.action_id is distinct from go.leased offset 0
    ) q where go.mode = 'replace'
  ), doomed as materialized (
    -- a claim of a pool locks no lane, only what it takes: what it has in hand is not replaced any more
    select old.* from old cross join lateral (
      select 1 from {schema}.pending q where q.tenant_id = old.tenant_id and q.action_id = old.old_action and q.lane_id = old.lane_id limit 1
      for update skip locked
    ) q
  ), superseded as (
    -- compared as an array: see `hasKeyOf` in sql.ts
    delete from {schema}.pending p using doomed go
    where p.tenant_id = any(array[go.tenant_id]) and p.action_id = go.old_action
    returning p.tenant_id, p.action_id, p.lane_id, p.channel, go.ord, go.runner_id, go.action_id as by_action
  ), raised as (
    update {schema}.lanes l set ver = l.ver + 1 from locked k
    where l.tenant_id = any(array[k.tenant_id]) and l.lane_id = k.lane_id
  ), ended as (
    insert into {schema}.endings (tenant_id, action_id, state, attempt, reason, ended_at)
      select s.tenant_id, s.action_id, 'cancelled', 0, 'SUPERSEDED', p_now from superseded s
  ), policy as materialized (
    select go.tenant_id, go.action_id, go.lane_id, go.generation, go.channel, go.kind, go.payload, go.o, go.supersede_key,
      go.priority, (go.o->>'notBefore')::timestamptz as not_before,
      (go.o->>'deliverBy')::timestamptz as deliver_by, (go.o->>'deadline')::timestamptz as deadline, (go.o->>'leaseMs')::int as lease_ms
    from go
  ), added as (
    insert into {schema}.actions (tenant_id, action_id, lane_id, channel, kind, payload, priority, tags, created_at,
        created_by, not_before, deliver_by, deadline, max_attempts, backoff_ms, backoff_max_ms, head_of_line,
        on_lease_end, lease_ms, supersede_key, copied_from)
      select a.tenant_id, a.action_id, a.lane_id, a.channel, a.kind, a.payload, a.priority,
        case when a.o ? 'tags' then array(select jsonb_array_elements_text(a.o->'tags')) end,
        p_now, a.o->>'createdBy', a.not_before, a.deliver_by, a.deadline, coalesce((a.o->>'maxAttempts')::smallint, 3),
        coalesce((a.o->>'backoffMs')::int, 2000), coalesce((a.o->>'backoffMaxMs')::int, 300000),
        coalesce(a.o->>'headOfLine', 'skip'), coalesce(a.o->>'onLeaseEnd', 'retry'), a.lease_ms, a.supersede_key,
        (a.o->>'copiedFrom')::bigint
      from policy a
  ), tagged as (
    insert into {schema}.action_tags (tenant_id, action_id, tag)
      select distinct a.tenant_id, a.action_id, t.tag collate "C" from policy a cross join lateral jsonb_array_elements_text(a.o->'tags') t(tag)
      where a.o ? 'tags'
  ), waiting as (
    insert into {schema}.pending (tenant_id, action_id, lane_id, generation, channel, delayed, priority, seq, not_before,
        deliver_by, deadline, lease_ms, supersede_key)
      select a.tenant_id, a.action_id, a.lane_id, a.generation, a.channel, coalesce(a.not_before > p_now, false),
        a.priority, coalesce((a.o->>'place')::bigint, a.action_id), case when a.not_before > p_now then a.not_before end, a.deliver_by, a.deadline,
        a.lease_ms, a.supersede_key
      from policy a
  ), history as (
    insert into {schema}.events (tenant_id, action_id, lane_id, at, type, attempt, reason)
      select x.tenant_id, x.action_id, x.lane_id, p_now, x.type, 0, x.reason from (
        select a.tenant_id, a.action_id, a.lane_id, 1 as type, null as reason from go a
        union all
        select s.tenant_id, s.action_id, s.lane_id, 14, 'by ' || s.by_action from superseded s
      ) x order by x.action_id
  ), counted as (
    insert into {schema}.count_changes (tenant_id, channel, state, change)
      select x.tenant_id, x.channel, x.state, sum(x.change) from (
        select a.tenant_id, a.channel, 'pending' as state, 1 as change from go a
        union all select s.tenant_id, s.channel, 'pending', -1 from superseded s
        union all select s.tenant_id, s.channel, 'cancelled', 1 from superseded s
      ) x group by 1, 2, 3 having sum(x.change) <> 0
  )
  -- rows are told apart without a join: the planner takes these sets for one row each and would compare all with all
  select j.ord,
    case when j.verdict = 'created' and j.key is not null and j.action_id not in (select k.action_id from keyed k) then 'busy'
      else j.verdict end,
    case when j.verdict = 'created' then j.action_id else coalesce(j.key_action, j.kept_action) end, j.lane_id, j.runner_id, j.channel,
    case when p_tell and j.verdict = 'created' then
      jsonb_strip_nulls(jsonb_build_object('lanePaused', case when j.paused then jsonb_build_object('at', j.paused_at, 'by', j.paused_by) end, 'blocked', j.blocked, 'aheadId', j.ahead_id::text,
        'paused', (select jsonb_build_object('tag', x.tag, 'at', x.paused_at, 'by', x.paused_by) from {schema}.pauses x
          where x.tenant_id = j.tenant_id and (x.tag = '' or j.o->'tags' ? x.tag) order by x.tag limit 1),
        'urgent', case when j.priority = 1 and j.ahead_id is null then (
          select jsonb_build_object('id', u.action_id::text, 'channel', u.channel, 'until', u.until)
          from {schema}.urgent_elsewhere(p_now, j.tenant_id, j.lane_id, j.channel) u
          where u.action_id not in (select d.old_action from doomed d)) end))
    end
  from judged j
  union all
  select s.ord, 'superseded', s.action_id, s.lane_id, s.runner_id, s.channel, null from superseded s;
end $$;

-- The same for actions without options, of which nobody asks what stands in their way: two thirds of the time. What it says are the
-- first columns of the other's rows; created | deep, and unknown lanes are missing. Where p_counted says so the lane is counted, and `room`
-- is what it takes after that; else whoever calls it knows that there is room.
create function {schema}.enqueue_plain_actions(
  p_now timestamptz, p_tenants int[], p_lanes bigint[], p_channels text[], p_kinds text[], p_payloads json[], p_creators text[], p_limit int, p_counted boolean[]
) returns table (ord int, outcome text, action_id bigint, lane_id bigint, runner_id bigint, channel text, room int) language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
begin
  -- both as in enqueue_actions
  perform pg_current_xact_id();
  if current_setting('transaction_isolation') in ('repeatable read', 'serializable') then
    return query select e.ord, e.outcome, e.action_id, e.lane_id, e.runner_id, e.channel, null::int
      from {schema}.enqueue_actions(p_now, p_tenants, p_lanes, p_channels, p_kinds, p_payloads, array(
        select jsonb_strip_nulls(jsonb_build_object('createdBy', c.by, 'depthLimit', p_limit)) from unnest(p_tenants, p_creators) with ordinality c(tenant_id, by, nth) order by c.nth)) e;
    return;
  end if;
  return query
  with i as materialized (
    -- numbers are taken above the sort, so the rows of one call keep their order
    select s.*, nextval('{schema}.action_seq') as action_id
    from (
      select i.ord::int, i.tenant_id, i.lane_id, i.channel, i.kind, i.payload, i.created_by, i.counted, l.generation, l.runner_id
      from unnest((select p_tenants), (select p_lanes), (select p_channels), (select p_kinds), (select p_payloads), (select p_creators), (select p_counted))
        with ordinality as i(tenant_id, lane_id, channel, kind, payload, created_by, counted, ord)
      cross join lateral (
        select * from {schema}.lanes l where l.tenant_id = i.tenant_id and l.lane_id = i.lane_id and not l.closing limit 1
      ) l
      order by i.ord
    ) s
  ), checked as materialized (
    select w.*, w.counted and p_limit >= 0 and d.depth + w.added > p_limit as deep, case when w.counted then p_limit - d.depth - w.added end as room
    from (select i.*, row_number() over (partition by i.tenant_id, i.lane_id order by i.ord) as added from i) w
    cross join lateral (
      select count(*) as depth from (
        select 1 from {schema}.pending p where w.counted and p.tenant_id = w.tenant_id and p.lane_id = w.lane_id and {schema}.sought_by(p.lane_id)
        limit greatest(p_limit, 0)
      ) x
    ) d
    order by w.ord
  ), go as materialized (
    select c.* from checked c where not c.deep
  ), added as (
    insert into {schema}.actions (tenant_id, action_id, lane_id, channel, kind, payload, priority, created_at, created_by, max_attempts,
        backoff_ms, backoff_max_ms, head_of_line, on_lease_end)
      select a.tenant_id, a.action_id, a.lane_id, a.channel, a.kind, a.payload, 1, p_now, a.created_by, 3, 2000, 300000, 'skip', 'retry' from go a
  ), waiting as (
    insert into {schema}.pending (tenant_id, action_id, lane_id, generation, channel, priority, seq)
      select a.tenant_id, a.action_id, a.lane_id, a.generation, a.channel, 1, a.action_id from go a
  ), history as (
    insert into {schema}.events (tenant_id, action_id, lane_id, at, type, attempt)
      select a.tenant_id, a.action_id, a.lane_id, p_now, 1, 0 from go a
  ), counted as (
    insert into {schema}.count_changes (tenant_id, channel, state, change)
      select a.tenant_id, a.channel, 'pending', count(*) from go a group by 1, 2
  )
  select c.ord, case when c.deep then 'deep' else 'created' end, c.action_id, c.lane_id, c.runner_id, c.channel, c.room::int from checked c;
end $$;

-- The generation that a row written by this transaction may carry. Read after the transaction has its number, with a
-- snapshot newer than that number: housekeeping forgets a raise when all who had a number before it are over, and a
-- statement that reads first and gets its number with its first write would come after that.
create function {schema}.generation_to_write(p_tenant int, p_lane bigint) returns int language plpgsql volatile as $$
begin
  perform pg_current_xact_id();
  return (select l.generation from {schema}.lanes l where l.tenant_id = p_tenant and l.lane_id = p_lane);
end $$;

-- Tells every node which lanes have something new. Past 7,000 bytes: everything may have (8,000 abort a transaction).
create function {schema}.notify_lanes(p_tenants int[], p_lanes bigint[], p_runners bigint[]) returns void language plpgsql as $$
declare
  v_text text;
begin
  select string_agg(distinct w.word, ',') into v_text from (
    select i.tenant_id || ':' || i.lane_id as word from unnest(p_tenants, p_lanes) i(tenant_id, lane_id)
    union all
    select i.tenant_id || 'r' || i.runner_id from unnest(p_tenants, p_runners) i(tenant_id, runner_id)
      where i.runner_id is not null
  ) w;
  if v_text is not null then
    perform pg_notify('{schema}', case when octet_length(v_text) > 7000 then '*' else v_text end);
  end if;
end $$;

-- What the library and the HTTP body check, for those who come with plain SQL: one action that nobody can read or that
-- never ends would be everybody's trouble. The library does not pay for it a second time.
create function {schema}.check_action(p_kind text, p_payload jsonb, p_options jsonb) returns void language plpgsql as $$
declare
  v_name text;
  v_value jsonb;
  v_type text;
  v_text text;
  v_wrong text; -- how the sentence about this option goes on
begin
  if not {schema}.is_name(p_kind) then
    perform {schema}.refuse('MUSTER_BAD_VALUE', 'The kind must be a string of 1 to 200 characters without control characters.');
  elsif p_payload is null then
    perform {schema}.refuse('MUSTER_BAD_VALUE', 'The payload must be JSON, not NULL.');
  elsif jsonb_path_exists(p_payload, 'strict $.**{65 to last}') then
    perform {schema}.refuse('MUSTER_BAD_VALUE', 'The payload is nested deeper than 64 levels.');
  -- whoever reads JSON into doubles would get another number
  elsif jsonb_path_exists(p_payload, 'strict $.** ? (@.type() == "number" && (@ > 9007199254740991 || @ < -9007199254740991))') then
    perform {schema}.refuse('MUSTER_BAD_VALUE',
      'The payload has a number beyond 9007199254740991, which would be rounded. Send it as a string.', 'numeric_value_out_of_range');
  elsif jsonb_typeof(p_options) <> 'object' then
    perform {schema}.refuse('MUSTER_BAD_VALUE', 'The options must be a JSON object.');
  end if;
  for v_name, v_value in select o.key, o.value from jsonb_each(p_options) o loop
    v_type := jsonb_typeof(v_value);
    v_text := v_value #>> '{}';
    v_wrong := null;
    case v_name
      when 'notBefore', 'deliverBy', 'deadline' then
        begin
          if v_type <> 'string' or not coalesce(v_text::timestamptz between '0001-01-01 00:00:00+00' and '9999-12-31 23:59:59.999+00', false) then
            v_wrong := 'a time between the years 1 and 9999';
          end if;
        exception when data_exception then
          v_wrong := 'a time between the years 1 and 9999';
        end;
      when 'maxAttempts' then
        if v_type <> 'number' or v_text::numeric not between 1 and 1000 or v_text::numeric <> trunc(v_text::numeric) then
          v_wrong := 'a whole number from 1 to 1000';
        end if;
      when 'backoffMs', 'backoffMaxMs', 'depthLimit', 'channelLimit' then
        if v_type <> 'number' or v_text::numeric not between 0 and 2147483647 or v_text::numeric <> trunc(v_text::numeric) then
          v_wrong := 'a whole number from 0 to 2147483647';
        end if;
      when 'leaseMs' then
        if v_type <> 'number' or v_text::numeric not between 1 and 2147483647 or v_text::numeric <> trunc(v_text::numeric) then
          v_wrong := 'a whole number from 1 to 2147483647';
        end if;
      when 'priority' then
        if v_text not in ('urgent', 'normal') then v_wrong := 'one of urgent, normal'; end if;
      when 'headOfLine' then
        if v_text not in ('skip', 'hold') then v_wrong := 'one of skip, hold'; end if;
      when 'onLeaseEnd' then
        if v_text not in ('retry', 'fail', 'succeed') then v_wrong := 'one of retry, fail, succeed'; end if;
      when 'supersedeMode' then
        if v_text not in ('keep-first', 'replace', 'append') then v_wrong := 'one of keep-first, replace, append'; end if;
      when 'channel', 'supersedeKey' then
        if v_type <> 'string' or not {schema}.is_name(v_text) then v_wrong := 'a string of 1 to 200 characters without control characters'; end if;
      when 'idempotencyKey' then
        if v_type <> 'string' or char_length(v_text) not between 1 and 512 then v_wrong := 'a string of 1 to 512 characters'; end if;
      when 'createdBy' then
        if v_type <> 'string' or char_length(v_text) > 512 then v_wrong := 'a string of 0 to 512 characters'; end if;
      when 'copiedFrom' then
        if v_text !~ '^[1-9][0-9]{0,17}$' then v_wrong := 'the id of an action'; end if;
      when 'tags' then
        if v_type <> 'array' or jsonb_array_length(v_value) > 50 or exists (
          select 1 from jsonb_array_elements(v_value) t(tag)
          where jsonb_typeof(t.tag) <> 'string' or not {schema}.is_name(t.tag #>> '{}')
        ) then
          v_wrong := 'a list of at most 50 texts of 1 to 200 characters without control characters';
        end if;
      else
        perform {schema}.refuse('MUSTER_BAD_VALUE', format('There is no option "%s" for an action.', left(v_name, 100)));
    end case;
    if v_wrong is not null then
      perform {schema}.refuse('MUSTER_BAD_VALUE', format('%s must be %s.', v_name, v_wrong));
    end if;
  end loop;
  if p_options ? 'supersedeMode' and not p_options ? 'supersedeKey' then
    perform {schema}.refuse('MUSTER_BAD_VALUE', 'supersedeMode needs a supersedeKey.');
  end if;
end $$;

-- For an application that shares the database: an action in the transaction of its own change.
--   select {schema}.enqueue(1, {schema}.ensure_lane(1, 'generic', 'printer-7'), 'print', '{"copies": 2}');
-- Options as in the HTTP body: priority, notBefore, deliverBy, deadline, maxAttempts, backoffMs, backoffMaxMs,
-- headOfLine, onLeaseEnd, leaseMs, supersedeKey, supersedeMode, tags, idempotencyKey, createdBy, channel. One that is null is not given.
create function {schema}.enqueue(
  p_tenant int, p_lane bigint, p_kind text, p_payload jsonb default '{}', p_options jsonb default '{}'
) returns bigint language plpgsql as $$
declare
  v record;
  v_options jsonb := jsonb_strip_nulls(coalesce(p_options, '{}'));
  v_past text;
begin
  perform {schema}.check_action(p_kind, p_payload, v_options);
  -- a repetition of what was taken is answered as the first one, however late it comes and whoever is gone since
  if not exists (
    select 1 from {schema}.idempotency_keys k where k.tenant_id = p_tenant and k.key = v_options->>'idempotencyKey'
  ) then
    select o.key into v_past from jsonb_each_text(v_options) o
      where o.key in ('deliverBy', 'deadline') and o.value::timestamptz <= statement_timestamp() order by o.key desc limit 1;
    if v_past is not null then
      perform {schema}.refuse('MUSTER_BAD_VALUE', v_past || ' is in the past.');
    end if;
    perform {schema}.check_lane(n.tenant_id, n.space, n.name) from {schema}.lane_names n
      where n.tenant_id = p_tenant and n.lane_id = p_lane and {schema}.sought_by(n.lane_id);
  end if;
  perform {schema}.ensure_event_day(statement_timestamp());
  for i in 1..20 loop
    select * into v from {schema}.enqueue_actions(statement_timestamp(), array[p_tenant], array[p_lane],
      array[coalesce(v_options->>'channel', 'any')], array[p_kind], array[p_payload::json], array[v_options - 'channel'])
      where outcome <> 'superseded';
    if v is null and {schema}.reopen_lane(p_tenant, p_lane) then
      continue;
    elsif v is null then
      perform {schema}.refuse('MUSTER_UNKNOWN_LANE', format('There is no lane %s in tenant %s.', p_lane, p_tenant), 'no_data_found');
    elsif v.outcome = 'mismatch' then
      perform {schema}.refuse('MUSTER_IDEMPOTENCY_MISMATCH', 'The idempotency key was used for another body.', 'unique_violation');
    elsif v.outcome = 'deep' then
      perform {schema}.refuse('MUSTER_LANE_FULL', 'The lane is full.', 'program_limit_exceeded');
    elsif v.outcome <> 'busy' then
      if v.outcome = 'created' then
        perform {schema}.notify_lanes(array[p_tenant], array[p_lane], array[v.runner_id]);
      end if;
      return v.action_id;
    end if;
    perform pg_sleep(0.01 * i); -- the lane is locked by another transaction
  end loop;
  perform {schema}.refuse('MUSTER_LANE_BUSY', 'The lane is locked by another transaction.', 'lock_not_available');
end $$;

create function {schema}.events_past_end() returns timestamptz language sql stable as $$
  select substring(pg_get_expr(c.relpartbound, c.oid) from $r$TO \('([^']+)'\)$r$)::timestamptz
  from pg_class c where c.oid = to_regclass('{schema}.events_past')
$$;

-- A day that `events_past` covers needs no partition of its own.
create function {schema}.lacks_event_day(p_day date) returns boolean language sql volatile as $$
  select to_regclass('{schema}.events_' || to_char(p_day, 'YYYYMMDD')) is null
    and coalesce(p_day::timestamp at time zone 'UTC' >= {schema}.events_past_end(), true)
$$;

-- A day's partition of the history is made on its own and attached, which stops neither readers nor writers. Nothing is
-- locked when nothing is missing: the transaction may be a long one, and others look for their days meanwhile.
create function {schema}.ensure_event_days(p_from date, p_to date) returns void language plpgsql as $$
declare
  v_day date;
  v_table text;
begin
  if not exists (select 1 from generate_series(p_from, p_to, interval '1 day') d where {schema}.lacks_event_day(d::date)) then
    return;
  end if;
  -- The lock that an attach takes anyway, and not an advisory one: only with the lock of a table does a session hear what
  -- others have made meanwhile.
  lock table only {schema}.events in share update exclusive mode;
  if to_regclass('{schema}.events_past') is null then
    create table {schema}.events_past (like {schema}.events including defaults);
    execute format('alter table {schema}.events attach partition {schema}.events_past for values from (minvalue) to (%L)',
      p_from::timestamp at time zone 'UTC');
  end if;
  for v_day in select d::date from generate_series(p_from, p_to, interval '1 day') d loop
    if {schema}.lacks_event_day(v_day) then
      v_table := 'events_' || to_char(v_day, 'YYYYMMDD');
      execute format('create table {schema}.%I (like {schema}.events including defaults)', v_table);
      execute format('alter table {schema}.events attach partition {schema}.%I for values from (%L) to (%L)', v_table,
        v_day::timestamp at time zone 'UTC', (v_day + 1)::timestamp at time zone 'UTC');
    end if;
  end loop;
end $$;

-- For plain SQL, whose day is missing if no node ran for a week: a failed insert would abort the caller's transaction, so
-- it looks first (a look-up by name). If it has to make the days, others who miss them wait for the end of this transaction.
create function {schema}.ensure_event_day(p_at timestamptz) returns void language plpgsql as $$
begin
  if {schema}.lacks_event_day((p_at at time zone 'UTC')::date) then
    perform {schema}.make_event_days();
  end if;
end $$;

-- By the rights of the owner: an application may be allowed to enqueue and not to make tables. It names no days, so
-- nobody can make more of them than there should be.
create function {schema}.make_event_days() returns void language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_today date := (statement_timestamp() at time zone 'UTC')::date;
begin
  perform {schema}.ensure_event_days(v_today - 1, v_today + 7);
end $$;
