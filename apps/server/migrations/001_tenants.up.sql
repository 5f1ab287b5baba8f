-- breaking: no
-- Who lives here. Every other table of every line carries the number of its tenant first.
create table {schema}.tenants (
  tenant_id int primary key,
  name text not null,
  created_at timestamptz not null default now()
);
create unique index one_tenant_per_name on {schema}.tenants (name);
