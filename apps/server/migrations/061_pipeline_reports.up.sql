-- breaking: no
-- For readers who know the pipeline by its old tables, in the schema of reports. Read-only. What a row of a batch says is the outcome
-- of its dispatch, derived: refused before, or dispatched once, or ended without, or still to come.
create view {schema}_reports.action_executions as
  select e.tenant_id, e.execution_id as id, e.device_id, a.type_id as action_id, e.command_uuid, e.status, a.batch_id, e.created_at,
    e.dispatched_at, e.ended_at, jsonb_strip_nulls(jsonb_build_object('failed_reason', e.failed_reason, 'error_chain', e.error_chain)) as ext_fields
  from {schema}.executions e
  join {schema}.pipeline_actions a on a.tenant_id = e.tenant_id and a.action_id = e.action_id;

create view {schema}_reports.batch_device_actions as
  select b.tenant_id, b.batch_id, t.n, coalesce(t.device_id::text, t.target) as device_id, w.status,
    case when w.status = 'FAILED' then coalesce(t.error, f.failed_reason, 'FORGOTTEN') end as error_code, t.action_id as queued_action_id,
    f.execution_id, f.dispatched_at
  from {schema}.batches b
  join {schema}.targets t on t.tenant_id = b.tenant_id and t.set_id = b.set_id
  left join lateral (
    select e.execution_id, e.dispatched_at, e.ended_at, e.failed_reason from {schema}.executions e
    where e.tenant_id = t.tenant_id and e.action_id = t.action_id and {schema}.sought_by(e.action_id)
    order by e.attempt nulls last, e.ended_at nulls first limit 1
  ) f on true
  cross join lateral (
    select case when t.error is not null then 'FAILED' when f.dispatched_at is not null then 'SUCCESS'
      when f.execution_id is null or f.ended_at is not null then 'FAILED' else 'PENDING' end as status
  ) w
  where b.door = 'pipeline';

create view {schema}_reports.batch_actions as
  select b.tenant_id, b.batch_id as id, b.action->'payload'->>'actionId' as action_id,
    case when r.pending > 0 then 'IN_PROGRESS' else 'COMPLETED' end as status, r.total, r.pending, r.success, r.failed, b.created_by, b.created_at
  from {schema}.batches b
  cross join lateral (
    select count(*)::int as total, count(*) filter (where r.status = 'PENDING')::int as pending,
      count(*) filter (where r.status = 'SUCCESS')::int as success, count(*) filter (where r.status = 'FAILED')::int as failed
    from {schema}_reports.batch_device_actions r where r.tenant_id = b.tenant_id and r.batch_id = b.batch_id
  ) r
  where b.door = 'pipeline';

create view {schema}_reports.message_templates as
  select t.tenant_id, t.template_id as id, t.name, t.content, t.is_active, t.created_at, t.updated_at from {schema}.message_templates t;
