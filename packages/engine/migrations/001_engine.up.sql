-- breaking: no
-- The queue. One row per action in `actions` (never changed), one in `pending` while it is unfinished, one in
-- `endings` once it is finished; the lease lives in the lane's row, where a claim looks anyway.
-- `{schema}` is replaced by the name of the schema. Old code may run against this: it is the first.

create schema if not exists {schema};

create sequence {schema}.lane_seq;
create sequence {schema}.runner_seq;
create sequence {schema}.action_seq;
-- by two: a success has its own number and, after it, that of the SENT handed out with it (see `endings`)
create sequence {schema}.event_seq increment by 2;

-- Always true, and costly by estimate. An index with this condition is used only by statements that state it too: they
-- need not evaluate it, any other path would have to for each row. So no statistics make the planner take the primary
-- key for such an index, or such an index for the primary key, although both begin with the tenant (see "Plans" in
-- ARCHITECTURE.md). A write evaluates it too, for each such index, without a call: a value is not null, so the costly
-- part is not reached. The planner inlines the two conditions and adds up their costs. A test whose result it knows
-- would not do: it drops `is not null` for a column that never is.
create function {schema}.dear_to_ask(p_column anyelement) returns boolean language plpgsql immutable strict parallel safe cost 100000000 as $$
begin
  return true;
end $$;
create function {schema}.sought_by(p_column anyelement) returns boolean language sql immutable parallel safe as $$
  select num_nulls(p_column) = 0 or {schema}.dear_to_ask(p_column)
$$;

-- The transaction number of a feed row, so that a reader can wait for older transactions: its own transaction's or, in
-- one that began before others ended, that of the newest its statement could see. With its own number, a long
-- transaction that cancels an action created by a younger one would show CANCELLED before CREATED.
create function {schema}.feed_xid() returns xid8 language sql stable as $$
  select case when pg_current_xact_id() >= pg_snapshot_xmax(pg_current_snapshot()) then pg_current_xact_id()
    else (pg_snapshot_xmax(pg_current_snapshot())::text::bigint - 1)::text::xid8 end
$$;

-- The same for a statement that waited for a row and then found it unchanged: others may have written about it
-- meanwhile.
create function {schema}.feed_xid_now() returns xid8 language plpgsql volatile as $$
begin
  return {schema}.feed_xid();
end $$;

-- A runner drives many lanes. `ver` makes its slots exact: two claims that saw the same free slots cannot both raise it.
-- `slots` null means no limit.
create table {schema}.runners (
  tenant_id int not null,
  runner_id bigint not null default nextval('{schema}.runner_seq'),
  slots int constraint slots_are_positive check (slots > 0),
  ver bigint not null default 0,
  primary key (tenant_id, runner_id)
);

-- Hot and narrow: rewritten by every claim and report, so almost no column that those change is indexed, and half of
-- each page is left free for them. `check_at` is indexed: housekeeping visits the lane by then, and by the end of its
-- lease at the latest. A claim only moves it forward and a report leaves it alone, so a busy lane pays for the index
-- once per lease time and not once per claim; all other updates are HOT.
create table {schema}.lanes (
  tenant_id int not null,
  lane_id bigint not null default nextval('{schema}.lane_seq'),
  ver bigint not null default 0,
  generation int not null default 1,
  paused boolean not null default false,
  paused_at timestamptz,
  paused_by text,
  blocked text,
  -- the runner that may claim here, and, after a move, the runner that still holds the lease
  runner_id bigint,
  moved_from bigint,
  -- the pool whose actions its worker takes; a lane that names itself is a pool
  pool_id bigint,
  -- the lease
  action_id bigint,
  attempt int,
  channel text collate "C", -- of the action
  leased_at timestamptz,
  lease_until timestamptz,
  worker text,
  -- the number of its SENT, if the ending before it carries that; null: SENT is a row of `events`
  sent_id bigint,
  lease_runner bigint,
  cancel_requested boolean not null default false,
  redelivered smallint not null default 0,
  check_at timestamptz,
  -- about to be deleted: a caller that wants to use it must ensure it first
  closing boolean not null default false,
  primary key (tenant_id, lane_id)
) with (fillfactor = 50);
create index lanes_to_check on {schema}.lanes (check_at) where check_at is not null;
create index lanes_of_runner on {schema}.lanes (tenant_id, runner_id) where {schema}.sought_by(runner_id);
create index lanes_moved_from on {schema}.lanes (tenant_id, moved_from) where {schema}.sought_by(moved_from);
create index lanes_of_pool on {schema}.lanes (tenant_id, pool_id) where {schema}.sought_by(pool_id);

-- The name of a lane. `space` keeps the names of each kind of owner apart.
create table {schema}.lane_names (
  tenant_id int not null,
  space text not null,
  name text not null,
  lane_id bigint not null,
  primary key (tenant_id, space, name)
);
create unique index one_name_per_lane on {schema}.lane_names (tenant_id, lane_id) where {schema}.sought_by(lane_id);

