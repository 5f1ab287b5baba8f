-- breaking: no
-- For others to join with, as the views of 004: how much each runner may hold and holds. What it lost by a move while it
-- held it counts until it ends.
create view {schema}.runner_loads as
  select r.tenant_id, r.runner_id, r.slots, (
      (select count(*) from {schema}.lanes l where l.tenant_id = r.tenant_id and l.runner_id = r.runner_id and l.lease_runner = r.runner_id)
      + (select count(*) from {schema}.lanes l where l.tenant_id = r.tenant_id and l.moved_from = r.runner_id
          and l.lease_runner = r.runner_id and l.runner_id is distinct from r.runner_id))::int as running
  from {schema}.runners r;
