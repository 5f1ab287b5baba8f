-- breaking: no
-- Devices: who they are, what was assigned to them and by whom, what has happened to them. What is in a device's queue
-- is in the engine, in the lane of the device.

create sequence {schema}.device_seq;
create table {schema}.devices (
  tenant_id int not null,
  device_id bigint not null,
  lane_id bigint not null,
  name text not null,
  external_id text,
  tags text[] not null default '{}',
  -- error keeps a device out of tasks until an operator clears it; check-in serves it all the same
  state text collate "C" not null default 'ok' constraint device_state_is_known check (state in ('ok', 'error')),
  state_reason text,
  expires_at timestamptz,
  pc_id bigint,
  -- whether an action ends when it is handed out, or when the device reports it
  ack text collate "C" not null default 'onReport' constraint device_ack_is_known check (ack in ('onReport', 'onDelivery')),
  created_at timestamptz not null,
  deleted_at timestamptz,
  primary key (tenant_id, device_id)
);
create unique index one_device_per_external_id on {schema}.devices (tenant_id, external_id)
  where {schema}.sought_by(external_id) and deleted_at is null;
create unique index one_device_per_lane on {schema}.devices (tenant_id, lane_id) where {schema}.sought_by(lane_id);
create index devices_by_tag on {schema}.devices using gin (tags) where deleted_at is null;
create index devices_of_pc on {schema}.devices (tenant_id, pc_id) where {schema}.sought_by(pc_id) and deleted_at is null;
create index devices_by_expiry on {schema}.devices (tenant_id, expires_at) where expires_at is not null and deleted_at is null;

-- What the door knows of an action of a device, beside the engine: where it came from, and how many days it adds to the
-- device's expiry when it succeeds. Never changed; forgotten some time after the action.
create table {schema}.assignments (
  tenant_id int not null,
  action_id bigint not null,
  device_id bigint not null,
  source text collate "C" not null,
  -- the workflow's run or the batch
  source_id bigint,
  assigned_by text,
  more_days int not null default 0,
  ack text collate "C",
  milestone_id bigint not null,
  primary key (tenant_id, action_id)
);
create index assignments_with_days on {schema}.assignments (tenant_id, device_id) where more_days <> 0 and {schema}.sought_by(device_id);

-- Everything that happened to a device, in the transaction in which it happened.
create sequence {schema}.milestone_seq;
create table {schema}.milestones (
  tenant_id int not null,
  device_id bigint not null,
  milestone_id bigint not null default nextval('{schema}.milestone_seq'),
  type text collate "C" not null,
  action_id bigint,
  source text collate "C",
  by text,
  at timestamptz not null,
  more_days int not null default 0,
  expires_at timestamptz,
  projected_expires_at timestamptz,
  primary key (tenant_id, device_id, milestone_id)
);
create index milestones_by_time on {schema}.milestones using brin (at);

-- A device's tokens are ended together when it enrols again or is deleted.
create index tokens_of_device on {schema}.tokens (tenant_id, (restriction->>'deviceId'))
  where kind = 'device' and revoked_at is null and {schema}.sought_by(restriction->>'deviceId');
