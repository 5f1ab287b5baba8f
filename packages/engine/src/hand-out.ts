import { EVENT_TYPES } from './action.ts';
import { ACTION_COLUMNS, type ClaimedRow, sent } from './claimed-action.ts';
import { actionOf, hasKeyOf, leaseUntil, ms, NOW } from './sql.ts';
import type { Transition, Wake } from './transition.ts';

/**
 * The beginning of an attempt, for every kind of claim: the lane is leased, SENT is written, the counts follow. The
 * lanes are locked and at the version that was read.
 *
 * The source `k` has: ord, tenant_id, lane_id, runner_id (of the lane), action_id, attempt (the last one), channel,
 * worker, lease_until (`leaseEnd`). A hand-out that `ends` (a condition on `k`) is also its success: the lane stays
 * free. `xid`: the transaction number its SENT carries in the feed, if this statement may not see all that it hands
 * out.
 */
export const handOut = (s: string, on: { leaseRunner: string; ends: string | null; xid?: string }) => {
  const { from, ends, steps } = endingOf(s, on.ends);
  return `${steps}u as (
    update ${s}.lanes l set ver = l.ver + 1, ${lease({
      if: ends && `not ${ends}`,
      action: 'k.action_id',
      attempt: 'k.attempt + 1',
      channel: 'k.channel',
      until: 'k.lease_until',
      worker: 'k.worker',
      sent: 'null::bigint',
      runner: on.leaseRunner,
    })}
    from ${from} k where ${hasKeyOf('l', 'k', 'lane_id')}
  ), e as (
    insert into ${s}.events (tenant_id, action_id, lane_id, at, type, attempt, worker${on.xid ? ', xid' : ''})
      select k.tenant_id, k.action_id, k.lane_id, ${NOW}, ${EVENT_TYPES.SENT}, k.attempt + 1, k.worker${on.xid ? `, ${on.xid}` : ''} from ${from} k
      ${ends ? `union all select k.tenant_id, k.action_id, k.lane_id, ${NOW}, ${EVENT_TYPES.SUCCEEDED}, k.attempt + 1, k.worker from ${from} k where ${ends}` : ''}
  ), c as (
    insert into ${s}.count_changes (tenant_id, channel, state, change)
      select k.tenant_id, k.channel, 'pending', -count(*) from ${from} k group by 1, 2
      union all select k.tenant_id, k.channel, ${ends ? `case when ${ends} then 'succeeded' else 'claimed' end` : `'claimed'`}, count(*) from ${from} k group by 1, 2, 3
  )`;
};

/**
 * The end of a lease that begins now. Computed before the update that sets it, because a distributed database does
 * not accept a time computed from columns there.
 */
export const leaseEnd = (leaseMs: string, deadline: string) =>
  `least(${NOW} + ${ms(leaseMs)}, ${deadline}) as lease_until`;

function endingOf(s: string, ends: string | null): { from: string; ends: string | null; steps: string } {
  if (ends === null) return { from: 'k', ends: null, steps: '' };
  return {
    from: 'h_out',
    ends: 'k.ends',
    steps: `h_out as materialized (select k.*, coalesce(${ends}, false) as ends from k
  ), d as (
    delete from ${s}.pending p using (select tenant_id, action_id from h_out where ends) k
    where ${hasKeyOf('p', 'k', 'action_id')}
  ), z as (
    insert into ${s}.endings (tenant_id, action_id, state, attempt, reason, ended_at, sent_at)
      select k.tenant_id, k.action_id, 'succeeded', k.attempt + 1, 'SUCCEEDED', ${NOW}, ${NOW} from h_out k where k.ends
  ), `,
  };
}

/** The values set on lane `l` when it is leased; it stays free where the condition `if` is not met. */
export const lease = (to: {
  if: string | null;
  action: string;
  attempt: string;
  channel: string;
  until: string;
  worker: string;
  /** The number of its SENT, if that is not a row of `events`. */
  sent: string;
  runner: string;
  set?: (until: string) => string;
}) => {
  const value = (given: string) => (to.if ? `case when ${to.if} then ${given} end` : given);
  return `action_id = ${value(to.action)}, attempt = ${value(to.attempt)}, channel = ${value(to.channel)}, leased_at = ${value(NOW)},
      ${(to.set ?? leaseUntil)(value(to.until))}, worker = ${value(to.worker)}, sent_id = ${value(to.sent)}, lease_runner = ${value(to.runner)},
      moved_from = null, cancel_requested = false, redelivered = 0`;
};

/** The columns that describe a hand-out, from a row of `handedOut`; all null if `action_id` is null. */
const LEASED_COLUMNS = `k.tenant_id, k.lane_id, k.runner_id, k.action_id, k.attempt + 1 as attempt, ${NOW} as leased_at, k.lease_until,
    k.worker, false as cancel_requested`;

/** The rows of the answer: `first` are columns of `k`, before those of the hand-out. */
export const handedOut = (s: string, first: string, ends: string | null) => `
  select ${first}, ${LEASED_COLUMNS}, ${ends ? 'k.ends' : 'false'} as ends, ${ACTION_COLUMNS}
  from ${ends ? 'h_out' : 'k'} k
  cross join lateral ${actionOf(s, 'k')}`;

/** The same columns where nothing was handed out. */
export const NOTHING_HANDED_OUT = Array(18).fill('null').join(', ');

/** The transitions a hand-out reports to effects. */
export const HANDED_OUT = `
  select tenant_id, lane_id, action_id, channel, array[${EVENT_TYPES.SENT}], 'pending', 'claimed', attempt, null::text, leased_at
  from answer where action_id is not null
  union all
  select tenant_id, lane_id, action_id, channel, array[${EVENT_TYPES.SUCCEEDED}], 'claimed', 'succeeded', attempt, 'SUCCEEDED', leased_at
  from answer where ends`;

export interface HandedOutRow extends ClaimedRow {
  runner_id: string | null;
  ends: boolean;
}

export function handedOutTransitions(row: HandedOutRow): Transition[] {
  if (!row.ends) return [sent(row)];
  return [
    sent(row),
    { ...sent(row), events: ['SUCCEEDED'], before: 'claimed', state: 'succeeded', reason: 'SUCCEEDED' },
  ];
}

/** A hand-out that also ended left the lane free for the action behind it. */
export function handedOutWakes(row: HandedOutRow): Wake[] {
  return row.ends ? [{ tenantId: row.tenant_id, laneId: row.lane_id, runnerId: row.runner_id }] : [];
}