-- The request. Never updated, except for `xid` after a restore. It is also its own CREATED (`event_id`, `xid`; null: a
-- row of `events`): an enqueue takes a tenth less, because only the action and its place in the line are written.
create table {schema}.actions (
  tenant_id int not null,
  action_id bigint not null,
  lane_id bigint not null,
  channel text collate "C" not null,
  kind text not null,
  payload json not null, -- kept as it was sent; it is read far more often than searched
  priority smallint not null,
  tags text[],
  created_at timestamptz not null,
  created_by text,
  not_before timestamptz,
  deliver_by timestamptz,
  deadline timestamptz,
  max_attempts smallint not null,
  backoff_ms int not null,
  backoff_max_ms int not null,
  head_of_line text collate "C" not null constraint head_of_line_is_known check (head_of_line in ('skip', 'hold')),
  on_lease_end text collate "C" not null constraint on_lease_end_is_known check (on_lease_end in ('retry', 'fail', 'succeed')),
  -- how long an attempt is leased; null: the claim decides
  lease_ms int constraint lease_takes_time check (lease_ms > 0),
  supersede_key text,
  copied_from bigint,
  event_id bigint,
  xid xid8,
  -- nothing is stored that can never run or be listed, whatever writes it
  constraint clocks_are_times check (not_before < 'infinity' and deliver_by < 'infinity' and deadline < 'infinity'),
  -- not `between`: after a dump and restore it is printed with other brackets, and would look like drift
  constraint tries_are_limited check (max_attempts >= 1 and max_attempts <= 1000 and backoff_ms >= 0 and backoff_max_ms >= 0),
  primary key (tenant_id, action_id)
);
create index actions_in_feed on {schema}.actions (xid, event_id) where xid is not null;
create index actions_of_lane on {schema}.actions (tenant_id, lane_id, action_id) where {schema}.sought_by(lane_id);

-- The index of `actions.tags`, and nothing more: written and deleted together with the action; `muster check` compares
-- both. It is a table because no index can do this: a btree has one entry per row, and an action up to 50 tags; GIN
-- returns matches without order, so the newest 100 of a tag cost as much as all that have it (2.5 s with 200,000).
-- Claims do not read it: they have the row of the action.
create table {schema}.action_tags (
  tenant_id int not null,
  action_id bigint not null,
  tag text collate "C" not null,
  primary key (tenant_id, tag, action_id)
);

-- Every unfinished action, leased or not. Rows that are not yet due sort behind `delayed`, so the head of a lane is
-- found without passing them (12.7 ms behind 100,000 of them otherwise). A row that retries under `hold` keeps its place
-- with `not_before` set and stops the lane. `lane_id` is its present lane: an action taken from a pool is in the
-- worker's lane until it ends or returns to its own lane.
create table {schema}.pending (
  tenant_id int not null,
  action_id bigint not null,
  lane_id bigint not null,
  generation int not null,
  channel text collate "C" not null,
  delayed boolean not null default false,
  priority smallint not null,
  seq bigint not null,
  attempt int not null default 0,
  failures smallint not null default 0,
  deferrals smallint not null default 0,
  not_before timestamptz,
  deliver_by timestamptz,
  deadline timestamptz,
  lease_ms int,
  supersede_key text,
  primary key (tenant_id, action_id)
) with (fillfactor = 90);
create index pending_in_order on {schema}.pending (tenant_id, lane_id, channel, delayed, priority, seq) where {schema}.sought_by(lane_id);
-- Urgent actions that may be handed out: a claim on another channel checks here whether one goes first.
create index pending_urgent on {schema}.pending (tenant_id, lane_id, channel, seq)
  where priority = 0 and not delayed and {schema}.sought_by(priority);
create index pending_not_due on {schema}.pending (not_before) where not_before is not null;
create index pending_deliver_by on {schema}.pending (deliver_by) where deliver_by is not null;
create index pending_deadline on {schema}.pending (deadline) where deadline is not null;
create index pending_supersede on {schema}.pending (tenant_id, lane_id, supersede_key) where {schema}.sought_by(supersede_key);

