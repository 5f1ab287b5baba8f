-- breaking: no
-- Workflows: an action for many devices, repeated on a schedule. A run is one such time; its actions are in its set of
-- targets.
create sequence {schema}.workflow_seq;
create table {schema}.workflows (
  tenant_id int not null,
  workflow_id bigint not null default nextval('{schema}.workflow_seq'),
  name text not null,
  schedule jsonb not null,
  targets jsonb not null,
  action jsonb not null,
  enabled boolean not null,
  catch_up text collate "C" not null constraint catch_up_is_known check (catch_up in ('none', 'one', 'all')),
  created_at timestamptz not null,
  created_by text,
  -- when it is checked next; null: never again
  next_at timestamptz,
  deleted_at timestamptz,
  primary key (tenant_id, workflow_id)
);
create index workflows_due on {schema}.workflows (next_at) where enabled and deleted_at is null and next_at is not null;

create sequence {schema}.workflow_run_seq;
create table {schema}.workflow_runs (
  tenant_id int not null,
  run_id bigint not null default nextval('{schema}.workflow_run_seq'),
  workflow_id bigint not null,
  trigger text collate "C" not null constraint trigger_is_known check (trigger in ('schedule', 'manual', 'expiry')),
  scheduled_at timestamptz not null,
  started_at timestamptz not null,
  started_by text,
  -- as it was when the run began: a workflow may be changed meanwhile
  action jsonb not null,
  -- null: its time was missed, and the workflow does not catch up
  set_id bigint,
  -- all its actions are queued; of a cancelled run: none of them waits any more
  supplied_at timestamptz,
  cancelled_at timestamptz,
  primary key (tenant_id, run_id)
);
-- the transaction that inserts it runs it: a scheduled time happens once, with any number of leaders
create unique index one_run_per_scheduled_time on {schema}.workflow_runs (tenant_id, workflow_id, scheduled_at)
  where trigger = 'schedule';
create index runs_of_workflow on {schema}.workflow_runs (tenant_id, workflow_id, run_id);
create index runs_to_supply on {schema}.workflow_runs (tenant_id, run_id) where supplied_at is null;
