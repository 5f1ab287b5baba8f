-- breaking: no
-- The queue. One row per action in `actions` (never changed), one in `pending` while it is unfinished, one in
-- `endings` once it is finished; the lease lives in the lane's row, where a claim looks anyway.
-- `{schema}` is replaced by the name of the schema. Old code may run against this: it is the first.

create schema if not exists {schema};

create sequence {schema}.lane_seq;
create sequence {schema}.runner_seq;
create sequence {schema}.action_seq;
-- by two: a success has its own number and, behind it, that of the SENT of what is handed out with it (see `endings`)
create sequence {schema}.event_seq increment by 2;

-- True, and dear to ask. An index with this condition is only for statements that state it too: they need not ask, whoever takes
-- another way would have to for each row. So no statistics let the planner take the primary key for such an index, or such an
-- index for the primary key, though both begin with the tenant (see "Plans" in ARCHITECTURE.md).
create function {schema}.sought_by(p_column anyelement) returns boolean language plpgsql immutable strict parallel safe cost 100000000 as $$
begin
  return true;
end $$;

-- What a row of the feed carries, so that a reader can wait for older transactions: the number of its transaction or, in one
-- that began before others ended, of the newest that its statement could see. With its own number a long transaction that
-- cancels what a younger one created would show CANCELLED before CREATED.
create function {schema}.feed_xid() returns xid8 language sql stable as $$
  select case when pg_current_xact_id() >= pg_snapshot_xmax(pg_current_snapshot()) then pg_current_xact_id()
    else (pg_snapshot_xmax(pg_current_snapshot())::text::bigint - 1)::text::xid8 end
$$;

-- Something that drives many lanes. `ver` is what makes its slots exact: two claims that saw the same free slots
-- cannot both raise it. `slots` null means no limit.
create table {schema}.runners (
  tenant_id int not null,
  runner_id bigint not null default nextval('{schema}.runner_seq'),
  slots int constraint slots_are_positive check (slots > 0),
  ver bigint not null default 0,
  primary key (tenant_id, runner_id)
);

-- Hot and narrow: rewritten by every claim and report, so hardly a column that those change is in an index and half of
-- each page is left free for them. `check_at` is: housekeeping looks at the lane by then, and by the end of its lease at
-- the latest. A claim moves it forward only, a report leaves it alone, so a lane that is worked through pays for the
-- index once per lease time and not once per claim; all other updates are HOT.
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
  -- the pool whose actions its worker takes; one that names itself is a pool
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
  -- it is about to be forgotten: whoever wants to use it must make sure of it first
  closing boolean not null default false,
  primary key (tenant_id, lane_id)
) with (fillfactor = 50);
create index lanes_to_check on {schema}.lanes (check_at) where check_at is not null;
create index lanes_of_runner on {schema}.lanes (tenant_id, runner_id) where {schema}.sought_by(runner_id);
create index lanes_moved_from on {schema}.lanes (tenant_id, moved_from) where {schema}.sought_by(moved_from);
create index lanes_of_pool on {schema}.lanes (tenant_id, pool_id) where {schema}.sought_by(pool_id);

-- What a lane is called. `space` keeps the names of each kind of owner apart.
create table {schema}.lane_names (
  tenant_id int not null,
  space text not null,
  name text not null,
  lane_id bigint not null,
  primary key (tenant_id, space, name)
);
create unique index one_name_per_lane on {schema}.lane_names (tenant_id, lane_id) where {schema}.sought_by(lane_id);

-- What was asked for. Never updated.
create table {schema}.actions (
  tenant_id int not null,
  action_id bigint not null,
  lane_id bigint not null,
  channel text collate "C" not null,
  kind text not null,
  payload json not null, -- kept as it was said; it is read far more often than looked into
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
  -- how long an attempt is held, if not as long as whoever claims it says
  lease_ms int constraint lease_takes_time check (lease_ms > 0),
  supersede_key text,
  copied_from bigint,
  -- whoever writes it, nothing is stored that can never run or that no list can show
  constraint clocks_are_times check (not_before < 'infinity' and deliver_by < 'infinity' and deadline < 'infinity'),
  -- not `between`: after a dump and restore it is printed with other brackets, and would look like a drift
  constraint tries_are_limited check (max_attempts >= 1 and max_attempts <= 1000 and backoff_ms >= 0 and backoff_max_ms >= 0),
  primary key (tenant_id, action_id)
);
create index actions_of_lane on {schema}.actions (tenant_id, lane_id, action_id) where {schema}.sought_by(lane_id);

