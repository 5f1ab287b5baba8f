import { type ClaimedAction, claimedAction } from '../claimed-action.ts';
import { ANSWER } from '../effects.ts';
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
import { BUSY, type Busy, type Context, type Operation } from '../operation.ts';
import { hasKeyOf, IS_NOT_STOPPED, lockLanes, mayRun, NOW, ofLane, pauses, rows } from '../sql.ts';
import type { Transition, Wake } from '../transition.ts';
import { PoolTurns } from './pool-turns.ts';

/**
 * Pool claim: workers compete for the head of one lane. Each worker has its own lane, and what it takes is moved there
 * and leased there in one statement, so that every later operation on the leased action (report, extend, cancel, lease
 * end) uses the worker's lane. An unfinished action returns to its old place. One action per worker by the worker's
 * lane row, one worker per action by its row of pending.
 *
 * The order is kept. A statement reads as many heads as it has workers, locks those rows and hands out the first of
 * them up to one that it could not lock: another transaction has that one and may still give it back. So of two claims
 * at once one hands out and the other looks again, and no claim locks or writes the row of the pool. A pause of the
 * pool applies to claims that begin after it.
 */
export interface ClaimPoolItem {
  readonly tenantId: number;
  readonly poolId: string;
  /** The worker's own lane, which has joined the pool. */
  readonly laneId: string;
  /** Only actions of this channel, not those of 'any'. */
  readonly channel: string;
  readonly worker: string;
  readonly leaseMs: number;
  /** The worker's generation, if it knows it. */
  readonly generation?: number | undefined;
  /** This action, if it waits in the pool, whatever is before it: an operator's act. */
  readonly actionId?: string | undefined;
  /**
   * Of every this many claims at this node, at least one takes the oldest normal action, whatever is urgent; 0: none
   * has to.
   */
  readonly normalShare?: number | undefined;
}

export type ClaimPoolAnswer =
  | { readonly kind: 'claimed'; readonly action: ClaimedAction }
  /** The worker already has this one. */
  | { readonly kind: 'held'; readonly actionId: string }
  | { readonly kind: 'empty' }
  | { readonly kind: 'unknown-lane' }
  | { readonly kind: 'wrong-generation' };

interface Row extends HandedOutRow {
  ord: number;
  verdict: 'claimed' | 'held' | 'empty' | 'unknown' | 'older' | 'busy';
  held: string | null;
}

/** `named`: all items name their action. They run apart from the others, or one statement could take an action twice. */
export function createClaimPool(
  context: Context,
  { named = false } = {},
): Operation<ClaimPoolItem, ClaimPoolAnswer> {
  const ask = context.effects.carry({
    name: named ? 'muster_claim_pool_named' : 'muster_claim_pool',
    text: (ends) => statement(context.schema, ends, named),
    transitions: HANDED_OUT,
    order: '1',
  });
  const turns = new PoolTurns();
  return {
    name: named ? 'claim-pool-named' : 'claim-pool',
    key: (item) => (named ? `${item.tenantId}` : `${item.tenantId}:${item.laneId}`),
    // two statements for one pool would only block each other
    atOnce: 1,
    // 200 workers in one statement all report and claim at the same moments, and one core is idle (1.15 of two busy): with 100
    // the others report meanwhile (1.67 busy, 1.35 times the claims; 64: 1.17, 40: 0.96)
    most: 100,
    claims: ({ tenantId, laneId, worker }) => ({ tenantId, laneId, worker }),
    async run(client, items) {
      const channels = items.map((item) => item.channel);
      const { rows: found, told, factsOf } = await ask(client, channels, values(context, items, turns));
      const answers: (ClaimPoolAnswer | Busy)[] = items.map(() => BUSY);
      const transitions: Transition[] = [];
      const wakes: Wake[] = [];
      for (const row of found as Row[]) {
        const item = items[row.ord - 1] as ClaimPoolItem;
        answers[row.ord - 1] = answerOf(row, factsOf);
        if (row.verdict !== 'claimed') continue;
        turns.took(item, row.priority === 0);
        transitions.push(...handedOutTransitions(row));
        wakes.push(...handedOutWakes(row));
      }
      return { answers, transitions, wakes, told };
    },
  };
}

