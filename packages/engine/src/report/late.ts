import { EVENT_TYPES, type EventType, eventName } from '../action.ts';
import { jsonbArray } from '../binary-array.ts';
import type { Queryable } from '../db.ts';
import { ANSWER } from '../effects.ts';
import { type EndedRow, endedPending, endedTransition, endedWake, endPending } from '../end-pending.ts';
import { BUSY, type Busy, type Context, type Run } from '../operation.ts';
import { Parts } from '../parts.ts';
import {
  ANY_CHANNEL,
  actionOf,
  endingOf,
  hasKeyOf,
  laneOf,
  lockLanes,
  NOW,
  pendingOf,
  presentLane,
  raiseLanes,
  rows,
} from '../sql.ts';
import type { ReportAnswer, ReportItem } from './item.ts';
import { createRecordLate } from './record-late.ts';

/**
 * Reports that do not name the running attempt: repeated ones get their first answer again; a success after the lease
 * ended is accepted as long as no other worker has the action; all others are recorded as LATE, once, and change
 * nothing.
 */
interface Known {
  ord: number;
  lane_id: string;
  running_attempt: number | null;
  last_attempt: number | null;
  ended_state: string | null;
  ended_reason: string | null;
  ended_attempt: number | null;
  types: number[];
}

const EVENT_OF: Record<ReportItem['outcome'], EventType> = {
  succeeded: 'SUCCEEDED',
  failed: 'FAILED',
  timeout: 'TIMEOUT',
  not_now: 'NOT_NOW',
  released: 'RELEASED',
  unreached: 'RELEASED',
};

type Verdict = 'busy' | 'repeated' | 'succeed-pending' | 'succeed-failed' | 'late';

function judge(item: ReportItem, known: Known, events: readonly EventType[]): Verdict {
  if (known.running_attempt === item.attempt) return 'busy'; // its lane was locked or changed under the first statement
  if (events.includes(EVENT_OF[item.outcome])) return 'repeated';
  if (item.outcome === 'succeeded') {
    const leftOpen = events.includes('TIMEOUT') || events.includes('RELEASED');
    if (leftOpen && known.running_attempt === null && known.last_attempt === item.attempt)
      return 'succeed-pending';
    if (
      known.ended_state === 'failed' &&
      known.ended_reason === 'TIMEOUT' &&
      known.ended_attempt === item.attempt
    )
      return 'succeed-failed';
  }
  return 'late';
}

/** The answer to the first, accepted report of this attempt: the event after it was written with it. */
function firstAnswer(item: ReportItem, events: readonly EventType[]): string {
  if (item.outcome === 'succeeded') return 'succeeded';
  const after = events[events.indexOf(EVENT_OF[item.outcome]) + 1];
  if (item.outcome === 'timeout') {
    if (after === undefined) return 'failed'; // by its deadline: see the look-up
    if (after === 'SUCCEEDED') return 'succeeded';
  }
  if (after === 'FAILED_FINAL') return 'failed';
  if (after === 'CANCELLED' && events.includes('CANCEL_REQUESTED')) return 'cancelled';
  return 'pending';
}

function presentState(known: Known): string {
  if (known.ended_state) return known.ended_state;
  return known.running_attempt === null ? 'pending' : 'claimed';
}

export function createReportLate(context: Context) {
  const s = context.schema;
  const lookUp = lookUpStatement(s);
  const succeedPending = context.effects.carry({
    name: 'muster_report_succeed_pending',
    text: () => succeedPendingStatement(s),
    transitions: endedPending(),
  });
  const succeedFailed = context.effects.carry({
    name: 'muster_report_succeed_failed',
    text: () => succeedFailedStatement(s),
    transitions: endedPending('failed'),
  });
  const recordLate = createRecordLate(context);

  return async (
    client: Queryable,
    items: readonly ReportItem[],
    commitEach: boolean,
  ): Promise<Run<ReportAnswer | Busy>> => {
    const { rows } = await client.query({
      name: 'muster_report_look_up',
      text: lookUp,
      values: [
        items.map((i) => i.tenantId),
        items.map((i) => i.actionId),
        items.map((i) => i.attempt),
        items.map((i) => i.channel ?? null),
        items.map((i) => i.laneId ?? null),
      ],
    });
    const unknown: ReportAnswer = {
      accepted: false,
      state: null,
      reason: 'UNKNOWN_ACTION',
      laneId: null,
      repeated: false,
      settled: false,
      next: null,
    };
    const parts = new Parts<ReportAnswer>(items.length, commitEach);
    const { answers } = parts;
    answers.fill(unknown);
    const by: Record<Verdict, { item: ReportItem; known: Known }[]> = {
      busy: [],
      repeated: [],
      'succeed-pending': [],
      'succeed-failed': [],
      late: [],
    };
    for (const known of rows as Known[]) {
      const item = items[known.ord - 1] as ReportItem;
      const events = known.types.map(eventName);
      const verdict = judge(item, known, events);
      by[verdict].push({ item, known });
      const accepted = verdict !== 'late';
      answers[known.ord - 1] =
        verdict === 'busy'
          ? BUSY
          : {
              accepted,
              state:
                verdict === 'repeated'
                  ? firstAnswer(item, events)
                  : accepted
                    ? 'succeeded'
                    : presentState(known),
              reason: accepted ? null : 'LATE',
              laneId: known.lane_id,
              repeated: verdict === 'repeated',
              settled: false,
              next: null,
            };
    }
    const values = (list: { item: ReportItem; known: Known }[]) => [
      context.now(),
      list.map(({ item }) => item.tenantId),
      list.map(({ known }) => known.ord),
      list.map(({ item }) => item.actionId),
      list.map(({ item }) => item.attempt),
      list.map(({ item }) => item.worker ?? null),
      jsonbArray(list.map(({ item }) => item.result ?? null)),
    ];
    const placesOf = (verdict: Verdict) => by[verdict].map(({ known }) => known.ord - 1);
    const answersOf = (verdict: Verdict) => placesOf(verdict).map((at) => answers[at] as ReportAnswer);
    for (const [verdict, ask] of [
      ['succeed-pending', succeedPending],
      ['succeed-failed', succeedFailed],
    ] as const)
      await parts.add(placesOf(verdict), async () => {
        const { rows: found, told } = await ask(client, null, values(by[verdict]));
        const ended = found as EndedRow[];
        const ords = new Set(ended.map(({ ord }) => ord));
        return {
          // Another transaction was faster: look again from the start.
          answers: answersOf(verdict).map((answer, n) =>
            ords.has(by[verdict][n]?.known.ord as number) ? answer : BUSY,
          ),
          transitions: ended.map((row) =>
            endedTransition(row, verdict === 'succeed-failed' ? 'failed' : 'pending'),
          ),
          wakes: ended.map(endedWake),
          told,
        };
      });
    await parts.add(placesOf('late'), async () => {
      const recorded = await recordLate(
        client,
        by.late.map(({ item }) => ({ ...item, worker: item.worker ?? null, what: EVENT_OF[item.outcome] })),
      );
      const answered = answersOf('late');
      return {
        answers: recorded.map((done, n) => (done ? (answered[n] as ReportAnswer) : BUSY)),
        transitions: [],
        wakes: [],
      };
    });
    return parts.result();
  };
}

