import { EVENT_TYPES } from '../action.ts';
import { ACTION_COLUMNS } from '../claimed-action.ts';
import { ANSWER } from '../effects.ts';
import { HANDED_OUT, lease } from '../hand-out.ts';
import { runningOf } from '../ops/runner-slots.ts';
import { backoff, hasKeyOf, leaseUntil, lockLanes, ms, NOW } from '../sql.ts';

/**
 * The end of an attempt by any cause: a report, a release, a lease end, a raised generation. The source names the attempts
 * and what happened; this decides what that means, writes it all in one statement and may hand out the lane's next action
 * in the same statement.
 *
 *   outcome     counts as failure        then
 *   succeeded   -                        succeeded
 *   failed      yes                      retry, or failed when the tries are used up
 *   timeout     yes                      as the action's policy says: retry, fail or succeed
 *   not_now     every tenth in a row     retry
 *   released    every tenth in a row     pending again, at once
 *   unreached   -                        pending again, at once
 *   revoked     -                        cancelled
 *
 * A requested cancel turns everything but a success into cancelled; a deadline that has passed turns a timeout into failed.
 *
 * The source `h` has: ord, tenant_id, lane_id, ver, action_id, attempt, outcome, reason (of a success that says why),
 * worker, error, result, delay_ms, cancel_requested, leased_at, sent_id, sent_worker (as in its lane), runner_id,
 * lease_runner, channel, priority, seq, failures, deferrals, deadline (of the attempt's pending row), max_attempts,
 * backoff_ms, backoff_max_ms, head_of_line, on_lease_end (of its action; null for a success, which needs none), home_lane
 * (where the action goes back to; null for a success), and n_action, n_attempt, n_deadline, n_channel, n_priority, n_seq,
 * n_worker, n_lease_ms (the next action to hand out, all null for none) and n_behind (the ended one would be in its line
 * again). Only settled rows are returned: a missing one lost its lane to another transaction between look and lock.
 */
export const NO_NEXT = `null::bigint as n_action, null::int as n_attempt, null::timestamptz as n_deadline, null::text as n_channel,
      null::smallint as n_priority, null::bigint as n_seq, null::text as n_worker, null::int as n_lease_ms, false as n_behind`;

const E = EVENT_TYPES;

/** Fields of an ending that is not its own event: see 001_engine. */
export const NO_EVENTS = Array(9).fill('null').join(', ');

/** A timeout keeps this reason no matter who noticed it first; the worker's error is in the event. */
const ERROR = `case when g.outcome <> 'timeout' then g.error end`;

/** A runner continues in a lane that is still its own, unless it has fewer slots than it holds. */
export const mayGoOn = (s: string) => `(l.lease_runner is null or exists (
        select 1 from ${s}.runners r where r.tenant_id = l.tenant_id and r.runner_id = l.lease_runner and r.runner_id = l.runner_id
          and (r.slots is null or r.slots >= ${runningOf(s, 'r')})))`;

interface Settling {
  readonly set?: (until: string) => string;
  readonly ends?: string | null;
  /** The number of an ending that is its own event; none where nothing was reported. */
  readonly number?: string;
}

export const endsOf = (ends: string | null) =>
  ends
    ? `coalesce((select ${ends} from (select f.tenant_id, f.lane_id, f.n_action as action_id, f.n_channel as channel) k), false)`
    : 'false';

/**
 * `set` says what becomes of the end of the lease; housekeeping, which has just visited the lane, plans no further
 * visit. A next action that `ends` (see `handOut`) is handed out and over: the lane stays free.
 */
