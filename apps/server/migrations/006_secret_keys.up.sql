-- breaking: no
-- Which keys values of this database are sealed with: not the keys themselves, but something that only they can open. So a start with
-- a wrong key is refused at once.
create table {schema}.secret_keys (
  key_id bytea primary key,
  probe bytea not null,
  first_used_at timestamptz not null default now()
);
