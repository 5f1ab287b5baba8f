import { type Engine, EVENT_TYPES } from '@muster/engine';
import { days, unfinishedDays } from '../../fleet/index.ts';
import { PIPELINE } from './channel.ts';
import { NOTE } from './state-note.ts';
import { ofThisLife, policyInSql } from './transitions.ts';

/**
 * The end of an attempt, whatever ends it (a report, the end of its lease, a cancel, a raised generation): its
 * execution, the policy, the milestone and the event are part of the statement that makes the transition. So nothing
 * that ends an action can skip them, and no scan for timeouts is needed: the engine ends leases.
 *
 * An execution ends once: a late success completes the action and moves the policy, but the execution stays failed, and
 * so says the event. A redrive means that an operator wants it tried now, so a new execution waits for its dispatch.
 *
 * What a device did in a former life, or after it had left, says nothing about what it is now. A command whose action
 * is cancelled while it is being sent is withdrawn at the same time: the layer that speaks to the device sees it at
 * once (`withdrawn_commands`), and is told later (`withdraw-cancelled.ts`).
 */
export function addOutcomes({ addEffect, schema: s }: Engine): void {
  const X = 'x.tenant_id, x.device_id';
  addEffect({
    name: 'pipeline_ends',
    channels: [PIPELINE],
    sql: (own) => ({
      steps: `${own('x')} as materialized (
        select t.n, t.tenant_id, t.lane_id, t.action_id, t.at, t.state, a.device_id, d.policy as previous_policy, d.expires_at,
          coalesce(case when t.state = 'succeeded' and ${ofThisLife('a.type_id', 'd', 'e')} then ${policyInSql('a.type_id')} end, d.policy) as policy,
          e.execution_id,
          case when e.ended_at is not null then e.status when t.state = 'succeeded' then 'ACTION_COMPLETED' else 'ACTION_FAILED' end as status,
          case when e.ended_at is not null then e.failed_reason when t.state = 'succeeded' then null
            when t.events @> array[${EVENT_TYPES.CANCELLED}] then 'CANCELLED'
            when t.events[1] = ${EVENT_TYPES.NOT_NOW} then 'not_now' when t.events[1] = ${EVENT_TYPES.TIMEOUT} then 'device_timeout'
            when t.reason ~ '^[A-Za-z_]{1,40}$' then t.reason else upper(t.state) end as failed_reason
        from ${own('tr')} t
        cross join lateral (
          select a.device_id, a.type_id from ${s}.pipeline_actions a where a.tenant_id = t.tenant_id and a.action_id = t.action_id limit 1
        ) a
        cross join lateral (
          select d.policy, d.expires_at, d.life_began_at from ${s}.devices d where d.tenant_id = t.tenant_id and d.device_id = a.device_id limit 1
        ) d
        cross join lateral (
          select e.execution_id, e.ended_at, e.dispatched_at, e.status, e.failed_reason from ${s}.executions e
          where e.tenant_id = t.tenant_id and e.action_id = t.action_id and ${s}.sought_by(e.action_id)
            and (e.attempt = t.attempt or (e.attempt is null and e.ended_at is null))
          order by e.attempt nulls last limit 1
        ) e
        where t.state <> 'claimed' and (t.before = 'claimed' or t.state <> 'pending')
      ), ${own('noted')} as materialized (
        select x.tenant_id, x.execution_id, x.at, x.status, x.failed_reason,
          ${s}.note(x.at, x.tenant_id, x.lane_id, '${NOTE}', jsonb_build_object('deviceId', x.device_id::text,
            'policy', x.policy, 'previousPolicy', x.previous_policy, 'executionId', x.execution_id, 'status', x.status,
            'failedReason', x.failed_reason, 'at', to_char(x.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))) as event
        from ${own('x')} x
      ), ${own('ended')} as (
        update ${s}.executions e set ended_at = coalesce(e.ended_at, x.at), status = x.status, failed_reason = x.failed_reason,
          noted_event = x.event
        from ${own('noted')} x where e.tenant_id = any(array[x.tenant_id]) and e.execution_id = x.execution_id
      ), ${own('moved')} as (
        update ${s}.devices d set policy = x.policy from ${own('x')} x
        where d.tenant_id = any(array[x.tenant_id]) and d.device_id = x.device_id and x.policy <> x.previous_policy
      ), ${own('told')} as (
        insert into ${s}.milestones (tenant_id, device_id, type, action_id, source, at, expires_at, projected_expires_at, policy)
          select ${X}, 'policyChanged', x.action_id, 'pipeline', x.at, x.expires_at,
            case when x.expires_at is not null then x.expires_at + ${days(unfinishedDays(s, 'x'))} end, x.policy
          from ${own('x')} x where x.policy <> x.previous_policy order by x.n
      ), ${own('redriven')} as materialized (
        select t.tenant_id, t.action_id, t.at, a.device_id
        from ${own('tr')} t
        cross join lateral (
          select a.device_id from ${s}.pipeline_actions a where a.tenant_id = t.tenant_id and a.action_id = t.action_id limit 1
        ) a
        where ${EVENT_TYPES.REDRIVEN} = any(t.events)
      ), ${own('again')} as (
        insert into ${s}.executions (tenant_id, execution_id, action_id, device_id, command_uuid, created_at)
          select t.tenant_id, ${s}.uuid_v7(t.at), t.action_id, t.device_id, ${s}.uuid_v7(t.at), t.at from ${own('redriven')} t
      ), ${own('withdrawn')} as (
        update ${s}.executions e set withdrawn = true from ${own('tr')} t
        where t.before = 'claimed' and t.state = 'claimed' and ${EVENT_TYPES.CANCEL_REQUESTED} = any(t.events)
          and e.tenant_id = any(array[t.tenant_id]) and e.action_id = t.action_id and ${s}.sought_by(e.action_id)
          and e.attempt = t.attempt and e.ended_at is null
        returning e.tenant_id, e.command_uuid, t.at
      ), ${own('taken_back')} as (
        insert into ${s}.withdrawn_commands (tenant_id, command_uuid, withdrawn_at)
          select w.tenant_id, w.command_uuid::text, w.at from ${own('withdrawn')} w on conflict do nothing
      )`,
    }),
  });
}
