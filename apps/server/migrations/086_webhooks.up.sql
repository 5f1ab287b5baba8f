-- breaking: no
-- Webhooks: events sent to subscribed endpoints. The event feed is the outbox; a delivery is an action in one of the
-- internal lanes of its webhook, and only the engine knows what waits, is being sent or has ended.

create sequence {schema}.webhook_seq;
create table {schema}.webhooks (
  tenant_id int not null,
  webhook_id bigint not null default nextval('{schema}.webhook_seq'),
  name text,
  url text not null,
  events text[] not null,
  filter jsonb not null,
  -- sealed; until its time is over, requests are signed with the former one too
  secret bytea not null,
  former_secret bytea,
  former_until timestamptz,
  -- its lanes, in the order in which keys are distributed among them, and the runner that sends what is in them
  runner_id bigint not null,
  lane_ids bigint[] not null,
  created_at timestamptz not null,
  created_by text,
  paused_at timestamptz,
  paused_by text collate "C" constraint pauser_is_known check (paused_by in ('operator', 'failures')),
  paused_reason text,
  -- no older event is sent
  from_at timestamptz not null,
  -- its own place in the feed, and its time: it is new, paused or has not caught up; null: it is at the shared place
  cursor text collate "C",
  cursor_at timestamptz,
  constraint paused_with_its_place check (paused_at is null or cursor is not null),
  primary key (tenant_id, webhook_id)
);
create index webhooks_behind on {schema}.webhooks (tenant_id, webhook_id) where cursor is not null and paused_at is null;

-- How far the feed was read for all webhooks that are not behind. Reading on and changing a webhook lock it, so a
-- change is before a page or after it; `version` tells caches of webhooks that they have changed. There is a row from
-- the first webhook on.
create table {schema}.webhook_feed (
  is_only boolean primary key default true constraint one_webhook_feed check (is_only),
  cursor text collate "C" not null,
  read_at timestamptz not null,
  version bigint not null
) with (fillfactor = 50);

-- The health of each webhook: written with each try.
create table {schema}.webhook_health (
  tenant_id int not null,
  webhook_id bigint not null,
  delivered bigint not null default 0,
  given_up bigint not null default 0,
  -- every try since then has failed
  failing_since timestamptz,
  last_at timestamptz,
  last_action bigint,
  last_status int,
  last_error text,
  primary key (tenant_id, webhook_id)
) with (fillfactor = 50);

create table {schema}.webhook_deliveries (
  tenant_id int not null,
  action_id bigint not null,
  webhook_id bigint not null,
  event_type text collate "C" not null,
  event_id text collate "C" not null,
  event_at timestamptz not null,
  subject text,
  created_at timestamptz not null,
  -- the delivery that this one repeats
  replay_of bigint,
  primary key (tenant_id, action_id)
);
create index deliveries_of_webhook on {schema}.webhook_deliveries (tenant_id, webhook_id, action_id) where {schema}.sought_by(webhook_id);
create index webhook_deliveries_by_age on {schema}.webhook_deliveries (created_at);

-- The outcome of each try: written in the transaction of its report.
create table {schema}.webhook_tries (
  tenant_id int not null,
  action_id bigint not null,
  attempt int not null,
  at timestamptz not null,
  -- null: there was no answer
  status int,
  headers jsonb not null,
  body bytea not null,
  error text,
  took_ms int not null,
  primary key (tenant_id, action_id, attempt)
);
create index webhook_tries_by_age on {schema}.webhook_tries (at);

-- For reports: each webhook, its health, and why it is paused. No secrets.
create view {schema}_reports.webhooks as
  select w.webhook_id as id, w.tenant_id, w.name, w.url, w.events, w.filter, case when w.paused_at is null then 'active' else 'paused' end as status,
    w.paused_at, w.paused_by, w.paused_reason, h.failing_since, h.delivered as delivered_count, h.given_up as failed_count, h.last_at,
    h.last_status, h.last_error, w.created_at, w.created_by
  from {schema}.webhooks w
  join {schema}.webhook_health h on h.tenant_id = w.tenant_id and h.webhook_id = w.webhook_id;
