-- breaking: no
-- Devices: their identity, what was assigned to them and by whom, and their history. The queue of a device is in the
-- engine, in the lane of the device.

create sequence {schema}.device_seq;
create table {schema}.devices (
  tenant_id int not null,
  device_id bigint not null,
  lane_id bigint not null,
  name text not null,
  external_id text,
  tags text[] not null default '{}',
  -- an error keeps a device out of tasks until an operator clears it; check-in serves it all the same
  state text collate "C" not null default 'ok' constraint device_state_is_known check (state in ('ok', 'error')),
  state_reason text,
  -- the action that failed: if it turns out to have succeeded, the error is cleared
  state_action bigint,
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
-- searched by the beginning of their names, and by state
create index devices_by_name on {schema}.devices (tenant_id, lower(name) text_pattern_ops)
  where {schema}.sought_by(lower(name)) and deleted_at is null;
create index devices_by_external_id on {schema}.devices (tenant_id, lower(external_id) text_pattern_ops)
  where {schema}.sought_by(lower(external_id)) and deleted_at is null;
create index devices_in_error on {schema}.devices (tenant_id, device_id)
  where state = 'error' and {schema}.sought_by(state) and deleted_at is null;
create index devices_by_expiry on {schema}.devices (tenant_id, expires_at) where expires_at is not null and deleted_at is null;

-- The door's data of an action of a device, beside the engine: its origin, and how many days it adds to the device's
-- expiry when it succeeds. Never changed; deleted some time after the action.
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

-- The history of each device, written in the transaction of each event.
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

-- Locks these devices, in one order for all callers, and returns their expiry and the days that their unfinished
-- actions would add, without those of `p_actions`. A function, because what it reads after the locks is as it is then,
-- not as it was when the calling statement began.
create function {schema}.lock_expiries(p_tenants int[], p_devices bigint[], p_actions bigint[])
returns table (tenant_id int, device_id bigint, expires_at timestamptz, days int) language plpgsql as $$
#variable_conflict use_column
begin
  perform 1 from (select distinct i.tenant_id, i.device_id from unnest(p_tenants, p_devices) i(tenant_id, device_id) order by 1, 2) i
    cross join lateral (
      select 1 from {schema}.devices d where d.tenant_id = i.tenant_id and d.device_id = i.device_id limit 1 for no key update
    ) d;
  return query
    select d.tenant_id, d.device_id, d.expires_at, (
      select coalesce(sum(b.more_days), 0)::int from {schema}.assignments b
      cross join lateral (select 1 from {schema}.unfinished_actions u where u.tenant_id = b.tenant_id and u.action_id = b.action_id limit 1) u
      where b.tenant_id = d.tenant_id and b.device_id = d.device_id and {schema}.sought_by(b.device_id) and b.more_days <> 0 and b.action_id <> all (p_actions)
    )
    from (select distinct i.tenant_id, i.device_id from unnest(p_tenants, p_devices) i(tenant_id, device_id)) i
    cross join lateral (
      select * from {schema}.devices d where d.tenant_id = i.tenant_id and d.device_id = i.device_id limit 1
    ) d;
end $$;

-- Answers the engine: why nothing can be queued in a lane whose owner does not exist.
create or replace function {schema}.lane_refusal(p_tenant int, p_space text, p_name text) returns table (code text, sentence text) language sql stable as $$
  select r.code, r.sentence from (values
    ('MUSTER_UNKNOWN_TENANT', 'There is no tenant with this id.', not exists (
      select 1 from {schema}.tenants t where t.tenant_id = p_tenant)),
    ('MUSTER_UNKNOWN_DEVICE', 'There is no device with this id.', p_space = 'device' and not exists (
      select 1 from {schema}.devices d where d.tenant_id = p_tenant and d.deleted_at is null
        and d.device_id = case when p_name ~ '^[1-9][0-9]{0,17}$' then p_name::bigint end)),
    ('MUSTER_UNKNOWN_SERVICE', 'There is no service with this id.', p_space = 'service' and not exists (
      select 1 from {schema}.services v where v.tenant_id = p_tenant
        and v.service_id = case when p_name ~ '^[1-9][0-9]{0,17}$' then p_name::bigint end))
  ) r(code, sentence, is_refused) where r.is_refused limit 1
$$;

-- Answers the engine: urgent actions for a device, on the channel of its own contacts, go before a task of its PC.
create or replace function {schema}.heard_on(p_tenant int, p_lane bigint) returns table (channel text, until timestamptz) language sql stable as $$
  select k.channel, k.online_until
  from (
    select d.device_id from {schema}.devices d where d.tenant_id = p_tenant and d.lane_id = p_lane and {schema}.sought_by(d.lane_id) limit 1
  ) d
  cross join lateral (
    select k.channel, k.online_until from {schema}.contacts k
    where k.tenant_id = p_tenant and k.channel = 'checkin' and k.target_id = d.device_id limit 1
  ) k
$$;

-- Publishes a change of a device's state in the feed: part of the statement that changes it.
create function {schema}.note_device_state(
  p_at timestamptz, p_tenant int, p_lane bigint, p_device bigint, p_state text, p_previous text, p_reason text
) returns bigint language sql as $$
  select {schema}.note(p_at, p_tenant, p_lane, 'device.state_changed', jsonb_build_object('deviceId', p_device::text,
    'state', p_state, 'previousState', p_previous, 'reason', p_reason)) where p_state <> p_previous
$$;

-- Frozen sets of devices, of a batch or a run of a workflow, with the action that each device got. The outcome of those
-- actions is in the engine.
create sequence {schema}.target_set_seq;
create table {schema}.target_sets (
  tenant_id int not null,
  set_id bigint not null default nextval('{schema}.target_set_seq'),
  total int not null default 0,
  primary key (tenant_id, set_id)
);
create table {schema}.targets (
  tenant_id int not null,
  set_id bigint not null,
  n int not null,
  device_id bigint,
  -- as given, if there is no such device
  target text,
  -- why there is no action for it
  error text collate "C",
  -- its sentence, if it says more than the code
  error_message text,
  action_id bigint,
  primary key (tenant_id, set_id, n)
);
-- not queued yet: the progress of a set is what is left of this
create index targets_to_supply on {schema}.targets (tenant_id, set_id, n) where action_id is null and error is null;

-- Which expiries of a device were already noticed, so each value counts once.
create table {schema}.expiry_notices (
  tenant_id int not null,
  subject text collate "C" not null,
  device_id bigint not null,
  expires_at timestamptz not null,
  primary key (tenant_id, subject, device_id, expires_at)
);
