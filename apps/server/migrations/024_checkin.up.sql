-- breaking: no
-- For readers who know the queue by its old table: the queue of each device, in a separate schema that a reporting role
-- can be given. Read-only: it is a view over several tables. `id` is the action, `action_id` its kind.
create schema if not exists {schema}_reports;
create view {schema}_reports.t_queue_action as
  select x.action_id as id, x.tenant_id, d.device_id, x.kind as action_id,
    x.kind || ' (' || coalesce(b.source, 'sql') || ')' as action_type, x.created_at as assigned_at,
    coalesce(b.assigned_by, x.created_by) as assigned_by, x.payload as action_trigger_payload,
    b.milestone_id as assigned_action_history_id, 'QUEUE'::text as trigger_type
  from {schema}.action_states x
  join {schema}.devices d on d.tenant_id = x.tenant_id and d.lane_id = x.lane_id
  left join {schema}.assignments b on b.tenant_id = x.tenant_id and b.action_id = x.action_id
  where x.state = 'pending' and x.channel in ('checkin', 'any')
    and {schema}.sought_by(x.lane_id);