function answerOf(
  row: Row,
  factsOf: (id: string) => ClaimedAction['facts'] | undefined,
): ClaimPoolAnswer | Busy {
  switch (row.verdict) {
    case 'claimed':
      return { kind: 'claimed', action: claimedAction(row, factsOf(row.action_id)) };
    case 'held':
      return { kind: 'held', actionId: row.held as string };
    case 'unknown':
      return { kind: 'unknown-lane' };
    case 'older':
      return { kind: 'wrong-generation' };
    case 'empty':
      return { kind: 'empty' };
    case 'busy':
      return BUSY;
  }
}

function values(context: Context, items: readonly ClaimPoolItem[], turns: PoolTurns): unknown[] {
  return [
    context.now(),
    items.map((item) => item.tenantId),
    items.map((item) => item.poolId),
    items.map((item) => item.laneId),
    items.map((item) => item.channel),
    items.map((item) => item.worker),
    items.map((item) => item.leaseMs),
    items.map((item) => item.normalShare ?? 0),
    items.map((item) => turns.streak(item)),
    items.map((item) => item.generation ?? null),
    items.map((item) => item.actionId ?? null),
  ];
}

/** The turn of an action among all that this statement hands out from the pool; each has its own number. */
const TURN = `case
        when p.priority = 0 then case g.share when 0 then p.nth when 1 then ${BEHIND('p.nth')}
          else p.nth + (g.streak + p.nth - 1) / (g.share - 1) end
        else case g.share when 0 then ${BEHIND('p.nth')} else p.nth * g.share - g.streak end
      end`;

function BEHIND(nth: string) {
  return `1000000 + ${nth}`;
}

/** The first of one class, at most as many as there are workers. */
const firstOf = (s: string, priority: number) => `(
        select p.action_id, p.attempt, p.seq, ${priority} as priority, row_number() over (order by p.seq) as nth from (
          select p.action_id, p.attempt, p.seq from ${s}.pending p
          where ${IS_NOT_STOPPED} and ${ofLane(s, 'p', 'l')} and p.channel = g.channel and p.priority = ${priority}
            and (p.not_before is null or p.not_before <= ${NOW}) and ${mayRun(s)}
          order by p.seq limit g.many
        ) p)`;

const onlyOne = (s: string) => `
        select p.action_id, p.attempt, p.seq, p.priority, 1 as nth from ${s}.pending p
        where ${IS_NOT_STOPPED} and p.tenant_id = l.tenant_id and p.action_id = g.only_action and p.lane_id = l.lane_id
          and p.channel = g.channel and ${mayRun(s)} limit 1`;

