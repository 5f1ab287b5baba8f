-- breaking: no
-- What others may join with: applications that share the database, and doors that derive what they show. The tables
-- behind these views may change; the views stay.

-- Every action that has not ended, leased or not.
create view {schema}.unfinished_actions as
  select p.tenant_id, p.action_id, p.lane_id, p.channel from {schema}.pending p;

-- The state of every action that is kept.
create view {schema}.action_states as
  select a.tenant_id, a.action_id, a.lane_id, a.channel, a.kind, a.payload, a.created_at, a.created_by,
    coalesce(z.state, case when l.action_id = a.action_id then 'claimed' else 'pending' end) as state,
    coalesce(z.attempt, case when l.action_id = a.action_id then l.attempt else p.attempt end, 0) as attempt,
    z.reason, z.ended_at
  from {schema}.actions a
  left join {schema}.endings z on z.tenant_id = a.tenant_id and z.action_id = a.action_id
  left join {schema}.lanes l on l.tenant_id = a.tenant_id and l.lane_id = a.lane_id
  left join {schema}.pending p on p.tenant_id = a.tenant_id and p.action_id = a.action_id;
