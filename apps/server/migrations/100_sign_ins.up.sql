-- breaking: no
-- Browsers that are signed in. Each is a second secret of an operator token, stored as its hash: worth as much as the token,
-- and nothing without it. A token that is revoked leaves its rows to be pruned; whoever looks one up asks for the token, too.
create sequence {schema}.sign_in_seq;
create table {schema}.sign_ins (
  tenant_id int not null,
  sign_in_id bigint not null default nextval('{schema}.sign_in_seq'),
  token_id bigint not null,
  sha256 bytea not null,
  signed_in_at timestamptz not null,
  ends_at timestamptz not null,
  primary key (tenant_id, sign_in_id)
);
create unique index one_sign_in_per_hash on {schema}.sign_ins (tenant_id, sha256) where {schema}.sought_by(sha256);
create index sign_ins_of_token on {schema}.sign_ins (tenant_id, token_id) where {schema}.sought_by(token_id);
create index sign_ins_by_end on {schema}.sign_ins (ends_at);
