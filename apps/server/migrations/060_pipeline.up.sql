-- breaking: no
-- The command pipeline: the policy of a device, the actions assigned to it, and each attempt to execute them. What is
-- queued, running or finished is in the engine, in the lane of the device; what a vendor layer stores about a device is
-- its own.

alter table {schema}.devices
  -- independent of `state` (tasks) and of being online
  add column policy text collate "C" not null default 'uploaded' constraint policy_is_known
    check (policy in ('uploaded', 'registered', 'enrolled', 'active', 'locked', 'released', 'deregistered')),
  -- how its vendor layer knows it, from its first check-in on
  add column udid text collate "C",
  -- the begin of its present life: actions dispatched before do not count
  add column life_began_at timestamptz,
  -- null: unknown
  add column has_unlock_token boolean,
  add column serial text,
  add column model text,
  add column os_version text;
create unique index one_device_per_udid on {schema}.devices (tenant_id, udid)
  where {schema}.sought_by(udid) and deleted_at is null;
create index devices_by_serial on {schema}.devices (tenant_id, lower(serial) text_pattern_ops)
  where {schema}.sought_by(lower(serial)) and deleted_at is null;

-- the new policy of the device, for milestones that change it
alter table {schema}.milestones add column policy text collate "C";

-- The pipeline's data of an action of a device, beside the engine. Never changed; deleted with the action.
create table {schema}.pipeline_actions (
  tenant_id int not null,
  action_id bigint not null,
  device_id bigint not null,
  type_id smallint not null,
  batch_id bigint not null,
  is_urgent boolean not null,
  -- what happens when the device cannot be reached: wait for its next contact, or fail
  offline text collate "C" not null constraint offline_is_known check (offline in ('QUEUE', 'FAIL')),
  template_id bigint,
  primary key (tenant_id, action_id)
);

-- Executions, each an attempt. The first exists from the assignment on and has no attempt number before it is
-- dispatched; its outcome is written with the transition that ended it.
create table {schema}.executions (
  tenant_id int not null,
  execution_id uuid not null,
  action_id bigint not null,
  device_id bigint not null,
  command_uuid uuid not null,
  attempt int,
  created_at timestamptz not null,
  dispatched_at timestamptz,
  ended_at timestamptz,
  -- it was cancelled while it was being sent: the layer that has the command is to be told
  withdrawn boolean not null default false,
  status text collate "C" not null default 'ACTION_PENDING' constraint execution_status_is_known
    check (status in ('ACTION_PENDING', 'ACTION_COMPLETED', 'ACTION_FAILED')),
  failed_reason text,
  -- when the device first reported it done, in time or not
  acknowledged_at timestamptz,
  -- the event of its end
  noted_event bigint,
  error_chain jsonb,
  primary key (tenant_id, execution_id)
);
create unique index one_execution_per_command on {schema}.executions (tenant_id, command_uuid) where {schema}.sought_by(command_uuid);
create index executions_of_action on {schema}.executions (tenant_id, action_id) where {schema}.sought_by(action_id);
-- never dispatched, to be looked at now and then: a trigger may have come while its lane was leased or paused
create index executions_to_dispatch on {schema}.executions (tenant_id, execution_id) where dispatched_at is null and ended_at is null;
create index executions_to_withdraw on {schema}.executions (tenant_id, execution_id) where withdrawn;

create sequence {schema}.message_template_seq;
create table {schema}.message_templates (
  tenant_id int not null,
  template_id bigint not null default nextval('{schema}.message_template_seq'),
  name text not null,
  content text not null,
  is_active boolean not null default true,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (tenant_id, template_id)
);

-- UUID version 7: in the order of time, so new rows are at the end of their index.
create function {schema}.uuid_v7(p_at timestamptz) returns uuid language sql volatile as $$
  select encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid())
    placing substring(int8send((extract(epoch from p_at) * 1000)::bigint) from 3) from 1 for 6), 52, 1), 53, 1), 'hex')::uuid
$$;

-- For readers who know the pipeline by its old tables, in the schema of reports. Read-only. The status of a row of a
-- batch is the outcome of its dispatch, derived: refused before, dispatched once, ended without, or still to come.
create view {schema}_reports.action_executions as
  select e.tenant_id, e.execution_id as id, e.device_id, a.type_id as action_id, e.command_uuid, e.status, a.batch_id, e.created_at,
    e.dispatched_at, e.ended_at, jsonb_strip_nulls(jsonb_build_object('failed_reason', e.failed_reason, 'error_chain', e.error_chain)) as ext_fields
  from {schema}.executions e
  join {schema}.pipeline_actions a on a.tenant_id = e.tenant_id and a.action_id = e.action_id;

create view {schema}_reports.batch_device_actions as
  select b.tenant_id, b.batch_id, t.n, coalesce(t.device_id::text, t.target) as device_id, w.status,
    case when w.status = 'FAILED' then coalesce(t.error, f.failed_reason, 'FORGOTTEN') end as error_code, t.action_id as queued_action_id,
    f.execution_id, f.dispatched_at
  from {schema}.batches b
  join {schema}.targets t on t.tenant_id = b.tenant_id and t.set_id = b.set_id
  left join lateral (
    select e.execution_id, e.dispatched_at, e.ended_at, e.failed_reason from {schema}.executions e
    where e.tenant_id = t.tenant_id and e.action_id = t.action_id and {schema}.sought_by(e.action_id)
    order by e.attempt nulls last, e.ended_at nulls first limit 1
  ) f on true
  cross join lateral (
    select case when t.error is not null then 'FAILED' when f.dispatched_at is not null then 'SUCCESS'
      when f.execution_id is null or f.ended_at is not null then 'FAILED' else 'PENDING' end as status
  ) w
  where b.door = 'pipeline';

create view {schema}_reports.batch_actions as
  select b.tenant_id, b.batch_id as id, b.action->'payload'->>'actionId' as action_id,
    case when r.pending > 0 then 'IN_PROGRESS' else 'COMPLETED' end as status, r.total, r.pending, r.success, r.failed, b.created_by, b.created_at
  from {schema}.batches b
  cross join lateral (
    select count(*)::int as total, count(*) filter (where r.status = 'PENDING')::int as pending,
      count(*) filter (where r.status = 'SUCCESS')::int as success, count(*) filter (where r.status = 'FAILED')::int as failed
    from {schema}_reports.batch_device_actions r where r.tenant_id = b.tenant_id and r.batch_id = b.batch_id
  ) r
  where b.door = 'pipeline';

create view {schema}_reports.message_templates as
  select t.tenant_id, t.template_id as id, t.name, t.content, t.is_active, t.created_at, t.updated_at from {schema}.message_templates t;
