import { idArray, intArray, jsonbArray, textArray } from '../binary-array.ts';
import type { Queryable } from '../db.ts';
import type { Busy, Context, Operation, Run } from '../operation.ts';
import { Parts } from '../parts.ts';
import { ANY_CHANNEL, head, NOW, pauses, rows } from '../sql.ts';
import type { ReportAnswer, ReportItem } from './item.ts';
import { createReportLate } from './late.ts';
import { mayGoOn, SETTLED, settle } from './settle.ts';
import { nextOf, type SettledRow, transitionsOf, wakesOf } from './settled.ts';
import { successRow, successStatement, successValues, TOLD_OF_SUCCESS } from './success.ts';

/**
 * A worker says how an attempt went, and may get the lane's next action in the same statement. Only a report that names
 * the running attempt ends it; every other takes the late path first and claims nothing here.
 */
export function createReport(context: Context): Operation<ReportItem, ReportAnswer> {
  const ask = context.effects.carry({
    name: 'muster_report',
    text: (ends) => statement(context, ends),
    transitions: SETTLED,
  });
  const askOfSuccess = context.effects.carry({
    name: 'muster_report_success',
    text: (ends) => successStatement(context, ends),
    told: TOLD_OF_SUCCESS,
    transitions: SETTLED,
    changes: [
      ['claimed', 'succeeded'],
      ['pending', 'claimed'],
    ],
  });
  const late = createReportLate(context);

  async function run(
    client: Queryable,
    items: readonly ReportItem[],
    commitEach: boolean,
    now: Date,
  ): Promise<Run<ReportAnswer | Busy>> {
    const isSuccess = items.every((item) => item.outcome === 'succeeded');
    const {
      rows: found,
      told,
      factsOf,
    } = await (isSuccess
      ? askOfSuccess(client, channelsOf(items), successValues(now, items))
      : ask(client, channelsOf(items), values(now, items)));
    const parts = new Parts<ReportAnswer>(items.length, commitEach);
    parts.told.push(...told);
    for (const settled of found as SettledRow[]) {
      const row = isSuccess ? successRow(settled, items[settled.ord - 1] as ReportItem, now) : settled;
      parts.answers[row.ord - 1] = {
        accepted: true,
        state: row.ended_state ?? 'pending',
        reason: null,
        laneId: row.lane_id,
        repeated: false,
        settled: true,
        next: nextOf(row, factsOf(row.action_id)),
      };
      parts.transitions.push(...transitionsOf(row));
      parts.wakes.push(...wakesOf(row));
    }
    // a hint may have been wrong: these are tried again without it
    const hinted: number[] = [];
    const others: number[] = [];
    items.forEach(({ leasedIn }, at) => {
      if (parts.answers[at] === undefined) (isSuccess && leasedIn !== undefined ? hinted : others).push(at);
    });
    const of = (places: readonly number[]) => places.map((at) => items[at] as ReportItem);
    const unhinted = of(hinted).map((item) => ({ ...item, leasedIn: undefined }));
    await parts.add(hinted, () => run(client, unhinted, commitEach, now));
    await parts.add(others, () => late(client, of(others), commitEach));
    return parts.result();
  }

  return {
    name: 'report',
    key: (item) => `${item.tenantId}:${item.actionId}`,
    bytes: (item) => Buffer.byteLength(item.result ?? '') + Buffer.byteLength(item.error ?? ''),
    touches: ({ tenantId, actionId }) => ({ tenantId, actionId }),
    claims: ({ tenantId, actionId, next }) => (next ? { tenantId, actionId, worker: next.worker } : null),
    // one time for all of it: a claim whose answer is lost is looked for by the time of its run
    run: (client, items, commitEach = false) => run(client, items, commitEach, context.now()),
  };
}

/** The channels of all actions that these can change, or null if unknown before. */
export function channelsOf(items: readonly ReportItem[]): readonly string[] | null {
  if (items.some((item) => item.channel === undefined)) return null;
  return [
    ANY_CHANNEL,
    ...items.flatMap(({ channel, next }) => [channel as string, ...(next ? [next.channel] : [])]),
  ];
}

