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

-- Those that are left of deleted PCs are looked for all the time, and most tokens are those of devices.
create index runner_tokens on {schema}.tokens (tenant_id, owner) where kind = 'runner' and revoked_at is null;

-- Since when its runner says that the device is not there; null: it is.
alter table {schema}.devices add column absent_since timestamptz;

-- Two rows per tenant that ever had a task. Whoever adds one holds `add`, so tasks come into being in the order of their
-- numbers; whoever activates, ends, cancels or reopens one holds `advance`, so those come one after the other.
create table {schema}.task_lines (
  tenant_id int not null,
  part text collate "C" not null,
  primary key (tenant_id, part)
);

create sequence {schema}.task_seq;
create table {schema}.tasks (
  tenant_id int not null,
  -- also its place in the line: taken while the line is held
  task_id bigint not null,
  name text not null,
  kind text not null,
  payload jsonb not null,
  -- as it was said: {"deviceIds": […]} once as a list, or the predicate that is frozen when the task becomes active
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
  -- as the operator said it
  cancel_reason text,
  ended_at timestamptz,
  primary key (tenant_id, task_id)
);
create index tasks_ended on {schema}.tasks (ended_at) where ended_at is not null;
create index tasks_unfinished on {schema}.tasks (tenant_id, task_id) where ended_at is null;

-- The devices that a task means, frozen; and the action that each of them got, once a slot was free for it.
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

-- How many devices of a task are in which state: changes are appended in the transaction of what they count and folded
-- now and then, so that nothing scans to count and no row is hot.
create table {schema}.task_counts (
  tenant_id int not null,
  task_id bigint not null,
  state text collate "C" not null constraint counted_state_is_known
    check (state in ('waiting', 'pending', 'running', 'completed', 'failed', 'cancelled')),
  change int not null,
  -- when it was; of what is folded, the last time. A task in which nothing changes any more has stalled.
  at timestamptz not null,
  folded boolean not null default false
);
create index counts_of_task on {schema}.task_counts (tenant_id, task_id);
create index task_counts_to_fold on {schema}.task_counts (tenant_id, task_id) where not folded;
