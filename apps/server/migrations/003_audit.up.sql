-- breaking: no
-- Every change an operator made: who, what, on what, when, and what was asked for, never a secret. Written in the
-- transaction of the change wherever the change has one.
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
