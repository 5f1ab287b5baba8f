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
import type { Queryable } from '../db.ts';
import type { Context, Run } from '../operation.ts';
import { hasKeyOf, head, leaseUntil, lockLanes, ms, NOW, pauses } from '../sql.ts';
import type { Transition } from '../transition.ts';
import { isId } from '../values.ts';
import {
  askForRunners,
  checkForRunners,
  type ForRunner,
  type RowForRunner,
  RUNNER_COLUMNS,
  runnerValues,
} from './for-runners.ts';
import { freeSlots, IS_RAISED, raiseRunners, UNLIMITED } from './runner-slots.ts';

/**
 * Runners take these very actions, chosen by whoever knows more of them than the engine does: each only if it is at the
 * head of a free lane of the runner, in the order given, as long as slots are free. Exact as the slotted claim is.
 */
export interface ClaimNamedRequest extends ForRunner {
  readonly actionIds: readonly string[];
}

type Row = RowForRunner & ClaimedRow;

export function createClaimNamed(context: Context, calls: Calls) {
  const text = statement(context.schema);

  async function ask(client: Queryable, requests: readonly ClaimNamedRequest[]): Promise<Row[]> {
    const named = requests.flatMap(({ actionIds }, n) =>
      actionIds.map((id, at) => ({ id, of: n + 1, nth: at + 1 })),
    );
    const known = named.filter(({ id }) => isId(id));
    const { rows } = await client.query({
      name: 'muster_claim_named',
      text,
      values: [
        context.now(),
        ...runnerValues(requests),
        known.map(({ of }) => of),
        known.map(({ nth }) => nth),
        known.map(({ id }) => id),
      ],
    });
    return rows;
  }

  async function claim(
    client: Queryable,
    requests: readonly ClaimNamedRequest[],
  ): Promise<Run<ClaimedAction[]>> {
    const claimed = new Map(requests.map((request) => [request, [] as ClaimedAction[]]));
    const transitions: Transition[] = [];
    await askForRunners(
      requests,
      (some) => ask(client, some),
      (request, row) => {
        claimed.get(request)?.push(claimedAction(row));
        transitions.push(sent(row));
      },
    );
    return { answers: [...claimed.values()], transitions, wakes: [] };
  }

  async function claimNamedMany(
    client: Queryable,
    requests: readonly ClaimNamedRequest[],
  ): Promise<ClaimedAction[][]> {
    checkForRunners(requests);
    if (requests.every(({ actionIds }) => actionIds.length === 0)) return requests.map(() => []);
    return (await calls.inside(client, (inner) => claim(inner, requests))).answers;
  }

  return {
    /** One list for each request: several runners, each named once. */
    claimNamedMany,
    claimNamed: async (client: Queryable, request: ClaimNamedRequest): Promise<ClaimedAction[]> =>
      (await claimNamedMany(client, [request]))[0] as ClaimedAction[],
  };
}

const statement = (s: string) => `
  with ${pauses(s)}, ${freeSlots(s, RUNNER_COLUMNS, `${UNLIMITED}`)}, h as materialized (
    select * from (
      select f.ord, i.nth, l.tenant_id, l.lane_id, l.ver, n.action_id, n.attempt, n.deadline, n.channel, f.runner_id, f.runner_ver, f.worker,
        f.lease_ms, f.free, row_number() over (partition by f.ord order by i.nth) as place
      from unnest($6::int[], $7::int[], $8::bigint[]) i(of, nth, action_id)
      join f on f.ord = i.of
      cross join lateral (select * from ${s}.pending w where w.tenant_id = f.tenant_id and w.action_id = i.action_id limit 1) w
      cross join lateral (
        select * from ${s}.lanes l where l.tenant_id = w.tenant_id and l.lane_id = w.lane_id and l.runner_id = f.runner_id limit 1
      ) l
      left join pz on pz.tenant_id = f.tenant_id
      cross join lateral (${head(s, { channel: 'w.channel', when: 'l.action_id is null', except: 'null' })}) n
      where n.action_id = i.action_id
    ) x where x.place <= x.free
  ), ${raiseRunners(s, '')}, k as materialized (${lockLanes(s, 'h', IS_RAISED)}
  ), u as (
    update ${s}.lanes l set ver = l.ver + 1, action_id = k.action_id, attempt = k.attempt + 1, leased_at = ${NOW},
      ${leaseUntil(`least(${NOW} + ${ms('k.lease_ms')}, k.deadline)`)}, worker = k.worker, lease_runner = k.runner_id,
      moved_from = null, cancel_requested = false, redelivered = 0
    from k where ${hasKeyOf('l', 'k', 'lane_id')}
  ), e as (
    insert into ${s}.events (tenant_id, action_id, lane_id, at, type, attempt, worker)
      select k.tenant_id, k.action_id, k.lane_id, ${NOW}, ${EVENT_TYPES.SENT}, k.attempt + 1, k.worker from k
  ), c as (
    insert into ${s}.count_changes (tenant_id, channel, state, change)
      select k.tenant_id, k.channel, 'pending', -count(*) from k group by 1, 2
      union all select k.tenant_id, k.channel, 'claimed', count(*) from k group by 1, 2
  )
  select k.ord::int, true as known, true as wanted, k.nth, k.tenant_id, k.lane_id, k.action_id, k.attempt + 1 as attempt, ${NOW} as leased_at,
    least(${NOW} + ${ms('k.lease_ms')}, k.deadline) as lease_until, k.worker, false as cancel_requested, ${ACTION_COLUMNS}
  from k cross join lateral (select * from ${s}.actions a where a.tenant_id = k.tenant_id and a.action_id = k.action_id limit 1) a
  union all
  select f.ord::int, f.runner_ver is not null, f.ord in (select h.ord from h), null, null, null, null, null, null, null, null, null, ${NO_ACTION_COLUMNS}
  from f where f.ord not in (select k.ord from k)
  order by 1, 4`;