-- How a finished action ended. `reason` is one of the engine's words (TIMEOUT, DEADLINE, …); the worker's own words are
-- in `error` and `result`. A reported success is its own event: no rows of `events` are written for it; `history` and
-- the feed read them from here. It is SUCCEEDED (`event_id`, by `worker`, in `lane_id`), SENT of its own attempt
-- (`sent_id`; null: a row of `events`) and, if the lane's next action was handed out with it, the SENT of that one
-- (`event_id + 1`). This takes half the WAL and two thirds of the time of three rows with six index entries. All other
-- endings have their events in `events`, and none of these columns but `sent_at`.
create table {schema}.endings (
  tenant_id int not null,
  action_id bigint not null,
  state text collate "C" not null
    constraint ending_is_final check (state in ('succeeded', 'failed', 'cancelled', 'expired')),
  attempt int not null,
  reason text collate "C" not null,
  error text,
  result jsonb,
  ended_at timestamptz not null,
  sent_at timestamptz, -- of the attempt that it ended with; null: nothing ran
  event_id bigint,
  xid xid8,
  sent_id bigint,
  lane_id bigint,
  worker text,
  sent_worker text, -- null: the same
  next_action bigint,
  next_attempt int,
  next_worker text, -- null: the same
  primary key (tenant_id, action_id)
);
create index endings_in_feed on {schema}.endings (xid, event_id) where xid is not null;
-- most are successes, which are never looked up by state alone
create index endings_by_state on {schema}.endings (tenant_id, state, action_id) where state <> 'succeeded';
create index endings_by_time on {schema}.endings (ended_at);

-- A key names one action as long as the action is kept.
create table {schema}.idempotency_keys (
  tenant_id int not null,
  key text not null,
  action_id bigint not null,
  body_hash bytea not null,
  primary key (tenant_id, key)
);
create index idempotency_key_of_action on {schema}.idempotency_keys (tenant_id, action_id) where {schema}.sought_by(action_id);

-- A paused tenant ('' as tag) or a paused tag of it. A paused lane has its own columns.
create table {schema}.pauses (
  tenant_id int not null,
  tag text not null,
  paused_at timestamptz not null,
  paused_by text,
  primary key (tenant_id, tag)
);

-- Lanes in which an action of an old generation may still turn up: its transaction saw the old one and commits later.
-- `safe_from` is the number of a transaction that began after the raise was committed: when it and all older ones are
-- over, no transaction is left that saw the old generation.
create table {schema}.stale_lanes (
  tenant_id int not null,
  lane_id bigint not null,
  raised_in xid8 not null default pg_current_xact_id(),
  safe_from xid8,
  primary key (tenant_id, lane_id, raised_in)
);

-- Lanes to check now and then for deletion: a lane made on first use has an entry here, and the first check removes the
-- entry if the lane has an owner. An empty lane is closed first. `safe_from` is as above, for a closed lane: when that
-- transaction and all older ones are over, no transaction is left that saw it open.
create table {schema}.lanes_to_forget (
  tenant_id int not null,
  lane_id bigint not null,
  look_at timestamptz not null,
  safe_from xid8,
  primary key (tenant_id, lane_id)
);
create index lanes_to_forget_in_order on {schema}.lanes_to_forget (look_at);

-- Every transition that is not in `actions` or `endings`, written in the transaction of the transition. One partition
-- per day, made ahead; `events_past` takes rows older than the first day and rows that outlive a dropped day. Two kinds
-- of SENT serve one purpose only: without `xid` it is for the history alone, because the feed has shown it with the
-- previous ending; with a negative `action_id` it is for the feed alone, because that ending is pruned and the action's
-- history has it elsewhere.
create table {schema}.events (
  tenant_id int not null,
  event_id bigint not null default nextval('{schema}.event_seq'),
  xid xid8 default {schema}.feed_xid(),
  action_id bigint not null,
  lane_id bigint not null,
  at timestamptz not null,
  type smallint not null,
  attempt int not null,
  worker text,
  reason text,
  note jsonb -- of a note by a door: its name, with no action
) partition by range (at);
create index events_of_action on {schema}.events (tenant_id, action_id, event_id);
create index events_in_feed on {schema}.events (xid, event_id);

-- How many actions are in each state: changes are appended and folded now and then, so counting scans nothing and no row
-- is hot.
create table {schema}.count_changes (
  tenant_id int not null,
  channel text collate "C" not null,
  state text collate "C" not null,
  change bigint not null
);

-- One leader at a time does the housekeeping; every duty is safe with two.
create table {schema}.leaders (
  name text primary key,
  node_id text not null,
  expires_at timestamptz not null
);
create table {schema}.nodes (
  node_id text primary key,
  seen_at timestamptz not null
);

-- The channels on which a worker for this lane was recently seen, and until when that counts: until then, while
-- something urgent waits on such a channel, nothing normal is handed out on others. The engine does not know contacts
-- itself: the application that keeps them replaces this function (`create or replace`) with one select, so that it is
-- planned as part of the calling statement. It is not called for lanes where nothing urgent waits.
create function {schema}.heard_on(p_tenant int, p_lane bigint) returns table (channel text, until timestamptz) language sql stable as $$
  select null::text, null::timestamptz where false
$$;

-- Enqueueing lives in the database, so that plain SQL in any transaction and the library do the same.

-- Reopens a closed lane. False: it was not closed, or it is gone.
create function {schema}.reopen_lane(p_tenant int, p_lane bigint) returns boolean language plpgsql as $$
begin
  update {schema}.lanes l set closing = false, ver = l.ver + 1 where l.tenant_id = p_tenant and l.lane_id = p_lane and l.closing;
  return found;
