-- breaking: no
-- Callbacks: requests that are sent later, signed, and tried until they are taken. A message is an action in an internal lane of
-- its destination; what waits, runs or has ended only the engine knows. Here is what it does not.

-- Who sends a tenant's callbacks: a runner of the engine whose lanes they are in, another one for lanes of hosts that are slow, and one for calls
-- to this server itself.
create table {schema}.callback_runners (
  tenant_id int not null,
  line text collate "C" not null constraint callback_line_is_known check (line in ('quick', 'slow', 'own')),
  runner_id bigint not null,
  primary key (tenant_id, line)
);

-- The lanes that have this runner, by name. One that is not used for days is given up, and the engine forgets it.
create table {schema}.callback_lanes (
  tenant_id int not null,
  name text collate "C" not null,
  used_at timestamptz not null,
  primary key (tenant_id, name)
);
create index callback_lanes_by_use on {schema}.callback_lanes (used_at);

-- What receivers know us by; sealed.
create table {schema}.callback_keys (
  tenant_id int not null,
  current_key bytea not null,
  next_key bytea not null,
  -- of calls of the server to itself; nobody is shown it
  own_key bytea not null,
  primary key (tenant_id)
);

-- Which message a deduplication id means. It is looked at again and again until the message has ended, and then forgotten.
create table {schema}.callback_deduplications (
  tenant_id int not null,
  deduplication_id text collate "C" not null,
  action_id bigint,
  look_at timestamptz not null,
  primary key (tenant_id, deduplication_id)
);
create index callback_deduplications_in_order on {schema}.callback_deduplications (look_at);

-- What came of each try: written in the transaction of its report.
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

-- Messages whose tries are used up: written with the end of the last one, whoever notices it.
create table {schema}.callback_letters (
  tenant_id int not null,
  action_id bigint not null,
  at timestamptz not null,
  -- null: whoever wanted to know of it was told
  look_at timestamptz,
  is_dismissed boolean not null default false,
  primary key (tenant_id, action_id)
);
create index callback_letters_in_order on {schema}.callback_letters (look_at) where look_at is not null;
create index callback_letters_by_age on {schema}.callback_letters (at);