export const settle = (
  s: string,
  { set = leaseUntil, ends = null, number = 'null::bigint' }: Settling = {},
) => {
  const handsOn = (given: string) =>
    `case when g.goes_on ${ends ? 'and not g.n_ends' : ''} then ${given} end`;
  return `k as materialized (${lockLanes(s, 'h')}
  ), g as materialized (
    -- read twelve times below: only what those need, and what most of them need first (a tenth of the statement)
    select
      -- an action that retries under hold lets nothing behind it pass
      f.n_action is not null and not (f.state is null and f.head_of_line = 'hold' and f.n_behind
        and (f.n_priority, f.n_seq) > (f.priority, f.seq)) as goes_on,
      f.tenant_id, f.state, f.outcome, f.action_id, f.attempt, f.lane_id, f.channel, f.n_action, f.n_attempt, f.n_worker,
      f.n_channel, f.worker, f.why, f.leased_at, f.sent_id, f.sent_worker, f.error, f.result, f.lease_runner, f.runner_id, f.ord, f.new_failures, f.new_deferrals,
      f.wait_ms, f.head_of_line, f.home_lane, case when f.wait_ms > 0 then ${NOW} + ${ms('f.wait_ms')} end as retry_at,
      least(${NOW} + ${ms('f.n_lease_ms')}, f.n_deadline) as n_lease_until, ${endsOf(ends)} as n_ends,
      case when f.outcome = 'succeeded' then ${number} end as event_id -- of one that is its own event
    from (
      select w.*,
        case when w.outcome = 'succeeded' or w.why = 'LEASE_END' then 'succeeded' when w.why in ('GENERATION', 'CANCELLED') then 'cancelled'
          when w.why is not null then 'failed' end as state,
        case
          when w.why is not null then null
          when w.outcome in ('failed', 'timeout') then ${backoff({ base: 'w.backoff_ms', max: 'w.backoff_max_ms', nth: 'w.new_failures', action: 'w.action_id' })}
          when w.outcome = 'not_now' and w.delay_ms is not null then w.delay_ms
          when w.outcome = 'not_now' or w.counts then ${backoff({ base: 'w.backoff_ms', max: 'w.backoff_max_ms', nth: 'w.new_deferrals', action: 'w.action_id' })}
          else 0
        end as wait_ms
      from (
        select c.*, c.failures + c.counts::int as new_failures,
          case when c.outcome in ('failed', 'timeout') then 0 when c.outcome = 'unreached' then c.deferrals
            else c.deferrals + 1 end as new_deferrals,
          case
            when c.outcome = 'succeeded' then coalesce(c.reason, 'SUCCEEDED')
            when c.outcome = 'revoked' then 'GENERATION'
            when c.cancel_requested then 'CANCELLED'
            when c.outcome = 'timeout' and c.deadline <= ${NOW} then 'DEADLINE'
            when c.outcome = 'timeout' and c.on_lease_end = 'succeed' then 'LEASE_END'
            when c.outcome = 'timeout' and c.on_lease_end = 'fail' then 'TIMEOUT'
            when c.counts and c.failures + 1 >= c.max_attempts then upper(c.outcome)
          end as why
        from (
          select k.*, k.outcome in ('failed', 'timeout')
            or (k.outcome in ('not_now', 'released') and (k.deferrals + 1) % 10 = 0) as counts
          from k
        ) c
      ) w
    ) f
  ), u as (
    update ${s}.lanes l set ver = l.ver + 1,
      ${lease({
        if: ends ? 'g.goes_on and not g.n_ends' : 'g.goes_on',
        action: 'g.n_action',
        attempt: 'g.n_attempt + 1',
        channel: 'g.n_channel',
        until: 'g.n_lease_until',
        worker: 'g.n_worker',
        sent: 'g.event_id + 1',
        runner: 'g.lease_runner', // the next action keeps the slot of the one that ended
        set,
      })}
    from (select tenant_id, lane_id, goes_on, n_ends, event_id, n_action, n_attempt, n_channel, n_lease_until, n_worker, lease_runner from g) g
    where ${hasKeyOf('l', 'g', 'lane_id')}
  ), d as (
    delete from ${s}.pending p using (select tenant_id, action_id from g where g.state is not null
      ${ends ? 'union all select tenant_id, n_action from g where g.goes_on and g.n_ends' : ''}) g
    where ${hasKeyOf('p', 'g', 'action_id')}
  ), r as (
    update ${s}.pending p set attempt = g.attempt, failures = g.new_failures, deferrals = g.new_deferrals,
      -- an action taken from a pool returns to its old place, and holds up nothing there
      delayed = g.wait_ms > 0 and (g.head_of_line = 'skip' or g.home_lane <> g.lane_id), not_before = g.retry_at,
      lane_id = g.home_lane, generation = case when g.home_lane = g.lane_id then p.generation else (
        select l.generation from ${s}.lanes l where l.tenant_id = g.tenant_id and l.lane_id = g.home_lane limit 1) end,
      deliver_by = null -- it was handed out: that clock is over
    from (
      select tenant_id, action_id, attempt, new_failures, new_deferrals, wait_ms, head_of_line, retry_at, lane_id, home_lane
      from g where g.state is null
    ) g where ${hasKeyOf('p', 'g', 'action_id')}
  ), z as (
    insert into ${s}.endings (tenant_id, action_id, state, attempt, reason, error, result, ended_at, sent_at,
        event_id, xid, sent_id, lane_id, worker, sent_worker, next_action, next_attempt, next_worker)
      select g.tenant_id, g.action_id, g.state, g.attempt, g.why, ${ERROR}, g.result, ${NOW}, g.leased_at,
        g.event_id, (select ${s}.feed_xid()), g.sent_id, g.lane_id, g.worker, nullif(g.sent_worker, g.worker),
        ${handsOn('g.n_action')}, ${handsOn('g.n_attempt + 1')}, ${handsOn('nullif(g.n_worker, g.worker)')}
      from g where g.event_id is not null
      union all
      select g.tenant_id, g.action_id, g.state, g.attempt, g.why, ${ERROR}, g.result, ${NOW}, g.leased_at, ${NO_EVENTS}
      from g where g.state is not null and g.event_id is null
      ${ends ? `union all select g.tenant_id, g.n_action, 'succeeded', g.n_attempt + 1, 'SUCCEEDED', null, null, ${NOW}, ${NOW}, ${NO_EVENTS} from g where g.goes_on and g.n_ends` : ''}
  ), s as (
    -- the feed has shown it; the history of the action has it from here on
    insert into ${s}.events (tenant_id, event_id, xid, action_id, lane_id, at, type, attempt, worker)
      select g.tenant_id, g.sent_id, null, g.action_id, g.lane_id, g.leased_at, ${E.SENT}, g.attempt, g.sent_worker
      from g where g.event_id is null and g.sent_id is not null
  ), e as (
    -- branches, not a lateral list of values, which sets up its expressions anew for every row (12 of 60 ms per 500)
    insert into ${s}.events (tenant_id, action_id, lane_id, at, type, attempt, worker, reason)
      select g.tenant_id, g.action_id, g.lane_id, ${NOW},
        case g.outcome when 'failed' then ${E.FAILED} when 'timeout' then ${E.TIMEOUT} when 'not_now' then ${E.NOT_NOW}
          else ${E.RELEASED} end, g.attempt, g.worker, g.error
      from g where g.outcome not in ('succeeded', 'revoked')
      union all
      select g.tenant_id, g.action_id, g.lane_id, ${NOW},
        case g.state when 'failed' then ${E.FAILED_FINAL} when 'cancelled' then ${E.CANCELLED} when 'succeeded' then ${E.SUCCEEDED}
          else ${E.RETRY_SCHEDULED} end,
        g.attempt, null, case when g.state is null then to_json(g.retry_at)#>>'{}' else g.why end
      from g where g.state in ('failed', 'cancelled') or (g.state = 'succeeded' and g.outcome = 'timeout')
        or (g.state is null and g.outcome not in ('released', 'unreached'))
      union all
      select g.tenant_id, g.n_action, g.lane_id, ${NOW}, ${E.SENT}, g.n_attempt + 1, g.n_worker, null from g
      where g.goes_on and ${ends ? '(g.event_id is null or g.n_ends)' : 'g.event_id is null'}
      ${ends ? `union all select g.tenant_id, g.n_action, g.lane_id, ${NOW}, ${E.SUCCEEDED}, g.n_attempt + 1, g.n_worker, null from g where g.goes_on and g.n_ends` : ''}
  ), c as (
    insert into ${s}.count_changes (tenant_id, channel, state, change)
      select x.tenant_id, x.channel, x.state, sum(x.change) from (
        select g.tenant_id, g.channel, 'claimed' as state, -count(*) as change from g group by 1, 2
        union all select g.tenant_id, g.channel, coalesce(g.state, 'pending'), count(*) from g group by 1, 2, 3
        union all select g.tenant_id, g.n_channel, 'pending', -count(*) from g where g.goes_on group by 1, 2
        union all select g.tenant_id, g.n_channel, ${ends ? `case when g.n_ends then 'succeeded' else 'claimed' end` : `'claimed'`}, count(*) from g where g.goes_on group by 1, 2, 3
      ) x group by 1, 2, 3 having sum(x.change) <> 0
  )
  ${ANSWER}
  select g.ord::int, g.tenant_id, g.lane_id, g.action_id as ended_action, g.attempt as ended_attempt, g.outcome,
    g.channel as ended_channel, g.runner_id, g.lease_runner, g.home_lane, g.state as ended_state, g.why, ${ERROR} as error, ${NOW} as at,
    a.action_id, g.n_attempt + 1 as attempt, ${NOW} as leased_at, g.n_lease_until as lease_until, g.n_worker as worker,
    false as cancel_requested, g.goes_on and g.n_ends as ends, ${ACTION_COLUMNS}
  from g left join lateral (
    select * from ${s}.actions a where g.goes_on and a.tenant_id = g.tenant_id and a.action_id = g.n_action limit 1
  ) a on true`;
};

/** The transitions it reports to effects. */
export const SETTLED = `
  select tenant_id, lane_id, ended_action, ended_channel,
    array_remove(array[
      case outcome when 'succeeded' then ${E.SUCCEEDED} when 'failed' then ${E.FAILED} when 'timeout' then ${E.TIMEOUT}
        when 'not_now' then ${E.NOT_NOW} when 'released' then ${E.RELEASED} when 'unreached' then ${E.RELEASED} end,
      case when ended_state = 'failed' then ${E.FAILED_FINAL} when ended_state = 'cancelled' then ${E.CANCELLED}
        when ended_state = 'succeeded' then case when outcome = 'timeout' then ${E.SUCCEEDED} end
        when outcome not in ('released', 'unreached') then ${E.RETRY_SCHEDULED} end
    ], null), 'claimed', coalesce(ended_state, 'pending'), ended_attempt, coalesce(error, why), at
  from answer
  union all ${HANDED_OUT}`;
