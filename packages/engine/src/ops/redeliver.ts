import { EVENT_TYPES } from '../action.ts';
import { CLAIMED_COLUMNS, type ClaimedRow } from '../claimed-action.ts';
import type { Queryable } from '../db.ts';
import { ANSWER, type Ask } from '../effects.ts';
import { BUSY, type Busy, type Context } from '../operation.ts';
import { ANY_CHANNEL, actionOf, hasKeyOf, isNoneOf, laneOf, lockLanes, NOW, rows } from '../sql.ts';
import { isId } from '../values.ts';

/** An answer may be lost ten times; a worker that asks more often for the same attempt must let its lease end. */
const MOST_REDELIVERIES = 10;

/** As a text array, because a statement for many claims takes one value per claim. */
export function exceptOf({ except }: { readonly except?: string | readonly string[] | undefined }) {
  const ids = (typeof except === 'string' ? [except] : (except ?? [])).filter(isId);
  return ids.length > 0 ? `{${ids.join(',')}}` : null;
}

/** The worker that holds a lane's lease gets the same action and attempt again; the lease is not extended. */
export function createRedeliver(context: Context) {
  const ask = context.effects.carry({
    name: 'muster_redeliver',
    text: () => statement(context.schema),
    transitions: `select tenant_id, lane_id, action_id, channel, array[${EVENT_TYPES.REDELIVERED}], 'claimed', 'claimed', attempt, null::text, leased_at from answer where done`,
  });
  return async (
    client: Queryable,
    items: readonly {
      readonly tenantId: number;
      readonly laneId: string;
      readonly worker: string;
      readonly channel: string;
      readonly except?: string | readonly string[] | undefined;
    }[],
  ): Promise<
    { found: (ClaimedRow | Busy | null)[] } & Pick<Awaited<ReturnType<Ask>>, 'told' | 'factsOf'>
  > => {
    const channels = items.map((item) => item.channel);
    const asked = await ask(
      client,
      [...channels, ANY_CHANNEL],
      [
        context.now(),
        items.map((item) => item.tenantId),
        items.map((item) => item.laneId),
        items.map((item) => item.worker),
        items.map(exceptOf),
        channels,
      ],
    );
    const found: (ClaimedRow | Busy | null)[] = items.map(() => null);
    for (const row of asked.rows as (ClaimedRow & { ord: number; done: boolean })[])
      found[row.ord - 1] = row.done ? row : BUSY;
    return { found, told: asked.told, factsOf: asked.factsOf };
  };
}

const statement = (s: string) => `
  with h as materialized (
    select i.ord, l.tenant_id, l.lane_id, l.ver, l.action_id, l.attempt, l.leased_at, l.lease_until, l.worker, l.cancel_requested
    from ${rows(2, { tenant_id: 'int', lane_id: 'bigint', worker: 'text', except_actions: 'text', channel: 'text' })}
    cross join lateral ${laneOf(s, 'i')}
    where l.action_id is not null and l.worker = i.worker and l.redelivered < ${MOST_REDELIVERIES} and ${isNoneOf('l.action_id', 'i.except_actions')}
      and (select p.channel from ${s}.pending p where p.tenant_id = l.tenant_id and p.action_id = l.action_id limit 1)
        in (i.channel, '${ANY_CHANNEL}')
  ), k as materialized (${lockLanes(s, 'h')}
  ), u as (
    -- the version too: a report that was read before this would come before it in the feed
    update ${s}.lanes l set ver = l.ver + 1, redelivered = l.redelivered + 1
    from k where ${hasKeyOf('l', 'k', 'lane_id')}
  ), e as (
    insert into ${s}.events (tenant_id, action_id, lane_id, at, type, attempt, worker)
      select k.tenant_id, k.action_id, k.lane_id, ${NOW}, ${EVENT_TYPES.REDELIVERED}, k.attempt, k.worker from k
  )
  ${ANSWER}
  select u.ord::int, u.ord in (select k.ord from k) as done, u.tenant_id, u.lane_id, ${CLAIMED_COLUMNS}
  from h u cross join lateral ${actionOf(s, 'u')}`;
