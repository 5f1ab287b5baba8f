-- breaking: no
-- What requests with an Idempotency-Key made, where that is no single action: the engine keeps the keys of actions itself.
create table {schema}.request_keys (
  tenant_id int not null,
  -- with the route: two clients that know nothing of each other may count their requests alike
  key text collate "C" not null,
  body_hash bytea not null,
  -- null only inside the transaction of the first request
  made bigint,
  at timestamptz not null,
  primary key (tenant_id, key)
);
create index request_keys_by_time on {schema}.request_keys (at);
