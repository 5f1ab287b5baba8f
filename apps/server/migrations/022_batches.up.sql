-- breaking: no
-- Batches: one action for many devices, at a pace, with a rule for stopping. Status and counts are derived from the
-- targets' actions and stored nowhere.
create sequence {schema}.batch_seq;
create table {schema}.batches (
  tenant_id int not null,
  batch_id bigint not null default nextval('{schema}.batch_seq'),
  set_id bigint not null,
  name text,
  action jsonb not null,
  per_minute int,
  ramp jsonb,
  abort jsonb,
  created_at timestamptz not null,
  created_by text,
  paused_at timestamptz,
  cancelled_at timestamptz,
  aborted_at timestamptz,
  -- nothing is left to do for it but to show it
  closed_at timestamptz,
  -- the door that queues its actions; null: the duty of batches does, as fast as the pace allows
  door text collate "C",
  -- this many of its targets, from the first on, are known to have ended; when that was checked, and when all had
  ended_up_to int not null default 0,
  looked_at timestamptz,
  finished_at timestamptz,
  primary key (tenant_id, batch_id)
);
create index batches_unfinished on {schema}.batches (looked_at nulls first) where finished_at is null;
create index batches_open on {schema}.batches (tenant_id, batch_id) where closed_at is null;
create index batches_aborted on {schema}.batches (tenant_id, aborted_at) where aborted_at is not null;

-- How many actions were queued and when, for the pace; deleted after a minute.
create table {schema}.batch_supplies (
  tenant_id int not null,
  batch_id bigint not null,
  at timestamptz not null,
  supplied int not null
);
create index supplies_of_batch on {schema}.batch_supplies (tenant_id, batch_id, at);
