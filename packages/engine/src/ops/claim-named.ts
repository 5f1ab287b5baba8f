import { EVENT_TYPES } from '../action.ts';
import type { Calls } from '../calls.ts';
import {
  ACTION_COLUMNS,
  type ClaimedAction,
  type ClaimedRow,
  claimedAction,
  NO_ACTION_COLUMNS,
  sent,
} from '../claimed-action.ts';
import type { Context, Run } from '../context.ts';
import type { Queryable } from '../db.ts';
import { EngineError } from '../errors.ts';
import { head, lockLanes, ms, NOW, pauses } from '../sql.ts';
import { checkLease, checkName, checkRunner, checkTenant, isId } from '../values.ts';
import { freeSlots, raiseRunner } from './one-runner.ts';

/**
 * A runner takes these very actions, chosen by whoever knows more of them than the engine does: each only if it is at the
 * head of a free lane of the runner, in the order given, as long as slots are free. Exact as the slotted claim is.
 */
export interface ClaimNamedRequest {
  readonly tenantId: number;
  readonly runnerId: string;
  readonly worker: string;
  readonly leaseMs: number;
  readonly actionIds: readonly string[];
}

interface Row extends ClaimedRow {
  known: boolean;
  wanted: number;
}

const MOST_TRIES = 20;

export function createClaimNamed(context: Context, calls: Calls) {
  const text = statement(context.schema);

  async function claim(client: Queryable, request: ClaimNamedRequest): Promise<Run<ClaimedAction>> {
    const query = {
      name: 'muster_claim_named',
      text,
      values: [
        context.now(),
        request.tenantId,
        request.runnerId,
        request.worker,
        request.leaseMs,
        request.actionIds.filter(isId),
      ],
    };
    let rows: Row[] = [];
    for (let round = 0; round < MOST_TRIES; round += 1) {
      rows = (await client.query(query)).rows;
      if (!rows[0]?.known) throw new EngineError('MUSTER_UNKNOWN_RUNNER', 'There is no such runner.');
      if (rows[0].action_id || rows[0].wanted === 0) break; // otherwise somebody else was faster: look again
    }
    const claimed = rows.filter((row) => row.action_id);
    return {
      answers: claimed.map((row) => claimedAction(row)),
      transitions: claimed.map((row) => sent(row)),
      wakes: [],
    };
  }

  return async (client: Queryable, request: ClaimNamedRequest): Promise<ClaimedAction[]> => {
    checkTenant(request.tenantId);
    checkRunner(request.runnerId);
    checkName(request.worker, 'worker', 0);
    checkLease(request.leaseMs);
    if (request.actionIds.length === 0) return [];
    return (await calls.inside(client, (inner) => claim(inner, request))).answers;
  };
}

const statement = (s: string) => `
  with ${pauses(s)}, ${freeSlots(s)}, h as materialized (
    select * from (
      select i.nth, l.tenant_id, l.lane_id, l.ver, n.action_id, n.attempt, n.deadline, n.channel, f.runner_id, f.runner_ver, f.free,
        row_number() over (order by i.nth) as place
      from f
      cross join unnest($6::bigint[]) with ordinality as i(action_id, nth)
      join ${s}.pending w on w.tenant_id = f.tenant_id and w.action_id = i.action_id
      join ${s}.lanes l on l.tenant_id = w.tenant_id and l.lane_id = w.lane_id and l.runner_id = f.runner_id
      left join pz on pz.tenant_id = f.tenant_id
      cross join lateral (${head(s, { channel: 'w.channel', when: 'l.action_id is null', except: 'null' })}) n
      where n.action_id = i.action_id
    ) x where x.place <= x.free
  ), ${raiseRunner(s)}, k as materialized (${lockLanes(s, 'h', 'x.runner_id in (select ru.runner_id from ru)')}
  ), u as (
    update ${s}.lanes l set ver = l.ver + 1, action_id = k.action_id, attempt = k.attempt + 1, leased_at = ${NOW},
      lease_until = least(${NOW} + ${ms('$5::int')}, k.deadline), worker = $4::text, lease_runner = k.runner_id,
      moved_from = null, cancel_requested = false, redelivered = 0
    from k where l.tenant_id = k.tenant_id and l.lane_id = k.lane_id
  ), e as (
    insert into ${s}.events (tenant_id, action_id, lane_id, at, type, attempt, worker)
      select k.tenant_id, k.action_id, k.lane_id, ${NOW}, ${EVENT_TYPES.SENT}, k.attempt + 1, $4::text from k
  ), c as (
    insert into ${s}.count_changes (tenant_id, channel, state, change)
      select k.tenant_id, k.channel, 'pending', -count(*) from k group by 1, 2
      union all select k.tenant_id, k.channel, 'claimed', count(*) from k group by 1, 2
  )
  select true as known, 1 as wanted, k.nth, k.tenant_id, k.lane_id, k.action_id, k.attempt + 1 as attempt, ${NOW} as leased_at,
    least(${NOW} + ${ms('$5::int')}, k.deadline) as lease_until, $4::text as worker, false as cancel_requested, ${ACTION_COLUMNS}
  from k cross join lateral (select * from ${s}.actions a where a.tenant_id = k.tenant_id and a.action_id = k.action_id limit 1) a
  union all
  select exists (select 1 from f), (select count(*) from h)::int, 0, null, null, null, null, null, null, null, null, ${NO_ACTION_COLUMNS}
  where not exists (select 1 from k)
  order by 3`;
