-- breaking: no
-- Phones managed over Apple's protocol: the enrolment by which each became a device, its certificates, and the commands
-- it is to be given. Its actions are in the lanes of the engine.

-- The authority that issues the phones' certificates if there is no other: one for the installation.
create table {schema}.mdm_authorities (
  tenant_id int primary key,
  certificate text not null,
  sealed_key bytea not null,
  created_at timestamptz not null
);

-- Created when the profile of an enrolment token is first fetched. The id is in the address and in the certificate.
create table {schema}.mdm_enrolments (
  tenant_id int not null,
  enrolment_id text collate "C" not null,
  token_id bigint not null,
  device_id bigint not null,
  sealed_challenge bytea not null,
  -- the key that has used the challenge: it may repeat the request, no other may
  challenge_key text collate "C",
  udid text collate "C",
  authenticated_at timestamptz,
  created_at timestamptz not null,
  primary key (tenant_id, enrolment_id)
);
create unique index one_enrolment_per_token on {schema}.mdm_enrolments (tenant_id, token_id) where {schema}.sought_by(token_id);
create index enrolments_of_device on {schema}.mdm_enrolments (tenant_id, device_id) where {schema}.sought_by(device_id);

create table {schema}.mdm_devices (
  tenant_id int not null,
  -- or the EnrollmentID of a personally owned phone
  udid text collate "C" not null,
  device_id bigint not null,
  lane_id bigint not null,
  enrolment_id text collate "C" not null,
  byod boolean not null,
  topic text not null,
  serial text,
  -- the other values of Authenticate
  facts jsonb not null,
  sealed_unlock_token bytea,
  sealed_bootstrap_token bytea,
  authenticated_at timestamptz not null,
  -- the first token of this life
  enrolled_at timestamptz,
  -- the last one since it authenticated
  token_updated_at timestamptz,
  released_at timestamptz,
  -- it was told to erase itself since it authenticated, and has not refused: outlives the command, which is deleted
  -- after some days
  erased_at timestamptz,
  -- it left or began a new life, and gets nothing of its lane before the lane has this generation: until then what
  -- waits there belongs to the old life
  awaited_generation int,
  -- when others were last told that it came and there was nothing for it
  connected_at timestamptz,
  -- it was here, and something may be left for it: watched since this time, until nothing is left or it is called
  watched_at timestamptz,
  -- how often in a row it has come and not done its command, and when it is called again because of that
  refusals int not null default 0,
  call_after timestamptz,
  primary key (tenant_id, udid)
);
create index phones_to_watch on {schema}.mdm_devices (tenant_id, udid) where watched_at is not null;
create unique index one_phone_per_device on {schema}.mdm_devices (tenant_id, device_id) where {schema}.sought_by(device_id);

-- A certificate belongs to one phone; a phone has several over time.
create table {schema}.mdm_certificates (
  tenant_id int not null,
  hash text collate "C" not null,
  udid text collate "C" not null,
  pinned_at timestamptz not null,
  not_after timestamptz not null,
  primary key (tenant_id, hash)
);
create index certificates_of_phone on {schema}.mdm_certificates (tenant_id, udid) where {schema}.sought_by(udid);

-- Commands for phones, kept for some time after their end so that a late answer is recognised.
create sequence {schema}.mdm_command_seq;
create table {schema}.mdm_commands (
  tenant_id int not null,
  udid text collate "C" not null,
  command_uuid text collate "C" not null,
  seq bigint not null default nextval('{schema}.mdm_command_seq'),
  -- bus: the outcome is published; lane: it is an attempt of an action; own: the outcome is not reported
  source text collate "C" not null constraint mdm_command_source_is_known check (source in ('bus', 'lane', 'own')),
  action_id bigint,
  attempt int,
  request_type text collate "C" not null,
  payload jsonb not null,
  created_at timestamptz not null,
  expires_at timestamptz,
  fetched_at timestamptz,
  not_now_at timestamptz,
  -- refused in this session: not handed out again before the next one
  aside boolean not null default false,
  -- no longer handed out: answered, expired, or the phone has left
  closed_at timestamptz,
  answered_at timestamptz,
  -- of an action, if it is too large for a result
  answer jsonb,
  status text collate "C",
  primary key (tenant_id, udid, command_uuid)
) with (fillfactor = 70); -- each is fetched once: its row is changed on the same page, without new index entries
-- never refused first: a phone gets the first of it, however many wait
create index commands_to_hand_out on {schema}.mdm_commands (tenant_id, udid, not_now_at nulls first, seq)
  where closed_at is null and {schema}.sought_by(seq);