end $$;

-- The lane with this name, made on first use. A lane of a kind without owners is deleted when it has been empty for a
-- while, so a caller that keeps its number must ensure it again when told that it is unknown.
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
    end if; -- else it was deleted meanwhile, or another transaction has reopened it
  end loop;
end $$;

-- Refuses in words, with the error code of the library and HTTP as the detail.
create function {schema}.refuse(p_code text, p_sentence text, p_state text default 'invalid_parameter_value') returns void language plpgsql as $$
begin
  raise exception '%', p_sentence using errcode = p_state, detail = p_code;
end $$;

-- Why callers may not put anything into a lane with this name: a code and a sentence, or no row. The engine has no
-- reason against it; an application whose doors own the lanes of a space replaces this.
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

-- The same for plain SQL, which may pass any name.
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

-- Adds many actions in one statement and returns the outcome of each:
--   created | present (same idempotency key and body) | mismatch (same key, other body) | kept (supersede: keep-first)
--   | deep (the lane is full) | busy (the lane changed or is locked, try again). Unknown lanes are missing.
-- Adds one row `superseded` for each action that was replaced, under the number of the one that replaced it.
-- If p_tell is set, `waits` says for each created action what stands in its way in its lane; actions without an obstacle
-- are not in it; `slots` and `running` are of its lane's runner. `xid` is what its CREATED carries in the feed: this function sees more than the statement that calls it,
-- whose own events must not come before it.
-- Takes no lock on a lane unless a supersede key asks for one: an open transaction elsewhere must not stall a batch.
create function {schema}.enqueue_actions(
  p_now timestamptz, p_tenants int[], p_lanes bigint[], p_channels text[], p_kinds text[], p_payloads json[],
  p_options jsonb[], p_tell boolean default false
) returns table (
  ord int, outcome text, action_id bigint, lane_id bigint, runner_id bigint, channel text, waits jsonb, xid xid8, slots int, running int
) language plpgsql
-- Planned once per session and not for each call, which took longer than a row (4.5 ms instead of 0.95). The plan may be
-- made while the tables are empty, so it must not read whole tables: see NO_SCANS in drivers/postgres.ts. That makes its
-- estimates so large that other sessions would compile it, for 20 s.
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
begin
  -- Taken before the generation is read: housekeeping waits for every transaction that had a number when a raise was
  -- committed.
  perform pg_current_xact_id();
  -- A transaction that keeps its first snapshot may see an old generation at any time.
  if current_setting('transaction_isolation') in ('repeatable read', 'serializable') then
    insert into {schema}.stale_lanes (tenant_id, lane_id)
      select distinct i.tenant_id, i.lane_id from unnest(p_tenants, p_lanes) i(tenant_id, lane_id) order by 1, 2
      on conflict do nothing;
    -- and a lane that was deleted since: this fails if it was, and prevents its deletion until the end
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
    -- the unfinished actions of each channel, from the counts: once for all rows, and only if one of them asks
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
    -- an action that adds nothing is accepted by a full lane too
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
    -- a pool claim locks no lane, only the actions it takes: an action that it has locked is not replaced any more
    select old.* from old cross join lateral (
      select 1 from {schema}.pending q where q.tenant_id = old.tenant_id and q.action_id = old.old_action and q.lane_id = old.lane_id
        and q.attempt = 0 limit 1 -- nor one that was handed out meanwhile
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
    from go order by go.action_id -- the windows have sorted them by lane; their events are numbered in that order
  ), added as (
    insert into {schema}.actions (tenant_id, action_id, lane_id, channel, kind, payload, priority, tags, created_at,
        created_by, not_before, deliver_by, deadline, max_attempts, backoff_ms, backoff_max_ms, head_of_line,
        on_lease_end, lease_ms, supersede_key, copied_from, event_id, xid)
      select a.tenant_id, a.action_id, a.lane_id, a.channel, a.kind, a.payload, a.priority,
        case when a.o ? 'tags' then array(select jsonb_array_elements_text(a.o->'tags')) end,
        p_now, a.o->>'createdBy', a.not_before, a.deliver_by, a.deadline, coalesce((a.o->>'maxAttempts')::smallint, 3),
        coalesce((a.o->>'backoffMs')::int, 2000), coalesce((a.o->>'backoffMaxMs')::int, 300000),
        coalesce(a.o->>'headOfLine', 'skip'), coalesce(a.o->>'onLeaseEnd', 'retry'), a.lease_ms, a.supersede_key,
        (a.o->>'copiedFrom')::bigint, nextval('{schema}.event_seq'), (select {schema}.feed_xid())
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
      select s.tenant_id, s.action_id, s.lane_id, p_now, 14, 0, 'by ' || s.by_action from superseded s order by s.action_id
  ), mark as materialized (
    select {schema}.feed_xid() as xid
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
    end, (select m.xid from mark m), r.slots, r.running
  from judged j
  left join lateral (
    select r.slots, r.running from {schema}.runner_loads r
    where p_tell and j.verdict = 'created' and r.tenant_id = j.tenant_id and r.runner_id = j.runner_id limit 1
  ) r on true
  union all
  select s.ord, 'superseded', s.action_id, s.lane_id, s.runner_id, s.channel, null, null, null, null from superseded s;
end $$;

-- The same for actions with tags and with the same other options, p_policy, none of which is about other actions or
-- times, and whose callers do not ask what stands in their way: half of the time. Its columns are columns of the other
-- function's rows; created | deep, and unknown lanes are missing. Where p_nths has a number, which is that of the action
-- among those of its lane in this call, the lane is counted, and `room` is how many more it takes; otherwise the caller
-- knows that there is room.
create function {schema}.enqueue_plain_actions(
  p_now timestamptz, p_tenants int[], p_lanes bigint[], p_channels text[], p_kinds text[], p_payloads json[], p_creators text[], p_limit int, p_nths int[],
  p_policy jsonb default null, p_tags jsonb[] default null
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
        select jsonb_strip_nulls(jsonb_build_object('createdBy', c.by, 'depthLimit', p_limit, 'tags', c.tags)) || coalesce(p_policy, '{}')
        from unnest(p_tenants, p_creators, p_tags) with ordinality c(tenant_id, by, tags, nth) order by c.nth)) e;
    return;
  end if;
  return query
  with i as materialized (
    -- no sort: the look-up needs the row that it is for, so the rows stay as they are in the arrays, and the numbers
    -- rise with them
    select i.*, l.generation, l.runner_id, nextval('{schema}.action_seq') as action_id,
      case p_policy->>'priority' when 'urgent' then 0 else 1 end as priority,
      case when i.nth is not null and p_limit >= 0 then p_limit - i.nth - (
        select count(*) from (
          select 1 from {schema}.pending p where p.tenant_id = i.tenant_id and p.lane_id = i.lane_id and {schema}.sought_by(p.lane_id)
          limit p_limit
        ) x) end as room
    from (
      -- not in `from`, where each column is written down and read again before the first row is complete
      select generate_series(1, cardinality(p_lanes)) as ord, unnest((select p_tenants)) as tenant_id, unnest((select p_lanes)) as lane_id,
        unnest((select p_channels)) as channel, unnest((select p_kinds)) as kind, unnest((select p_payloads)) as payload,
        unnest((select p_creators)) as created_by, unnest((select p_nths)) as nth,
        unnest((select p_tags)) as tags
    ) i
    cross join lateral (
      select l.generation, l.runner_id from {schema}.lanes l
      where l.tenant_id = i.tenant_id and l.lane_id = i.lane_id and not l.closing limit 1
    ) l
  ), added as (
    insert into {schema}.actions (tenant_id, action_id, lane_id, channel, kind, payload, priority, tags, created_at, created_by, max_attempts,
        backoff_ms, backoff_max_ms, head_of_line, on_lease_end, event_id, xid)
      select a.tenant_id, a.action_id, a.lane_id, a.channel, a.kind, a.payload, a.priority,
        case when a.tags is not null then array(select jsonb_array_elements_text(a.tags)) end, p_now, a.created_by,
        coalesce((p_policy->>'maxAttempts')::smallint, 3), coalesce((p_policy->>'backoffMs')::int, 2000), coalesce((p_policy->>'backoffMaxMs')::int, 300000),
        coalesce(p_policy->>'headOfLine', 'skip'), coalesce(p_policy->>'onLeaseEnd', 'retry'), nextval('{schema}.event_seq'), (select {schema}.feed_xid())
      from i a where coalesce(a.room, 0) >= 0
  ), tagged as (
    insert into {schema}.action_tags (tenant_id, action_id, tag)
      select distinct a.tenant_id, a.action_id, t.tag collate "C" from i a cross join lateral jsonb_array_elements_text(a.tags) t(tag)
      where a.tags is not null and coalesce(a.room, 0) >= 0
  ), waiting as (
    insert into {schema}.pending (tenant_id, action_id, lane_id, generation, channel, priority, seq)
      select a.tenant_id, a.action_id, a.lane_id, a.generation, a.channel, a.priority, a.action_id from i a where coalesce(a.room, 0) >= 0
  ), counted as (
    insert into {schema}.count_changes (tenant_id, channel, state, change)
      select a.tenant_id, a.channel, 'pending', count(*) from i a where coalesce(a.room, 0) >= 0 group by 1, 2
  )
  select i.ord, case when i.room < 0 then 'deep' else 'created' end, i.action_id, i.lane_id, i.runner_id, i.channel, i.room::int from i;
