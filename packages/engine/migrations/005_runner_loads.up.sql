-- breaking: no
-- For others to join with, as the views of 004: how much each runner may hold and holds. What it lost by a move while it
-- held it counts until it ends.
create view {schema}.runner_loads as
  select r.tenant_id, r.runner_id, r.slots, {running_of_runner}::int as running
  from {schema}.runners r;
