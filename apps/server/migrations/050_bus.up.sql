-- breaking: no
-- The bus: messages between independent parts of the server. A message is an action in an internal lane.

-- The consumer of a tenant's messages of a subscription: a runner of the engine that has their lanes.
create table {schema}.bus_subscriptions (
  tenant_id int not null,
  subscription text collate "C" not null,
  runner_id bigint not null,
  primary key (tenant_id, subscription)
);

-- Messages that could not be consumed, and what is done with them: written with the end of their last try.
create table {schema}.bus_dead_letters (
  tenant_id int not null,
  action_id bigint not null,
  -- how often it was queued again
  rounds int not null default 0,
  -- when it is looked at, or queued again; null: given up, or queued again
  look_at timestamptz,
  is_to_be_queued boolean not null default false,
  primary key (tenant_id, action_id)
);
create index bus_dead_letters_in_order on {schema}.bus_dead_letters (look_at) where look_at is not null;

-- Commands on the bus that were cancelled: a vendor layer looks here before it hands a command to a device. The message
-- that says the same comes later. Deleted after a day: by then no command is handed out any more.
create table {schema}.withdrawn_commands (
  tenant_id int not null,
  command_uuid text collate "C" not null,
  withdrawn_at timestamptz not null,
  primary key (tenant_id, command_uuid)
);
create index withdrawn_by_time on {schema}.withdrawn_commands (withdrawn_at);