end $$;

-- The generation that a row written by this transaction may carry. Read after the transaction has its number, with a
-- snapshot newer than that number: housekeeping drops a raise when all transactions that had a number before it are
-- over, and a statement that reads first and gets its number with its first write would come after that.
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

-- The checks of the library and the HTTP body, for plain SQL: one action that cannot be read or never ends would harm
-- everything else. The library does not run them a second time.
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
  -- a JSON parser that reads numbers into doubles would get another number
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
-- headOfLine, onLeaseEnd, leaseMs, supersedeKey, supersedeMode, tags, idempotencyKey, createdBy, channel. A null option
-- counts as not given.
create function {schema}.enqueue(
  p_tenant int, p_lane bigint, p_kind text, p_payload jsonb default '{}', p_options jsonb default '{}'
) returns bigint language plpgsql as $$
declare
  v record;
  v_options jsonb := jsonb_strip_nulls(coalesce(p_options, '{}'));
  v_past text;
begin
  perform {schema}.check_action(p_kind, p_payload, v_options);
  -- a repeated request gets its first answer, however late it comes and whatever is gone since
  if not exists (
    select 1 from {schema}.idempotency_keys k where k.tenant_id = p_tenant and k.key = v_options->>'idempotencyKey'
  ) then
    select o.key into v_past from jsonb_each_text(v_options) o
      where o.key in ('deliverBy', 'deadline') and o.value::timestamptz <= statement_timestamp() order by o.key desc limit 1;
    if v_past is not null then
      perform {schema}.refuse('MUSTER_BAD_VALUE', v_past || ' is in the past.');
    end if;
    select n.space, n.name into v from {schema}.lane_names n
      where n.tenant_id = p_tenant and n.lane_id = p_lane and {schema}.sought_by(n.lane_id);
    if found then
      perform {schema}.check_lane(p_tenant, v.space, v.name);
    end if;
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