const values = (now: Date, items: readonly ReportItem[]): unknown[] => [
  now,
  intArray(items.map((item) => item.tenantId)),
  idArray(items.map((item) => item.actionId)),
  intArray(items.map((item) => item.attempt)),
  textArray(items.map(outcomeOf)),
  textArray(items.map((item) => item.worker ?? null)),
  textArray(items.map((item) => item.error ?? null)),
  jsonbArray(items.map((item) => item.result ?? null)),
  intArray(items.map((item) => item.delayMs ?? null)),
  textArray(items.map((item) => item.channel ?? null)),
  textArray(items.map((item) => item.next?.channel ?? null)),
  textArray(items.map((item) => item.next?.worker ?? null)),
  intArray(items.map((item) => item.next?.leaseMs ?? null)),
  idArray(items.map((item) => item.laneId ?? null)),
];

/** A failure that would repeat itself uses up all tries at once. */
const FINAL = 'failed_final';
/** A success may give a reason, after a space: a statement for many needs no further column for the few that do. */
const outcomeOf = ({ final, outcome, reason }: ReportItem) =>
  final ? FINAL : reason === undefined ? outcome : `${outcome} ${reason}`;
const OUTCOME = `case i.outcome when '${FINAL}' then 'failed' else split_part(i.outcome, ' ', 1) end`;
const REASON = `nullif(split_part(i.outcome, ' ', 2), '')`;
const TRIES = `case when i.outcome = '${FINAL}' then 1 else o.max_attempts end`;

/** If an attempt had time until the deadline, its timeout counts as a passed deadline. */
const DEADLINE = `case when i.outcome = 'timeout' and p.deadline <= l.lease_until then least(p.deadline, ${NOW}) else p.deadline end`;

export const statement = (context: Pick<Context, 'schema'>, ends: string | null = null) => {
  const s = context.schema;
  return `
  with ${pauses(s)}, h as (
    select i.ord, i.tenant_id, p.lane_id, l.ver, i.action_id, i.attempt, ${OUTCOME} as outcome, ${REASON} as reason, coalesce(i.worker, l.worker) as worker,
      i.error, i.result, i.delay_ms, l.cancel_requested, l.leased_at, l.sent_id, l.worker as sent_worker, l.runner_id, l.lease_runner, p.channel, p.priority, p.seq, p.failures,
      p.deferrals, ${DEADLINE} as deadline, ${TRIES} as max_attempts, o.backoff_ms, o.backoff_max_ms, o.head_of_line, o.on_lease_end,
      o.lane_id as home_lane,
      n.action_id as n_action, n.attempt as n_attempt, n.deadline as n_deadline, n.channel as n_channel,
      n.priority as n_priority, n.seq as n_seq, i.next_worker as n_worker, coalesce(n.lease_ms, i.next_lease_ms) as n_lease_ms,
      -- would it be in the line that the next one is taken from, if it went back?
      coalesce(p.channel in (i.next_channel, '${ANY_CHANNEL}') and p.generation = l.generation and (p.deadline is null or p.deadline > ${NOW})
        and (pz.tags is null or o.tags is null or not o.tags && pz.tags), false) as n_behind
    from ${rows(2, {
      tenant_id: 'int',
      action_id: 'bigint',
      attempt: 'int',
      outcome: 'text',
      worker: 'text',
      error: 'text',
      result: 'jsonb',
      delay_ms: 'int',
      channel: 'text',
      next_channel: 'text',
      next_worker: 'text',
      next_lease_ms: 'int',
      only_lane: 'bigint',
    })}
    cross join lateral (select * from ${s}.pending p where p.tenant_id = i.tenant_id and p.action_id = i.action_id limit 1) p
    cross join lateral (select * from ${s}.lanes l where l.tenant_id = p.tenant_id and l.lane_id = p.lane_id limit 1) l
    left join pz on pz.tenant_id = i.tenant_id
    left join lateral (
      select a.max_attempts, a.backoff_ms, a.backoff_max_ms, a.head_of_line, a.on_lease_end, a.tags, a.lane_id from ${s}.actions a
      where not starts_with(i.outcome, 'succeeded') and a.tenant_id = i.tenant_id and a.action_id = i.action_id limit 1
    ) o on true
    cross join lateral (
      -- once for both probes of the head, not once in each
      select i.next_channel is not null and l.action_id = i.action_id and l.attempt = i.attempt and ${mayGoOn(s)} as may offset 0
    ) m
    left join lateral (${head(s, {
      channel: 'i.next_channel',
      when: 'm.may',
      except: 'i.action_id',
    })}) n on true
    where l.action_id = i.action_id and l.attempt = i.attempt and (i.channel is null or p.channel in (i.channel, '${ANY_CHANNEL}'))
      and (i.only_lane is null or p.lane_id = i.only_lane)
  ), ${settle(s, { ends, number: `nextval('${s}.event_seq')` })}`;
};
