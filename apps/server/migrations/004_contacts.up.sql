-- breaking: no
-- When a target (a host, a device, a PC) was last heard of over a channel. A table of its own, because it is written far more
-- often than everything else that is known of a target: many rows at once, every few seconds. `online_until` is what the setting
-- made of it when it was written: for statements that nobody passes settings to. A target that was enrolled again has a new life: what was
-- heard up to `forgotten_at` is of the one before, also what is written down later.
create table {schema}.contacts (
  tenant_id int not null,
  channel text collate "C" not null,
  target_id bigint not null,
  seen_at timestamptz,
  online_until timestamptz,
  forgotten_at timestamptz,
  primary key (tenant_id, channel, target_id)
) with (fillfactor = 50);

-- Which clients speak for a target: more than one after a machine was cloned, or a state folder was lost. Only the newest few of a
-- target are kept.
create table {schema}.instances (
  tenant_id int not null,
  channel text collate "C" not null,
  target_id bigint not null,
  instance_id text collate "C" not null,
  version text,
  seen_at timestamptz not null,
  primary key (tenant_id, channel, target_id, instance_id)
) with (fillfactor = 50);
