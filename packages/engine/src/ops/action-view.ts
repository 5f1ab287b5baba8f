import { type ActionState, EVENT_TYPES } from '../action.ts';
import { priorityName } from '../claimed-action.ts';
import { endingOf, NOW, ofLane, pendingOf, presentLane } from '../sql.ts';
import { type DoorReason, type WaitingFor, waitingFor } from '../waiting-for.ts';
import type { Driver } from './action-filter.ts';
import { runningOf } from './runner-slots.ts';

/** One action as it is read, with everything that its state and waiting reason are derived from. */
export interface ActionView {
  readonly id: string;
  readonly tenantId: number;
  readonly laneId: string;
  readonly space: string | null;
  readonly laneName: string | null;
  readonly channel: string;
  readonly kind: string;
  readonly payload: unknown;
  readonly priority: 'urgent' | 'normal';
  readonly tags: readonly string[];
  readonly state: ActionState;
  readonly attempt: number;
  readonly failures: number;
  readonly maxAttempts: number;
  readonly headOfLine: 'skip' | 'hold';
  /** Null: the claim decides. */
  readonly leaseMs: number | null;
  readonly createdAt: Date;
  readonly createdBy: string | null;
  readonly notBefore: Date | null;
  readonly deliverBy: Date | null;
  readonly deadline: Date | null;
  readonly worker: string | null;
  readonly leasedAt: Date | null;
  readonly leaseUntil: Date | null;
  /**
   * When the running attempt, or the one it ended with, was handed out; null: there is none, or it waits for the next.
   */
  readonly startedAt: Date | null;
  readonly cancelRequested: boolean;
  readonly waitingFor: WaitingFor | null;
  readonly endedAt: Date | null;
  readonly reason: string | null;
  readonly error: string | null;
  readonly result: unknown;
  readonly copiedFrom: string | null;
}

/**
 * A newly created action: all that `get` returns, except the lane's name, which the caller knows, and the doors'
 * reasons.
 */
export type CreatedAction = Omit<ActionView, 'space' | 'laneName'>;

export function from(s: string, driver: Driver): string {
  const drives = (...names: Driver[]) => names.includes(driver);
  return `from ${s}.actions a
    ${drives('pending', 'unfinished') ? `join ${s}.pending p on p.tenant_id = a.tenant_id and p.action_id = a.action_id` : `left join lateral ${pendingOf(s, 'a')} on true`}
    ${drives('lanes') ? `join ${s}.lanes l on l.tenant_id = a.tenant_id and l.action_id = a.action_id` : `cross join lateral ${presentLane(s)}`}
    ${drives('endings') ? `join ${s}.endings z on z.tenant_id = a.tenant_id and z.action_id = a.action_id` : `left join lateral ${endingOf(s, 'a')} on true`}
    left join lateral (select * from ${s}.lane_names n where ${ofLane(s, 'n', 'a')} limit 1) n on true
    where a.tenant_id = $2 and ${NOW} is not null${driver === 'pending' ? ' and l.action_id is distinct from a.action_id' : ''}`;
}

export const select = (s: string, driver: Driver) => `
  select a.*, n.space, n.name as lane_name, p.attempt as last_attempt, p.failures, p.deferrals, p.not_before as waits_until, p.deadline as open_deadline,
    coalesce(l.action_id = a.action_id, false) as leased, l.attempt as leased_attempt, l.worker, l.leased_at, l.lease_until, l.cancel_requested,
    l.paused_at as lane_paused_at, l.paused_by as lane_paused_by, l.blocked, z.state as ended_state, z.attempt as ended_attempt, z.reason, z.error, z.result, z.ended_at,
    -- of an action that did not end with its attempt: within the days of its life, with a margin for clock differences,
    -- so that not every day is read
    case when z.sent_at is not null or z.attempt = 0 then z.sent_at else (select e.at from ${s}.events e where e.tenant_id = a.tenant_id and e.action_id = a.action_id
      and e.attempt = z.attempt and e.type = ${EVENT_TYPES.SENT}
      and e.at between a.created_at - interval '1 hour' and z.ended_at + interval '1 hour' order by e.event_id limit 1) end as ended_sent_at,
    coalesce(x.tag = '', false) as tenant_paused, nullif(x.tag, '') as paused_tag, x.paused_at, x.paused_by,
    case when p.action_id is null or l.action_id = a.action_id then null
      else coalesce(l.action_id, (
        select q.action_id from ${s}.pending q where ${ofLane(s, 'q', 'p')}
          and q.channel = p.channel and not q.delayed and q.generation = l.generation and (q.priority, q.seq) < (p.priority, p.seq)
        order by q.priority, q.seq limit 1)) end as ahead_id,
    u.action_id as urgent_id, u.channel as urgent_channel, u.until as urgent_until,
    r.slots, case when r.slots is not null then ${runningOf(s, 'r')}::int end as running, ${NOW} as now
  ${from(s, driver).replace(
    'where a.tenant_id',
    `left join lateral (select * from ${s}.runners r where r.tenant_id = l.tenant_id and r.runner_id = l.runner_id limit 1) r on true
    left join lateral (
      select * from ${s}.pauses x where x.tenant_id = a.tenant_id and (x.tag = '' or x.tag = any(a.tags)) order by x.tag limit 1
    ) x on true
    left join lateral (
      select * from ${s}.urgent_elsewhere(${NOW}, p.tenant_id, p.lane_id, p.channel) u where p.priority = 1 and l.action_id is null
    ) u on true
    where a.tenant_id`,
  )}`;