-- The index of `actions.tags`, and nothing more: whoever writes the action writes it, whoever prunes the action deletes it, and
-- `muster check` compares both. It is a table because no index can be this: a btree has one entry per row, and an action up to 50
-- tags; GIN returns what it finds without order, so the newest 100 of a tag cost as much as all that have it (2.5 s with 200,000).
-- Claims do not read it: they have the row of the action.
create table {schema}.action_tags (
  tenant_id int not null,
  action_id bigint not null,
  tag text collate "C" not null,
  primary key (tenant_id, tag, action_id)
);

-- Every unfinished action, leased or not. Rows that are not yet due sort behind `delayed`, so the head of a lane is
-- found without passing them (12.7 ms behind 100,000 of them otherwise). A row that retries under `hold` stays at
-- its place with `not_before` set and stops the lane. `lane_id` is where it is now: what a worker has taken from a pool is
-- in the worker's lane until it ends or goes home, to the lane of its action.
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
-- What is urgent and may be handed out: a claim on another channel looks here whether something goes first.
create index pending_urgent on {schema}.pending (tenant_id, lane_id, channel, seq)
  where priority = 0 and not delayed and {schema}.sought_by(priority);
create index pending_not_due on {schema}.pending (not_before) where not_before is not null;
create index pending_deliver_by on {schema}.pending (deliver_by) where deliver_by is not null;
create index pending_deadline on {schema}.pending (deadline) where deadline is not null;
create index pending_supersede on {schema}.pending (tenant_id, lane_id, supersede_key) where {schema}.sought_by(supersede_key);

-- How a finished action ended. `reason` is one of our own words (TIMEOUT, DEADLINE, …); what the worker said is
-- in `error` and `result`.
-- A success that was reported is its own event: no rows of `events` are written for it, `history` and the feed read them from here.
-- It is SUCCEEDED (`event_id`, by `worker`, in `lane_id`), SENT of its own attempt (`sent_id`; null: a row of `events`) and, if the
-- lane's next action was handed out with it, the SENT of that one (`event_id + 1`). Half the log and two thirds of the time of
-- three rows with six index entries. All other endings have their events in `events`, and none of these columns but `sent_at`.
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
-- the bulk are successes, and nobody looks for those by state alone
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

-- A whole tenant ('' as tag) or a tag of it that is paused. A paused lane says so itself.
create table {schema}.pauses (
  tenant_id int not null,
  tag text not null,
  paused_at timestamptz not null,
  paused_by text,
  primary key (tenant_id, tag)
);

-- Lanes in which an action of an old generation may still turn up: its transaction saw the old one and commits later.
-- `safe_from` is the number of a transaction that began after the raise was committed: when it and all older ones are
-- over, nobody is left who saw the old generation.
create table {schema}.stale_lanes (
  tenant_id int not null,
  lane_id bigint not null,
  raised_in xid8 not null default pg_current_xact_id(),
  safe_from xid8,
  primary key (tenant_id, lane_id, raised_in)
);

-- Lanes to look at now and then, in case they can be forgotten: one that is made on first use has an entry here, and the
-- first look throws out those that somebody owns. An empty lane is closed first. `safe_from` is as above, of a lane that is
-- closed: when that transaction and all older ones are over, nobody is left who saw it open.
create table {schema}.lanes_to_forget (
  tenant_id int not null,
  lane_id bigint not null,
  look_at timestamptz not null,
  safe_from xid8,
  primary key (tenant_id, lane_id)
);
create index lanes_to_forget_in_order on {schema}.lanes_to_forget (look_at);

-- Every transition that is not in `endings`, in the transaction of the transition. One partition per day, made ahead;
-- `events_past` takes what is older than the first and what outlives a dropped day. Two kinds of SENT are of one use only:
-- without `xid` it is for the history alone, the feed has shown it by the ending before; with a negative `action_id` for the feed
-- alone, that ending is pruned and the history of its action has it elsewhere.
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
  note jsonb -- of one that a door has written: it is called `reason`, and belongs to no action
) partition by range (at);
create index events_of_action on {schema}.events (tenant_id, action_id, event_id);
create index events_in_feed on {schema}.events (xid, event_id);

-- How many actions are in each state: changes are appended and folded now and then, so nothing scans to count and
-- no row is hot.
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

-- On which channels somebody was heard of who takes what is in the lane, and until when that counts: till then nothing normal
-- is handed out on other channels while something urgent waits on that one. The engine asks and does not know: whoever keeps
-- contacts puts his answer in the place of this one (`create or replace`), as one select, so that it is planned as a part of
-- the statement that asks. Nothing is asked in lanes where nothing urgent waits.
create function {schema}.heard_on(p_tenant int, p_lane bigint) returns table (channel text, until timestamptz) language sql stable as $$
  select null::text, null::timestamptz where false
$$;
