-- breaking: no
-- What all doors share.

-- Tenants. The first column of every other table, of every line of migrations, is the tenant's number.
create table {schema}.tenants (
  tenant_id int primary key,
  name text not null,
  created_at timestamptz not null default now()
);
create unique index one_tenant_per_name on {schema}.tenants (name);

-- Bearer tokens. Only their SHA-256 is stored; a token carries its tenant in clear text, so the first look-up already
-- names the tenant. `replaces` is the token that this one replaces at its first use: clients that are offline keep
-- their old one until then. It is always the token in use, also after several rotations.
create sequence {schema}.token_seq;
create table {schema}.tokens (
  tenant_id int not null,
  token_id bigint not null default nextval('{schema}.token_seq'),
  kind text collate "C" not null,
  role text collate "C",
  name text not null,
  sha256 bytea not null,
  -- 'issued' to a client, or kept by a 'setting' or the data 'folder' of the server
  origin text collate "C" not null default 'issued',
  restriction jsonb,
  -- the host, device or PC that owns the token; which of them follows from the kind
  owner bigint,
  created_at timestamptz not null default now(),
  created_by text,
  replaces bigint,
  first_used_at timestamptz,
  revoked_at timestamptz,
  primary key (tenant_id, token_id)
);
create unique index one_token_per_hash on {schema}.tokens (tenant_id, sha256) where {schema}.sought_by(sha256);
-- The tokens of an owner are ended together, rotated ones included.
create index tokens_of_owner on {schema}.tokens (tenant_id, kind, owner) where {schema}.sought_by(owner) and revoked_at is null;
create index tokens_that_replace on {schema}.tokens (tenant_id, replaces) where {schema}.sought_by(replaces);
-- One of them is always left.
create index valid_admins on {schema}.tokens (tenant_id, token_id) where kind = 'operator' and role = 'admin' and revoked_at is null;

-- Every change by an operator: who, what, on what, when, and the request, never a secret. Written in the transaction of
-- the change wherever it has one.
create sequence {schema}.audit_seq;
create table {schema}.audit (
  tenant_id int not null,
  audit_id bigint not null default nextval('{schema}.audit_seq'),
  at timestamptz not null default now(),
  token_id bigint,
  actor text not null,
  act text collate "C" not null,
  target text,
  detail jsonb,
  primary key (tenant_id, audit_id)
);
create index audit_by_time on {schema}.audit (at);

-- When a target (a host, a device, a PC) was last heard of over a channel. A separate table, because it is written far
-- more often than all other data of a target: many rows at once, every few seconds. `online_until` is computed from the
-- setting when it is written, for statements that get no settings. A target that enrolled again has a new life:
-- contacts up to `forgotten_at` belong to the former one, even if they are stored later.
create table {schema}.contacts (
  tenant_id int not null,
  channel text collate "C" not null,
  target_id bigint not null,
  seen_at timestamptz,
  online_until timestamptz,
  forgotten_at timestamptz,
  primary key (tenant_id, channel, target_id)
) with (fillfactor = 50);

-- The clients that use the token of a target: more than one after a machine was cloned, or a state folder was lost.
-- Only the newest few of a target are kept.
create table {schema}.instances (
  tenant_id int not null,
  channel text collate "C" not null,
  target_id bigint not null,
  instance_id text collate "C" not null,
  version text,
  seen_at timestamptz not null,
  primary key (tenant_id, channel, target_id, instance_id)
) with (fillfactor = 50);

-- What requests with an Idempotency-Key created, if not a single action: the engine keeps the keys of actions itself.
create table {schema}.request_keys (
  tenant_id int not null,
  -- with the route: two independent clients may number their requests alike
  key text collate "C" not null,
  body_hash bytea not null,
  -- null only inside the transaction of the first request
  made bigint,
  at timestamptz not null,
  primary key (tenant_id, key)
);
create index request_keys_by_time on {schema}.request_keys (at);

-- Identifies the keys that seal values of this database: not the keys themselves, but something that only they can
-- open. So a start with a wrong key is refused at once.
create table {schema}.secret_keys (
  key_id bytea primary key,
  probe bytea not null,
  first_used_at timestamptz not null default now()
);

-- Signed-in browsers. Each is a second secret of an operator token, stored as its hash: worth as much as the token, and
-- nothing without it. The rows of a revoked token stay until they are pruned; a look-up checks the token, too.
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

-- Events of each minute, per tenant and channel, counted from the event feed by a duty, so charts read a few rows and
-- scan nothing. The counted position of the feed moves in the same transaction: nothing is counted twice. `pending`,
-- `running` and `oldest_at` are from the last look of that minute; the channel '' is the whole tenant.
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