/** Every unfinished action as `viewsOf` reads it; `$1` is the time, `$2` the tenant. */
export const selectUnfinished = (s: string) => select(s, 'unfinished');

export interface ActionRow {
  action_id: string;
  tenant_id: number;
  lane_id: string;
  space: string | null;
  lane_name: string | null;
  channel: string;
  kind: string;
  payload: unknown;
  priority: number;
  tags: string[] | null;
  created_at: Date;
  created_by: string | null;
  not_before: Date | null;
  deliver_by: Date | null;
  deadline: Date | null;
  max_attempts: number;
  head_of_line: 'skip' | 'hold';
  lease_ms: number | null;
  copied_from: string | null;
  last_attempt: number | null;
  failures: number | null;
  deferrals: number | null;
  waits_until: Date | null;
  open_deadline: Date | null;
  leased: boolean;
  leased_attempt: number | null;
  worker: string | null;
  leased_at: Date | null;
  lease_until: Date | null;
  cancel_requested: boolean;
  lane_paused_at: Date | null;
  lane_paused_by: string | null;
  blocked: string | null;
  ended_state: ActionState | null;
  ended_attempt: number | null;
  reason: string | null;
  error: string | null;
  result: unknown;
  ended_at: Date | null;
  ended_sent_at: Date | null;
  tenant_paused: boolean;
  paused_tag: string | null;
  paused_at: Date | null;
  paused_by: string | null;
  ahead_id: string | null;
  slots: number | null;
  running: number | null;
  urgent_id: string | null;
  urgent_channel: string;
  urgent_until: Date;
  now: Date;
}

export function view(row: ActionRow, door: DoorReason | undefined): ActionView {
  const state: ActionState = row.ended_state ?? (row.leased ? 'claimed' : 'pending');
  return {
    id: row.action_id,
    tenantId: row.tenant_id,
    laneId: row.lane_id,
    space: row.space,
    laneName: row.lane_name,
    channel: row.channel,
    kind: row.kind,
    payload: row.payload,
    priority: priorityName(row.priority),
    tags: row.tags ?? [],
    state,
    attempt: row.ended_attempt ?? (row.leased ? row.leased_attempt : row.last_attempt) ?? 0,
    failures: row.failures ?? 0,
    maxAttempts: row.max_attempts,
    headOfLine: row.head_of_line,
    leaseMs: row.lease_ms,
    createdAt: row.created_at,
    createdBy: row.created_by,
    notBefore: row.not_before,
    deliverBy: row.deliver_by,
    // a redriven action has no clocks
    deadline: row.ended_state === null ? row.open_deadline : row.deadline,
    worker: row.leased ? row.worker : null,
    leasedAt: row.leased ? row.leased_at : null,
    leaseUntil: row.leased ? row.lease_until : null,
    startedAt: row.leased ? row.leased_at : row.ended_sent_at,
    cancelRequested: row.leased && row.cancel_requested,
    waitingFor: row.ended_state ? null : waitingFor(facts(row), door),
    endedAt: row.ended_at,
    reason: row.reason,
    error: row.error,
    result: row.result ?? null,
    copiedFrom: row.copied_from,
  };
}

function facts(row: ActionRow) {
  return {
    tenantPaused: row.tenant_paused,
    pausedTag: row.paused_tag,
    pausedAt: row.paused_at,
    pausedBy: row.paused_by,
    lanePaused: row.lane_paused_at ? { at: row.lane_paused_at, by: row.lane_paused_by } : null,
    blocked: row.blocked,
    notBefore: row.waits_until,
    failures: row.failures ?? 0,
    deferrals: row.deferrals ?? 0,
    maxAttempts: row.max_attempts,
    ...(row.leased ? { attempt: row.leased_attempt ?? 0 } : {}),
    aheadId: row.ahead_id,
    urgent:
      row.urgent_id === null
        ? null
        : { id: row.urgent_id, channel: row.urgent_channel, until: row.urgent_until },
    slots: row.slots,
    running: row.running,
    leasedAt: row.leased ? row.leased_at : null,
    leaseUntil: row.lease_until,
    worker: row.worker,
    cancelRequested: row.cancel_requested,
    now: row.now,
  };
}
