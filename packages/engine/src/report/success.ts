import { EVENT_TYPES } from '../action.ts';
import { idArray, intArray, jsonbArray, textArray } from '../binary-array.ts';
import { ACTION_COLUMNS, TOLD_OF_HAND_OUT } from '../claimed-action.ts';
import { ANSWER } from '../effects.ts';
import { lease } from '../hand-out.ts';
import type { Context } from '../operation.ts';
import { ANY_CHANNEL, hasKeyOf, head, lockLanes, ms, NOW, pauses, rows } from '../sql.ts';
import type { ReportItem } from './item.ts';
import { endsOf, mayGoOn, NO_EVENTS } from './settle.ts';
import type { SettledRow } from './settled.ts';

/**
 * Reports that are all successes: `settle` without what only retries need (a sixth of the time), and without a look-up
 * if the caller names the lane. A success does not return to the line, so it holds nothing up.
 */
export const successValues = (now: Date, items: readonly ReportItem[]): unknown[] => [
  now,
  intArray(items.map((item) => item.tenantId)),
  idArray(items.map((item) => item.actionId)),
  intArray(items.map((item) => item.attempt)),
  textArray(items.map((item) => item.worker ?? null)),
  textArray(items.map((item) => item.error ?? null)),
  jsonbArray(items.map((item) => item.result ?? null)),
  textArray(items.map((item) => item.channel ?? null)),
  textArray(items.map((item) => item.next?.channel ?? null)),
  textArray(items.map((item) => item.next?.worker ?? null)),
  intArray(items.map((item) => item.next?.leaseMs ?? null)),
  idArray(items.map((item) => item.laneId ?? item.leasedIn ?? null)),
  textArray(items.map((item) => item.reason ?? null)),
];

/**
 * The returned columns; the report has all others. Each column costs the client as much as a tenth of the look at a
 * lane.
 */
export const TOLD_OF_SUCCESS = `answer.ord, answer.ended_channel, answer.lease_runner, ${TOLD_OF_HAND_OUT}`;

type Told = Omit<SettledRow, 'tenant_id'>;

export const successRow = (told: Told, item: ReportItem, now: Date): SettledRow => ({
  ord: told.ord,
  tenant_id: item.tenantId,
  lane_id: told.lane_id,
  ended_action: item.actionId,
  ended_attempt: item.attempt,
  ended_channel: told.ended_channel,
  ended_state: 'succeeded',
  outcome: 'succeeded',
  why: item.reason ?? SUCCEEDED,
  error: item.error ?? null,
  at: now,
  runner_id: told.runner_id,
  lease_runner: told.lease_runner,
  home_lane: null,
  action_id: told.action_id,
  attempt: told.attempt,
  leased_at: now,
  lease_until: told.lease_until,
  worker: item.next?.worker ?? '',
  cancel_requested: false,
  ends: told.ends,
  channel: told.channel,
  kind: told.kind,
  payload: told.payload,
  tags: told.tags,
  priority: told.priority,
  max_attempts: told.max_attempts,
  created_at: told.created_at,
  created_by: told.created_by,
});

const SUCCEEDED = 'SUCCEEDED';

/** Its lane has what is needed of a leased action. It is only looked up where the caller names no lane. */
const laneOfLease = (s: string) => `(
      -- listed by name: otherwise all columns would be copied
      select l.tenant_id, l.lane_id, l.ver, l.generation, l.paused, l.blocked, l.pool_id, l.runner_id, l.action_id, l.attempt, l.channel,
        l.leased_at, l.worker, l.sent_id, l.lease_runner
      from ${s}.lanes l where l.tenant_id = i.tenant_id and l.lane_id = coalesce(i.in_lane, (
        select p.lane_id from ${s}.pending p where p.tenant_id = i.tenant_id and p.action_id = i.action_id limit 1)) limit 1
    ) l`;

