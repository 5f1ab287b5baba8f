import { EVENT_TYPES } from '../action.ts';
import { jsonArray } from '../binary-array.ts';
import { type ClaimedAction, type ClaimedRow, claimedAction } from '../claimed-action.ts';
import type { Queryable } from '../db.ts';
import type { Context, Run } from '../operation.ts';
import { hasKeyOf, leaseUntil, lockLanes, ms, NOW, pauses, takesNew } from '../sql.ts';
import type { Transition } from '../transition.ts';
import type { EncodedAction } from './enqueue.ts';
import {
  askForRunners,
  type ForRunner,
  type RowForRunner,
  RUNNER_COLUMNS,
  runnerValues,
} from './for-runners.ts';
import { freeSlots, IS_RAISED, raiseRunners, UNLIMITED } from './runner-slots.ts';

/**
 * Actions that come into being as they are handed out: for each free lane of the runner, in the order given, as long as
 * slots are free. What finds its lane busy, something before it in the lane or no slot free is not created at all.
 */
export interface EnqueueAndClaimRequest extends ForRunner {
  readonly actions: readonly EncodedAction[];
}

type Row = RowForRunner & ClaimedRow;

export function createEnqueueAndClaim(context: Context) {
  const text = statement(context.schema);

  async function ask(client: Queryable, requests: readonly EnqueueAndClaimRequest[]): Promise<Row[]> {
    const actions = requests.flatMap((request, n) =>
      request.actions.map((action, at) => ({ ...action, of: n + 1, nth: at + 1 })),
    );
    const { rows } = await client.query({
      name: 'muster_enqueue_and_claim',
      text,
      values: [
        context.now(),
        ...runnerValues(requests),
        actions.map((action) => action.of),
        actions.map((action) => action.nth),
        actions.map((action) => action.laneId),
        actions.map((action) => action.channel),
        actions.map((action) => action.kind),
        jsonArray(actions.map((action) => action.payload)),
        jsonArray(actions.map((action) => action.options)),
      ],
    });
    return rows;
  }

  return async (
    client: Queryable,
    requests: readonly EnqueueAndClaimRequest[],
  ): Promise<Run<(ClaimedAction | null)[]>> => {
    const made = new Map(
      requests.map((request) => [request, request.actions.map((): ClaimedAction | null => null)]),
    );
    const transitions: Transition[] = [];
    await askForRunners(
      requests.filter(({ actions }) => actions.length > 0),
      (some) => ask(client, some),
      (request, row) => {
        (made.get(request) as (ClaimedAction | null)[])[row.nth - 1] = claimedAction(row);
        transitions.push(created(row));
      },
    );
    return { answers: [...made.values()], transitions, wakes: [] };
  };
}

const created = (row: ClaimedRow): Transition => ({
  tenantId: row.tenant_id,
  laneId: row.lane_id,
  actionId: row.action_id,
  channel: row.channel,
  events: ['CREATED', 'SENT'],
  before: null,
  state: 'claimed',
  attempt: row.attempt,
  reason: null,
  at: row.leased_at,
});

const statement = (s: string) => `
  with ${pauses(s)}, ${freeSlots(s, RUNNER_COLUMNS, `${UNLIMITED}`)}, h as materialized (
    select * from (
      select f.ord, i.nth, l.tenant_id, l.lane_id, l.ver, i.channel, i.kind, i.payload, i.o, f.runner_id, f.runner_ver, f.worker, f.lease_ms,
        f.free, row_number() over (partition by f.ord order by i.nth) as place
      from (
        select i.*, row_number() over (partition by i.of, i.lane_id order by i.nth) as of_lane
        from unnest($6::int[], $7::int[], $8::bigint[], $9::text[], $10::text[], $11::jsonb[], $12::jsonb[]) i(of, nth, lane_id, channel, kind, payload, o)
      ) i
      join f on f.ord = i.of
      cross join lateral (
        select * from ${s}.lanes l where l.tenant_id = f.tenant_id and l.lane_id = i.lane_id and l.runner_id = f.runner_id limit 1
      ) l
      left join pz on pz.tenant_id = f.tenant_id
      where i.of_lane = 1 and ${takesNew(s, {
        channel: 'i.channel',
        priority: `case i.o->>'priority' when 'urgent' then 0 else 1 end`,
        tags: `array(select jsonb_array_elements_text(i.o->'tags'))`,
      })}
    ) x where x.place <= x.free
  ), ${raiseRunners(s, '')}, g as materialized (
    select x.*, row_number() over (order by x.ord, x.nth)::int as at
    from (${lockLanes(s, 'h', IS_RAISED)}) x
  ), en as materialized (
    select en.* from (
      select array_agg(g.tenant_id order by g.at) as t, array_agg(g.lane_id order by g.at) as l, array_agg(g.channel order by g.at) as c,
        array_agg(g.kind order by g.at) as kd, array_agg(g.payload order by g.at) as p, array_agg(g.o order by g.at) as o
      from g having count(*) > 0
    ) x cross join lateral ${s}.enqueue_actions($1::timestamptz, x.t, x.l, x.c, x.kd, x.p, x.o) en
  ), u as (
    update ${s}.lanes l set ver = l.ver + 1, action_id = en.action_id, attempt = 1, leased_at = ${NOW},
      ${leaseUntil(`least(${NOW} + ${ms('g.lease_ms')}, (g.o->>'deadline')::timestamptz)`)}, worker = g.worker, lease_runner = g.runner_id,
      moved_from = null, cancel_requested = false, redelivered = 0
    from g join en on en.ord = g.at and en.outcome = 'created'
    where ${hasKeyOf('l', 'g', 'lane_id')}
    returning g.ord, g.nth, g.at, g.kind, g.payload, g.o, g.channel, l.tenant_id, l.lane_id, l.action_id, l.attempt, l.leased_at, l.lease_until,
      l.worker, l.cancel_requested
  ), e as (
    insert into ${s}.events (tenant_id, action_id, lane_id, at, type, attempt, worker)
      select u.tenant_id, u.action_id, u.lane_id, u.leased_at, ${EVENT_TYPES.SENT}, u.attempt, u.worker from u order by u.at
  ), c as (
    insert into ${s}.count_changes (tenant_id, channel, state, change)
      select u.tenant_id, u.channel, x.state, count(*) * x.sign
      from u cross join (values ('pending', -1), ('claimed', 1)) x(state, sign)
      group by u.tenant_id, u.channel, x.state, x.sign
  )
  select f.ord::int, f.runner_ver is not null as known, f.ord in (select h.ord from h) as wanted, u.nth, u.tenant_id, u.lane_id, u.action_id,
    u.attempt, u.leased_at, u.lease_until, u.worker, u.cancel_requested, u.channel, u.kind, u.payload,
    case when u.o ? 'tags' then array(select jsonb_array_elements_text(u.o->'tags')) end as tags,
    case u.o->>'priority' when 'urgent' then 0 else 1 end as priority, coalesce((u.o->>'maxAttempts')::int, 3) as max_attempts,
    u.leased_at as created_at, u.o->>'createdBy' as created_by
  from f left join u on u.ord = f.ord order by f.ord, u.nth`;
