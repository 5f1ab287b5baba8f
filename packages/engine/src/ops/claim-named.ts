import type { Calls } from '../calls.ts';
import { type ClaimedAction, claimedAction } from '../claimed-action.ts';
import type { Queryable } from '../db.ts';
import { ANSWER, type Told } from '../effects.ts';
import {
  HANDED_OUT,
  type HandedOutRow,
  handedOut,
  handedOutTransitions,
  handedOutWakes,
  handOut,
  leaseEnd,
  NOTHING_HANDED_OUT,
} from '../hand-out.ts';
import type { Context, Run } from '../operation.ts';
import { head, lockLanes, pauses } from '../sql.ts';
import type { Transition, Wake } from '../transition.ts';
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
 * Runners take these specific actions, chosen by a caller that knows more of them than the engine does: each only if it
 * is at the head of a free lane of the runner, in the order given, as long as slots are free. As exact as the slotted
 * claim.
 */
export interface ClaimNamedRequest extends ForRunner {
  readonly actionIds: readonly string[];
}

type Row = RowForRunner & HandedOutRow;

export function createClaimNamed(context: Context, calls: Calls) {
  const askFor = context.effects.carry({
    name: 'muster_claim_named',
    text: (ends) => statement(context.schema, ends),
    transitions: HANDED_OUT,
    changes: [
      ['pending', 'claimed'],
      ['claimed', 'succeeded'],
    ],
    order: '1, 4',
  });

  function ask(client: Queryable, requests: readonly ClaimNamedRequest[]) {
    const named = requests.flatMap(({ actionIds }, n) =>
      actionIds.map((id, at) => ({ id, of: n + 1, nth: at + 1 })),
    );
    const known = named.filter(({ id }) => isId(id));
    return askFor(client, null, [
      context.now(),
      ...runnerValues(requests),
      known.map(({ of }) => of),
      known.map(({ nth }) => nth),
      known.map(({ id }) => id),
    ]);
  }

  async function claim(
    client: Queryable,
    requests: readonly ClaimNamedRequest[],
  ): Promise<Run<ClaimedAction[]>> {
    const claimed = new Map(requests.map((request) => [request, [] as ClaimedAction[]]));
    const transitions: Transition[] = [];
    const wakes: Wake[] = [];
    const told: Told[] = [];
    await askForRunners<ClaimNamedRequest, Row>(
      context,
      requests,
      (some) => ask(client, some),
      (request, row, facts) => {
        claimed.get(request)?.push(claimedAction(row, facts));
        transitions.push(...handedOutTransitions(row));
        wakes.push(...handedOutWakes(row));
      },
      told,
    );
    return { answers: [...claimed.values()], transitions, wakes, told };
  }

  /** One list for each request: several runners, each named once. */
  return async (client: Queryable, requests: readonly ClaimNamedRequest[]): Promise<ClaimedAction[][]> => {
    checkForRunners(requests);
    if (requests.every(({ actionIds }) => actionIds.length === 0)) return requests.map(() => []);
    return (await calls.inside(client, (inner) => claim(inner, requests))).answers;
  };
}

export const statement = (s: string, ends: string | null = null) => `
  with ${pauses(s)}, ${freeSlots(s, RUNNER_COLUMNS, `${UNLIMITED}`)}, h as materialized (
    select * from (
      select f.ord, i.nth, l.tenant_id, l.lane_id, l.ver, n.action_id, n.attempt, n.channel, f.runner_id, f.runner_ver, f.worker,
        ${leaseEnd('coalesce(n.lease_ms, f.lease_ms)', 'n.deadline')}, f.free, row_number() over (partition by f.ord order by i.nth) as place
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
  ), ${handOut(s, { leaseRunner: 'k.runner_id', ends })}
  ${ANSWER}
  ${handedOut(s, 'k.ord::int, true as known, true as wanted, k.nth', ends)}
  union all
  select f.ord::int, f.runner_ver is not null, f.ord in (select h.ord from h), null, ${NOTHING_HANDED_OUT}
  from f where f.ord not in (select k.ord from k)`;