const statement = (s: string, ends: string | null, named: boolean) => `
  with ${pauses(s)}, w as materialized (
    select i.ord, i.tenant_id, i.pool_id, i.lane_id, i.channel, i.worker, i.lease_ms, i.share, i.streak, i.only_action, l.ver, l.generation, l.runner_id,
      l.ver is not null as known, l.action_id as held, coalesce(i.generation <> l.generation, false) as is_older,
      coalesce(l.action_id is null and (i.generation is null or i.generation = l.generation) and ${IS_NOT_STOPPED}, false) as is_free
    from ${rows(2, { tenant_id: 'int', pool_id: 'bigint', lane_id: 'bigint', channel: 'text', worker: 'text', lease_ms: 'int', share: 'int', streak: 'int', generation: 'int', only_action: 'bigint' })}
    left join lateral (
      select * from ${s}.lanes l where l.tenant_id = i.tenant_id and l.lane_id = i.lane_id and l.pool_id = i.pool_id
        and l.lane_id <> i.pool_id and not l.closing limit 1
    ) l on true
    left join pz on pz.tenant_id = i.tenant_id
  ), f as materialized (
    select x.*, row_number() over (partition by x.tenant_id, x.pool_id, x.channel order by x.ord) as turn
    from (${lockLanes(s, 'w', 'x.is_free')}) x
  ), g as materialized (
    select f.tenant_id, f.pool_id, f.channel, max(f.share) as share, max(f.streak) as streak, count(*) as many, max(f.only_action) as only_action
    from f group by 1, 2, 3
  ), heads as materialized (
    select * from (
      select g.tenant_id, g.pool_id, g.channel, g.many, p.action_id, p.attempt, p.seq,
        row_number() over (partition by g.tenant_id, g.pool_id, g.channel order by ${TURN}) as turn
      from g
      cross join lateral (select * from ${s}.lanes l where l.tenant_id = g.tenant_id and l.lane_id = g.pool_id limit 1) l
      left join pz on pz.tenant_id = g.tenant_id
      cross join lateral (${named ? onlyOne(s) : `${firstOf(s, 0)} union all ${firstOf(s, 1)}`}) p
    ) c where c.turn <= c.many
  ), t as materialized (
    -- only if unchanged since it was read: one that was moved, or taken and given back, has events that this statement
    -- did not see
    select x.*, row_number() over (partition by x.tenant_id, x.pool_id, x.channel order by x.turn) as place from (
      select x.tenant_id, x.pool_id, x.channel, x.turn, x.action_id, p.attempt, p.deadline, p.lease_ms
      from (select * from heads order by tenant_id, pool_id, channel, turn) x
      cross join lateral (
        select * from ${s}.pending p where p.tenant_id = x.tenant_id and p.action_id = x.action_id and p.lane_id = x.pool_id and not p.delayed
          and p.attempt = x.attempt and p.seq = x.seq
        limit 1 for update skip locked
      ) p
    ) x
  ), k as materialized (
    -- workers and actions of one turn, paired without a join, which would compare all with all
    select max(x.ord) as ord, x.tenant_id, max(x.lane_id) as lane_id, max(x.generation) as generation, max(x.runner_id) as runner_id,
      max(x.action_id) as action_id, max(x.attempt) as attempt, x.channel, max(x.worker) as worker,
      ${leaseEnd('coalesce(max(x.own_lease_ms), max(x.lease_ms))', 'max(x.deadline)')}
    from (
      select f.ord, f.tenant_id, f.pool_id, f.channel, f.turn, f.lane_id, f.generation, f.runner_id, f.worker, f.lease_ms,
        null::bigint as action_id, null::int as attempt, null::timestamptz as deadline, null::int as own_lease_ms from f
      union all
      select null, t.tenant_id, t.pool_id, t.channel, t.turn, null, null, null, null, null, t.action_id, t.attempt, t.deadline, t.lease_ms
      from t where t.place = t.turn -- nothing passes an action that could not be locked
    ) x group by x.tenant_id, x.pool_id, x.channel, x.turn having count(x.ord) = 1 and count(x.action_id) = 1
    order by x.tenant_id, x.pool_id, x.channel, x.turn -- and so are their events
  ), ${handOut(s, { leaseRunner: 'null::bigint', ends })}, m as (
    update ${s}.pending p set lane_id = k.lane_id, generation = k.generation
    from ${ends ? '(select * from h_out where not ends)' : 'k'} k where ${hasKeyOf('p', 'k', 'action_id')}
  )
  ${ANSWER}
  ${handedOut(s, `k.ord::int, 'claimed' as verdict, null::bigint as held`, ends)}
  union all
  select w.ord::int, case when not w.known then 'unknown' when w.is_older then 'older' when w.held is not null then 'held' when not w.is_free then 'empty'
      when w.ord in (
        select f.ord from f where (f.tenant_id, f.pool_id, f.channel, f.turn) not in (select c.tenant_id, c.pool_id, c.channel, c.turn from heads c)
      ) then 'empty' else 'busy' end, w.held, ${NOTHING_HANDED_OUT}
  from w where w.ord not in (select k.ord from k)`;