-- A day's partition of the history is made on its own and then attached, which blocks neither readers nor writers.
-- Nothing is locked when nothing is missing: the transaction may be a long one, and others look for their days
-- meanwhile.
create function {schema}.ensure_event_days(p_from date, p_to date) returns void language plpgsql as $$
declare
  v_day date;
  v_table text;
begin
  if not exists (select 1 from generate_series(p_from, p_to, interval '1 day') d where {schema}.lacks_event_day(d::date)) then
    return;
  end if;
  -- The lock that an attach takes anyway, and not an advisory one: a session only sees what others have made meanwhile
  -- once it has the table's lock.
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

-- For plain SQL, whose day is missing if no node ran for a week: a failed insert would abort the caller's transaction,
-- so it looks first (a look-up by name). If it has to make the days, others who miss them wait for the end of this
-- transaction.
create function {schema}.ensure_event_day(p_at timestamptz) returns void language plpgsql as $$
begin
  if {schema}.lacks_event_day((p_at at time zone 'UTC')::date) then
    perform {schema}.make_event_days();
  end if;
end $$;

-- With the rights of the owner: an application may be allowed to enqueue but not to make tables. The caller names no
-- days, so it cannot make too many.
create function {schema}.make_event_days() returns void language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_today date := (statement_timestamp() at time zone 'UTC')::date;
begin
  perform {schema}.ensure_event_days(v_today - 1, v_today + 7);
end $$;

-- Drops whole days of history. Rows of actions that are still kept go into `events_past`, which is rewritten without the
-- rows of pruned actions: copied first, exchanged at the end, so the lock on `events` is short. If that lock cannot be
-- had within 200 ms, the whole call fails and is tried again later.
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

