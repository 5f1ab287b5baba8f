-- breaking: no
-- Devices that are meant together, by a batch or a run of a workflow: who they were when it was said, and the action
-- that each of them got. What became of those actions is in the engine.
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
  -- as it was written, if there is no such device
  target text,
  -- why there is no action for it
  error text collate "C",
  -- the sentence of that, if it is more than its code says
  error_message text,
  action_id bigint,
  primary key (tenant_id, set_id, n)
);
-- what is still to be put into lanes: the progress of a set is what is left of this
create index targets_to_supply on {schema}.targets (tenant_id, set_id, n) where action_id is null and error is null;

-- Who was told that a device comes near which expiry, so that each value of it counts once.
create table {schema}.expiry_notices (
  tenant_id int not null,
  subject text collate "C" not null,
  device_id bigint not null,
  expires_at timestamptz not null,
  primary key (tenant_id, subject, device_id, expires_at)
);
