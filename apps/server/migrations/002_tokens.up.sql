-- breaking: no
-- Bearer tokens. Only their SHA-256 is stored; a token carries its tenant in clear, so the first look-up already names
-- the tenant. `replaces` is the token that this one takes the place of once it is used for the first time: clients that
-- are offline keep their old one until then. It is always the token in use, also after several rotations.
create sequence {schema}.token_seq;
create table {schema}.tokens (
  tenant_id int not null,
  token_id bigint not null default nextval('{schema}.token_seq'),
  kind text collate "C" not null,
  role text collate "C",
  name text not null,
  sha256 bytea not null,
  -- where it comes from: 'issued' by somebody, or kept by a 'setting' or the data 'folder' of the server
  origin text collate "C" not null default 'issued',
  restriction jsonb,
  -- the host, device or PC whose token it is; which of them follows from the kind
  owner bigint,
  created_at timestamptz not null default now(),
  created_by text,
  replaces bigint,
  first_used_at timestamptz,
  revoked_at timestamptz,
  primary key (tenant_id, token_id)
);
create unique index one_token_per_hash on {schema}.tokens (tenant_id, sha256) where {schema}.sought_by(sha256);
-- The tokens of an owner are ended together, whoever rotated them.
create index tokens_of_owner on {schema}.tokens (tenant_id, kind, owner) where {schema}.sought_by(owner) and revoked_at is null;
create index tokens_that_replace on {schema}.tokens (tenant_id, replaces) where {schema}.sought_by(replaces);
-- One of them is always left.
create index valid_admins on {schema}.tokens (tenant_id, token_id) where kind = 'operator' and role = 'admin' and revoked_at is null;