export const successStatement = (context: Context, ends: string | null) => {
  const s = context.schema;
  const handsOn = ends ? 'g.n_action is not null and not g.n_ends' : 'g.n_action is not null';
  return `
  with ${pauses(s)}, h as (
    select i.ord, i.tenant_id, l.lane_id, l.ver, i.action_id, i.attempt, coalesce(i.worker, l.worker) as worker,
      coalesce(i.reason, '${SUCCEEDED}') as why, i.error, i.result,
      l.leased_at, l.sent_id, l.worker as sent_worker, l.runner_id, l.lease_runner, l.channel,
      n.action_id as n_action, n.attempt as n_attempt, n.deadline as n_deadline, n.channel as n_channel, i.next_worker as n_worker,
      coalesce(n.lease_ms, i.next_lease_ms) as n_lease_ms
    from ${rows(2, {
      tenant_id: 'int',
      action_id: 'bigint',
      attempt: 'int',
      worker: 'text',
      error: 'text',
      result: 'jsonb',
      channel: 'text',
      next_channel: 'text',
      next_worker: 'text',
      next_lease_ms: 'int',
      in_lane: 'bigint',
      reason: 'text',
    })}
    cross join lateral ${laneOfLease(s)}
    left join pz on pz.tenant_id = i.tenant_id
    cross join lateral (
      -- once for both probes of the head, not once in each
      select i.next_channel is not null and l.action_id = i.action_id and l.attempt = i.attempt and ${mayGoOn(s)} as may offset 0
    ) m
    left join lateral (${head(s, { channel: 'i.next_channel', when: 'm.may', except: 'i.action_id' })}) n on true
    where l.action_id = i.action_id and l.attempt = i.attempt and (i.channel is null or l.channel in (i.channel, '${ANY_CHANNEL}'))
  ), g as materialized (
    select f.*, least(${NOW} + ${ms('f.n_lease_ms')}, f.n_deadline) as n_lease_until, ${endsOf(ends)} as n_ends,
      nextval('${s}.event_seq') as event_id
    from (${lockLanes(s, 'h')}) f
  ), u as (
    update ${s}.lanes l set ver = l.ver + 1,
      ${lease({
        if: handsOn,
        action: 'g.n_action',
        attempt: 'g.n_attempt + 1',
        channel: 'g.n_channel',
        until: 'g.n_lease_until',
        worker: 'g.n_worker',
        sent: 'g.event_id + 1',
        runner: 'g.lease_runner', // the next action keeps the slot of the one that ended
      })}
    from (
      select tenant_id, lane_id, n_ends, event_id, n_action, n_attempt, n_channel, n_lease_until, n_worker, lease_runner from g
    ) g where ${hasKeyOf('l', 'g', 'lane_id')}
  ), d as (
    delete from ${s}.pending p using (select tenant_id, action_id from g
      ${ends ? 'union all select tenant_id, n_action from g where g.n_action is not null and g.n_ends' : ''}) g
    where ${hasKeyOf('p', 'g', 'action_id')}
  ), z as (
    insert into ${s}.endings (tenant_id, action_id, state, attempt, reason, error, result, ended_at, sent_at,
        event_id, xid, sent_id, lane_id, worker, sent_worker, next_action, next_attempt, next_worker)
      select g.tenant_id, g.action_id, 'succeeded', g.attempt, g.why, g.error, g.result, ${NOW}, g.leased_at,
        g.event_id, (select ${s}.feed_xid()), g.sent_id, g.lane_id, g.worker, nullif(g.sent_worker, g.worker),
        ${ends ? `case when ${handsOn} then g.n_action end` : 'g.n_action'}, case when ${handsOn} then g.n_attempt + 1 end,
        case when ${handsOn} then nullif(g.n_worker, g.worker) end
      from g
      ${ends ? `union all select g.tenant_id, g.n_action, 'succeeded', g.n_attempt + 1, 'SUCCEEDED', null, null, ${NOW}, ${NOW}, ${NO_EVENTS} from g where g.n_action is not null and g.n_ends` : ''}
  ), ${ends ? bothEvents(s) : ''} c as (
    insert into ${s}.count_changes (tenant_id, channel, state, change)
      -- one aggregate and one scan: each more is a twentieth of a statement with one report
      select x.tenant_id, y.channel, y.state, y.change from (
        select g.tenant_id, g.channel, g.n_channel, count(*) as ended, count(g.n_action) as sent
          ${ends ? ', count(*) filter (where g.n_ends and g.n_action is not null)' : ', 0'} as over
        from g group by 1, 2, 3
      ) x cross join lateral (values
        (x.channel, 'succeeded', x.ended), (x.n_channel, 'pending', -x.sent), (x.n_channel, 'succeeded', x.over),
        (x.channel, 'claimed', case when x.channel = x.n_channel then x.sent - x.over - x.ended else -x.ended end),
        (x.n_channel, 'claimed', case when x.channel <> x.n_channel then x.sent - x.over else 0 end)
      ) y(channel, state, change) where y.change <> 0
  )
  ${ANSWER}
  select g.ord::int, g.tenant_id, g.lane_id, g.action_id as ended_action, g.attempt as ended_attempt, 'succeeded' as outcome,
    g.channel as ended_channel, g.runner_id, g.lease_runner, null::bigint as home_lane, 'succeeded' as ended_state, g.why, g.error,
    ${NOW} as at, a.action_id, g.n_attempt + 1 as attempt, ${NOW} as leased_at, g.n_lease_until as lease_until,
    g.n_worker as worker, false as cancel_requested, g.n_action is not null and g.n_ends as ends, ${ACTION_COLUMNS}
  from g left join lateral (
    select * from ${s}.actions a where a.tenant_id = g.tenant_id and a.action_id = g.n_action limit 1
  ) a on true`;
};

/** An action that was handed out and is over has its events in `events`. */
const bothEvents = (s: string) => `e as (
    insert into ${s}.events (tenant_id, action_id, lane_id, at, type, attempt, worker)
      select g.tenant_id, g.n_action, g.lane_id, ${NOW}, y.type, g.n_attempt + 1, g.n_worker
      from g cross join (values (${EVENT_TYPES.SENT}), (${EVENT_TYPES.SUCCEEDED})) y(type)
      where g.n_action is not null and g.n_ends order by g.ord, y.type
  ),`;
