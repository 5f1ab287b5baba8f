-- breaking: no
-- Callbacks: requests that are sent later, signed, and retried until they are accepted. A message is an action in an
-- internal lane of its destination; only the engine knows what waits, runs or has ended. The rest is here.

-- The senders of a tenant's callbacks: a runner of the engine that has their lanes, another one for lanes of slow
-- hosts, and one for calls to this server itself.
create table {schema}.callback_runners (
  tenant_id int not null,
  line text collate "C" not null constraint callback_line_is_known check (line in ('quick', 'slow', 'own')),
  runner_id bigint not null,
  primary key (tenant_id, line)
);

-- The lanes of each runner, by name. A lane that is not used for days is given up, and the engine deletes it.
create table {schema}.callback_lanes (
  tenant_id int not null,
  name text collate "C" not null,
  used_at timestamptz not null,
  primary key (tenant_id, name)
);
create index callback_lanes_by_use on {schema}.callback_lanes (used_at);

-- The keys that receivers verify signatures with; sealed.
create table {schema}.callback_keys (
  tenant_id int not null,
  current_key bytea not null,
  next_key bytea not null,
  -- of calls of the server to itself; never shown
  own_key bytea not null,
  primary key (tenant_id)
);

-- Which message a deduplication id stands for. Checked repeatedly until the message has ended, and then deleted.
create table {schema}.callback_deduplications (
  tenant_id int not null,
  deduplication_id text collate "C" not null,
  action_id bigint,
  look_at timestamptz not null,
  primary key (tenant_id, deduplication_id)
);
create index callback_deduplications_in_order on {schema}.callback_deduplications (look_at);

-- The outcome of each try: written in the transaction of its report.
create table {schema}.callback_deliveries (
  tenant_id int not null,
  action_id bigint not null,
  attempt int not null,
  at timestamptz not null,
  -- null: there was no answer
  status int,
  headers jsonb,
  body bytea,
  error text,
  primary key (tenant_id, action_id, attempt)
);
create index callback_deliveries_by_age on {schema}.callback_deliveries (at);

-- Messages whose tries are used up: written with the end of the last one.
create table {schema}.callback_letters (
  tenant_id int not null,
  action_id bigint not null,
  at timestamptz not null,
  -- null: its failure callback was sent
  look_at timestamptz,
  is_dismissed boolean not null default false,
  primary key (tenant_id, action_id)
);
create index callback_letters_in_order on {schema}.callback_letters (look_at) where look_at is not null;
create index callback_letters_by_age on {schema}.callback_letters (at);