const lookUpStatement = (s: string) => `
  select i.ord::int, l.lane_id, p.attempt as last_attempt,
    case when l.action_id = a.action_id then l.attempt end as running_attempt,
    z.state as ended_state, z.reason as ended_reason, z.attempt as ended_attempt,
    array(select e.type from ${s}.history e
      where e.tenant_id = a.tenant_id and e.action_id = a.action_id and e.attempt = i.attempt
        and (e.type <> ${EVENT_TYPES.FAILED_FINAL} or e.reason <> 'DEADLINE') -- written by housekeeping, not by a report
      order by e.event_id)::int[] as types
  from ${rows(1, { tenant_id: 'int', action_id: 'bigint', attempt: 'int', channel: 'text', only_lane: 'bigint' })}
  cross join lateral ${actionOf(s, 'i')}
  left join lateral ${pendingOf(s, 'a')} on true
  cross join lateral ${presentLane(s)}
  left join lateral ${endingOf(s, 'a')} on true
  where (i.channel is null or a.channel in (i.channel, '${ANY_CHANNEL}'))
    -- the present lane of the action, or its own while no worker has it, or the lane in which this attempt ran
    and (i.only_lane is null or i.only_lane = l.lane_id or (l.action_id is distinct from a.action_id and i.only_lane = a.lane_id) or (
      select 1 from ${s}.history e where e.tenant_id = a.tenant_id and e.action_id = a.action_id and e.attempt = i.attempt
        and e.lane_id = i.only_lane limit 1) is not null)`;

const INPUT = `i as materialized (
    select * from unnest((select $2::int[]), (select $3::int[]), (select $4::bigint[]), (select $5::int[]), (select $6::text[]), (select $7::jsonb[]))
      as i(tenant_id, ord, action_id, attempt, worker, result)
  )`;

const succeedPendingStatement = (s: string) => `
  with ${INPUT}, x as materialized (
    select i.ord, i.tenant_id, p.lane_id, l.ver, l.runner_id, i.action_id, i.attempt, p.channel, 'succeeded' as state,
      ${EVENT_TYPES.SUCCEEDED} as type, 'SUCCEEDED' as why, 'LATE' as note, i.worker, i.result
    from i
    cross join lateral ${pendingOf(s, 'i')}
    cross join lateral ${laneOf(s, 'p')}
    where p.attempt = i.attempt and l.action_id is distinct from p.action_id
  ), ${endPending(s)}`;

/** A redrive deletes the ending, so only one of the two can have it. */
const succeedFailedStatement = (s: string) => `
  with ${INPUT}, x as materialized (
    select i.*, l.lane_id, l.ver, a.channel from i cross join lateral ${actionOf(s, 'i')} cross join lateral ${laneOf(s, 'a')}
  ), k as materialized (${lockLanes(s, 'x')}
  ), u as (${raiseLanes(s, 'k')}
  ), d as (
    update ${s}.endings z set state = 'succeeded', reason = 'SUCCEEDED', result = i.result, ended_at = ${NOW}
    from k i
    where ${hasKeyOf('z', 'i', 'action_id')} and (z.state = 'failed') is true and z.reason = 'TIMEOUT' and z.attempt = i.attempt
    returning i.ord, i.tenant_id, i.lane_id, i.action_id, i.attempt, i.channel, i.worker
  ), e as (
    insert into ${s}.events (tenant_id, action_id, lane_id, at, type, attempt, worker, reason)
      select d.tenant_id, d.action_id, d.lane_id, ${NOW}, ${EVENT_TYPES.SUCCEEDED}, d.attempt, d.worker, 'LATE' from d order by d.ord
  ), c as (
    insert into ${s}.count_changes (tenant_id, channel, state, change)
      select d.tenant_id, d.channel, y.state, sum(y.change) from d
      cross join (values ('failed', -1), ('succeeded', 1)) y(state, change) group by 1, 2, 3
  )
  ${ANSWER}
  select d.ord, d.tenant_id, d.lane_id, null::bigint as runner_id, d.action_id, d.attempt, d.channel, 'succeeded' as state,
    ${EVENT_TYPES.SUCCEEDED} as type, 'SUCCEEDED' as why, ${NOW} as at from d`;
