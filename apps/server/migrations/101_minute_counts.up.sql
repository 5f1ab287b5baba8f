-- breaking: no
-- What happened in each minute, per tenant and channel, counted from the event feed by a duty, so that charts read some rows and
-- nobody scans. Up to where the feed was counted stands beside it and moves in the same transaction: nothing is counted twice.
-- `pending`, `running` and `oldest_at` are what was there at the last look of that minute; the channel '' is the whole tenant.
create table {schema}.minute_counts (
  tenant_id int not null,
  minute timestamptz not null,
  channel text collate "C" not null,
  created int not null default 0,
  sent int not null default 0,
  succeeded int not null default 0,
  failed int not null default 0,
  cancelled int not null default 0,
  expired int not null default 0,
  pending bigint,
  running bigint,
  oldest_at timestamptz,
  primary key (tenant_id, minute, channel)
);
create index minute_counts_by_time on {schema}.minute_counts (minute);
create table {schema}.minute_counted (
  one int primary key constraint there_is_one check (one = 1),
  cursor text,
  counted_to timestamptz
);
