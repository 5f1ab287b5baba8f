import { EVENT_TYPES } from '../action.ts';
import { type ClaimedAction, type ClaimedRow, claimedAction } from '../claimed-action.ts';
import type { Context, Run } from '../context.ts';
import type { Queryable } from '../db.ts';
import { EngineError } from '../errors.ts';
import { ANY_CHANNEL, lockLanes, ms, NOW, pauses } from '../sql.ts';
import type { EncodedAction } from './enqueue.ts';
import { freeSlots, raiseRunner } from './one-runner.ts';

/**
 * Actions that come into being as they are handed out: for each free lane of the runner, in the order given, as long as
 * slots are free. What finds its lane busy, something before it in the lane or no slot free is not created at all.
 */
export interface EnqueueAndClaimRequest {
  readonly tenantId: number;
  readonly runnerId: string;
  readonly worker: string;
  readonly leaseMs: number;
  readonly actions: readonly EncodedAction[];
}

interface Row extends ClaimedRow {
  /** Null: nothing was made. */
  nth: number | null;
  known: boolean;
  wanted: number;
}

/** Another claim may take the runner's row between look and lock; then it is looked at again, so many times. */
const MOST_TRIES = 20;

export function createEnqueueAndClaim(context: Context) {
  const text = statement(context.schema);
  return async (client: Queryable, request: EnqueueAndClaimRequest): Promise<Run<ClaimedAction | null>> => {
    const answers: (ClaimedAction | null)[] = request.actions.map(() => null);
    if (request.actions.length === 0) return { answers, transitions: [], wakes: [] };
    const query = {
      name: 'muster_enqueue_and_claim',
      text,
      values: [
        context.now(),
        request.tenantId,
        request.runnerId,
        request.worker,
        request.leaseMs,
        request.actions.map((action) => action.laneId),
        request.actions.map((action) => action.channel),
        request.actions.map((action) => action.kind),
        request.actions.map((action) => action.payload),
        request.actions.map((action) => action.options),
      ],
    };
    let rows: Row[] = [];
    for (let round = 0; round < MOST_TRIES; round += 1) {
      rows = (await client.query(query)).rows;
      if (!rows[0]?.known) throw new EngineError('MUSTER_UNKNOWN_RUNNER', 'There is no such runner.');
      if (rows[0].nth !== null || rows[0].wanted === 0) break;
    }
    const made = rows.filter((row): row is Row & { nth: number } => row.nth !== null);
    const transitions = made.map((row) => {
      answers[row.nth - 1] = claimedAction(row);
      return {
        tenantId: row.tenant_id,
        laneId: row.lane_id,
        actionId: row.action_id,
        channel: row.channel,
        events: ['CREATED', 'SENT'] as const,
        before: null,
        state: 'claimed',
        attempt: row.attempt,
        reason: null,
        at: row.leased_at,
      };
    });
    return { answers, transitions, wakes: [] };
  };
}

const statement = (s: string) => `
  with ${pauses(s)}, ${freeSlots(s)}, h as materialized (
    select * from (
      select i.nth, l.tenant_id, l.lane_id, l.ver, i.channel, i.kind, i.payload, i.o, f.runner_id, f.runner_ver, f.free,
        row_number() over (order by i.nth) as place
      from f
      cross join unnest($6::bigint[], $7::text[], $8::text[], $9::jsonb[], $10::jsonb[])
        with ordinality as i(lane_id, channel, kind, payload, o, nth)
      join ${s}.lanes l on l.tenant_id = f.tenant_id and l.lane_id = i.lane_id and l.runner_id = f.runner_id
      left join pz on pz.tenant_id = f.tenant_id
      where l.action_id is null and not l.paused and l.blocked is null and not coalesce(pz.everything, false)
        and not coalesce(pz.tags && array(select jsonb_array_elements_text(i.o->'tags')), false)
        and not exists (select 1 from unnest($6::bigint[]) with ordinality as b(lane_id, nth) where b.lane_id = i.lane_id and b.nth < i.nth)
        -- nothing that was assigned before it may be passed
        and not exists (select 1 from ${s}.pending p where p.tenant_id = l.tenant_id and p.lane_id = l.lane_id
          and p.channel in (i.channel, '${ANY_CHANNEL}') and not p.delayed and p.generation = l.generation
          and p.priority <= case i.o->>'priority' when 'urgent' then 0 else 1 end)
    ) x where x.place <= x.free
  ), ${raiseRunner(s)}, g as materialized (
    select x.*, row_number() over (order by x.nth)::int as ord
    from (${lockLanes(s, 'h', 'x.runner_id in (select ru.runner_id from ru)')}) x
  ), en as materialized (
    select en.* from (
      select array_agg(g.tenant_id order by g.ord) as t, array_agg(g.lane_id order by g.ord) as l, array_agg(g.channel order by g.ord) as c,
        array_agg(g.kind order by g.ord) as kd, array_agg(g.payload order by g.ord) as p, array_agg(g.o order by g.ord) as o
      from g having count(*) > 0
    ) x cross join lateral ${s}.enqueue_actions($1::timestamptz, x.t, x.l, x.c, x.kd, x.p, x.o) en
  ), u as (
    update ${s}.lanes l set ver = l.ver + 1, action_id = en.action_id, attempt = 1, leased_at = ${NOW},
      lease_until = least(${NOW} + ${ms('$5::int')}, (g.o->>'deadline')::timestamptz), worker = $4::text, lease_runner = g.runner_id,
      moved_from = null, cancel_requested = false, redelivered = 0
    from g join en on en.ord = g.ord and en.outcome = 'created'
    where l.tenant_id = g.tenant_id and l.lane_id = g.lane_id
    returning g.nth, g.kind, g.payload, g.o, g.channel, l.tenant_id, l.lane_id, l.action_id, l.attempt, l.leased_at, l.lease_until, l.worker, l.cancel_requested
  ), e as (
    insert into ${s}.events (tenant_id, action_id, lane_id, at, type, attempt, worker)
      select u.tenant_id, u.action_id, u.lane_id, u.leased_at, ${EVENT_TYPES.SENT}, u.attempt, u.worker from u order by u.nth
  ), c as (
    insert into ${s}.count_changes (tenant_id, channel, state, change)
      select u.tenant_id, u.channel, x.state, count(*) * x.sign
      from u cross join (values ('pending', -1), ('claimed', 1)) x(state, sign)
      group by u.tenant_id, u.channel, x.state, x.sign
  )
  select exists (select 1 from f) as known, (select count(*) from h)::int as wanted, u.nth::int, u.tenant_id, u.lane_id, u.action_id,
    u.attempt, u.leased_at, u.lease_until, u.worker, u.cancel_requested, u.channel, u.kind, u.payload,
    case when u.o ? 'tags' then array(select jsonb_array_elements_text(u.o->'tags')) end as tags,
    case u.o->>'priority' when 'urgent' then 0 else 1 end as priority, coalesce((u.o->>'maxAttempts')::int, 3) as max_attempts,
    u.leased_at as created_at, u.o->>'createdBy' as created_by
  from (values (1)) one left join u on true order by u.nth`;