-- Views to join with, for applications that share the database and for doors that derive what they show. The tables
-- behind these views may change; the views stay. A query for a lane's actions must also say `and
-- {schema}.sought_by(lane_id)` to use its index.

-- Every action that has not ended, claimed or not; `seq` is its place among those of its priority. Asking whether it is
-- claimed is the only costly part: without it the planner drops the join.
create view {schema}.unfinished_actions as
  select p.tenant_id, p.action_id, p.lane_id, p.channel, p.seq, coalesce(l.action_id = p.action_id, false) as is_claimed
  from {schema}.pending p
  left join {schema}.lanes l on l.tenant_id = p.tenant_id and l.lane_id = p.lane_id;

-- The state of every action that is kept, how it ended and when the attempt of that began, and the lease of one that is
-- claimed.
create view {schema}.action_states as
  select a.tenant_id, a.action_id, a.lane_id, a.channel, a.kind, a.payload, a.created_at, a.created_by,
    coalesce(z.state, case when l.action_id = a.action_id then 'claimed' else 'pending' end) as state,
    coalesce(z.attempt, case when l.action_id = a.action_id then l.attempt else p.attempt end, 0) as attempt,
    z.reason, z.ended_at, z.sent_at, z.error, z.result,
    case when l.action_id = a.action_id then l.leased_at end as leased_at,
    case when l.action_id = a.action_id then l.lease_until end as lease_until
  from {schema}.actions a
  left join {schema}.endings z on z.tenant_id = a.tenant_id and z.action_id = a.action_id
  left join {schema}.pending p on p.tenant_id = a.tenant_id and p.action_id = a.action_id
  left join {schema}.lanes l on l.tenant_id = p.tenant_id and l.lane_id = p.lane_id;

-- Every event of every action that is kept, and every note (of action 0), wherever it is written: in `events`, in the
-- ending of a success, or, the SENT of a running attempt, in its lane. Query it by tenant and action id: each branch
-- looks that up by its key.
create view {schema}.history as
  select e.tenant_id, e.action_id, e.event_id, e.lane_id, e.at, e.type, e.attempt, e.worker, e.reason
  from {schema}.events e where e.action_id >= 0
  union all
  select a.tenant_id, a.action_id, a.event_id, a.lane_id, a.created_at, {created}::smallint, 0, null::text, null::text
  from {schema}.actions a where a.event_id is not null
  union all
  select z.tenant_id, z.action_id, z.sent_id, z.lane_id, z.sent_at, {sent}::smallint, z.attempt, coalesce(z.sent_worker, z.worker), null::text
  from {schema}.endings z where z.sent_id is not null
  union all
  select z.tenant_id, z.action_id, z.event_id, z.lane_id, z.ended_at, {succeeded}::smallint, z.attempt, z.worker, coalesce(nullif(z.reason, 'SUCCEEDED'), z.error)
  from {schema}.endings z where z.event_id is not null
  union all
  select p.tenant_id, p.action_id, l.sent_id, l.lane_id, l.leased_at, {sent}::smallint, l.attempt, l.worker, null::text
  from {schema}.pending p
  cross join lateral (select * from {schema}.lanes l where l.tenant_id = p.tenant_id and l.lane_id = p.lane_id limit 1) l
  where l.action_id = p.action_id and l.sent_id is not null;

-- The same with the names of the events. `event_id` is the order of one action's events.
create view {schema}.action_events as
  select e.tenant_id, e.action_id, e.event_id, e.lane_id, e.at, {event_names}[e.type] as type, e.attempt, e.worker, e.reason
  from {schema}.history e where e.action_id > 0;

-- How much waits in a lane, since when, and what it is leased for.
create view {schema}.lane_loads as
  select l.tenant_id, l.lane_id, q.queued, a.created_at as oldest_queued_at, l.action_id as leased_action
  from {schema}.lanes l
  cross join lateral (
    select count(*)::int as queued, min(p.action_id) as first from {schema}.pending p
    where p.tenant_id = l.tenant_id and p.lane_id = l.lane_id and {schema}.sought_by(p.lane_id) and p.action_id is distinct from l.action_id
  ) q
  left join {schema}.actions a on a.tenant_id = l.tenant_id and a.action_id = q.first;

-- The lease of every lane that has one.
create view {schema}.lane_leases as
  select l.tenant_id, l.lane_id, l.action_id, l.attempt, l.worker, l.leased_at, l.lease_until
  from {schema}.lanes l where l.action_id is not null;

-- The urgent action of a lane that everything normal on that channel has to wait for, the channel it waits on, and until
-- when it goes first unless its worker is seen there again. The claims use the same text. Join it laterally, for one
-- lane at a time.
create function {schema}.urgent_elsewhere(p_now timestamptz, p_tenant int, p_lane bigint, p_channel text)
returns table (action_id bigint, channel text, until timestamptz) language sql stable as $$ {urgent_elsewhere} $$;

-- What a lane would do now for a claim on that channel, as far as can be seen without a lock: the claim statements use
-- the same text. `is_stopped`: the lane is paused or blocked; `is_paused`: everything is, or one of those tags.
-- `first_action` is the first in it, due or not; `hands_out` is what it would hand out; `takes_new` says whether a new
-- action with those tags would be handed out at once. A lane that is leased, stopped or paused hands out nothing and
-- takes nothing. Join it laterally, for one lane at a time.
create function {schema}.lane_front(p_now timestamptz, p_tenant int, p_lane bigint, p_channel text, p_tags text[] default null)
returns table (lane_id bigint, is_stopped boolean, is_paused boolean, leased_action bigint, first_action bigint, hands_out bigint, takes_new boolean)
language sql stable as $$ {lane_front} $$;

-- A view to join with, like those above: how much each runner may hold and holds. A lane moved away while it held it
-- counts until its lease ends.
create view {schema}.runner_loads as
  select r.tenant_id, r.runner_id, r.slots, {running_of_runner}::int as running
  from {schema}.runners r;

-- The current life of the database. Transaction numbers have a meaning in one life only: after a restore they start
-- lower, or are issued again. A cursor of the event feed names its life. The number is random, not counted: two restores
-- of one backup must not agree. `server` is the identity of the server, null before the first start.
create table {schema}.incarnations (
  is_only boolean primary key default true constraint one_incarnation check (is_only),
  incarnation uuid not null default gen_random_uuid(),
  server text,
  raised_at timestamptz not null default now()
);
insert into {schema}.incarnations default values;

-- A page of the feed: what follows the given place in the order of transaction and event, as far as it is settled, out
-- of the next `p_window` events, those of `events` and those that actions and endings are. A place may be between the
-- two events of an ending. At least one row is returned: it says where the window ends and what the database is. It is a
-- function because of its settings: each day has its own index, and all must be read from the given place on, in order,
-- whatever the statistics say. For a day that was analysed while a load was uncommitted, the planner expects no rows, so
-- it sorted the whole day for each page (613 pages in place of 68 with 40,000 events).
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
        (
          select a.xid, a.event_id, a.tenant_id, a.action_id, a.lane_id, {created}::smallint, 0, a.created_at, null, null, null
          from {schema}.actions a
          where (a.xid, a.event_id) > (p_xid, p_event) and a.xid < pg_snapshot_xmin(pg_current_snapshot())
          order by a.xid, a.event_id limit p_window
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

-- The library's statements as functions, for doors reached by plain SQL: the same text, with the parameters in the same
-- order. They run no effects: the caller must do what a door's effects do when the library makes such a transition.

-- Runners take these specific actions; see ops/claim-named.ts.
create function {schema}.claim_named_actions(
  timestamptz, int[], bigint[], text[], int[], int[], int[], bigint[]
) returns table (action_id bigint, lane_id bigint, nth int) language plpgsql as $$
#variable_conflict use_column
declare
  v record;
begin
  for v in {claim_named_statement} loop
    if v.action_id is not null then
      action_id := v.action_id;
      lane_id := v.lane_id;
      nth := v.nth;
      return next;
    end if;
  end loop;
end $$;

-- Actions that are created as they are handed out; see ops/enqueue-and-claim.ts.
create function {schema}.enqueue_and_claim_actions(
  timestamptz, int[], bigint[], text[], int[], int[], int[], bigint[], text[], text[],
  json[], jsonb[]
) returns table (action_id bigint, lane_id bigint, nth int) language plpgsql as $$
#variable_conflict use_column
declare
  v record;
begin
  for v in {enqueue_and_claim_statement} loop
    if v.action_id is not null then
      action_id := v.action_id;
      lane_id := v.lane_id;
      nth := v.nth;
      return next;
    end if;
  end loop;
end $$;

-- The results of attempts; see report/statement.ts. A row is missing if the attempt is not running, or its lane is
-- locked.
create function {schema}.report_attempts(
  timestamptz, int[], bigint[], int[], text[], text[], text[], jsonb[], int[], text[], text[], text[], int[], bigint[]
) returns table (action_id bigint, lane_id bigint, state text, runner_id bigint, lease_runner bigint, home_lane bigint) language plpgsql as $$
#variable_conflict use_column
declare
  v record;
begin
  for v in {report_statement} loop
    action_id := v.ended_action;
    lane_id := v.lane_id;
    state := coalesce(v.ended_state, 'pending');
    runner_id := v.runner_id;
    lease_runner := v.lease_runner;
    home_lane := v.home_lane;
    return next;
  end loop;
end $$;

-- One attempt: succeeded, failed, timeout, not_now, released or unreached. Returns the action's new state, or null if
-- that attempt is not running.
create function {schema}.report_attempt(
  p_tenant int, p_action bigint, p_attempt int, p_outcome text, p_error text default null, p_result jsonb default null
) returns text language plpgsql as $$
declare
  v record;
begin
  perform {schema}.ensure_event_day(statement_timestamp());
  for i in 1..20 loop
    select * into v from {schema}.report_attempts(statement_timestamp(), array[p_tenant], array[p_action], array[p_attempt],
      array[p_outcome], array[null::text], array[p_error], array[p_result], array[null::int], array[null::text], array[null::text],
      array[null::text], array[null::int], array[null::bigint]);
    if found then
      perform {schema}.notify_lanes(array[p_tenant, p_tenant], array[v.lane_id, coalesce(v.home_lane, v.lane_id)],
        array[v.runner_id, v.lease_runner]);
      return v.state;
    end if;
    perform 1 from {schema}.action_states a
      where a.tenant_id = p_tenant and a.action_id = p_action and a.state = 'claimed' and a.attempt = p_attempt;
    if not found then
      return null;
    end if;
    perform pg_sleep(0.01 * i); -- the lane is locked by another transaction
  end loop;
  raise exception 'The lane is locked by another transaction.' using errcode = 'lock_not_available';
end $$;

-- An event NOTED, as the library's `note` writes it: for follow-ups of transitions, which are part of their statement.
-- Called from elsewhere it notifies no node, and readers of the feed find the event at their next look.
create function {schema}.note(p_at timestamptz, p_tenant int, p_lane bigint, p_name text, p_data jsonb) returns bigint language sql as $$
  insert into {schema}.events (tenant_id, action_id, lane_id, at, type, attempt, reason, note)
    values (p_tenant, 0, p_lane, p_at, {noted}, 0, p_name, p_data) returning event_id
$$;