create index commands_by_end on {schema}.mdm_commands (expires_at) where closed_at is null and expires_at is not null;
create index commands_by_close on {schema}.mdm_commands (closed_at) where closed_at is not null;
create index commands_refused on {schema}.mdm_commands (tenant_id, udid) where status = 'NotNow' and {schema}.sought_by(udid);
create index commands_of_action on {schema}.mdm_commands (tenant_id, action_id) where {schema}.sought_by(action_id) and action_id is not null;

-- Phones are heard of on a channel of their own.
create or replace function {schema}.heard_on(p_tenant int, p_lane bigint) returns table (channel text, until timestamptz) language sql stable as $$
  select k.channel, k.online_until
  from (
    select d.device_id from {schema}.devices d where d.tenant_id = p_tenant and d.lane_id = p_lane and {schema}.sought_by(d.lane_id) limit 1
  ) d
  cross join lateral (
    -- the pipeline's commands reach a phone by the same contact
    select c.channel, k.online_until from (values ('checkin', 'checkin'), ('mdm', 'mdm'), ('mdm', 'pipeline')) c(heard, channel)
    cross join lateral (
      select k.online_until from {schema}.contacts k
      where k.tenant_id = p_tenant and k.channel = c.heard and k.target_id = d.device_id limit 1
    ) k
  ) k
$$;

-- Pushes: which device can be woken up by which token, which are to be woken up, and with which certificate.

-- A tenant as APNs knows it. The certificate may be missing: then that of the settings is used, if it is for this
-- topic.
create table {schema}.push_topics (
  tenant_id int not null,
  topic text collate "C" not null,
  certificate text,
  sealed_key bytea,
  changed_at timestamptz not null,
  -- a configuration problem: nothing is sent until then, and after it only one push at a time, until one was accepted
  stopped_until timestamptz,
  stop_reason text,
  -- which of the warnings of the certificate's last days was given
  warned_days int,
  warned_of timestamptz,
  primary key (tenant_id, topic)
);

-- 'mdm' is the token of the device itself, 'message' that of the companion app.
create table {schema}.push_tokens (
  tenant_id int not null,
  device_id bigint not null,
  app text collate "C" not null constraint push_app_is_known check (app in ('mdm', 'message')),
  token bytea not null,
  magic text,
  topic text collate "C",
  updated_at timestamptz not null,
  -- APNs no longer knows it
  dead_at timestamptz,
  dead_reason text,
  primary key (tenant_id, device_id, app)
);

-- The ledger: one row for each device that should come and has not come yet, however much waits for it.
create sequence {schema}.push_seq;
create table {schema}.push_ledger (
  tenant_id int not null,
  device_id bigint not null,
  topic text collate "C",
  -- raised by every request for it to come: a contact clears only earlier ones
  want bigint not null default nextval('{schema}.push_seq'),
  -- accepted by APNs since the device was last here
  pushes int not null default 0,
  is_repeat boolean not null generated always as (pushes > 0) stored,
  -- temporary refusals in a row
  failures int not null default 0,
  pushed_at timestamptz,
  -- when the next one goes out or, while a node sends it, when that node is given up; null: there is no token
  due_at timestamptz,
  -- of the node that sends it now
  turn bigint,
  primary key (tenant_id, device_id)
) with (fillfactor = 70);
-- First pushes apart from repeats, so sleeping devices are not in the way.
create index push_ledger_in_order on {schema}.push_ledger (tenant_id, topic, is_repeat, due_at)
  where due_at is not null and {schema}.sought_by(due_at);

-- Messages for the companion app, until APNs has accepted them or they have expired.
create table {schema}.push_messages (
  tenant_id int not null,
  message_id text collate "C" not null,
  device_id bigint not null,
  message text not null,
  failures int not null default 0,
  due_at timestamptz not null,
  until timestamptz,
  turn bigint,
  primary key (tenant_id, message_id)
);
create index push_messages_in_order on {schema}.push_messages (due_at) where {schema}.sought_by(due_at);
