-- breaking: no
-- The command pipeline: where a device is in its life, what it was told to do, and each attempt to have it done. What is queued,
-- running or finished is in the engine, in the lane of the device; what a maker's layer knows of a device is its own business.

alter table {schema}.devices
  -- apart from `state` (tasks) and from being online
  add column policy text collate "C" not null default 'uploaded' constraint policy_is_known
    check (policy in ('uploaded', 'registered', 'enrolled', 'active', 'locked', 'released', 'deregistered')),
  -- by which its maker's layer knows it, from its first check-in on
  add column udid text collate "C",
  -- since it is what it is: what it was told before is nothing that it has done
  add column life_began_at timestamptz,
  -- null: nobody has said
  add column has_unlock_token boolean,
  add column serial text,
  add column model text,
  add column os_version text;
create unique index one_device_per_udid on {schema}.devices (tenant_id, udid)
  where {schema}.sought_by(udid) and deleted_at is null;
create index devices_by_serial on {schema}.devices (tenant_id, lower(serial) text_pattern_ops)
  where {schema}.sought_by(lower(serial)) and deleted_at is null;

-- the policy that the device has from then on, of the milestones that tell of one
alter table {schema}.milestones add column policy text collate "C";

-- What the pipeline knows of an action of a device, beside the engine. Never changed; forgotten with the action.
create table {schema}.pipeline_actions (
  tenant_id int not null,
  action_id bigint not null,
  device_id bigint not null,
  type_id smallint not null,
  batch_id bigint not null,
  is_urgent boolean not null,
  -- what becomes of it when the device cannot be reached: it waits for the next contact, or that was all
  offline text collate "C" not null constraint offline_is_known check (offline in ('QUEUE', 'FAIL')),
  template_id bigint,
  primary key (tenant_id, action_id)
);

-- One attempt. The first is there from the assignment on and has no number of an attempt before it is dispatched; how it ended is
-- written with the transition that ended it.
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
  -- somebody has cancelled it while it was on its way: whoever has the command is to be told
  withdrawn boolean not null default false,
  status text collate "C" not null default 'ACTION_PENDING' constraint execution_status_is_known
    check (status in ('ACTION_PENDING', 'ACTION_COMPLETED', 'ACTION_FAILED')),
  failed_reason text,
  -- the first time that the device said it was done, in time or not
  acknowledged_at timestamptz,
  -- the event that told of its end
  noted_event bigint,
  error_chain jsonb,
  primary key (tenant_id, execution_id)
);
create unique index one_execution_per_command on {schema}.executions (tenant_id, command_uuid) where {schema}.sought_by(command_uuid);
create index executions_of_action on {schema}.executions (tenant_id, action_id) where {schema}.sought_by(action_id);
-- what was never dispatched, to be looked at now and then: a trigger may have come while its lane was taken or paused
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
