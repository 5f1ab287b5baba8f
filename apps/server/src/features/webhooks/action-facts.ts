import { byTenant, type Engine, type Queryable } from '@muster/engine';
import type { StreamEvent } from '../../events/stream-event.ts';

/** What an event of the feed does not contain about its action. */
export interface Facts {
  /** Null: the action was pruned. */
  readonly createdAt: Date | null;
  /** For an event that ends an attempt: when it began, and what went wrong. */
  readonly startedAt: Date | null;
  readonly error: string | null;
}

/**
 * The facts of each event, in order. By the time the feed is read, the action may have been tried again and ended
 * differently: facts of an end are those of that very end or left out, so an event is the same whenever it is read.
 */
export async function factsOf(
  client: Queryable,
  { db, schema: s }: Pick<Engine, 'db' | 'schema'>,
  events: readonly Event[],
): Promise<Facts[]> {
  if (events.length === 0) return [];
  const found = new Map<Event, Facts>();
  for (const some of byTenant(db, events)) {
    const facts = await read(client, s, some);
    for (const [n, event] of some.entries()) found.set(event, facts[n] as Facts);
  }
  return events.map((event) => found.get(event) as Facts);
}

type Event = Pick<StreamEvent, 'actionId' | 'at' | 'attempt' | 'tenantId'>;

async function read(client: Queryable, s: string, events: readonly Event[]): Promise<Facts[]> {
  const { rows } = await client.query({
    name: 'muster_webhook_facts',
    text: `select a.created_at as "createdAt", case when a.is_it then a.sent_at end as "startedAt", case when a.is_it then a.error end as error
      from unnest((select $1::int[]), (select $2::bigint[]), (select $3::int[]), (select $4::timestamptz[]))
        with ordinality i(tenant_id, action_id, attempt, at, ord)
      left join lateral (
        select a.*, date_trunc('milliseconds', a.ended_at) = i.at and a.attempt = i.attempt as is_it from ${s}.action_states a
        where a.tenant_id = i.tenant_id and a.action_id = i.action_id limit 1
      ) a on true order by i.ord`,
    values: [
      events.map(({ tenantId }) => tenantId),
      events.map(({ actionId }) => actionId ?? '0'),
      events.map(({ attempt }) => attempt),
      events.map(({ at }) => at),
    ],
  });
  return rows;
}
