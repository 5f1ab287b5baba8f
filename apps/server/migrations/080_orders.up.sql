-- breaking: no
-- Orders and bots. Only the engine knows what waits and what is processed: an order names its action, a bot its lane.
-- What is complete is written here with the transition, because the action is pruned some days later.

-- The last number of each tenant, taken under its lock: numbers, actions and times are in one order.
create table {schema}.order_numbers (
  tenant_id int not null,
  last_number bigint not null,
  last_at timestamptz not null,
  primary key (tenant_id)
);

create table {schema}.orders (
  tenant_id int not null,
  order_id uuid not null,
  order_number bigint not null,
  type text collate "C" not null constraint order_type_is_known check (type in ('NORMAL', 'VIP')),
  user_id uuid,
  action_id bigint not null,
  -- its first action: its place in the line
  place bigint not null,
  -- attempts of earlier actions that ended with its deletion: the number of an attempt is never reused
  former_attempts int not null default 0,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  completed_at timestamptz,
  completion_reason text collate "C",
  processing_started_at timestamptz,
  bot_id uuid,
  deleted_at timestamptz,
  primary key (tenant_id, order_id)
);
-- of deleted ones too: a number is never reused
create unique index orders_order_number on {schema}.orders (tenant_id, order_number) where {schema}.sought_by(order_number);
create unique index one_order_per_action on {schema}.orders (tenant_id, action_id) where {schema}.sought_by(action_id);
create index orders_open on {schema}.orders (tenant_id, type, order_number)
  where completed_at is null and deleted_at is null and {schema}.sought_by(order_number);
create index orders_complete on {schema}.orders (tenant_id, order_number)
  where completed_at is not null and deleted_at is null and {schema}.sought_by(order_number);
create index orders_deleted_open on {schema}.orders (tenant_id, type, order_number)
  where completed_at is null and deleted_at is not null and {schema}.sought_by(order_number);
create index orders_deleted_complete on {schema}.orders (tenant_id, order_number)
  where completed_at is not null and deleted_at is not null and {schema}.sought_by(order_number);
create index orders_deleted on {schema}.orders (deleted_at) where deleted_at is not null;
create index orders_completed on {schema}.orders (completed_at) where completed_at is not null and deleted_at is null;

create sequence {schema}.bot_seq;
create table {schema}.bots (
  tenant_id int not null,
  bot_id uuid not null,
  bot_number bigint not null default nextval('{schema}.bot_seq'),
  lane_id bigint not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  deleted_at timestamptz,
  primary key (tenant_id, bot_id)
);
create index bots_in_order on {schema}.bots (tenant_id, bot_number) where deleted_at is null and {schema}.sought_by(bot_number);
create index bots_deleted_in_order on {schema}.bots (tenant_id, bot_number)
  where deleted_at is not null and {schema}.sought_by(bot_number);
create index bots_deleted on {schema}.bots (deleted_at) where deleted_at is not null;

-- For readers who know orders and bots by the tables of the former system: its columns, derived, with deleted rows.
create view {schema}_reports.orders as
  select o.order_id as id, o.tenant_id, o.order_number, o.type,
    case when o.completed_at is not null then 'COMPLETE' when l.leased_at is not null then 'PROCESSING' else 'PENDING' end as status,
    o.user_id, coalesce(o.bot_id::text, l.worker) as bot_id, o.created_at, coalesce(o.processing_started_at, l.leased_at) as processing_started_at,
    o.completed_at, o.completion_reason, greatest(o.updated_at, l.leased_at) as updated_at, o.deleted_at
  from {schema}.orders o
  left join {schema}.unfinished_actions u on u.tenant_id = o.tenant_id and u.action_id = o.action_id
  left join {schema}.lane_leases l on l.tenant_id = o.tenant_id and l.lane_id = u.lane_id and l.action_id = o.action_id;

create view {schema}_reports.bots as
  select b.bot_id as id, b.tenant_id, case when l.action_id is null then 'IDLE' else 'PROCESSING' end as status, o.order_id as current_order_id,
    b.created_at, greatest(b.updated_at, l.leased_at) as updated_at, b.deleted_at
  from {schema}.bots b
  left join {schema}.lane_leases l on l.tenant_id = b.tenant_id and l.lane_id = b.lane_id
  left join {schema}.orders o on o.tenant_id = b.tenant_id and o.action_id = l.action_id and {schema}.sought_by(o.action_id);
