import { EVENT_TYPES } from './action.ts';
import { CLAIMED_COLUMNS } from './claimed-action.ts';
import { backoff, ms, NOW } from './sql.ts';

/**
 * The end of an attempt, whoever ends it: a report, a release, a lease end, a raised generation. The source names the
 * attempts and what happened; this decides what that means, writes it all in one statement and may hand out the lane's
 * next action in the same breath.
 *
 *   outcome     counts as failure        then
 *   succeeded   -                        succeeded
 *   failed      yes                      retry, or failed when the tries are used up
 *   timeout     yes                      as the action's policy says: retry, fail or succeed
 *   not_now     every tenth in a row     retry
 *   released    every tenth in a row     pending again, at once
 *   revoked     -                        cancelled
 *
 * A requested cancel turns everything but a success into cancelled; a deadline that has passed turns a timeout into
 * failed.
 *
 * The source `h` has: ord, tenant_id, lane_id, ver, action_id, attempt, outcome, worker, error, result, delay_ms,
 * cancel_requested, runner_id, lease_runner, channel, priority, seq, failures, deferrals, deadline (of the attempt's
 * pending row), max_attempts, backoff_ms, backoff_max_ms, head_of_line, on_lease_end (of its action; null for a
 * success, which needs none), and n_action, n_attempt, n_deadline, n_channel, n_priority, n_seq, n_worker, n_lease_ms
 * (the next action to hand out, all null for none).
 */
export const NO_NEXT = `null::bigint as n_action, null::int as n_attempt, null::timestamptz as n_deadline, null::text as n_channel,
      null::smallint as n_priority, null::bigint as n_seq, null::text as n_worker, null::int as n_lease_ms`;

const E = EVENT_TYPES;

