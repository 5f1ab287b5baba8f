-- breaking: no
-- Pushes: which device can be woken up by which token, who is to be woken up, and with which certificate.

-- Who a tenant is for APNs. The certificate may be missing: then that of the settings is used, if it is for this topic.
create table {schema}.push_topics (
  tenant_id int not null,
  topic text collate "C" not null,
  certificate text,
  sealed_key bytea,
  changed_at timestamptz not null,
  -- something is wrong with the set-up: nothing is sent until then, and after it one push alone, until one was accepted
  stopped_until timestamptz,
  stop_reason text,
  -- of the certificate's last days: which of the warnings was given
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
  -- APNs does not know it any more
  dead_at timestamptz,
  dead_reason text,
  primary key (tenant_id, device_id, app)
);

-- The ledger: one row for each device that is to come and has not come yet, however much waits for it.
create sequence {schema}.push_seq;
create table {schema}.push_ledger (
  tenant_id int not null,
  device_id bigint not null,
  topic text collate "C",
  -- raised by everybody who wants it to come: a contact clears only what was there before it
  want bigint not null default nextval('{schema}.push_seq'),
  -- accepted by APNs since the device was last here
  pushes int not null default 0,
  is_repeat boolean not null generated always as (pushes > 0) stored,
  -- refused for the moment, in a row
  failures int not null default 0,
  pushed_at timestamptz,
  -- when the next one goes out, or, while somebody sends it, when he is given up; null: there is no token
  due_at timestamptz,
  -- of whoever sends it now
  turn bigint,
  primary key (tenant_id, device_id)
) with (fillfactor = 70);
-- First pushes apart from repeats, so that those who sleep are not in the way.
create index push_ledger_in_order on {schema}.push_ledger (tenant_id, topic, is_repeat, due_at)
  where due_at is not null and {schema}.sought_by(due_at);

-- Messages for the companion app, until APNs has taken them or it is too late.
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
