import { EVENT_TYPES } from '../action.ts';
import { jsonArray, jsonbArray } from '../binary-array.ts';
import { type ClaimedAction, type ClaimedRow, claimedAction } from '../claimed-action.ts';
import type { Queryable } from '../db.ts';
import { ANSWER, type Told } from '../effects.ts';
import { handOut, leaseEnd } from '../hand-out.ts';
import type { Context, Run } from '../operation.ts';
import { lockLanes, NOW, pauses, takesNew } from '../sql.ts';
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
 * Actions that are created as they are handed out: for each free lane of the runner, in the order given, as long as
 * slots are free. If the lane is busy, has another action waiting, or no slot is free, the action is not created.
 */
export interface EnqueueAndClaimRequest extends ForRunner {
  readonly actions: readonly EncodedAction[];
}

type Row = RowForRunner & ClaimedRow;

/** What effects are told, and the order of the answer. */
export const CARRIED = {
  transitions: `select tenant_id, lane_id, action_id, channel, array[${EVENT_TYPES.CREATED}, ${EVENT_TYPES.SENT}], null::text, 'claimed', attempt,
      null::text, leased_at from answer where action_id is not null`,
  changes: [[null, 'claimed']],
  order: '1, 4',
} as const;

export function createEnqueueAndClaim(context: Context) {
  const askFor = context.effects.carry({
    name: 'muster_enqueue_and_claim',
    text: () => statement(context.schema),
    ...CARRIED,
  });

  function ask(client: Queryable, requests: readonly EnqueueAndClaimRequest[]) {
    const actions = requests.flatMap((request, n) =>
      request.actions.map((action, at) => ({ ...action, of: n + 1, nth: at + 1 })),
    );
    const channels = actions.map((action) => action.channel);
    return askFor(client, channels, [
      context.now(),
      ...runnerValues(requests),
      actions.map((action) => action.of),
      actions.map((action) => action.nth),
      actions.map((action) => action.laneId),
      channels,
      actions.map((action) => action.kind),
      jsonArray(actions.map((action) => action.payload)),
      jsonbArray(actions.map((action) => action.options)),
    ]);
  }

  return async (
    client: Queryable,
    requests: readonly EnqueueAndClaimRequest[],
  ): Promise<Run<(ClaimedAction | null)[]>> => {
    const made = new Map(
      requests.map((request) => [request, request.actions.map((): ClaimedAction | null => null)]),
    );
    const transitions: Transition[] = [];
    const told: Told[] = [];
    await askForRunners<EnqueueAndClaimRequest, Row>(
      context,
      requests.filter(({ actions }) => actions.length > 0),
      (some) => ask(client, some),
      (request, row, facts) => {
        (made.get(request) as (ClaimedAction | null)[])[row.nth - 1] = claimedAction(row, facts);
        transitions.push(created(row));
      },
      told,
    );
    return { answers: [...made.values()], transitions, wakes: [], told };
  };
}

export const created = (row: ClaimedRow): Transition => ({
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

/** Where the actions come from. */
interface Source {
  /** The input columns of `f` from `$4` on, and the most that a runner without a limit gets. */
  readonly columns: Record<string, string>;
  readonly most: string;
  /** How long an attempt is leased, if its action does not say. */
  readonly leaseMs: string;
  /** The actions as `i`: of (a number of `f`), nth, lane_id, channel, kind, payload, o (options). */
  readonly from: string;
  /** Steps between `f` and the look at the lanes, steps after the hand-out `k`, and columns of the answer. */
  readonly steps?: string;
  readonly followUp?: string;
  readonly answer?: string;
}

const GIVEN: Source = {
  columns: RUNNER_COLUMNS,
  most: String(UNLIMITED),
  leaseMs: 'f.lease_ms',
  from: `unnest($6::int[], $7::int[], $8::bigint[], $9::text[], $10::text[], $11::json[], $12::jsonb[]) i(of, nth, lane_id, channel, kind, payload, o)`,
};

export const statement = (s: string, by: Source = GIVEN) => `
  with ${pauses(s)}, ${freeSlots(s, by.columns, by.most)}, ${by.steps ? `${by.steps}, ` : ''}h as materialized (
    select * from (
      select f.ord, i.nth, l.tenant_id, l.lane_id, l.ver, i.channel, i.kind, i.payload, i.o, f.runner_id, f.runner_ver, f.worker,
        coalesce((i.o->>'leaseMs')::int, ${by.leaseMs}) as lease_ms,
        f.free, row_number() over (partition by f.ord order by i.nth) as place
      from (
        select i.*, row_number() over (partition by i.of, i.lane_id order by i.nth) as of_lane from ${by.from}
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
  ), k as materialized (
    select g.*, en.action_id, en.xid, 0 as attempt, ${leaseEnd('g.lease_ms', "(g.o->>'deadline')::timestamptz")} from g join en on en.ord = g.at and en.outcome = 'created'
  ), ${handOut(s, { leaseRunner: 'k.runner_id', ends: null, xid: `greatest(k.xid, ${s}.feed_xid())` })}${by.followUp ? `, ${by.followUp}` : ''}
  ${ANSWER}
  select f.ord::int, f.runner_ver is not null as known, f.ord in (select h.ord from h) as wanted, k.nth, k.tenant_id, k.lane_id, k.action_id,
    k.attempt + 1 as attempt, ${NOW} as leased_at, k.lease_until, k.worker,
    false as cancel_requested, k.channel, k.kind, k.payload,
    case when k.o ? 'tags' then array(select jsonb_array_elements_text(k.o->'tags')) end as tags,
    case k.o->>'priority' when 'urgent' then 0 else 1 end as priority, coalesce((k.o->>'maxAttempts')::int, 3) as max_attempts,
    ${NOW} as created_at, k.o->>'createdBy' as created_by${by.answer ? `, ${by.answer}` : ''}
  from f left join k on k.ord = f.ord`;