export const settle = (s: string) => `f as materialized (
    select h.*, x.failures as new_failures, x.deferrals as new_deferrals, y.state, y.why,
      case when y.state is null then x.delay_ms end as wait_ms
    from h
    cross join lateral (
      select h.outcome in ('failed', 'timeout') or (h.outcome in ('not_now', 'released') and (h.deferrals + 1) % 10 = 0) as counts
    ) c
    cross join lateral (
      select h.failures + c.counts::int as failures,
        case when h.outcome in ('failed', 'timeout') then 0 else h.deferrals + 1 end as deferrals,
        case
          when h.outcome in ('failed', 'timeout') then ${backoff({ base: 'h.backoff_ms', max: 'h.backoff_max_ms', nth: 'h.failures + 1', action: 'h.action_id' })}
          when h.outcome = 'not_now' and h.delay_ms is not null then h.delay_ms
          when h.outcome = 'not_now' or c.counts then ${backoff({ base: 'h.backoff_ms', max: 'h.backoff_max_ms', nth: 'h.deferrals + 1', action: 'h.action_id' })}
          else 0
        end as delay_ms
    ) x
    cross join lateral (
      select t.state, t.why from (values
        (1, h.outcome = 'succeeded', 'succeeded', 'SUCCEEDED'),
        (2, h.outcome = 'revoked', 'cancelled', 'GENERATION'),
        (3, h.cancel_requested, 'cancelled', 'CANCELLED'),
        (4, h.outcome = 'timeout' and h.deadline <= ${NOW}, 'failed', 'DEADLINE'),
        (5, h.outcome = 'timeout' and h.on_lease_end = 'succeed', 'succeeded', 'LEASE_END'),
        (6, h.outcome = 'timeout' and h.on_lease_end = 'fail', 'failed', 'TIMEOUT'),
        (7, c.counts and x.failures >= h.max_attempts, 'failed', upper(h.outcome)),
        (8, true, null, null)
      ) t(nth, holds, state, why) where t.holds order by t.nth limit 1
    ) y
  ), k as materialized (
    select f.ord from f
    join ${s}.lanes l on l.tenant_id = f.tenant_id and l.lane_id = f.lane_id and l.ver = f.ver
    order by l.tenant_id, l.lane_id
    for update of l skip locked
  ), g as materialized (
    -- what retries under 'hold' lets nothing behind it pass
    select f.*, f.n_action is not null and not (f.state is null and f.head_of_line = 'hold' and f.wait_ms > 0
        and (f.n_priority, f.n_seq) > (f.priority, f.seq)) as goes_on
    from f join k on k.ord = f.ord
  ), u as (
    update ${s}.lanes l set ver = l.ver + 1,
      action_id = case when g.goes_on then g.n_action end,
      attempt = case when g.goes_on then g.n_attempt + 1 end,
      leased_at = case when g.goes_on then ${NOW} end,
      lease_until = case when g.goes_on then least(${NOW} + ${ms('g.n_lease_ms')}, g.n_deadline) end,
      worker = case when g.goes_on then g.n_worker end,
      lease_runner = null, moved_from = null, cancel_requested = false, redelivered = 0
    from g where l.tenant_id = g.tenant_id and l.lane_id = g.lane_id
    returning g.ord, l.tenant_id, l.lane_id, l.action_id, l.attempt, l.leased_at, l.lease_until, l.worker, l.cancel_requested
  ), d as (
    delete from ${s}.pending p using g
    where g.state is not null and p.tenant_id = g.tenant_id and p.action_id = g.action_id
  ), r as (
    update ${s}.pending p set attempt = g.attempt, failures = g.new_failures, deferrals = g.new_deferrals,
      delayed = g.wait_ms > 0 and g.head_of_line = 'skip',
      not_before = case when g.wait_ms > 0 then ${NOW} + ${ms('g.wait_ms')} end,
      deliver_by = null -- it was handed out: that clock is over
    from g where g.state is null and p.tenant_id = g.tenant_id and p.action_id = g.action_id
    returning p.tenant_id, p.action_id, p.not_before
  ), z as (
    insert into ${s}.endings (tenant_id, action_id, state, attempt, reason, error, result, ended_at)
      select g.tenant_id, g.action_id, g.state, g.attempt, g.why, g.error, g.result, ${NOW} from g where g.state is not null
  ), e as (
    insert into ${s}.events (tenant_id, action_id, lane_id, at, type, attempt, worker, reason)
      select g.tenant_id, x.action_id, g.lane_id, ${NOW}, x.type, x.attempt, x.worker, x.reason
      from g
      left join r on r.tenant_id = g.tenant_id and r.action_id = g.action_id
      cross join lateral (values
        (1, g.action_id, g.attempt, g.worker, g.error,
          case g.outcome when 'succeeded' then ${E.SUCCEEDED} when 'failed' then ${E.FAILED} when 'timeout' then ${E.TIMEOUT}
            when 'not_now' then ${E.NOT_NOW} when 'released' then ${E.RELEASED} end),
        (2, g.action_id, g.attempt, null, case when g.state is null then to_json(r.not_before)#>>'{}' else g.why end,
          case
            when g.state = 'failed' then ${E.FAILED_FINAL}
            when g.state = 'cancelled' then ${E.CANCELLED}
            when g.state = 'succeeded' and g.outcome = 'timeout' then ${E.SUCCEEDED}
            when g.state is null and g.outcome in ('failed', 'timeout', 'not_now') then ${E.RETRY_SCHEDULED}
          end),
        (3, g.n_action, g.n_attempt + 1, g.n_worker, null, case when g.goes_on then ${E.SENT} end)
      ) x(nth, action_id, attempt, worker, reason, type)
      where x.type is not null
      order by g.ord, x.nth
  ), c as (
    insert into ${s}.count_changes (tenant_id, channel, state, change)
      select g.tenant_id, x.channel, x.state, sum(x.change) from g
      cross join lateral (values
        (g.channel, 'claimed', -1),
        (g.channel, coalesce(g.state, 'pending'), 1),
        (case when g.goes_on then g.n_channel end, 'pending', -1),
        (case when g.goes_on then g.n_channel end, 'claimed', 1)
      ) x(channel, state, change)
      where x.channel is not null
      group by 1, 2, 3 having sum(x.change) <> 0
  )
  select f.ord::int, f.tenant_id, f.lane_id, f.action_id as ended_action, f.attempt as ended_attempt, f.outcome, f.channel as ended_channel,
    f.runner_id, f.lease_runner, g.state as ended_state, g.why, g.error, g.ord is not null as settled, ${NOW} as at, ${CLAIMED_COLUMNS}
  from f
  left join g on g.ord = f.ord
  left join u on u.ord = f.ord and u.action_id is not null
  left join ${s}.actions a on a.tenant_id = u.tenant_id and a.action_id = u.action_id`;
